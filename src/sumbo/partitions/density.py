"""The log density of observations whose covariance is packed.

``T = N(N+1)/2`` is the number of packed pairs of observations, i ≤ j.
"""

import numpy as np

from sumbo.gp.evidence import packed_squares
from sumbo.typing import Float, Groups, ndarray


def distances(U: Float[ndarray, "N P"], blocks: Groups) -> Float[ndarray, "K T"]:
    """Return squared distances along each parameter between all pairs, packed."""
    s = packed_squares(U)
    if all(len(block) == 1 for block in blocks):
        return s[[block[0] for block in blocks]]
    return np.stack([s[list(block)].sum(axis=0) for block in blocks])
