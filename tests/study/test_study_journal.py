"""Slow evaluations of an unfinished cell are read on resume, never repeated."""

import json
import signal
import textwrap
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import study_fakes as fakes
from sumbo.problems import counted, get, noisy
from sumbo.study import cell as cells, engine, journal
from sumbo.study.design import Cell

CELL = Cell(
    problem="levy2",
    method="qff",  # fast, and its points depend on the values
    batch=3,
    replicate=1,
    seed=417,
    n_init=5,
    acquisitions=8,
    preset="paper",
    settings={"grid": 50},
)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return a function that runs the cell, and returns its record and its calls."""
    monkeypatch.setattr(journal, "SLOW", 0.0)

    def play(wrap=lambda problem: problem):
        problem, seed = problem_and_seed()
        seen = counted(wrap(problem))
        monkeypatch.setattr(cells, "problem_of", lambda cell: (seen, seed))
        with journal.journals_in(tmp_path):
            record = cells.run_cell(CELL)
        return record, seen.count

    return play


def problem_and_seed():
    return get("levy2", seed=38), 38


def file_of(folder):
    (path,) = (folder / journal.FOLDER).iterdir()
    return path


def test_a_finished_journal_answers_every_evaluation(run, tmp_path):
    first, calls = run()
    assert calls == 13
    again, calls = run()
    assert calls == 0
    assert_array_equal(again.x, first.x)
    assert_array_equal(again.y, first.y)
    assert_array_equal(again.eval_s, first.eval_s)
    assert journal.unfinished(tmp_path, [CELL]) == ((CELL, 13),)


@pytest.mark.parametrize("kept", [1, 6, 13])
def test_a_journal_that_was_cut_off_is_continued(run, tmp_path, kept):
    whole, _ = run()
    lines = file_of(tmp_path).read_text().split("\n")
    cut = "\n".join(lines[: 1 + kept])
    file_of(tmp_path).write_text(cut[:-7])  # in the middle of its last line
    again, calls = run()
    assert calls == 13 - (kept - 1)
    assert_array_equal(again.x, whole.x)
    assert_array_equal(again.y, whole.y)
    assert run()[1] == 0  # what was written after the broken line is read


def test_the_values_come_from_the_journal(run, tmp_path):
    run()
    lines = [json.loads(line) for line in file_of(tmp_path).read_text().split("\n")]
    lines[4][2] += 0.25
    file_of(tmp_path).write_text("\n".join(json.dumps(line) for line in lines))
    record, calls = run()
    problem, _ = problem_and_seed()
    assert calls < 13
    assert record.y[lines[4][0]] == pytest.approx(problem(record.x[3]) + 0.25)


def test_another_point_is_evaluated(run, tmp_path):
    whole, _ = run()
    lines = [json.loads(line) for line in file_of(tmp_path).read_text().split("\n")]
    lines[2][1][0] = np.nextafter(lines[2][1][0], 9)
    file_of(tmp_path).write_text("\n".join(json.dumps(line) for line in lines))
    again, calls = run()
    assert calls == 1
    assert_array_equal(again.y, whole.y)


def test_a_journal_of_other_software_does_not_count(run, monkeypatch):
    run()
    monkeypatch.setattr(cells, "versions", lambda: {"python": "3.99"})
    assert run()[1] == 13
    assert run()[1] == 0


def test_noise_and_fast_evaluations_are_not_written(run, tmp_path, monkeypatch):
    assert run(lambda problem: noisy(problem, 0.3))[1] == 13
    monkeypatch.setattr(journal, "SLOW", 60.0)
    assert run()[1] == 13
    assert not (tmp_path / journal.FOLDER).exists()


def test_outside_of_a_study_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "SLOW", 0.0)
    monkeypatch.chdir(tmp_path)
    cells.run_cell(replace(CELL, method="uniform", settings={}))
    assert not list(tmp_path.iterdir())


MODULE = """
    import os, signal
    from dataclasses import dataclass
    from pathlib import Path
    import numpy as np
    from sumbo.problems import Problem, problem
    from sumbo.study import journal

    journal.SLOW = 0.0
    LOG = Path(__file__).with_name("calls")

    @dataclass(frozen=True, kw_only=True, eq=False)
    class Fragile(Problem):
        def evaluate(self, X):
            for x in X:
                with LOG.open("a") as file:
                    file.write(".")
                if LOG.stat().st_size == 7:
                    os.kill(os.getpid(), signal.SIGKILL)
            return np.sin(3.1 * X).sum(axis=1)

    @problem("fragile", dim=2, cost="slow", description="dies once", cite="sobol2001")
    def fragile() -> Fragile:
        return Fragile(
            name="fragile",
            bounds=np.array([[0.3, 2.9], [-1.2, 4.4]]),
            parameters=("a", "b"),
            description="dies once",
            cite="sobol2001",
        )
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs signals of POSIX")
def test_a_cell_whose_process_was_killed_goes_on(tmp_path, monkeypatch):
    (tmp_path / "fragile_problem.py").write_text(textwrap.dedent(MODULE))
    monkeypatch.syspath_prepend(str(tmp_path))
    design = fakes.design(
        problems=("fragile",),
        methods={1: ("uniform",)},
        replicates=1,
        settings={},
        modules=("fragile_problem",),
    )
    folder = Path(tmp_path / "runs")
    monkeypatch.setattr(engine, "_skipped", lambda design, cluster: ())
    summary = engine.run(design, folder, jobs=1, progress=False)
    assert (summary.done, summary.failed) == (1, 0)
    # 11 evaluations, of which the seventh began twice and none was repeated.
    assert (tmp_path / "calls").stat().st_size == 12
    assert not list((folder / journal.FOLDER).iterdir())
    assert engine.status(folder).unfinished == ()
