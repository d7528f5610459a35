"""Make the notebooks of docs/notebooks from the tutorial scripts, and run them.

    python docs/make_notebooks.py [NAME ...]        (`make notebooks`)

A notebook has the same code as its script: the functions first, then the body of
``main`` in steps. Comments that begin a step become text. The outputs are stored, so
that a notebook can be read without running it.
"""

import argparse
import ast
import sys
import tempfile
import textwrap
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

DOCS = Path(__file__).parent
NOTEBOOKS = DOCS / "notebooks"
INSTALL = (
    '%pip install --quiet "sumbo[plots]"  # on Colab; not needed where it is installed'
)
# The workers of a cluster import the script, which a notebook cannot offer.
SCRIPTS_ONLY = ("dask_cluster",)
# A last step for scripts that draw nothing.
PICTURES = {
    "bandits": """
from matplotlib import pyplot as plt

plt.plot(range(1, len(excess) + 1), excess, ".-")
plt.xlabel("hour")
plt.ylabel("excess cost");
""",
    "catalogue": """
from sumbo import plots

plots.parts(post, bounds=opt.space);
""",
    "routes": """
from matplotlib import pyplot as plt

plt.bar(list(late), list(late.values()))
plt.ylabel("hours lost per trip, last 40 trips");
""",
    "which_structure": """
from sumbo import plots

plots.parts(result.model, bounds=result.space);
""",
}


def cells(source: str, picture: str = "") -> list[nbformat.NotebookNode]:
    """Return the cells of a script."""
    tree = ast.parse(source)
    title = (ast.get_docstring(tree) or "").strip()
    out = [new_markdown_cell(f"# {title}"), new_code_cell(INSTALL)]
    lines = source.splitlines()
    before: list[str] = []
    for node in tree.body[1:]:
        first = min(
            [node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))]
        )
        text = "\n".join(lines[first - 1 : node.end_lineno])
        if isinstance(node, ast.FunctionDef) and node.name == "main":
            out += _flush(before)
            out += _steps(lines[node.body[0].lineno - 1 : node.end_lineno])
        elif isinstance(node, ast.If):
            continue  # `if __name__ == "__main__"`
        elif isinstance(node, ast.Import | ast.ImportFrom):
            before.append(text)
        else:
            out += _flush(before)
            out.append(new_code_cell(text))
    if picture:
        out.append(new_code_cell(picture.strip()))
    for number, cell in enumerate(out):
        cell["id"] = f"cell-{number}"  # the same in every run
    return out


def _flush(lines: list[str]) -> list[nbformat.NotebookNode]:
    """Return a cell with the lines collected, and forget them."""
    if not lines:
        return []
    cell = new_code_cell("\n".join(lines))
    lines.clear()
    return [cell]


def _steps(body: list[str]) -> list[nbformat.NotebookNode]:
    """Return the cells of the body of ``main``: blank lines separate them."""
    text = textwrap.dedent("\n".join(body))
    out = []
    for step in text.split("\n\n"):
        rows = step.splitlines()
        words = []
        while rows and rows[0].startswith("# "):
            words.append(rows.pop(0)[2:])
        rows = [row for row in rows if not row.startswith("return ")]
        if words:
            out.append(new_markdown_cell(" ".join(words)))
        if rows:
            out.append(new_code_cell("\n".join(rows)))
    return out


def notebook(path: Path) -> nbformat.NotebookNode:
    """Return the notebook of a script, not run yet."""
    made = new_notebook(
        cells=cells(path.read_text("utf-8"), PICTURES.get(path.stem, ""))
    )
    made.metadata["kernelspec"] = {
        "name": "python3",
        "display_name": "Python 3",
        "language": "python",
    }
    return made


def scripts() -> list[Path]:
    """Return the scripts that become notebooks."""
    found = sorted((DOCS / "tutorials").glob("*.py"))
    return [path for path in found if path.stem not in SCRIPTS_ONLY]


def main() -> None:
    """Make and run the notebooks that are named, or all."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("names", nargs="*")
    names = parser.parse_args().names
    NOTEBOOKS.mkdir(exist_ok=True)
    for path in scripts():
        if names and path.stem not in names:
            continue
        made = notebook(path)
        install = made.cells.pop(1)  # not run: this sumbo is the one to show
        with tempfile.TemporaryDirectory() as folder:
            NotebookClient(
                made, timeout=600, resources={"metadata": {"path": folder}}
            ).execute()
        made.cells.insert(1, install)
        for cell in made.cells:
            cell.metadata.pop("execution", None)  # times differ in every run
        nbformat.validate(made)
        nbformat.write(made, NOTEBOOKS / f"{path.stem}.ipynb")
        print(f"wrote {path.stem}.ipynb", file=sys.stderr)


if __name__ == "__main__":
    main()
