"""The log density of observations whose covariance matrix is packed.

``T = N(N+1)/2`` is the number of packed pairs of observations, i ≤ j.
"""

import numpy as np

from sumbo.gp.evidence import packed_squares
from sumbo.linalg import cholesky, solve_lower, unpack_lower
from sumbo.typing import Float, Groups, Int, ndarray


def log_density(
    packed: Float[ndarray, " T"], y: Float[ndarray, " N"], noise: float = 0.0
) -> float:
    """Return log N(y; 0, K + τ²I) + N/2 log 2π for the packed triangle of K.

    ``noise`` is τ²; it is 0 if K holds the noise already.
    """
    K = unpack_lower(packed, len(y))
    if noise:
        np.fill_diagonal(K, K.diagonal() + noise)
    L = cholesky(K, what="covariance of the observations").L
    half = solve_lower(L, y)
    # [rasmussen2006] Eq. (5.8)
    return float(-0.5 * half @ half - np.log(L.diagonal()).sum())


def distances(U: Float[ndarray, "N P"], blocks: Groups) -> Float[ndarray, "K T"]:
    """Return squared distances along each parameter between all pairs, packed."""
    s = packed_squares(U)
    if all(len(block) == 1 for block in blocks):
        return s[[block[0] for block in blocks]]
    return np.stack([s[list(block)].sum(axis=0) for block in blocks])


def diagonal(N: int) -> Int[ndarray, " N"]:
    """Return where the packed pairs of an observation with itself are."""
    return np.cumsum(np.r_[0, np.arange(N, 1, -1)])
