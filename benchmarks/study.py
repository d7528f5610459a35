"""Measure the study: cost of the engine per cell, and of a report on 18 000 records.

    python -m benchmarks.study [engine] [report]

The cells of the engine do nothing, so that a run lasts as long as the engine itself
needs. The cost of a cell is the slope between a shorter and a longer run; what is left
is the start of the processes.
"""

import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.timing import at_most, cpu_seconds, show
from sumbo.study import Cell, Design, Record, export, load, load_design, report, run
from sumbo.study.storage import encode, filename, write_design

PAPER = Path(__file__).parents[1] / "studies" / "paper.toml"
MODULE = "benchmarks.study"
JOBS = 2
DIMENSIONS = {"push": 14, "lunar": 12, "rover": 60, "desi": 7}
DIMENSIONS |= {"kids-1000": 14, "hsc-y3-shear": 25}


def empty(cell: Cell) -> Record:
    """Return a record of the usual size at once."""
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
    """Print what the engine costs per cell, and once."""
    sys.path.insert(0, str(Path(__file__).parents[1]))  # for the workers
    walls = {}
    for cells in (20, 420):
        design = Design(
            name="bench",
            seed=3,
            problems=("levy10",),
            methods={1: ("ts",)},
            replicates=cells,
        )
        with tempfile.TemporaryDirectory() as folder:
            clock = time.monotonic()
            run(design, folder, jobs=JOBS, progress=False, runner=f"{MODULE}:empty")
            walls[cells] = time.monotonic() - clock
    cost = (walls[420] - walls[20]) / 400 * JOBS
    rows = [
        ["per cell and process", f"{1e3 * cost:.1f} ms"],
        ["of a one-second cell (target ≤ 5 %)", f"{at_most(100 * cost, 5.0)} %"],
        ["once, to start the processes", f"{walls[20] - 20 * cost / JOBS:.1f} s"],
    ]
    show(f"Engine, {JOBS} processes, wall clock", ["overhead", ""], rows)


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
        loading = cpu_seconds(lambda: load(folder))
        wall = time.monotonic()
        whole = cpu_seconds(lambda: report(folder))
        wall = time.monotonic() - wall
        exporting = cpu_seconds(lambda: export(folder, folder / "all.parquet"))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    rows = [
        ["load the records", f"{loading:.1f} s"],
        ["load, aggregate and draw (target ≤ 60)", f"{at_most(whole, 60.0)} s"],
        ["the same, wall clock", f"{wall:.1f} s"],
        ["export to Parquet", f"{exporting:.1f} s"],
        ["most memory (target ≤ 2)", f"{at_most(peak, 2.0)} GB"],
    ]
    show("Report on 18 000 records, CPU time", ["", ""], rows)


def main(argv: Sequence[str] | None = None) -> None:
    """Run all measurements, or those named."""
    chosen = argv or sys.argv[1:] or ["engine", "report"]
    if "engine" in chosen:
        measure_engine()
    if "report" in chosen:
        measure_report()


if __name__ == "__main__":
    main()
