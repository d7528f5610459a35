"""Measure the study: cost of the engine per cell, and of a report on 18 000 records.

    python benchmarks/study.py [engine] [report]

The engine runs cells that keep a core busy for one second of wall clock. Its running
overhead is the slope between a shorter and a longer run, which leaves out the start of
the processes; the start is shown on its own.
"""

import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from sumbo.study import Cell, Design, Record, load, load_design, report, run, verdict
from sumbo.study.storage import encode, filename, write_design

PAPER = Path(__file__).parents[1] / "studies" / "paper.toml"
JOBS = 2
DIMENSIONS = {"push": 14, "lunar": 12, "rover": 60, "desi": 7}
DIMENSIONS |= {"kids-1000": 14, "hsc-y3-shear": 25}


def busy_second(cell: Cell) -> Record:
    """Return a small record after one second of work."""
    end = time.monotonic() + 1.0
    while time.monotonic() < end:
        pass
    return record_of(cell, np.random.default_rng(cell.replicate))


def record_of(cell: Cell, rng: np.random.Generator) -> Record:
    """Return a record of the size that a real one has."""
    N, asks = cell.n_init + cell.acquisitions, -(-cell.acquisitions // cell.batch)
    digits = "".join(c for c in cell.problem if c.isdigit())
    dim = DIMENSIONS.get(cell.problem) or int(digits)
    return Record(
        cell=cell,
        dim=dim,
        seed=1,
        problem_seed=2,
        best_known=0.0,
        exact=True,
        y=rng.gamma(2.0, 3.0, N) * np.exp(-0.03 * np.arange(N)),
        x=rng.random((N, dim)),
        fit_cpu_s=rng.gamma(2.0, 0.1, asks),
        ask_cpu_s=rng.gamma(2.0, 0.2, asks),
        eval_s=rng.gamma(2.0, 0.001, N),
        seconds=60.0,
        started="2025-01-01T00:00:00+00:00",
        host="bench",
        revision="",
        versions={"python": "3.11"},
    )


def measure_engine() -> None:
    """Print the share of time that is not spent in the cells."""
    walls = {}
    for cells in (4, 24):
        design = Design(
            name="bench",
            seed=3,
            problems=("levy5",),
            methods={1: ("ts",)},
            replicates=cells,
            n_init=2,
            acquisitions=3,
        )
        with tempfile.TemporaryDirectory() as folder:
            clock = time.monotonic()
            run(design, folder, jobs=JOBS, progress=False, runner="study:busy_second")
            walls[cells] = time.monotonic() - clock
    slope = (walls[24] - walls[4]) / (20 / JOBS)
    start = walls[4] - slope * 4 / JOBS
    print(f"engine: {slope - 1:7.1%} overhead at one-second cells, {JOBS} processes")
    print(f"engine: {start:7.2f} s once, to start the processes")


def measure_report() -> None:
    """Print the time and memory to load, test and draw a study of the paper's size."""
    design = load_design(PAPER)
    rng = np.random.default_rng(11)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_design(folder, design)
        (folder / "records").mkdir()
        for cell in design.all_cells():
            text = encode(record_of(cell, rng))
            (folder / "records" / filename(cell)).write_text(text)
        clock, cpu = time.monotonic(), time.process_time()
        results = load(folder)
        print(
            f"report: {time.monotonic() - clock:7.1f} s to load {results.done} records"
        )
        clock = time.monotonic()
        verdict(results)
        print(f"report: {time.monotonic() - clock:7.1f} s to compare ts with ats")
        clock = time.monotonic()
        report(folder)
        print(f"report: {time.monotonic() - clock:7.1f} s to load, aggregate and draw")
        print(f"report: {time.process_time() - cpu:7.1f} s of CPU time in total")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(f"report: {peak:7.2f} GB of memory at most")


if __name__ == "__main__":
    chosen = sys.argv[1:] or ["engine", "report"]
    if "engine" in chosen:
        measure_engine()
    if "report" in chosen:
        measure_report()
