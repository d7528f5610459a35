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
    for name in ("make_results", "paper_answer", "paper_claims"):
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
    assert "| 24 | 100.0 % (85.8 to 100.0) |" in row
    first, second = block(page, "answer").splitlines()
    assert first.startswith("- Batch size 1: **something is lost.** `ts` ended below")
    assert second.startswith("- Batch size 10: **something is lost.** `ts`")
    evidence = block(page, "evidence")
    assert "| pairs per problem | 8 | 8 |" in evidence
    assert "| 24 / 0 / 0 | 24 / 0 / 0 |" in evidence
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


def test_other_studies_join_when_their_rows_are_there(script, rows):
    answer = importlib.import_module("paper_answer")
    results = load(rows)
    assert "Not run yet: start values" in answer.sensitivity(results, rows)
    assert answer.demonstration(rows) == "Not run yet."
    shutil.copytree(rows, rows.parent / "known-structure")
    shutil.copytree(rows, rows.parent / "hsc-synthetic")
    text = answer.sensitivity(results, rows)
    # Only the synthetic function counts: 8 pairs of one problem.
    (row, _) = lines_with(text, "| true groups, a proper fit and local search |")
    assert "| 1 | 1 | 8 | 100.0 % (63.1 to 100.0) |" in row
    assert "true groups" not in text.split("Not run yet")[1]
    table = answer.demonstration(rows)
    assert len(lines_with(table, "| ts | 1 | 8 |")) == len(PROBLEMS)


def test_separate_seeds_stand_beside_common_ones(script, rows):
    answer = importlib.import_module("paper_answer")
    results = load(rows)
    (row, _) = lines_with(answer.correlation(results, rows), "1.00 (1.00 to 1.00)")
    assert row == "| 1 | 1.00 (1.00 to 1.00) | 3 | – | – |"
    shutil.copytree(rows, rows.parent / "separate-seeds")
    (row, _) = lines_with(answer.correlation(results, rows), "1.00 (1.00 to 1.00)")
    assert row == "| 1 | 1.00 (1.00 to 1.00) | 3 | 1.00 (1.00 to 1.00) | 3 |"


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


@pytest.mark.parametrize(
    ("wins", "losses", "finished", "said"),
    [
        (730, 570, True, "something is lost"),
        (570, 730, True, "something is gained"),
        (655, 645, True, "next to nothing is lost"),
        (15, 11, False, "no loss was seen so far"),
        (15, 11, True, "no loss was seen."),
        (2, 1, False, "too few runs for an answer (3 pairs of runs)"),
        (0, 0, False, "all 0 pairs of runs ended equal"),
    ],
)
def test_first_paragraph_says_what_the_numbers_allow(
    script, wins, losses, finished, said
):
    answer = importlib.import_module("paper_answer")
    found = compared(script, wins, losses)
    assert said in answer.sentence(found, finished=finished)


@pytest.mark.skipif(
    not (ROOT / "results" / "paper").exists(), reason="the rows are not in this copy"
)
def test_committed_rows_give_a_part_of_the_page(script):
    results = load(ROOT / "results" / "paper")
    blocks = script.blocks_of(results, ROOT / "results" / "paper")
    page = (DOCS / "results" / "paper.md").read_text("utf-8")
    for name in ("answer", "progress", "pairs", "medians 1", "single 10"):
        assert block(page, name) == blocks[name]()
