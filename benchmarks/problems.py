"""Cost per evaluation of every problem, in CPU time and in units of a NumPy workload.

Run ``python benchmarks/problems.py``. Machines differ, so the last column divides by
the time of a fixed piece of NumPy work on one thread: that number can be compared.
"""

import time
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

from sumbo import problems
from sumbo.rng import rng_at

# Seconds of CPU that an evaluation may take, on the machine where they were measured.
LIMITS = {"push": 3e-3, "rover": 1e-3, "lunar": 0.25, "desi": 15e-3}

POINTS = 25  # different ones, because the cost depends on the point


def workload() -> float:
    """Return a number that takes a few milliseconds of NumPy to compute."""
    A = np.linspace(0.3, 1.7, 200 * 200).reshape(200, 200)
    K = np.exp(-((A[:, :1] - A[:, 0]) ** 2)) + np.eye(200)
    return float(np.linalg.solve(K, np.sin(A)).sum() + np.sort(np.cos(A), axis=0)[7, 7])


def cpu_seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """Return the least CPU time of some repetitions."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def cost(name: str) -> float:
    """Return the median CPU time of an evaluation over uniform points."""
    p = problems.get(name)
    X = rng_at(2, "benchmarks/problems").uniform(*p.bounds.T, size=(POINTS, p.dim))
    p(X[0])  # imports and builds what is built once
    # A clock tick is coarse against the cheap ones: time them many times over.
    loops = max(1, int(2e-3 / max(1e-9, cpu_seconds(lambda: p(X[0])))))
    return float(
        np.median(
            [cpu_seconds(lambda x=x: [p(x) for _ in range(loops)]) / loops for x in X]
        )
    )


def main() -> None:
    """Print the table."""
    with threadpool_limits(1):
        unit = float(np.median([cpu_seconds(workload) for _ in range(25)]))
        print(f"NumPy workload: {1e3 * unit:.3f} ms CPU")
        head = ("problem", "CPU ms", "limit ms", "of limit", "workloads")
        print("{:14s}{:>11s}{:>11s}{:>10s}{:>11s}".format(*head))
        for name in problems.names():
            ready, reason = problems.available(name)
            if not ready:
                print(f"{name:14s} not measured: {reason}")
                continue
            seconds, limit = cost(name), LIMITS.get(name)
            known = f"{1e3 * limit:11.1f}{seconds / limit:10.2f}" if limit else " " * 21
            print(f"{name:14s}{1e3 * seconds:11.4f}{known}{seconds / unit:11.4f}")


if __name__ == "__main__":
    main()
