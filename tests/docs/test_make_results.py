import csv
import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from study_fakes import design, fake_record
from sumbo.problems import get
from sumbo.study.storage import encode, write_design, write_record

DOCS = Path(__file__).parents[2] / "docs"
PAGE = "before\n<!-- simulators -->\nold\n<!-- end -->\nafter\n"


@pytest.fixture
def script(tmp_path, monkeypatch):
    if not (DOCS / "make_results.py").exists():
        pytest.skip("the documentation is not part of an sdist")
    spec = importlib.util.spec_from_file_location("made", DOCS / "make_results.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "DATA", tmp_path / "data")
    monkeypatch.setattr(module, "PAGES", tmp_path / "results")
    page_of(module).parent.mkdir()
    page_of(module).write_text(PAGE)
    (module.PAGES / "index.md").write_text("no marker")
    return module


def page_of(script):
    return script.PAGES / "simulators.md"


def study(folder, replicates, best, methods=("logei", "optuna-gp")):
    """Write runs of a default and rivals that end at ``best`` of their replicate."""
    ours = design(
        problems=("rover", "push"),
        methods={1: methods},
        replicates=9,
        n_init=20,
        acquisitions=100,
    )
    write_design(folder, ours)
    for cell in ours.all_cells():
        if cell.replicate in replicates:
            record = fake_record(cell)
            y = best(cell) + np.linspace(37.5, 0.0, 120)
            write_record(folder, cell, encode(replace(record, y=y)))
    return folder


def ends(cell):
    return (4.25 if cell.method == "logei" else 4.75) + 0.125 * cell.replicate


def run(script, monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["make_results.py", *map(str, words)])
    script.main()
    return page_of(script).read_text()


def test_table_compares_runs_of_the_same_replicate(script, tmp_path, monkeypatch):
    folder = study(tmp_path / "runs", range(5), ends)
    page = run(script, monkeypatch, "--simulators", folder)
    assert page.startswith("before\n<!-- simulators -->\n| batch |")
    assert page.endswith("<!-- end -->\nafter\n")
    rows = [line for line in page.splitlines() if line.startswith("| 1 ")]
    # Five pairs won of five: p = 2 / 2⁵. The distance to the minimum of push is known.
    assert rows == [
        "| 1 | rover (value) | optuna-gp | 4.5 | 5 | 5 : 0 | 0.062 | 5 |",
        "| 1 | push | optuna-gp | 15.57 | 16.07 | 5 : 0 | 0.062 | 5 |",
    ]


def test_records_add_to_the_rows_and_replace_them(script, tmp_path, monkeypatch):
    run(script, monkeypatch, "--simulators", study(tmp_path / "a", range(3), ends))
    later = study(tmp_path / "b", [2, 5], lambda cell: ends(cell) - 1.0)
    run(script, monkeypatch, "--simulators", later)
    with (tmp_path / "data" / "simulators.csv").open() as file:
        rows = list(csv.DictReader(file))
    found = {
        int(row["replicate"]): float(row["best120"])
        for row in rows
        if (row["problem"], row["method"]) == ("rover", "logei")
    }
    assert found == {0: 4.25, 1: 4.375, 2: 3.5, 5: 3.875}
    assert len(rows) == 16


def test_rows_read_are_the_rows_written(script, tmp_path, monkeypatch):
    folder = study(tmp_path / "runs", range(2), ends)
    written = script.runs_of("simulators", folder)
    script.write_runs("simulators", written)
    monkeypatch.setattr(script, "read_records", lambda folder, points: ())
    read = script.runs_of("simulators", folder)
    assert set(read) == set(written)
    for key, runs in written.items():
        for replicate, run_ in runs.items():
            again = read[key][replicate]
            np.testing.assert_allclose(again.best, run_.best, rtol=1e-11)
            assert again.minimum == run_.minimum
            assert again.cpu_s == pytest.approx(run_.cpu_s, rel=5e-3)


def test_block_that_cannot_be_written_is_refused(script, tmp_path, monkeypatch, capsys):
    folder = study(tmp_path / "runs", [0], ends)
    with pytest.raises(SystemExit):
        run(script, monkeypatch, "--simulators", folder, "--only", "duels")
    assert "there is simulators, simulator runs" in capsys.readouterr().err
    assert page_of(script).read_text() == PAGE


def test_told_structures_are_compared_by_gaps_and_decades(
    script, tmp_path, monkeypatch
):
    def one_decade_or_two(cell):
        # Runs begin 37.5 above their end (31.5 after 20 evaluations).
        start = 37.5 * (1 - 19 / 119)
        share = 9.0 if cell.method == "logei" else 99.0
        return get("push").minimum + start / share + 1e-9 * cell.replicate

    methods = ("logei", "logei-one")
    folder = study(tmp_path / "runs", range(6), one_decade_or_two, methods)
    page_of(script).write_text(PAGE.replace("simulators", "structures"))
    page = run(script, monkeypatch, "--structures", folder)
    (row,) = [line for line in page.splitlines() if line.startswith("| push ")]
    assert row.startswith("| push | one group | 3.5 / 0.32 | 1.00 / 2.00 | ")
    assert row.endswith(" | 0 : 6 | 0.031 | 6 |")
    assert (tmp_path / "data" / "structures.csv").exists()


def test_ranks_are_of_replicates_and_problems_that_all_methods_have(
    script, tmp_path, monkeypatch
):
    def third_is_first_on_push(cell):
        place = {"logei": 0.0, "optuna-gp": 1.0, "optuna-tpe": 2.0}[cell.method]
        return 4.0 + (-place if cell.problem == "push" else place)

    methods = ("logei", "optuna-gp", "optuna-tpe")
    folder = study(tmp_path / "runs", range(5), third_is_first_on_push, methods)
    runs = script.runs_of("quality", folder)
    lines = script.ranks(runs, ("rover", "push")).splitlines()[2:]
    assert sorted(lines) == [
        "| 1 | logei | 2.00 | 1 of 2 |",
        "| 1 | optuna-gp | 2.00 | 0 of 2 |",
        "| 1 | optuna-tpe | 2.00 | 1 of 2 |",
    ]
    del runs["push", 1, "optuna-tpe"][3]
    lines = script.ranks(runs, ("rover", "push")).splitlines()[2:]
    assert lines == [
        "| 1 | logei | 1.00 | 1 of 1 |",
        "| 1 | optuna-gp | 2.00 | 0 of 1 |",
        "| 1 | optuna-tpe | 3.00 | 0 of 1 |",
    ]
