"""A run that stops, however roughly, goes on as if it had not.

In other processes, so that nothing but the file can carry a run over.
"""

import json
import os
import random
import signal
import subprocess
import sys
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from searches import BOX, MIXED, QUICK, bowl, everything, run_python
from sumbo import Optimizer, checkpoint, methods, minimize
from sumbo.errors import CheckpointError
from sumbo.testing.scenes import BOX as SCENE, play


def begin(method, kind: Any = Optimizer) -> Any:
    return kind(SCENE, method=method, seed=7, n_init=5, **QUICK.get(method, {}))


# ---------------------------------------------------------------------- new processes
# Each line of the input names a file, what happened between it and the next one (points
# told, numbers of points asked), and where to save what comes of it.
GO_ON = """
import json, sys, time
from sumbo import Optimizer
time.time = lambda: 1.7e9
for line in open(sys.argv[1]):
    path, events, out = json.loads(line)
    opt = Optimizer.load(path)
    for kind, value in events:
        if kind == "ask":
            opt.ask(value)
        else:
            x = [float.fromhex(v) for v in value[0]]
            y = value[1]
            opt.tell(x, failed=True) if y is None else opt.tell(x, float.fromhex(y))
    opt.save(out)
"""


class Recorder(Optimizer):
    """An optimizer that writes down what happens between its saves."""

    def __init__(self, bounds, **settings):
        super().__init__(bounds, **settings)
        self.events, self.stages = [], []

    def ask(self, n=None):
        self.events.append(("ask", n))
        return super().ask(n)

    def tell(self, x, y=None, *, failed=False, earlier=False):
        super().tell(x, y, failed=failed, earlier=earlier)
        point = [v.hex() for v in np.asarray(x).tolist()]
        self.events.append(("tell", (point, None if failed else float(y).hex())))

    def keep(self, folder):
        path = folder / f"{self.method_name}-{len(self.stages)}"
        self.save(path)
        self.stages.append((path, self.events))
        self.events = []
        return self


def test_every_method_goes_on_bit_for_bit_in_a_new_process(tmp_path, monkeypatch):
    monkeypatch.setattr("sumbo.optimizer.asktell.time.time", lambda: 1.7e9)
    # Saved with no data, with points pending, after tells, in the middle of a batch,
    # before and after refits. Each file and what followed must give the next file, so
    # that all of them give the end of the undisturbed run.
    jobs, expected = [], {}
    for method in methods.names():
        recorder = begin(method, Recorder)
        play(recorder, lambda _, run=recorder: run.keep(tmp_path))
        recorder.keep(tmp_path)
        for (path, _), (wanted, events) in pairwise(recorder.stages):
            jobs.append(json.dumps((str(path), events, f"{wanted}-again")))
            expected[wanted] = wanted.with_name(f"{wanted.name}-again")
    assert len(jobs) >= 8 * len(methods.names())
    listing = tmp_path / "jobs"
    listing.write_text("\n".join(jobs))
    run_python(GO_ON, listing, hash_seed="9")
    different = [
        p.name for p, q in expected.items() if p.read_bytes() != q.read_bytes()
    ]
    assert not different


# ---------------------------------------------------------------------- this process
def test_a_loaded_optimizer_equals_the_saved_one(tmp_path):
    opt = Optimizer(
        MIXED, seed=4, n_init=3, transform="log", init="sobol", candidates=9
    )
    opt.tell(opt.ask(3), [2.5, 1.5, 3.5])
    opt.tell(opt.ask(), failed=True)
    opt.ask(2)
    opt.save(tmp_path / "run.npz")
    again = Optimizer.load(tmp_path / "run.npz")
    assert everything(again) == everything(opt)
    np.testing.assert_array_equal(again.times, opt.times)
    assert again.settings == opt.settings
    assert again.space == opt.space
    assert again.best[0].tolist() == opt.best[0].tolist()
    assert again.pending.tolist() == opt.pending.tolist()
    np.testing.assert_array_equal(again.y, opt.y)
    assert again.ask(2).tolist() == opt.ask(2).tolist()


def test_saving_changes_nothing(tmp_path):
    saved, unsaved = begin("ts"), begin("ts")
    for _ in range(8):
        saved.save(tmp_path / "run.npz")
        x = saved.ask()
        np.testing.assert_array_equal(x, unsaved.ask())
        y = float(np.sin(x).sum())
        saved.tell(x, y)
        unsaved.tell(x, y)


def test_explicit_and_overlapping_groups_come_back(tmp_path):
    opt = Optimizer(BOX, seed=4, groups=[(0, 2), (1, 2)])
    opt.save(tmp_path / "run.npz")
    assert Optimizer.load(tmp_path / "run.npz").settings["groups"] == ((0, 2), (1, 2))


def test_a_file_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(CheckpointError, match=r"none\.npz.*does not exist"):
        Optimizer.load(tmp_path / "none.npz")


