"""What the tests of forests share: all forests of four nodes, and data of a chain."""

from itertools import combinations, product

import numpy as np

from partition_cases import MIXED, observed
from sumbo import Space
from sumbo.partitions.forest import path

PAIRS = list(combinations(range(4), 2))
CHAIN = tuple((k, k + 1) for k in range(5))


def all_forests():
    """Return every set of pairs of four nodes that closes no cycle."""
    out = []
    for taken in product((False, True), repeat=len(PAIRS)):
        edges = tuple(e for e, t in zip(PAIRS, taken, strict=True) if t)
        if all(not path(edges[:n], *e) for n, e in enumerate(edges)):
            out.append(edges)
    return out


FORESTS = all_forests()


def data_of(bounds, f, N, seed=5):
    """Return values of a function at random points of a space."""
    space = Space.of(bounds)
    U = space.snap(np.random.default_rng([seed, N]).random((N, space.dim)))
    return observed(bounds, U, f(U))


def chain_data(N=80):
    """Return values of a function in which each parameter acts with the next one."""

    def chained(U):
        return sum(np.sin(3 * (U[:, i] + 2 * U[:, i + 1]) + i) for i in range(5))

    return data_of([(-1.3, 0.8 + k) for k in range(6)], chained, N)


def mixed_data(N=9):
    """Return values of a real parameter, a choice and an integer."""
    return data_of(MIXED, lambda U: np.sin(3.3 * U[:, 0]) + U[:, 1] - U[:, 4], N)
