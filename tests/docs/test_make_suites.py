import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from study_fakes import design, fake_record
from sumbo.study.rows import export_rows
from sumbo.study.storage import encode, write_design, write_record

DOCS = Path(__file__).parents[2] / "docs"
BLOCKS = ("facts", "ranking", "problems", "exceptions")
METHODS = ("sumbo-default", "optuna-tpe", "hebo")


@pytest.fixture
def script(tmp_path, monkeypatch):
    if not (DOCS / "make_suites.py").exists():
        pytest.skip("the documentation is not part of an sdist")
    monkeypatch.setattr(sys, "path", [*sys.path])  # the script adds its folder
    spec = importlib.util.spec_from_file_location(
        "suites_made", DOCS / "make_suites.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in ("ROWS", "PAGES", "FIGURES", "README"):
        monkeypatch.setattr(module, name, tmp_path / name.lower())
    module.README.write_text("<!-- suites -->\n<!-- end -->\n")
    module.PAGES.mkdir()
    page = "".join(f"<!-- {name} -->\nold\n<!-- end -->\n" for name in BLOCKS)
    (module.PAGES / "mine.md").write_text(page)
    return module


def rows(folder, tmp_path, ends):
    """Write rows of runs on three problems that end at ``ends[method](cell)``."""
    ours = design(
        name="mine",
        problems=("rover", "push", "lunar"),
        methods={1: METHODS},
        replicates=3,
        n_init=20,
        acquisitions=100,
    )
    write_design(tmp_path / "runs", ours)
    for cell in ours.all_cells():
        end = ends[cell.method](cell)
        if end is not None:
            y = end + np.linspace(37.5, 0.0, 120)
            record = replace(fake_record(cell), y=y, exact=False)
            write_record(tmp_path / "runs", cell, encode(record))
    export_rows(tmp_path / "runs", folder / "mine")


def lines_of(page, start):
    return [line for line in page.splitlines() if line.startswith(f"| {start}")]


def test_page_ranks_complete_methods_and_counts_duels_of_all(script, tmp_path):
    ends = {
        "sumbo-default": lambda c: 1.0 + c.replicate,
        "optuna-tpe": lambda c: 2.5,
        "hebo": lambda c: 0.5 if (c.problem, c.replicate) == ("push", 0) else None,
    }
    rows(script.ROWS, tmp_path, ends)
    script.main([])
    page = (script.PAGES / "mine.md").read_text()
    assert "old" not in page
    assert "19 of 27 planned runs" in page
    ours, tpe, hebo = (
        next(line for line in lines_of(page, name) if line.count("|") == 7)
        for name in ("sumbo", "Optuna TPE", "HEBO")
    )
    # Two of three replicates are won; HEBO has one of one problem, and wins it.
    assert [cell.strip() for cell in ours.split("|")[2:5]] == ["1.33", "3", ""]
    assert [cell.strip() for cell in tpe.split("|")[2:6]] == ["1.67", "0", "6 : 3", "9"]
    assert [cell.strip() for cell in hebo.split("|")[2:6]] == ["–", "–", "0 : 1", "1"]
    assert "| rover (value) | **2** | 2.5 | – |" in page
    assert "| push (value) | 1 | 2.5 | **0.5** |" in page
    assert "| push | HEBO | 1 | 0.5 | 0 : 1 |" in page
    assert "Optuna TPE | 2 | 2.5" not in page
    (line,) = lines_of(script.README.read_text(), "[mine]")
    assert line == "| [mine](docs/results/mine.md) | 3 × 3 | **1.33** | 1.67 |"
    assert (script.FIGURES / "suite-mine.png").stat().st_size > 10_000


def test_page_says_that_there_are_no_exceptions(script, tmp_path):
    ends = dict.fromkeys(METHODS, lambda c: 2.0 + c.replicate)
    ends["sumbo-default"] = lambda c: 1.0 * c.replicate
    rows(script.ROWS, tmp_path, ends)
    script.main(["mine"])
    page = (script.PAGES / "mine.md").read_text()
    assert "On no problem does a rival have the lower median." in page


def test_rows_without_sumbo_are_refused(script, tmp_path):
    ends = dict.fromkeys(METHODS, lambda c: None) | {"hebo": lambda c: 1.0}
    rows(script.ROWS, tmp_path, ends)
    with pytest.raises(SystemExit, match="no rows of sumbo-default and a rival"):
        script.main(["mine"])
