"""Runs whose points must not change: three problems, every method, two batch sizes.

Values have mean near 0 and standard deviation near 1, so that ``transform="none"``
suits them: the points then depend on the model and the search alone.

``python tests/golden.py`` writes the file anew; do it only for a change of behaviour
that is wanted, and say so in CHANGELOG.md.
"""

import hashlib
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import sumbo

FILE = Path(__file__).with_name("data") / "golden.npz"
METHODS = ("logei", "ts", "ats", "alcb2", "dumbo", "qff", "max", "struct", "uniform")
TAKES_GROUPS = ("logei", "ts", "ats", "alcb2", "qff")
BUDGET, N_INIT = 40, 12
# Multiples of both batch sizes: a shorter run is the beginning of the whole one.
BEGINNING = 20
# With the kernels of OpenBLAS for other processors (Nehalem, SkylakeX instead of
# Haswell), the first 15 points of all methods but max and struct differed by less than
# 1e-4.
ELSEWHERE = 15


class GoldenProblem(NamedTuple):
    """A problem with the groups that are handed to methods which take some."""

    bounds: list[Any]
    fun: Callable[[Any], float]
    groups: Any = None


def waves(x: Any) -> float:
    """Return a sum of a pair and single parameters with several valleys."""
    a = np.sin(4.1 * x[0]) * np.cos(3.3 * x[1]) + 0.7 * (x[0] - 0.37) ** 2
    b = 0.6 * np.cos(5.7 * x[2]) + (x[2] + 0.21) ** 2
    c = 0.8 * np.sin(2.9 * x[3] + 0.4) + 0.3 * np.cos(9.1 * x[4])
    return float(1.3 * (a + b + c) - 1.1)


def mixed(x: Any) -> float:
    """Return a function of two reals, a logarithmic one, an integer and a choice."""
    shift = {"left": 0.31, "middle": -0.22, "right": 0.67}[x[4]]
    value = (x[0] - shift) ** 2 + 0.5 * np.sin(5.3 * x[1])
    value += 0.9 * abs(np.log10(x[2]) + 1.7) ** 1.5 + 0.13 * (x[3] - 4) ** 2
    return float(value - 2.1)


def chained(x: Any) -> float:
    """Return a sum over overlapping pairs: each couples two neighbours."""
    pairs = pairwise(x)
    value = sum((b - a * a + 0.3) ** 2 + 0.4 * np.sin(6 * a) for a, b in pairs)
    return float(0.9 * value - 1.9)


PROBLEMS = {
    "waves": GoldenProblem(
        [(-0.9, 1.3), (-1.1, 0.8), (-1.4, 0.9), (-1.0, 1.2), (-0.7, 0.9)], waves
    ),
    "mixed": GoldenProblem(
        [
            sumbo.Real("a", -0.9, 1.4),
            sumbo.Real("b", -1.2, 0.7),
            sumbo.Real("c", 1e-3, 0.8, log=True),
            sumbo.Integer("d", 1, 9),
            sumbo.Categorical("e", ("left", "middle", "right")),
        ],
        mixed,
    ),
    "chained": GoldenProblem([(-0.8, 1.3)] * 4, chained, [(0, 1), (1, 2), (2, 3)]),
}


def cases() -> Iterator[tuple[str, str, int]]:
    """Yield problem, method and batch size of every run."""
    for problem in PROBLEMS:
        for method in METHODS:
            for batch in (1, 5):
                yield problem, method, batch


def run(problem: str, method: str, batch: int, budget: int = BUDGET) -> np.ndarray:
    """Return all points asked, in the unit cube, one row each."""
    bounds, fun, groups = PROBLEMS[problem]
    settings: dict[str, Any] = {}
    if groups and method in TAKES_GROUPS:
        settings["groups"] = groups
        if method == "qff":  # features number nodes² on pairs
            settings |= {"nodes": 16, "lengthscale": 0.5}
    opt = sumbo.Optimizer(
        bounds, method=method, seed=3, n_init=N_INIT, transform="none", **settings
    )
    while len(opt.y) < budget:
        X = opt.ask(min(batch, budget - len(opt.y)))
        opt.tell(X, [fun(x) for x in X])
    return opt.space.encode(opt.X)


def key(problem: str, method: str, batch: int) -> str:
    """Return the name of a run in the file."""
    return f"{problem}-{method}-{batch}"


def arithmetic() -> str:
    """Return a digest of how this machine rounds: BLAS kernels differ by processor.

    Whole runs are comparable only where this is the same.
    """
    rng = np.random.default_rng(9)
    A = rng.standard_normal((97, 83))
    K = A @ A.T + np.eye(97)
    pieces = [A @ A.T, np.linalg.cholesky(K), np.linalg.solve(K, A), np.exp(A)]
    return hashlib.blake2b(b"".join(p.tobytes() for p in pieces)).hexdigest()


if __name__ == "__main__":
    runs = {key(*case): run(*case) for case in cases()}
    np.savez_compressed(FILE, arithmetic=arithmetic(), **runs)
