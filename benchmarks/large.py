"""Joint draws given 100 000 observations, and what the iterative posterior is worth.

Run with ``python -m benchmarks.large``; ``--quick`` takes a few seconds. ``--wide``
conditions exactly on 5 000 points of 1 000 coordinates instead.
"""

import argparse
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from benchmarks.timing import at_most, show
from sumbo import AdditiveGP
from sumbo.linalg import one_blas_thread
from sumbo.rng import rng_at

A_ = TypeVar("A_")


def problem(N: int, P: int) -> tuple[AdditiveGP, np.ndarray, np.ndarray]:
    """Return a model of P one-coordinate parts and N observations of a smooth sum."""
    rng = rng_at(6, "large", P)
    gp = AdditiveGP(
        groups=[(p,) for p in range(P)],
        lengthscales=rng.uniform(0.2, 0.5, P),
        noise=1e-2,
    )
    X = rng.random((N, P))
    waves = np.sin(X * rng.uniform(2, 9, P))
    y = waves.sum(axis=1) / np.sqrt(P) + 0.1 * rng.standard_normal(N)
    return gp, X, y


def seconds(f: Callable[[], A_]) -> tuple[A_, float]:
    """Return what a call returns, and its CPU time."""
    start = time.process_time()
    with one_blas_thread():
        out = f()
    return out, time.process_time() - start


def peak() -> float:
    """Return the peak memory of this process so far, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def measure_draws(N: int, P: int, B: int) -> None:
    """Print time and memory of everything about a posterior of N points."""
    gp, X, y = problem(N, P)
    before = peak()
    rng = rng_at(6, "candidates")
    Z = [rng.random((B, 1)) for _ in range(P)]
    X_new = rng.random((8, P))
    post = gp.condition(X, y, how="iterative")
    _, means = seconds(lambda: post.alpha)
    _, first = seconds(lambda: post.sample(Z, n=1, seed=1))
    _, eight = seconds(lambda: post.sample(Z, n=8, seed=2))
    _, variances = seconds(lambda: post.predict(X_new))
    rows = [
        ["preconditioner and mean", f"{means:.1f} s"],
        [f"one joint draw at {B} candidates per part", f"{first:.1f} s"],
        ["eight joint draws", f"{eight:.1f} s"],
        ["mean and variance at 8 points", f"{variances:.1f} s"],
        ["peak memory (target ≤ 4 GiB)", at_most(peak(), 4.0) + " GiB"],
        ["… of which before", f"{before:.2f} GiB"],
    ]
    show(f"N = {N}, {P} parts of one coordinate: CPU time", ["what", "value"], rows)


def measure_errors(N: int, P: int, count: int) -> None:
    """Print how far the iterative moments are from the exact ones."""
    gp, X, y = problem(N, P)
    X_new = rng_at(6, "new points").random((count, P))
    exact, exact_seconds = seconds(lambda: gp.condition(X, y).predict(X_new))
    rows = []
    for tolerance in (1e-4, 1e-6):
        post = gp.condition(X, y, how="iterative", tolerance=tolerance)
        found, found_seconds = seconds(lambda post=post: post.predict(X_new))
        mean = np.abs(found[0] - exact[0]) / np.sqrt(exact[1])
        var = np.abs(found[1] / exact[1] - 1)
        rows.append(
            [
                f"{tolerance:g}",
                f"{mean.max():.1e}",
                f"{var.max():.1e}",
                f"{found_seconds:.1f} s",
                f"{exact_seconds:.1f} s",
            ]
        )
    header = ("tolerance", "mean, in sd", "variance, relative", "time", "exact")
    show(f"Largest errors at {count} points, N = {N}, {P} parts", header, rows)


def measure_wide(N: int, P: int, B: int) -> None:
    """Print time and memory of an exact posterior of many coordinates."""
    gp, X, y = problem(N, P)
    post, condition = seconds(lambda: gp.condition(X, y))
    rng = rng_at(6, "candidates")
    Z = [rng.random((B, 1)) for _ in range(P)]
    _, draw = seconds(lambda: post.sample(Z, n=1, seed=1))
    rows = [
        ["condition exactly", f"{condition:.1f} s"],
        [f"one joint draw at {B} candidates per part", f"{draw:.1f} s"],
        ["peak memory", f"{peak():.2f} GiB"],
    ]
    show(f"N = {N}, {P} parts of one coordinate: CPU time", ["what", "value"], rows)


def rows() -> Iterator[tuple[str, str, float, str, str]]:
    """Yield what `make bench` keeps: time against what was asked, memory beside it."""
    gp, X, y = problem(100_000, 20)
    rng = rng_at(6, "candidates")
    Z = [rng.random((1000, 1)) for _ in range(20)]
    post = gp.condition(X, y, how="iterative")
    _, taken = seconds(lambda: post.sample(Z, n=1, seed=1))
    what = "first joint draw, N=100 000, M=20, d=1, B=1000"
    yield what, "two minutes", taken / 120, "≤ 1", f"{taken:.1f} s, {peak():.1f} GiB"
    gp, X, y = problem(5000, 20)
    X_new = rng_at(6, "new points").random((48, 20))
    _, exact = seconds(lambda: gp.condition(X, y).predict(X_new))
    near = gp.condition(X, y, how="iterative")
    _, ours = seconds(lambda: near.predict(X_new))
    what = "mean and variance at 48 points, N=5000, M=20, d=1"
    yield what, "exact posterior", exact / ours, "", f"{ours:.1f} s"


def main(argv: Sequence[str] | None = None) -> None:
    """Run all measurements and print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer points")
    parser.add_argument("--wide", action="store_true", help="1 000 coordinates")
    options = parser.parse_args(argv)
    if options.wide:
        measure_wide(*(500, 100, 100) if options.quick else (5000, 1000, 500))
        return
    measure_draws(*(5000, 5, 100) if options.quick else (100_000, 20, 1000))
    measure_errors(*(1000, 5, 8) if options.quick else (5000, 20, 48))


if __name__ == "__main__":
    main()
