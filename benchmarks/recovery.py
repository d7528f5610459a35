"""How well learned groups are the true ones: ``python -m benchmarks recovery``.

Ten parameters in random groups of one to three, functions of several kinds, 60 uniform
points without noise; then one ask with ``groups="auto"``. The score is the AUC of
`Optimizer.co_membership`: how probable it is that a pair which shares a group ranks
above one which does not. 1 is perfect, 0.5 is chance.
"""

import argparse
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.metrics import roc_auc_score

import sumbo
from sumbo.rng import rng_at
from sumbo.structure import co_membership_matrix, groups_from_labels
from sumbo.typing import Float, Int, ndarray

P, N, LARGEST = 10, 60, 3
GOOD = 0.95

Part = Callable[[Float[ndarray, "n d"]], Float[ndarray, " n"]]


class Recovery(NamedTuple):
    """Scores of one data set: of the probabilities, and of the partitions visited."""

    together: float
    visited: float
    seconds: float  # CPU time of the ask


def draw(rng: np.random.Generator, d: int) -> Part:
    """Return a smooth random function: a Gaussian process, by Fourier features."""
    W = rng.standard_normal((200, d)) / (0.25 * np.sqrt(d))
    phase, weight = rng.uniform(0, 2 * np.pi, 200), rng.standard_normal(200) / 10
    return lambda X: np.cos(X @ W.T + phase) @ weight


def wave(rng: np.random.Generator, d: int) -> Part:
    """Return a plane wave across the group."""
    rates, phase, height = rng.uniform(2.5, 5.5, d), rng.uniform(0, 6), rng.random()
    return lambda X: (0.7 + 0.8 * height) * np.sin(X @ rates + phase)


def product(rng: np.random.Generator, d: int) -> Part:
    """Return a product of waves, one along each coordinate."""
    rates, centers = rng.uniform(2, 5, d), rng.uniform(0.2, 0.8, d)
    return lambda X: np.prod(np.sin(rates * (X - centers) + 0.7), axis=1)


def bowl(rng: np.random.Generator, d: int) -> Part:
    """Return a quadratic form; some of its interactions are weak."""
    center, A = rng.uniform(0.2, 0.8, d), rng.standard_normal((d, d))
    M = A @ A.T + 0.3 * np.eye(d)
    return lambda X: np.einsum("ni,ij,nj->n", X - center, M, X - center)


def rings(rng: np.random.Generator, d: int) -> Part:
    """Return rings around a center; 60 points hardly tell what they are."""
    center, rate = rng.uniform(0.2, 0.8, d), rng.uniform(4, 9)
    return lambda X: np.sin(rate * np.linalg.norm(X - center, axis=1))


KINDS = {part.__name__: part for part in (draw, wave, product, bowl, rings)}


def labels_of(rng: np.random.Generator) -> Int[ndarray, " P"]:
    """Return groups of one to three for all parameters, not all of them alone."""
    while True:
        sizes: list[int] = []
        while sum(sizes) < P:
            most = min(LARGEST, P - sum(sizes))
            sizes.append(min(int(rng.integers(1, LARGEST + 1)), most))
        if max(sizes) > 1:
            return rng.permutation(np.repeat(np.arange(len(sizes)), sizes))


def recover(kind: str, seed: int) -> Recovery:
    """Return how well the groups of one random function are told."""
    rng = rng_at(seed, f"recovery/{kind}")
    labels, U = labels_of(rng), rng.random((N, P))
    groups = groups_from_labels(labels)
    parts = [KINDS[kind](rng, len(group)) for group in groups]
    y = np.sum([f(U[:, g]) for f, g in zip(parts, groups, strict=True)], axis=0)
    opt = sumbo.Optimizer([(0, 1)] * P, groups="auto", seed=seed)
    opt.tell(U, y)
    begin = time.process_time()
    opt.ask()
    seconds = time.process_time() - begin
    pairs = np.triu_indices(P, 1)
    truth = np.equal.outer(labels, labels)[pairs]
    together, visited = opt.co_membership(), co_membership_matrix(opt.structures())
    scores = [float(roc_auc_score(truth, C[pairs])) for C in (together, visited)]
    return Recovery(*scores, seconds)


def main() -> None:
    """Print mean, median and the number of good scores for every kind of function."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=50, help="data sets of each kind")
    given = parser.parse_args()
    table = Table(
        "kind",
        "mean AUC",
        "median",
        f"≥ {GOOD:g}",
        "mean AUC of visits",
        "CPU s per ask",
        title=f"{P} parameters, {N} points, {given.sets} data sets of each kind",
    )
    for kind in KINDS:
        found = [recover(kind, seed) for seed in range(given.sets)]
        together, visited, seconds = np.array(found).T
        table.add_row(
            kind,
            f"{together.mean():.3f}",
            f"{np.median(together):.3f}",
            f"{(together >= GOOD).sum()} of {len(found)}",
            f"{visited.mean():.3f}",
            f"{seconds.mean():.2f}",
        )
    Console().print(table)


if __name__ == "__main__":
    main()
