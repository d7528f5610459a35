"""Factors that are kept while nothing but the data grows.

Between refits the kernels and the candidates stand, so the factors of the last ask,
extended by the rows told since, are those of this one. The memory is only a memory: a
factor is always built from the first ``base`` rows at once and then row by row, so a
resumed run, which finds nothing remembered, computes the same bits.
"""

import hashlib
from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock

import numpy as np

from sumbo.gp import Posterior
from sumbo.kernels import GroupKernel
from sumbo.linalg import parallel_map
from sumbo.sampling.factors import PartFactor
from sumbo.typing import Float, ndarray

# Runs that are remembered at a time; a study or a test may take turns with several.
REMEMBERED = 4


@dataclass(frozen=True, eq=False)
class _Entry:
    X: Float[ndarray, "N P"]
    factors: list[PartFactor]


_memory: OrderedDict[bytes, _Entry] = OrderedDict()
_lock = Lock()


def grown_factors(
    post: Posterior, Z: list[Float[ndarray, "..."]], base: int, workers: int = 1
) -> list[PartFactor]:
    """Return the factor of every part at its candidates and at all data.

    ``base`` is how many observations there were at the last refit.
    """
    groups = list(post.groups())
    key = _key(post, [kernel for kernel, _ in groups], Z, base)
    with _lock:
        known = _memory.get(key)
    start, old = base, None
    if known is not None and _is_prefix(known.X, post.X):
        start, old = len(known.X), known.factors

    def grow(m: int) -> PartFactor:
        kernel, Xm = groups[m]
        factor = old[m] if old else PartFactor.of(kernel, Z[m], Xm[:base])
        for row in Xm[start:]:
            factor = factor.appended(row[None])
        return factor

    factors = parallel_map(grow, range(len(groups)), workers)
    with _lock:
        _memory[key] = _Entry(post.X, factors)
        _memory.move_to_end(key)
        while len(_memory) > REMEMBERED:
            _memory.popitem(last=False)
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
        digest.update(kernel.kernel.name.encode())
        digest.update(kernel.lengthscales.tobytes())
        digest.update(np.float64(kernel.variance).tobytes())
        digest.update(Zm.tobytes())
    return digest.digest()
