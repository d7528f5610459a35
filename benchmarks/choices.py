"""What a choice from a long list costs: 50 000 rows of 20 parameters, 200 values.

    python -m benchmarks.choices

The first call fits the model and computes what is kept of the rows. Later calls are
timed while values come in; none of them refits.
"""

import resource
import time
import warnings
from collections.abc import Iterator

import numpy as np

from benchmarks.timing import Row, show_rows
from sumbo import Optimizer
from sumbo.rng import rng_at

ROWS, PARAMETERS, VALUES, CALLS = 50_000, 20, 200, 12
METHODS = ("logei", "ts", "alcb2", "ats")
SECOND = 1.0


def objective(X: np.ndarray) -> np.ndarray:
    """Return a sum of waves that count more and more."""
    return (np.sin(4.0 * X) * np.linspace(0.2, 1.5, PARAMETERS)).sum(axis=-1)


def peak() -> float:
    """Return the peak memory of this process so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


def rows() -> Iterator[Row]:
    """Yield the median time of a later call, over one second, for each method."""
    warnings.filterwarnings("ignore", "method=.* takes the parts as independent")
    rng = rng_at(7, "choices")
    C, X = rng.random((ROWS, PARAMETERS)), rng.random((VALUES, PARAMETERS))
    for method in METHODS:
        bounds = [(0.0, 1.0)] * PARAMETERS
        opt = Optimizer(bounds, method=method, seed=1, x0=X, y0=objective(X))
        opt.tell(C[(k := opt.choose(C))], float(objective(C[k])))
        before, times = peak(), []
        for _ in range(CALLS):
            begin = time.process_time()
            k = opt.choose(C)
            times.append(time.process_time() - begin)
            opt.tell(C[k], float(objective(C[k])))
        spent = float(np.median(times))
        yield Row(
            f"choose, {method}, after the first call: {ROWS:,} rows, "
            f"P={PARAMETERS}, N={VALUES}",
            "one second",
            spent / SECOND,
            "≤ 1",
            f"{spent:.2f} s, {peak() - before:.0f} MiB more after {CALLS} calls",
        )


def main() -> None:
    """Measure and print."""
    show_rows("choices", list(rows()))


if __name__ == "__main__":
    main()
