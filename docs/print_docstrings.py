"""Print all docstrings and comments of the package, for a checker of prose.

``make lint`` hands them to proselint: python docs/print_docstrings.py.
"""

import ast
import tokenize
from pathlib import Path

ROOT = Path(__file__).parents[1] / "src" / "sumbo"


def texts(path):
    """Return the docstrings and the comments of a file."""
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = [ast.get_docstring(node) for node in nodes if isinstance(node, kinds)]
    with path.open("rb") as file:
        tokens = list(tokenize.tokenize(file.readline))
    found += [t.string.lstrip("# ") for t in tokens if t.type == tokenize.COMMENT]
    return [text for text in found if text]


if __name__ == "__main__":
    for path in sorted(ROOT.rglob("*.py")):
        print(f"{path.relative_to(ROOT)}:\n")
        print("\n\n".join(texts(path)), end="\n\n")
