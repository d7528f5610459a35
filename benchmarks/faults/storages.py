"""Kills of workers that share a run through a storage of Optuna."""

import json
import os
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import optuna

from benchmarks.faults.processes import kill, start
from benchmarks.faults.runs import SPACE
from benchmarks.faults.tally import Tally
from sumbo.integrations.shared import minimize_shared, open_storage
from sumbo.integrations.shared_trials import SharedTrials

STORAGES = {"SQLite": "sqlite:///{}/run.db", "journal": "journal:{}/run.log"}
WORKERS = 3
BUDGET = 20
# Seconds; a worker that is silent for three times as long counts as dead. Less would
# take workers for dead that a busy machine does not let run.
HEARTBEAT = 3
# Seconds between two kills, at most: a run takes about four of them.
LONGEST_S = 3.0
SETTINGS: dict[str, Any] = {
    "method": "ts",
    "groups": "singletons",
    "n_init": 7,
    "candidates": 40,
    "seed": 59,
}


def work(place: Path, kind: str) -> None:
    """Join the run of a folder; note evaluations that begin and values seen."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    begun = os.open(place / "begun", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    told = os.open(place / "told", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def objective(x: Any) -> float:
        _note(begun, [os.getpid(), _point(x)])
        time.sleep(0.05)
        return abs(x[0] - 0.213) + abs(x[1] - 0.37) ** 1.3 + (x[2] - 11) ** 2 / 50

    def note(result: Any) -> None:
        # From here on, nothing that this worker has seen may be lost.
        for x, y in zip(result.x_iters, result.func_vals, strict=True):
            _note(told, [_point(x), y])

    result = minimize_shared(
        objective,
        SPACE,
        storage=STORAGES[kind].format(place),
        study="faults",
        budget=BUDGET,
        callback=note,
        heartbeat=HEARTBEAT,
        **SETTINGS,
    )
    if result.nfev != BUDGET:
        os._exit(6)


def kills(kind: str, wanted: int, folder: Path, seed: int) -> Tally:
    """Return what became of runs whose workers were killed ``wanted`` times."""
    tally = Tally(f"shared run, {kind}: a worker of {WORKERS} killed")
    rng = random.Random(seed)
    round_ = 0
    while tally.tried < wanted:
        place = folder / f"{kind}-{round_}"
        place.mkdir()
        workers = [start(work, place, kind) for _ in range(WORKERS)]
        killed: set[int] = set()
        while tally.tried + len(killed) < wanted:
            time.sleep(rng.uniform(0.0, LONGEST_S))
            running = [w for w in workers if w.is_alive()]
            if not running:
                break
            victim = rng.choice(running)
            if kill(victim):
                killed.add(victim.pid)
                workers.remove(victim)
                workers.append(start(work, place, kind))
        for worker in workers:
            worker.join()
        codes = {worker.exitcode for worker in workers}
        wrong = f"exit codes {codes}" if codes != {0} else ""
        known = _known(place, kind)
        wrong = wrong or _difference(known, place, killed)
        lost = len(_told(place) - {json.dumps(entry) for entry in known})
        for _ in killed:
            tally.add(wrong=wrong, lost=lost, kills=1)
            wrong, lost = "", 0  # counted once
        round_ += 1
    return tally


def _known(place: Path, kind: str) -> list[list[Any]]:
    """Return the points of the storage with their values, each as often as counted."""
    opened = open_storage(STORAGES[kind].format(place), heartbeat=HEARTBEAT)
    study = optuna.load_study(study_name="faults", storage=opened.storage)
    finished = SharedTrials(opened, study, BUDGET).progress().finished
    names = [p.name for p in SPACE]
    return [[_point([t.params[n] for n in names]), t.value] for t in finished]


def _difference(known: list[list[Any]], place: Path, killed: set[int]) -> str:
    """Return in what a finished run differs from what is promised."""
    if len(known) != BUDGET:
        return f"{len(known)} evaluations instead of {BUDGET}"
    if any(value is None for _, value in known):
        return "an evaluation without a value"
    lines = (place / "begun").read_text("ascii").splitlines()
    begun = [(pid, tuple(x)) for pid, x in map(json.loads, lines)]
    # Only what a killed worker left may have begun twice.
    by_others = Counter(x for pid, x in begun if pid not in killed)
    twice = [x for x, times in by_others.items() if times > 1]
    return f"evaluated twice: {twice}" if twice else ""


def _told(place: Path) -> set[str]:
    return set((place / "told").read_text("ascii").splitlines())


def _point(x: Any) -> list[float]:
    return [float(value) for value in x]


def _note(ledger: int, entry: Any) -> None:
    os.write(ledger, (json.dumps(entry) + "\n").encode())  # one write: lines do not mix
