"""The fault injection: it finds what is lost, and a short round of it passes."""

import importlib
import random
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from sumbo import Optimizer
from sumbo.errors import CheckpointError

NAMES = ("disks", "programs", "runs", "studies", "tally")


@pytest.fixture(scope="module")
def faults():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parents[2]))
        modules = {n: importlib.import_module(f"benchmarks.faults.{n}") for n in NAMES}
        yield SimpleNamespace(**modules)


def test_a_value_that_was_told_and_is_gone_is_counted(faults, tmp_path):
    opt = Optimizer(faults.runs.SPACE, seed=3)
    x = opt.ask()
    opt.tell(x, 1.37)
    opt.save(tmp_path / "run.npz")
    told = faults.runs._line(x, 1.37)
    (tmp_path / "told").write_text(told)
    assert faults.runs.missing(tmp_path) == 0
    (tmp_path / "told").write_text(told + faults.runs._line(x, 1.38))
    assert faults.runs.missing(tmp_path) == 1


def test_damage_that_changes_a_value_is_counted_as_a_loss(faults, tmp_path):
    path = tmp_path / "values"
    path.write_bytes(bytes(range(60)))

    def careless(path):
        return path.read_bytes()

    def careful(path):
        if path.read_bytes() != bytes(range(60)):
            raise CheckpointError("damaged")

    rng = random.Random(4)
    assert (
        faults.disks._damage("", 5, [path], careless, faults.disks._flip, rng).lost == 5
    )
    tally = faults.disks._damage("", 5, [path], careful, faults.disks._cut, rng)
    assert (tally.survived, tally.lost) == (5, 0)
    assert path.read_bytes() == bytes(range(60))


def test_the_table_adds_up(faults):
    one, two = faults.tally.Tally("a"), faults.tally.Tally("b")
    one.add(kills=1)
    two.add(lost=2)
    two.add(wrong="left processes")
    assert not two.passed
    assert two.notes == ("2 values lost", "left processes")
    assert faults.tally.table([one, two]).splitlines()[-1] == "| all | 3 | 1 | 2 |"


def test_records_of_the_study_are_those_expected(faults):
    cell = next(faults.studies.DESIGN.all_cells())
    assert faults.studies.quick(cell).y.tobytes() == faults.studies._y(cell).tobytes()


@pytest.mark.slow
def test_a_short_round_loses_nothing(faults, tmp_path):
    tallies = [
        faults.runs.kills("serial", 3, tmp_path, 5),
        faults.runs.two_runs(1, tmp_path, 6),
    ]
    tallies += [
        *faults.disks.full(1, tmp_path, 7),
        faults.programs.hanging(2, tmp_path),
    ]
    assert [t.notes for t in tallies if not t.passed] == []
    assert np.sum([t.kills for t in tallies]) == 3
