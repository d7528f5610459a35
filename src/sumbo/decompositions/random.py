"""Random partitions, drawn anew before every refit.

The measure is built on uniform *integer* partitions (multisets of sizes), not on
uniform set partitions, as in the code of [bardou2023] that [wycoff2025] used.
"""

from functools import lru_cache
from typing import ClassVar

import numpy as np

from sumbo.data import Data
from sumbo.decompositions.base import DECOMPOSITIONS
from sumbo.typing import Groups, State

MAX_SIZE = 5


@DECOMPOSITIONS.register("random")
class Random:
    """A random partition into groups of at most five parameters."""

    changes: ClassVar[bool] = True

    def propose(
        self, rng: np.random.Generator, state: State, data: Data
    ) -> tuple[Groups, State]:
        """Return a fresh partition."""
        del state
        return random_partition(rng, len(data.domain.blocks), MAX_SIZE), {}


def random_partition(rng: np.random.Generator, dim: int, max_size: int) -> Groups:
    """Return a random partition of {0, …, dim−1} into groups of at most max_size.

    Sizes: draw a uniform integer partition of what is left, keep its parts that are
    small enough, and go on with the rest. Coordinates fill the sizes in uniformly
    random order.
    """
    counts = _counts(dim)
    sizes: list[int] = []
    left = dim
    while left > 0:
        drawn = _integer_partition(rng, left, counts)
        kept = [k for k in drawn if k <= max_size]
        sizes += kept
        left -= sum(kept)
    order = rng.permutation(dim)
    cuts = np.cumsum(sizes)[:-1]
    return tuple(tuple(sorted(int(p) for p in g)) for g in np.split(order, cuts))


def random_integer_partition(rng: np.random.Generator, n: int) -> list[int]:
    """Return one of the partitions of n, each equally likely, largest part first."""
    return _integer_partition(rng, n, _counts(n))


def _integer_partition(
    rng: np.random.Generator, n: int, counts: list[list[int]]
) -> list[int]:
    rank = _random_below(rng, counts[n][n])
    parts: list[int] = []
    limit = n
    while n > 0:
        for k in range(1, min(limit, n) + 1):
            count = counts[min(k, n - k)][n - k]
            if rank < count:
                parts.append(k)
                n, limit = n - k, k
                break
            rank -= count
    return parts


def count_partitions(n: int, limit: int) -> int:
    """Return the number of partitions of n into parts of at most ``limit``."""
    return _counts(n)[min(limit, n)][n]


@lru_cache(maxsize=4)  # 40 MB each for a thousand parameters
def _counts(top: int) -> list[list[int]]:
    """Return counts[L][n] for all n ≤ top: p(n, L) = p(n, L−1) + p(n−L, L)."""
    counts = [[1] + [0] * top]
    for limit in range(1, top + 1):
        row = counts[-1].copy()
        for n in range(limit, top + 1):
            row[n] += row[n - limit]
        counts.append(row)
    return counts


def _random_below(rng: np.random.Generator, bound: int) -> int:
    """Return a uniform integer below ``bound``, which may exceed 64 bits (n > 400)."""
    bits = bound.bit_length()
    while True:
        words = rng.integers(0, 2**32, size=-(-bits // 32), dtype=np.uint64)
        value = sum(int(w) << (32 * i) for i, w in enumerate(words))
        value &= (1 << bits) - 1
        if value < bound:
            return value
