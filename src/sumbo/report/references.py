"""How to cite sumbo and its methods: entries of the bibliography."""

import re
from functools import cache
from importlib.resources import files
from pathlib import Path

import sumbo

SOFTWARE = (
    "@software{sumbo,\n"
    "  title = {sumbo: Bayesian optimization for sums of low-dimensional parts},\n"
    f"  author = {{The sumbo developers}}, version = {{{sumbo.__version__}}}\n}}"
)


def reference(key: str) -> str:
    """Return the BibTeX entry with that key; "" if there is none."""
    found = re.search(rf"^@\w+\{{{re.escape(key)},.*?^\}}", _text(), re.M | re.S)
    return found[0] if found else ""


@cache
def _text() -> str:
    """Return the bibliography: of the installed package, or of the source tree."""
    packed = files("sumbo.report") / "references.bib"
    if packed.is_file():
        return packed.read_text("utf-8")
    tree = Path(__file__).parents[3] / "references.bib"
    return tree.read_text("utf-8") if tree.is_file() else ""
