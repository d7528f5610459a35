"""Predictions of a run in the user's units: medians and intervals."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sumbo.data import Transform
from sumbo.surrogate import Surrogate
from sumbo.typing import Float, ndarray

Z95 = 1.959963984540054
# Points whose moments are computed at once.
PANEL = 2000


@dataclass(frozen=True, kw_only=True, eq=False)
class Band:
    """A curve with an interval at every point."""

    mid: Float[ndarray, " n"]
    low: Float[ndarray, " n"]
    high: Float[ndarray, " n"]


@dataclass(frozen=True, kw_only=True)
class Units:
    """The way from model units to the user's: the transform, and the sign."""

    transform: Transform
    sign: float

    @property
    def linear(self) -> bool:
        """Whether the user's values are a linear function of the model's."""
        return self.transform.kind != "log"

    @property
    def scale(self) -> float:
        """What one model unit is: in the user's units, or on the logarithmic scale."""
        if not self.linear:
            return self.sign * self.transform.sd
        zero, one = self.transform.inverse(np.array([0.0, 1.0]))
        return self.sign * float(one - zero)

    def values(self, z: Any) -> Float[ndarray, "*n"]:
        """Return values in the user's units."""
        return self.sign * self.transform.inverse(np.asarray(z, dtype=float))

    def band(self, mean: Any, sd: Any, reach: float = Z95) -> Band:
        """Return medians and intervals of normal distributions of the model."""
        low, high = self.values(mean - reach * sd), self.values(mean + reach * sd)
        return Band(
            mid=self.values(mean),
            low=np.minimum(low, high),
            high=np.maximum(low, high),
        )


def units_of(opt: Any, surrogate: Surrogate) -> Units:
    """Return the units of a run's model."""
    sign = -1.0 if opt.maximize else 1.0
    return Units(transform=surrogate.transform, sign=sign)


def moments(
    surrogate: Surrogate, U: Float[ndarray, "n P"]
) -> tuple[Float[ndarray, " n"], Float[ndarray, " n"]]:
    """Return mean and standard deviation in model units, structures averaged."""
    panels = [U[start : start + PANEL] for start in range(0, len(U), PANEL)]
    each = []
    for post in surrogate.posteriors:
        found = [post.predict(panel) for panel in panels]
        mean = np.concatenate([m for m, _ in found])
        each.append((mean, np.concatenate([v for _, v in found])))
    return mixed(surrogate.weights, each)


def mixed(
    weights: Float[ndarray, " S"], each: list[Any]
) -> tuple[Float[ndarray, " n"], Float[ndarray, " n"]]:
    """Return mean and standard deviation of a mixture of (mean, variance)."""
    w = weights / weights.sum()
    means = np.array([m for m, _ in each])
    variances = np.array([v for _, v in each])
    mean = w @ means
    var = w @ (variances + (means - mean) ** 2)
    return mean, np.sqrt(np.maximum(var, 0.0))
