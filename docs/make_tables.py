"""Write tables into pages, between their markers.

A comment such as ``<!-- settings: sumbo.search.whole.WholeSearch -->`` is followed by a
table of the fields of that class, with their defaults and meanings, up to
``<!-- end -->``. The README's table of methods has the first lines of their docstrings.
``<!-- walk: with a refit -->`` is followed by the modules that such an ask enters.
"""

import dataclasses
import importlib
import inspect
import re
import sys
from pathlib import Path

from sumbo.methods import METHODS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = (
    ROOT / "README.md",
    DOCS / "algorithm_settings.md",
    DOCS / "architecture.md",
)
BLOCK = re.compile(
    r"<!-- (methods|settings|walk): ([^>]+) -->\n.*?<!-- end -->", re.DOTALL
)


def updated(text: str) -> str:
    """Return a page with its tables made anew."""
    return BLOCK.sub(_filled, text)


def _filled(block: re.Match) -> str:
    kind, what = block[1], block[2]
    if kind == "methods":
        lines = methods_table(what.split())
    elif kind == "settings":
        lines = settings_table(what)
    else:
        lines = modules_list(what)
    return f"<!-- {kind}: {what} -->\n" + "\n".join(lines) + "\n<!-- end -->"


def methods_table(names: list[str]) -> list[str]:
    """Return some methods as lines of a Markdown table."""
    rows = ["| method | proposes | reference |", "|---|---|---|"]
    for name in names:
        cls = METHODS.get(name)
        first = (inspect.getdoc(cls) or "").splitlines()[0]
        what = first.removeprefix("Return").partition("; [")[0].strip(" ,.")
        rows.append(f"| `{name}` | {what} | {cls.cite} |")
    return rows


def settings_table(path: str) -> list[str]:
    """Return the fields of a dataclass as lines of a Markdown table."""
    module, _, name = path.rpartition(".")
    cls = getattr(importlib.import_module(module), name)
    meanings = described(cls)
    rows = ["| setting | value | meaning |", "|---|---|---|"]
    for field in dataclasses.fields(cls):
        default = field.default
        if default is dataclasses.MISSING:
            default = field.default_factory()  # pyright: ignore[reportCallIssue]
        value = repr(default)
        if dataclasses.is_dataclass(default):  # it has a table of its own
            value = f"{type(default).__name__}()"
        rows.append(f"| `{field.name}` | `{value}` | {meanings[field.name]} |")
    return rows


def modules_list(what: str) -> list[str]:
    """Return the modules that an ask with or without a refit enters, as a list."""
    sys.path.insert(0, str(ROOT))
    try:
        from benchmarks.walk import module_lines
    finally:
        sys.path.remove(str(ROOT))
    return ["", *module_lines(refit=what == "with a refit"), ""]


def described(cls: type) -> dict[str, str]:
    """Return what the docstrings of a class and its bases say of each field."""
    out: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        doc = inspect.cleandoc(base.__dict__.get("__doc__") or "")
        _, _, listed = doc.partition("Attributes:\n")
        listed = re.split(r"\n(?=\S)", listed)[0]
        for entry in re.split(r"\n(?= {4}\w+: )", "\n" + listed):
            name, colon, meaning = entry.strip().partition(": ")
            if colon:
                out[name] = " ".join(meaning.split()).replace("``", "`")
    return out


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(updated(page.read_text("utf-8")), "utf-8")
