"""What do orthogonal parts cost? Against plain parts of the same model.

    python -m benchmarks.orthogonal [--rounds 9]

Draws and likelihoods of both are timed in turns. Both kinds have the same groups,
hyperparameters and data; that they differ is checked before anything is timed.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.timing import Row, interleaved, show_rows
from sumbo import AdditiveGP
from sumbo.rng import rng_at

N = 120
# Groups, candidates of each part, and what is asked of the ratio.
LINES = tuple((p,) for p in range(20))
DRAWS = {
    "M=20, d=1, N=120, B=100 (dense)": (LINES, 100, "≤ 1.2"),
    "M=20, d=1, N=120, B=500 (linear time)": (LINES, 500, "≤ 1.2"),
    "M=20, d=1, N=120, B=5000 (linear time)": (LINES, 5000, "≤ 1.2"),
    "M=10, d=2, N=120, B=500": (tuple((2 * m, 2 * m + 1) for m in range(10)), 500, ""),
}
LIKELIHOODS = {
    "M=20, d=1, N=120": (LINES, "≤ 1.3"),
    "M=20, d=1, and a part on all, N=120": ((*LINES, tuple(range(20))), ""),
    "M=10, d=2, N=120": (tuple((2 * m, 2 * m + 1) for m in range(10)), ""),
}


def models(groups: Any) -> tuple[dict[str, AdditiveGP], np.ndarray, np.ndarray]:
    """Return both models, and data.

    Raises:
        SystemExit: If both predict the same.
    """
    rng = rng_at(3, "orthogonal", len(groups))
    X = rng.random((N, 20))
    y = np.sin(3 * X).sum(axis=1) + 0.1 * rng.standard_normal(N)
    plain = AdditiveGP(
        groups=groups,
        lengthscales=[rng.uniform(0.2, 0.9, len(group)) for group in groups],
        variances=rng.uniform(0.5, 1.5, len(groups)) / len(groups),
        noise=0.01,
    )
    centred = replace(plain, orthogonal=True, constant=1.0)
    means = [gp.condition(X, y).predict_mean(X[::-1] ** 2) for gp in (plain, centred)]
    if np.allclose(*means):
        raise SystemExit("both models predict the same; the comparison says nothing")
    return {"plain": plain, "orthogonal": centred}, X, y


def draws(groups: Any, B: int) -> dict[str, Callable[[], Any]]:
    """Return one joint draw of each model."""
    both, X, y = models(groups)
    rng = rng_at(4, "orthogonal", B)
    Z = [rng.random((B, len(group))) for group in groups]
    posts = {name: gp.condition(X, y) for name, gp in both.items()}
    return {
        name: lambda post=post: post.sample(Z, n=1, seed=1)
        for name, post in posts.items()
    }


def likelihoods(groups: Any) -> dict[str, Callable[[], Any]]:
    """Return one likelihood with its gradient of each model."""
    both, X, y = models(groups)
    ready = {name: (gp.evidence(X), gp.hyperparameters()) for name, gp in both.items()}
    return {
        name: lambda one=one: one[0].evaluate(one[1], y) for name, one in ready.items()
    }


def posteriors(groups: Any) -> dict[str, Callable[[], Any]]:
    """Return moments with gradients at eight points, as an acquisition needs them."""
    both, X, y = models(groups)
    U, ones = X[:8] ** 2, np.ones(8)
    posts = {name: gp.condition(X, y) for name, gp in both.items()}
    return {
        name: lambda post=post: post.sum_moments_pullback(U)[2](ones, ones)
        for name, post in posts.items()
    }


def rows(rounds: int = 9) -> Iterator[Row]:
    """Yield the ratio of orthogonal over plain for every task."""
    tasks: dict[str, tuple[dict[str, Callable[[], Any]], str]] = {}
    for what, (groups, B, asked) in DRAWS.items():
        tasks[f"orthogonal joint draw, {what}"] = draws(groups, B), asked
    for what, (groups, asked) in LIKELIHOODS.items():
        tasks[f"orthogonal likelihood with gradient, {what}"] = (
            likelihoods(groups),
            asked,
        )
    tasks["orthogonal moments with gradient, M=20, d=1, N=120"] = posteriors(LINES), ""
    for what, (contestants, asked) in tasks.items():
        times = interleaved(contestants, rounds=rounds)
        ours = times["orthogonal"]
        yield Row(
            what, "plain parts", ours / times["plain"], asked, f"{1e3 * ours:.3g} ms"
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    show_rows("orthogonal", list(rows(arguments.rounds)))


if __name__ == "__main__":
    main()
