"""The page on the paper's experiment: recomputed from rows, verdicts by a rule."""

import importlib
import importlib.util
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from study_fakes import design, fake_record
from sumbo.study import export_rows, load
from sumbo.study.comparison import Pooled
from sumbo.study.equivalence import visible_share, win_share
from sumbo.study.storage import encode, write_design, write_record

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PROBLEMS = ("ackley2", "rover", "lunar")
METHODS = ("ts", "ats", "alcb2", "dumbo")


@pytest.fixture
def script(tmp_path, monkeypatch):
    if not (DOCS / "make_paper.py").exists():
        pytest.skip("the documentation is not part of an sdist")
    monkeypatch.syspath_prepend(str(DOCS))
    spec = importlib.util.spec_from_file_location("made", DOCS / "make_paper.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "PAGE", tmp_path / "paper.md")
    monkeypatch.setattr(module, "FIGURES", tmp_path / "figures")
    shutil.copy(DOCS / "results" / "paper.md", module.PAGE)
    yield module
    for name in ("make_results", "paper_claims"):
        sys.modules.pop(name, None)


@pytest.fixture
def rows(tmp_path):
    """Rows of a study in which ts always ends 0.25 below ats."""
    study = design(
        name="paper",
        problems=PROBLEMS,
        methods={1: METHODS, 10: METHODS},
        replicates=8,
        n_init=20,
        acquisitions=100,
        settings={},
    )
    records = tmp_path / "records"
    write_design(records, study)
    shift = {"ts": 0.0, "ats": 0.25, "alcb2": -0.5, "dumbo": 2.0}
    for cell in study.all_cells():
        low = 3.5 + 0.125 * cell.replicate + shift[cell.method]
        y = low + np.linspace(37.5, 0.0, 120)
        write_record(records, cell, encode(replace(fake_record(cell), y=y)))
    export_rows(records, tmp_path / "rows")
    return tmp_path / "rows"


def block(page, name):
    return page.split(f"<!-- {name} -->\n")[1].split("\n<!-- end -->")[0]


def lines_with(text, words):
    return [line for line in text.splitlines() if words in line]


def test_page_is_recomputed_from_rows(script, rows, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["make_paper.py", str(rows)])
    script.main()
    page = script.PAGE.read_text("utf-8")
    # 3 problems with 8 of 100 replicates, of dumbo 8 of 30: 192 runs.
    assert "192 of" in block(page, "progress")
    assert "Preliminary" in block(page, "progress")
    (row,) = lines_with(block(page, "pairs"), "| 1 | `ts` against `ats` |")
    # 24 of 24 pairs: the lower end is 0.025^(1/24).
    assert "100.0% (85.8% to 100.0%) of 24 pairs won" in row
    (row,) = lines_with(block(page, "medians 10"), "| rover |")
    # The median of 3.5 + 0.125 r over r = 0 … 7.
    assert row == "| rover | 3.938 (8) | 4.188 (8) | 3.438 (8) | 5.938 (8) | 7.821 |"
    (row,) = lines_with(block(page, "single 1"), "| lunar |")
    assert "-0.25" in row
    assert "8 / 0 / 0" in row
    claims = block(page, "claims")
    (row,) = lines_with(claims, "Batch 10: no consistent difference")
    assert row.endswith("| **disagrees**: a difference was seen |")
    (row,) = lines_with(claims, "Batch 10: `ts` is ahead of `alcb2`.")
    assert row.endswith("| **disagrees**: the order is the reverse |")
    (row,) = lines_with(claims, "Batch 10: `ts` matches or outperforms `struct`.")
    assert row.endswith("| not measured yet | not measured yet |")
    for name in ("ackley", "games", "boxes-1", "difference-10"):
        assert (script.FIGURES / f"paper-{name}.png").exists()
        assert f"figures/results/paper-{name}.png" in page
    assert "8 replicates" in block(page, "figure games")
    assert "no finished runs yet" in block(page, "figure levy")


def test_demonstration_is_in_no_average(script, rows):
    results = load(rows)
    runs = {("hsc-y3-shear", *key[1:]): r for key, r in results.runs.items()}
    demo = replace(
        results,
        designs=(replace(results.designs[0], problems=("hsc-y3-shear",)),),
        runs=runs,
    )
    assert "–" not in script.blocks_of(demo)["medians 1"]().splitlines()[2][:40]
    assert len(script.blocks_of(demo)["pairs"]().splitlines()) == 2


def compared(script, wins, losses):
    return Pooled(
        batch=1,
        problems=13,
        wins=wins,
        losses=losses,
        ties=0,
        share=win_share(wins, losses, (0.45, 0.55)),
        share_anywhere=None,
        ratio=None,
        ratio_anywhere=None,
        ratio_problems=(),
        visible=visible_share(wins + losses),
    )


@pytest.mark.parametrize(
    ("wins", "losses", "ahead", "level"),
    [
        (730, 570, "agrees", "**disagrees**: a difference was seen"),
        (570, 730, "**disagrees**: the order", "**disagrees**: a difference was seen"),
        (655, 645, "**disagrees**: a win share outside", "agrees"),
        (15, 11, "open: no difference", "open: no difference"),
        (2, 1, "too few pairs", "too few pairs"),
    ],
)
def test_verdicts_follow_from_the_numbers(script, wins, losses, ahead, level):
    claims = importlib.import_module("paper_claims")
    found = compared(script, wins, losses)
    assert claims.ahead(found).startswith(ahead)
    assert claims.level(found).startswith(level)


@pytest.mark.skipif(
    not (ROOT / "results" / "paper").exists(), reason="the rows are not in this copy"
)
def test_committed_rows_give_a_part_of_the_page(script):
    results = load(ROOT / "results" / "paper")
    blocks = script.blocks_of(results)
    page = (DOCS / "results" / "paper.md").read_text("utf-8")
    for name in ("progress", "pairs", "medians 1", "single 10"):
        assert block(page, name) == blocks[name]()
