"""Random partitions, drawn anew before every refit.

The distribution is built on uniform *integer* partitions (multisets of sizes), not on
uniform set partitions, as in the code of [bardou2023] that [wycoff2025] used.
"""

from dataclasses import dataclass

import numpy as np

from sumbo.data import Data
from sumbo.decompositions.base import DECOMPOSITIONS, Decomposition, Proposal
from sumbo.errors import require_positive_integer
from sumbo.gp import AdditiveGP
from sumbo.typing import Groups


@DECOMPOSITIONS.register("random")
@dataclass(frozen=True, kw_only=True)
class Random(Decomposition):
    """A random partition into groups of at most five parameters.

    Attributes:
        max_size: Most parameters in a group.
    """

    max_size: int = 5

    def __post_init__(self) -> None:
        require_positive_integer("max_size", self.max_size)

    def propose(
        self,
        rng: np.random.Generator,
        memory: None,
        data: Data,
        last: AdditiveGP | None,
    ) -> Proposal:
        """Return a fresh partition."""
        del memory, last
        K = len(data.domain.blocks)
        return Proposal(groups=random_partition(rng, K, self.max_size))


def random_partition(rng: np.random.Generator, dim: int, max_size: int) -> Groups:
    """Return a random partition of {0, …, dim−1} into groups of at most max_size.

    Sizes: draw a uniform integer partition of what is left, keep its parts that are
    small enough, and go on with the rest. Coordinates fill the sizes in uniformly
    random order.
    """
    counts = partition_counts(dim)
    sizes: list[int] = []
    left = dim
    while left > 0:
        drawn = random_integer_partition(rng, left, counts)
        kept = [k for k in drawn if k <= max_size]
        sizes += kept
        left -= sum(kept)
    order = rng.permutation(dim)
    cuts = np.cumsum(sizes)[:-1]
    return tuple(tuple(sorted(int(p) for p in g)) for g in np.split(order, cuts))


def random_integer_partition(
    rng: np.random.Generator, n: int, counts: list[list[int]]
) -> list[int]:
    """Return one of the partitions of n, each equally likely, largest part first.

    ``counts`` are ``partition_counts`` of n or more.
    """
    rank = random_below(rng, counts[n][n])
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


def partition_counts(top: int) -> list[list[int]]:
    """Return counts[L][n] for all n ≤ top: partitions of n into parts of at most L.

    p(n, L) = p(n, L−1) + p(n−L, L). It takes 40 MB for a thousand parameters, so it
    is not kept.
    """
    counts = [[1] + [0] * top]
    for limit in range(1, top + 1):
        row = counts[-1].copy()
        for n in range(limit, top + 1):
            row[n] += row[n - limit]
        counts.append(row)
    return counts


def random_below(rng: np.random.Generator, bound: int) -> int:
    """Return a uniform integer below ``bound``, which may exceed 64 bits (n > 400)."""
    bits = bound.bit_length()
    while True:
        words = rng.integers(0, 2**32, size=-(-bits // 32), dtype=np.uint64)
        value = sum(int(w) << (32 * i) for i, w in enumerate(words))
        value &= (1 << bits) - 1
        if value < bound:
            return value
