"""CPU time per evaluation of the cosmology problems, in units of a NumPy workload.

The shear problems are measured where their data are: in the folder that SUMBO_DATA
names, or in the user's cache. For hsc-y3-shear the synthetic file of its tests will do,
because the time does not depend on the values. CAMB has one thread.
"""

import gzip
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.problems import cpu_seconds, workload
from benchmarks.timing import Row
from sumbo import problems
from sumbo.problems import Problem
from sumbo.rng import rng_at

POINTS = 3
SYNTHETIC = "hsc_y3_synthetic.sacc.gz"


def rows() -> Iterator[Row]:
    """Yield the time of an evaluation divided by that of the workload."""
    with tempfile.TemporaryDirectory() as folder:
        for what, problem in measured(Path(folder)):
            yield _row(what, problem)


def measured(folder: Path) -> Iterator[tuple[str, Problem]]:
    """Yield the problems that can run here, ``folder`` for unpacked data."""
    if problems.available("desi")[0]:
        yield "desi", problems.get("desi")
    if problems.available("kids-1000")[0]:
        yield "kids-1000", problems.get("kids-1000")
        yield (
            'kids-1000, accuracy="reference"',
            problems.get("kids-1000", accuracy="reference"),
        )
    packed = Path(os.environ.get("SUMBO_DATA", "")) / SYNTHETIC
    if problems.available("hsc-y3-shear")[0]:
        yield "hsc-y3-shear", problems.get("hsc-y3-shear")
    elif problems.available("desi")[0] and packed.is_file():
        path = folder / SYNTHETIC.removesuffix(".gz")
        path.write_bytes(gzip.decompress(packed.read_bytes()))
        synthetic = problems.get("hsc-y3-shear", path=str(path))
        yield "hsc-y3-shear, synthetic data", synthetic


def _row(what: str, problem: Problem) -> Row:
    import camb

    camb.config.ThreadNum = 1
    X = rng_at(5, "benchmarks/cosmology").uniform(
        *problem.bounds.T, size=(POINTS, problem.dim)
    )
    units, seconds = [], []
    with threadpool_limits(1):
        for x in X:  # the median leaves out the first, which imports and builds
            units.append(cpu_seconds(workload, repeats=25))
            seconds.append(cpu_seconds(lambda x=x: problem(x), repeats=1))
    taken = float(np.median(seconds))
    ratio = taken / float(np.median(units))
    return Row(f"{what}, one evaluation", "workload", ratio, "", f"{taken:.2g} s")
