"""What the import contract cannot see: modules that are imported by their names."""

import ast
from pathlib import Path

import sumbo

ROOT = Path(sumbo.__file__).parent
# The registries, and what imports modules of others: Cython functions of SciPy,
# simulators of problems, CosmoSIS, and what a study names. The package and the command
# line import their own parts by name, when these are first used.
IMPORTERS = {
    "__init__.py",
    "cli/app.py",
    "registry.py",
    "linalg.py",
    "problems/base.py",
    "problems/cosmosis_worker.py",
    "study/child.py",
}


def importers():
    """Return the files that import modules by their names."""
    found = set()
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            name = getattr(node, "attr", getattr(node, "id", ""))
            if name in ("import_module", "__import__"):
                found.add(path.relative_to(ROOT).as_posix())
    return found


def test_no_layer_reaches_upwards_by_the_name_of_a_module():
    assert importers() == IMPORTERS
