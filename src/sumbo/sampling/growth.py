"""Factors that are kept while nothing but the data grows.

Between refits kernels and candidates stay the same, so that the factors of the last
ask, extended by the new rows, are those of this one. A memory changes no number: a
factor is always built from the first ``base`` rows at once and then row by row. A
resumed run, which starts with an empty memory, computes the same bits.
"""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumbo.gp import Posterior
from sumbo.kernels import GroupKernel
from sumbo.linalg import parallel_map
from sumbo.sampling.factors import PartFactor
from sumbo.typing import Float, ndarray


@dataclass(frozen=True, eq=False)
class _Entry:
    key: bytes
    X: Float[ndarray, "N P"]
    factors: list[PartFactor]


class FactorMemory:
    """The factors of the last ask of one run; whoever runs it keeps this object.

    Copies, pickled ones too, are empty: the factors are large, and can be made again.
    """

    def __init__(self) -> None:
        self._last: _Entry | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return FactorMemory, ()

    def find(self, key: bytes, X: Float[ndarray, "N P"]) -> _Entry | None:
        """Return the last factors, if they are those of the first of the rows X."""
        last = self._last
        if last is None or last.key != key or not _is_prefix(last.X, X):
            return None
        return last

    def keep(
        self, key: bytes, X: Float[ndarray, "N P"], factors: list[PartFactor]
    ) -> None:
        """Remember the factors in place of the last ones."""
        self._last = _Entry(key, X, factors)


def grown_factors(
    post: Posterior,
    Z: list[Float[ndarray, "..."]],
    base: int,
    workers: int = 1,
    memory: FactorMemory | None = None,
) -> list[PartFactor]:
    """Return the factor of every part at its candidates and at all data.

    ``base`` is how many observations there were at the last refit. Without a memory
    all factors are made anew.
    """
    groups = list(post.groups())
    memory = FactorMemory() if memory is None else memory
    key = _key(post, [kernel for kernel, _ in groups], Z, base)
    known = memory.find(key, post.X)
    start = base if known is None else len(known.X)

    def grow(m: int) -> PartFactor:
        kernel, Xm = groups[m]
        if known is None:
            factor = PartFactor.of(kernel, Z[m], Xm[:base])
        else:
            factor = known.factors[m]
        for row in Xm[start:]:
            factor = factor.appended(row[None])
        return factor

    factors = parallel_map(grow, range(len(groups)), workers)
    memory.keep(key, post.X, factors)
    return factors


def fresh_factors(
    post: Posterior, Z: list[Float[ndarray, "..."]], workers: int = 1
) -> list[PartFactor]:
    """Return the factor of every part at candidates that will not be used again."""
    jobs = list(zip(post.groups(), Z, strict=True))
    return parallel_map(
        lambda job: PartFactor.of(job[0][0], job[1], job[0][1]), jobs, workers
    )


def _is_prefix(X: Float[ndarray, "n P"], whole: Float[ndarray, "N P"]) -> bool:
    return len(X) <= len(whole) and np.array_equal(X, whole[: len(X)])


def _key(
    post: Posterior,
    kernels: list[GroupKernel],
    Z: list[Float[ndarray, "..."]],
    base: int,
) -> bytes:
    digest = hashlib.blake2b(post.X[:base].tobytes())
    digest.update(repr(post.gp.groups).encode())
    for kernel, Zm in zip(kernels, Z, strict=True):
        digest.update(f"{type(kernel).__name__} {kernel.kernel.name}".encode())
        digest.update(kernel.lengthscales.tobytes())
        digest.update(np.float64(kernel.variance).tobytes())
        digest.update(Zm.tobytes())
    return digest.digest()
