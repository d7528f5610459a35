"""The notebooks are the tutorial scripts, and show their pictures."""

import ast
import importlib.util
import sys
from pathlib import Path

import nbformat
import pytest

DOCS = Path(__file__).parents[2] / "docs"
if not DOCS.exists():
    pytest.skip("the documentation is not part of this copy", allow_module_level=True)
SCRIPTS = [
    path
    for path in sorted((DOCS / "tutorials").glob("*.py"))
    if path.stem != "dask_cluster"  # its workers import the script
]


@pytest.fixture(scope="module")
def maker():
    """Return docs/make_notebooks.py; what runs notebooks is not needed here."""
    pytest.importorskip("nbclient")
    spec = importlib.util.spec_from_file_location(
        "make_notebooks", DOCS / "make_notebooks.py"
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules["make_notebooks"] = module
    spec.loader.exec_module(module)
    return module


def read(path):
    return nbformat.read(DOCS / "notebooks" / f"{path.stem}.ipynb", as_version=4)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_notebook_shows_pictures_and_no_error(path):
    outputs = [o for cell in read(path).cells for o in cell.get("outputs", [])]
    assert any("image/png" in o.get("data", {}) for o in outputs)
    assert not any(o.output_type == "error" for o in outputs)
    assert not any(o.get("name") == "stderr" for o in outputs)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_every_statement_of_the_script_is_in_the_notebook(path):
    code = "\n".join(
        cell.source
        for cell in read(path).cells
        if cell.cell_type == "code" and not cell.source.startswith("%")
    )
    has = [ast.dump(node) for node in ast.parse(code).body]
    script = ast.parse(path.read_text("utf-8")).body[1:-1]  # docstring, last `if`
    main = next(node for node in script if getattr(node, "name", "") == "main")
    wanted = [node for node in script if node is not main] + main.body
    missing = [
        ast.unparse(node)
        for node in wanted
        if not isinstance(node, ast.Return) and ast.dump(node) not in has
    ]
    assert not missing


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_notebook_is_what_its_script_makes(path, maker):
    made = [(cell.cell_type, cell.source) for cell in maker.notebook(path).cells]
    assert [(cell.cell_type, cell.source) for cell in read(path).cells] == made
