"""What a posterior returns: moments of a part, draws of the minimum."""

from typing import NamedTuple

import numpy as np

from sumbo.errors import ArgumentError
from sumbo.typing import Float, ndarray


class Part(NamedTuple):
    """Mean (B,) and covariance (B, B) of one part; the constant mean is in no part."""

    mean: Float[ndarray, " B"]
    cov: Float[ndarray, "B B"]


class Minimum(NamedTuple):
    """Joint draws of the minimum of f (n,) and of the points (n, P) where it lies."""

    values: Float[ndarray, " n"]
    points: Float[ndarray, "n P"]

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return an equal-tailed credible interval of the minimum.

        Raises:
            ArgumentError: If ``level`` is not between 0 and 1.
        """
        if not 0.0 < level < 1.0:
            msg = f"level={level!r} is not between 0 and 1. Pass one such as 0.95."
            raise ArgumentError(msg)
        tail = 0.5 * (1.0 - level)
        low, high = np.quantile(self.values, [tail, 1.0 - tail])
        return float(low), float(high)
