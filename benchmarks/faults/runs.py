"""Kills of ``minimize`` at random moments, and two runs on one checkpoint."""

import contextlib
import os
import random
import signal
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import sumbo
from benchmarks.faults.processes import FORK, descendants, kill, start
from benchmarks.faults.tally import Tally
from sumbo.errors import CheckpointError, EvaluationError

SPACE = [
    sumbo.Real("rate", 1e-3, 0.7, log=True),
    sumbo.Real("shift", -2.3, 1.9),
    sumbo.Integer("depth", 2, 19),
]
BUDGET = 24
SETTINGS: dict[str, Any] = {
    "method": "ts",
    "groups": "singletons",
    "n_init": 7,
    "candidates": 40,
    "budget": BUDGET,
}
REFUSED = 3  # exit code of a run that another one keeps from the checkpoint


def objective(x: Any) -> float:
    """Return a value after a moment, so that kills hit evaluations too."""
    time.sleep(0.004)
    return float((np.log(x[0]) + 2.7) ** 2 + abs(x[1] - 0.37) + (x[2] - 11.0) ** 2 / 50)


def minimize(folder: Path, how: str, seed: int) -> None:
    """Start or continue the run in a folder, with a line per value that was told."""
    ledger = os.open(folder / "told", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    known = 0

    def note(result: Any) -> None:
        # In one write, after `minimize` has saved: from here on nothing may be lost.
        nonlocal known
        rows = zip(result.x_iters[known:], result.func_vals[known:], strict=True)
        os.write(ledger, "".join(_line(x, y) for x, y in rows).encode())
        known = result.nfev

    options = {"checkpoint": folder / "run.npz", "callback": note, "seed": seed}
    try:
        if how == "processes":
            with ProcessPoolExecutor(2, mp_context=FORK) as workers:
                result = sumbo.minimize(
                    objective, SPACE, workers=workers, **options, **SETTINGS
                )
        else:
            workers = 2 if how == "threads" else 1
            result = sumbo.minimize(
                objective, SPACE, workers=workers, **options, **SETTINGS
            )
    except CheckpointError as error:
        os._exit(REFUSED if "is in use by process" in str(error) else 4)
    except EvaluationError:
        os._exit(5)  # a worker was killed; the run is continued by the next
    if result.nfev != BUDGET:
        os._exit(6)


def kills(how: str, wanted: int, folder: Path, seed: int) -> Tally:
    """Return what became of runs that were killed ``wanted`` times in all."""
    tally = Tally(f"`minimize`, {how}: process killed")
    rng = random.Random(seed)
    longest = 0.5 * _undisturbed(seed, folder)  # about two kills per run
    while tally.tried < wanted:
        place = folder / f"{how}-{seed}"
        place.mkdir()
        before = tally.tried
        while True:
            process = start(minimize, place, how, seed)
            enough = tally.tried >= wanted
            process.join(None if enough else rng.uniform(0.0, longest))
            if how == "processes" and rng.random() < 0.3:
                _kill_one_below(process, rng)
                process.join(longest)
            if not kill(process):
                if process.exitcode == 0:
                    break
                if process.exitcode != 5:
                    tally.add(wrong=f"exit code {process.exitcode}")
                    break
            told = missing(place)
            tally.add(lost=told, kills=1)
        wrong = _difference(place, how, seed, folder)
        if wrong and tally.tried > before:
            tally.survived -= 1
            tally.notes += (wrong,)
        seed += 1
    return tally


def missing(place: Path) -> int:
    """Return how many values that were told the checkpoint does not hold."""
    ledger, saved = place / "told", place / "run.npz"
    told = ledger.read_text().splitlines() if ledger.exists() else []
    if not told:
        return 0
    opt = sumbo.Optimizer.load(saved)
    held = {_line(x, y).strip() for x, y in zip(opt.X, opt.y, strict=True)}
    return len(set(told) - held)


def two_runs(wanted: int, folder: Path, seed: int) -> Tally:
    """Return what became of runs that a second one was started beside."""
    tally = Tally("`minimize`: a second run on the same checkpoint")
    rng = random.Random(seed)
    longest = _undisturbed(seed, folder)
    for i in range(wanted):
        place = folder / f"two-{i}"
        place.mkdir()
        first = start(minimize, place, "serial", seed + i)
        time.sleep(rng.uniform(0.0, longest))
        second = start(minimize, place, "serial", seed + i)
        first.join()
        second.join()
        codes = sorted([first.exitcode, second.exitcode])
        wrong = _difference(place, "serial", seed + i, folder)
        # The second one may come when the first has just ended: then it has nothing
        # left to do, which is as good.
        if codes not in ([0, REFUSED], [0, 0]):
            wrong = f"exit codes {codes}"
        tally.add(wrong=wrong, lost=missing(place))
    return tally


def _difference(place: Path, how: str, seed: int, folder: Path) -> str:
    """Return in what a finished run differs from an undisturbed one."""
    opt = sumbo.Optimizer.load(place / "run.npz")
    if len(opt.y) != BUDGET or len({tuple(x) for x in opt.X.tolist()}) != BUDGET:
        return f"{len(opt.y)} values, or a point twice"
    if how != "serial":
        return ""  # which points are asked depends on which evaluation ends first
    _undisturbed(seed, folder)
    same = sumbo.Optimizer.load(folder / f"undisturbed-{seed}" / "run.npz")
    equal = opt.X.tobytes() == same.X.tobytes() and opt.y.tobytes() == same.y.tobytes()
    return "" if equal else "not bit-identical to an undisturbed run"


def _undisturbed(seed: int, folder: Path) -> float:
    """Return how many seconds a run takes that nobody kills; its files are kept."""
    place = folder / f"undisturbed-{seed}"
    clock = place / "seconds"
    if not clock.exists():
        place.mkdir()
        begin = time.monotonic()
        start(minimize, place, "serial", seed).join()
        clock.write_text(f"{time.monotonic() - begin}")
    return float(clock.read_text())


def _kill_one_below(process: Any, rng: random.Random) -> None:
    below = descendants(process.pid)
    if below:
        with contextlib.suppress(ProcessLookupError):  # it may just have ended
            os.kill(rng.choice(below), signal.SIGKILL)


def _line(x: Any, y: Any) -> str:
    return " ".join(float(v).hex() for v in (*x, y)) + "\n"
