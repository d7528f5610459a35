"""The page on the architecture: its rooms are those that the linter checks."""

import re
import tomllib

import pytest

from pages import DOCS, ROOT

if not DOCS.exists():
    pytest.skip("the documentation is not part of this copy", allow_module_level=True)


def test_the_rooms_of_the_page_are_the_layers_of_the_import_contract():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (contract,) = (c for c in contracts if c["id"] == "layers")
    assert contract["exhaustive"]
    layers = [layer.split(" | ") for layer in contract["layers"]]
    page = (DOCS / "architecture.md").read_text("utf-8")
    table = page.split("| rooms |")[1].split("\n\n")[0]
    rows = re.findall(r"^\| (`.*?) \|", table, flags=re.MULTILINE)
    assert [re.findall("`(.*?)`", row) for row in rows] == layers
