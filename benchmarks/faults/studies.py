"""Kills of a study, its workers and its cells, and two drivers on one folder."""

import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.faults.processes import alive, descendants, kill, start
from benchmarks.faults.tally import Tally
from sumbo.rng import rng_at
from sumbo.study import Cell, Design, Record
from sumbo.study.engine import run
from sumbo.study.storage import read_records

RUNNER = "benchmarks.faults.studies:quick"
DESIGN = Design(
    name="faults",
    seed=83,
    problems=("ackley2", "levy5"),
    methods={1: ("ts", "ats"), 3: ("uniform",)},
    replicates=8,
    n_init=4,
    acquisitions=7,
    preset="default",
)


def quick(cell: Cell) -> Record:
    """Return a record after a moment: here the study is on trial, not the methods."""
    time.sleep(0.15)
    rng = rng_at(cell.seed, cell.problem + cell.method, cell.batch, cell.replicate)
    N, asks = cell.n_init + cell.acquisitions, -(-cell.acquisitions // cell.batch)
    return Record(
        cell=cell,
        dim=3,
        seed=int(rng.integers(2**32)),
        problem_seed=None,
        best_known=0.0,
        exact=True,
        y=rng.gamma(2.1, 0.7, N),
        x=rng.random((N, 3)),
        fit_cpu_s=np.full(asks, 0.01),
        ask_cpu_s=np.full(asks, 0.02),
        eval_s=np.full(N, 0.003),
        seconds=0.15,
        started="2026-01-02T03:04:05+00:00",
        host="faults",
        revision="",
        versions={},
    )


def drive(folder: Path, jobs: int) -> None:
    """Start or continue the study; exit with 0 if every cell is done."""
    options: dict[str, Any] = {"jobs": jobs, "progress": False, "retry_failed": True}
    summary = run(DESIGN, folder, runner=RUNNER, retries=3, **options)
    if summary.failed:
        os._exit(3)


def kills(wanted: int, folder: Path, seed: int) -> list[Tally]:
    """Return what became of studies whose processes were killed, by the victim."""
    rng = random.Random(seed)
    victims = ("cell", "worker", "cell", "driver", "cell")
    tallies = {v: Tally(f"study: {v} killed") for v in dict.fromkeys(victims)}
    done = round_ = 0
    while done < wanted:
        place = folder / f"study-{round_}"
        place.mkdir()
        process = start(drive, place, 2)
        for victim in victims:
            if done < wanted and _reached(process, place, rng):
                before = _texts(place)
                process, ended = _kill(process, place, victim, rng)
                after = _texts(place)
                lost = sum(after.get(name) != text for name, text in before.items())
                wrong = "" if ended else "processes left behind"
                tallies[victim].add(wrong=wrong, lost=lost, kills=1)
                done += 1
        while process.exitcode != 0:
            process.join()
            if process.exitcode != 0:
                process = start(drive, place, 2)
        if _values(place) != _expected():
            tallies["driver"].add(wrong="another result than undisturbed")
        round_ += 1
    return list(tallies.values())


def two_drivers(wanted: int, folder: Path, seed: int) -> Tally:
    """Return what became of studies that two drivers ran into the same folder."""
    tally = Tally("study: a second driver on the same folder")
    rng = random.Random(seed)
    for i in range(wanted):
        place = folder / f"drivers-{i}"
        place.mkdir()
        first = start(drive, place, 1)
        time.sleep(rng.uniform(0.0, 3.0))
        second = start(drive, place, 1)
        first.join()
        second.join()
        codes = [first.exitcode, second.exitcode]
        wrong = "" if codes == [0, 0] else f"exit codes {codes}"
        lost = 0 if _values(place) == _expected() else 1
        tally.add(wrong=wrong, lost=lost)
    return tally


def _reached(process: Any, place: Path, rng: random.Random) -> bool:
    """Wait for a random moment; return whether the study still runs then."""
    goal = len(_texts(place)) + rng.randint(0, 4)
    while process.is_alive() and len(_texts(place)) < goal:
        time.sleep(0.02)
    process.join(rng.uniform(0.0, 0.3))
    return process.is_alive()


def _kill(process: Any, place: Path, victim: str, rng: random.Random) -> Any:
    """Kill one; return the driver, a new one if that was killed, and if all ended."""
    below = descendants(process.pid)
    if victim == "driver":
        os.kill(process.pid, signal.SIGKILL)  # alone: the others must notice
        process.join()
        end = time.monotonic() + 120.0
        while any(map(alive, below)) and time.monotonic() < end:
            time.sleep(0.1)
        ended = not any(map(alive, below))
        return start(drive, place, 2), ended
    parents = {pid: descendants(pid) for pid in below}
    leaves = [pid for pid in below if not parents[pid]]
    chosen = leaves if victim == "cell" else [p for p in below if parents[p]] or leaves
    if chosen:
        pid = rng.choice(chosen)
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            kill(process)
            return start(drive, place, 2), True
    return process, True


def _texts(place: Path) -> dict[str, bytes]:
    records = place / "records"
    if not records.is_dir():
        return {}
    files = (p for p in records.iterdir() if p.suffix == ".json" and p.name[0] != ".")
    return {path.name: path.read_bytes() for path in files}


def _values(place: Path) -> dict[str, bytes]:
    return {record.cell.id: record.y.tobytes() for record in read_records(place)}


def _expected() -> dict[str, bytes]:
    cells = DESIGN.all_cells()
    return {cell.id: _y(cell).tobytes() for cell in cells}


def _y(cell: Cell) -> Any:
    rng = rng_at(cell.seed, cell.problem + cell.method, cell.batch, cell.replicate)
    rng.integers(2**32)
    return rng.gamma(2.1, 0.7, cell.n_init + cell.acquisitions)