# ---------------------------------------------------------------------- killed
# Every evaluation is written to a log, and is on disk before its value is returned. A
# thread kills the process some time after the evaluation of a given number has begun:
# while a point is asked, evaluated or saved.
RUN = """
import json, os, signal, sys, threading, time
sys.path.insert(0, sys.argv[1])
from searches import BOX, QUICK, bowl
from sumbo import minimize
number, delay = int(sys.argv[6]), float(sys.argv[7])
log = open(sys.argv[3], "a")

def fun(x):
    global number
    number -= 1
    if number == 0:
        die = lambda: os.kill(os.getpid(), signal.SIGKILL)
        threading.Timer(delay, die).start()
    time.sleep(0.003)
    y = bowl(x)
    log.write(json.dumps([v.hex() for v in x.tolist()]) + chr(10))
    log.flush()
    os.fsync(log.fileno())
    return y

minimize(fun, BOX, budget=int(sys.argv[4]), n_init=6, seed=8, checkpoint=sys.argv[2],
         batch=int(sys.argv[5]), **QUICK["ts"])
"""


def evaluated(log):
    """Return all evaluations; a line that was cut off is of one that did not end."""
    text = log.read_text() if log.exists() else ""
    return [tuple(json.loads(line)) for line in text.split("\n")[:-1]]


def hexed(X):
    return [tuple(v.hex() for v in x) for x in X.tolist()]


def kill_and_go_on(tmp_path, request, *, kills, budget, batch):
    """Kill a run again and again; return it when it is through, and all evaluations."""
    path, log = tmp_path / "run.npz", tmp_path / "log"
    dice, told = random.Random(f"{kills}/{batch}"), []

    def live(number, delay):
        arguments = [request.path.parents[1], path, log, budget, batch, number, delay]
        command = [sys.executable, "-c", RUN, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, check=False)

    for _ in range(kills):
        before = len(evaluated(log))
        life = live(dice.randint(1, 5), 0.04 * dice.random())
        assert life.returncode == -signal.SIGKILL, life.stderr.decode()
        now = Optimizer.load(path)  # never damaged, whenever the process died
        values = list(zip(hexed(now.X), now.y.tolist(), strict=True))
        assert values[: len(told)] == told, "a value told earlier is gone"
        told = values
        # All that this life evaluated is kept, but for the last, which was under way.
        here = evaluated(log)[before:]
        assert set(here[:-1]) <= {x for x, _ in told}, "an evaluation was lost"
    life = live(0, 0.0)
    assert life.returncode == 0, life.stderr.decode()
    return Optimizer.load(path), evaluated(log)


def assert_undisturbed(final, log, *, kills, budget, batch):
    whole = minimize(
        bowl, BOX, budget=budget, n_init=6, seed=8, batch=batch, **QUICK["ts"]
    )
    np.testing.assert_array_equal(final.X, whole.x_iters)
    np.testing.assert_array_equal(final.y, whole.func_vals)
    assert set(log) == set(hexed(final.X))
    # A death costs at most the evaluation that was under way.
    assert len(log) <= budget + kills


def test_a_run_that_is_killed_thrice_ends_as_if_it_had_not(tmp_path, request):
    how = {"kills": 3, "budget": 36, "batch": 2}
    assert_undisturbed(*kill_and_go_on(tmp_path, request, **how), **how)


@pytest.mark.slow
@pytest.mark.parametrize("batch", [1, 5])
def test_a_run_that_is_killed_twenty_times_ends_as_if_it_had_not(
    tmp_path, request, batch
):
    how = {"kills": 20, "budget": 250, "batch": batch}
    assert_undisturbed(*kill_and_go_on(tmp_path, request, **how), **how)


def test_a_killed_run_leaves_files_that_the_next_save_does_not_trip_over(tmp_path):
    opt = begin("ts")
    for name in (".run.npz.0123456789ab.tmp", ".run.npz.tmp"):
        (tmp_path / name).write_bytes(os.urandom(40))
    opt.save(tmp_path / "run.npz")
    assert everything(Optimizer.load(tmp_path / "run.npz")) == everything(opt)


# ---------------------------------------------------------------------- times
def test_values_carry_the_time_at_which_they_were_told(tmp_path, monkeypatch):
    # The clock stands still between two tells: logging reads it, too.
    now = 1.7e9
    monkeypatch.setattr("sumbo.optimizer.asktell.time.time", lambda: now)
    opt = Optimizer(SCENE, seed=7, n_init=5)
    X = opt.ask(3)
    opt.tell(X[0], 2.5, earlier=True)
    opt.tell(X[1], 3.5)
    now += 40.5
    opt.tell(X[2], failed=True)
    opt.save(tmp_path / "run.npz")
    times = Optimizer.load(tmp_path / "run.npz").times
    np.testing.assert_array_equal(times, [np.nan, 1.7e9, 1.7e9 + 40.5])


def test_a_file_without_times_is_read(tmp_path):
    opt = Optimizer(SCENE, seed=7, n_init=5)
    opt.tell(opt.ask(2), [2.5, 3.5])
    opt.save(tmp_path / "run.npz")
    header, arrays = checkpoint.load(tmp_path / "run.npz")
    del arrays["history.times"]
    checkpoint.save(tmp_path / "old.npz", header, arrays)
    assert np.isnan(Optimizer.load(tmp_path / "old.npz").times).all()
