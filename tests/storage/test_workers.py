"""Four workers on one storage, as processes of the command line; one is killed.

What was evaluated is recorded by the objective itself, in a file of its own.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter

import optuna
import pytest
from optuna.trial import TrialState

from sumbo.integrations.shared import open_storage

OBJECTIVE = """
import json, os, time

def cost(x):
    note("begin", x, None)
    time.sleep(0.3)
    value = (x[0] - 0.37) ** 2 + abs(x[1] * x[2] - 0.21)
    if x[0] > 1.4:
        note("end", x, None)
        raise ValueError(f"the solver diverged at {x[0]}")
    note("end", x, value)
    return value

def note(what, x, value):
    line = json.dumps([what, os.getpid(), [float(v) for v in x], value])
    with open("evaluations", "a") as file:  # one short write: lines do not mix
        file.write(line + "\\n")
"""
WORDS = "minimize objective:cost --bounds=-1.1:1.7*3 --n-init 5 --seed 11 --quiet"
SETTINGS = "--set candidates=25 --set starts=1 --heartbeat 4 --study shared"


class Team:
    """Workers on one storage, and what they evaluated."""

    def __init__(self, address, folder, budget):
        self.address, self.folder, self.budget = address, folder, budget
        (folder / "objective.py").write_text(OBJECTIVE)
        self.workers = []

    def start(self, count):
        for _ in range(count):
            result = self.folder / f"result{len(self.workers)}.json"
            words = [*WORDS.split(), *SETTINGS.split(), "--budget", str(self.budget)]
            words += ["--storage", self.address, "--json", str(result)]
            command = [sys.executable, "-m", "sumbo", *words]
            self.workers.append(subprocess.Popen(command, cwd=self.folder))

    def evaluations(self, what):
        path = self.folder / "evaluations"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line for line in map(json.loads, lines) if line[0] == what]

    def running(self):
        """Return (process, point) of the evaluations that began and did not end."""
        ended = [(pid, x) for _, pid, x, _ in self.evaluations("end")]
        begun = [(pid, x) for _, pid, x, _ in self.evaluations("begin")]
        return [evaluation for evaluation in begun if evaluation not in ended]

    def kill_one_in_an_evaluation(self, after):
        """Kill a worker with SIGKILL after so many evaluations; return its point."""
        while True:
            time.sleep(0.01)
            if len(self.evaluations("end")) < after or not self.running():
                continue
            pid, x = self.running()[-1]
            os.kill(pid, signal.SIGSTOP)  # it may be at the end in this very moment
            if (pid, x) in self.running():
                os.kill(pid, signal.SIGKILL)
                return pid, x
            os.kill(pid, signal.SIGCONT)

    def codes(self):
        return [worker.wait(timeout=500) for worker in self.workers]

    def results(self):
        files = sorted(self.folder.glob("result*.json"))
        return [json.loads(path.read_text()) for path in files]

    def trials(self):
        storage = open_storage(self.address).storage
        return optuna.load_study(study_name="shared", storage=storage).trials


@pytest.fixture
def team(address, tmp_path):
    team = Team(address, tmp_path, budget=24)
    yield team
    for worker in team.workers:
        worker.kill()
        worker.wait()


def points_of(trials):
    return [tuple(t.params[f"x{i}"] for i in range(3)) for t in trials]


@pytest.mark.slow
def test_four_workers_use_the_budget_once(team):
    team.start(4)  # at once, on a storage that does not exist
    assert team.codes() == [0, 0, 0, 0]
    begun = [tuple(x) for _, _, x, _ in team.evaluations("begin")]
    assert len(begun) == len(set(begun)) == 24
    assert len({pid for _, pid, _, _ in team.evaluations("begin")}) == 4
    trials = team.trials()
    assert sorted(points_of(trials)) == sorted(begun)
    for _, _, x, value in team.evaluations("end"):
        (trial,) = [t for t in trials if points_of([t]) == [tuple(x)]]
        assert trial.state == (
            TrialState.FAIL if value is None else TrialState.COMPLETE
        )
        assert trial.value == value
        if value is None:
            reason = f"ValueError: the solver diverged at {x[0]}"
            assert trial.user_attrs["sumbo:reason"] == reason
    first, *others = team.results()
    assert all(other == first for other in others)
    assert first["nfev"] == 24
    assert first["fun"] == min(t.value for t in trials if t.value is not None)


@pytest.mark.slow
def test_the_point_of_a_killed_worker_is_evaluated_again_and_nothing_else(team):
    team.start(4)
    pid, killed = team.kill_one_in_an_evaluation(after=9)
    codes = dict(zip([w.pid for w in team.workers], team.codes(), strict=True))
    assert codes.pop(pid) == -signal.SIGKILL
    assert list(codes.values()) == [0, 0, 0]
    begun = Counter(tuple(x) for _, _, x, _ in team.evaluations("begin"))
    assert begun.pop(tuple(killed)) == 2
    assert set(begun.values()) == {1}
    assert len(begun) == 23
    # Every value that was computed is in the storage, once.
    ended = Counter(tuple(x) for _, _, x, _ in team.evaluations("end"))
    assert set(ended.values()) == {1}
    assert len(ended) == 24
    trials = team.trials()
    assert len(trials) == 25
    assert all(t.state.is_finished() for t in trials)
    (dead,) = [t for t in trials if t.number in replaced(trials)]
    assert dead.state == TrialState.FAIL
    assert points_of([dead]) == [tuple(killed)]
    counted = [t for t in trials if t is not dead]
    assert sorted(points_of(counted)) == sorted(ended)
    for result in team.results():
        assert result["nfev"] == 24
        assert sorted(tuple(e["x"].values()) for e in result["evaluations"]) == sorted(
            ended
        )


def replaced(trials):
    return {n for t in trials for n in t.system_attrs.get("retry_history", ())}


@pytest.mark.slow
def test_a_run_that_was_interrupted_goes_on_with_the_same_points(team):
    team.start(2)
    while len(team.evaluations("end")) < 7:
        time.sleep(0.01)
    for worker in team.workers:
        worker.send_signal(signal.SIGINT)
    assert team.codes() == [130, 130]
    assert not [t for t in team.trials() if t.state == TrialState.RUNNING]
    waiting = [t for t in team.trials() if t.state == TrialState.WAITING]
    interrupted = set(points_of([t for t in waiting if t.params]))
    team.start(2)
    assert team.codes() == [130, 130, 0, 0]
    trials = team.trials()
    assert len(trials) == 24
    assert interrupted <= set(points_of(trials))
    begun = Counter(tuple(x) for _, _, x, _ in team.evaluations("begin"))
    assert {x for x, times in begun.items() if times > 1} <= interrupted
    ended = Counter(tuple(x) for _, _, x, _ in team.evaluations("end"))
    assert set(ended) == set(points_of(trials))
