"""Local descents of a function where other smooth functions have limits.

A descent is sequential quadratic programming (SLSQP). It starts at a candidate, inside
the limits or not, and its end counts only if it is better than the start.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sumbo.search.feasible import programmed
from sumbo.search.local import RowFunction
from sumbo.surrogate.base import beyond
from sumbo.typing import Bool, Float, Region, ndarray


@dataclass(frozen=True, kw_only=True)
class LimitedDescent:
    """How descents within limits are made.

    Attributes:
        starts: Descents, from the best candidates.
        steps: Most steps of each.
        inset: What limits are narrowed by, in the units of the functions. SLSQP ends
            on a limit up to its tolerance, and such an end would be outside.
    """

    starts: int = 2
    steps: int = 30
    inset: float = 1e-5


DESCENT = LimitedDescent()


@dataclass(frozen=True, kw_only=True, eq=False)
class Limited:
    """A smooth function of the cube, and its limits.

    Attributes:
        function: Values and gradients at rows of points.
        lower: The lower limit, −inf if there is none.
        upper: The upper limit, inf if there is none.
    """

    function: RowFunction
    lower: float
    upper: float

    def violation(self, U: Float[ndarray, "n P"]) -> Float[ndarray, " n"]:
        """Return by how much points break the limits."""
        return beyond(self.function(U)[0], self.lower, self.upper)

    @property
    def narrowed(self) -> tuple[float, float]:
        """The limits of descents."""
        inset = min(DESCENT.inset, (self.upper - self.lower) / 4)
        return self.lower + inset, self.upper - inset


def minimise_limited(
    objective: RowFunction,
    limited: Sequence[Limited],
    violation: Float[ndarray, " n"],
    values: Float[ndarray, " n"],
    points: Float[ndarray, "n P"],
    free: Bool[ndarray, " P"],
    region: Region | None,
) -> Float[ndarray, " P"]:
    """Return the lowest point found within limits, or the one that breaks them least.

    Args:
        objective: Values and gradients at rows of points.
        limited: The functions that have limits.
        violation: By how much ``points`` break the limits.
        values: The objective at ``points``.
        points: The candidates, feasible and representable.
        free: Coordinates that may leave them (not integers, not one-hot).
        region: The feasible points; None if all are.
    """
    top = points[np.lexsort((values, violation))[: DESCENT.starts]]
    if not free.any():
        return top[0]
    found = np.array([_descended(objective, limited, u, free, region) for u in top])
    if region is not None:
        found = region.towards(top, found)
    both = np.vstack([top, found])
    if region is not None:
        both = both[region.feasible(both)]
    broken = np.sum([one.violation(both) for one in limited], axis=0)
    return both[best_row(broken, objective(both)[0])]


def best_row(violation: Float[ndarray, " n"], value: Float[ndarray, " n"]) -> int:
    """Return the row of least violation, the one of least value among equals."""
    return int(np.lexsort((value, violation))[0])


def _descended(
    objective: RowFunction,
    limited: Sequence[Limited],
    start: Float[ndarray, " P"],
    free: Bool[ndarray, " P"],
    region: Region | None,
) -> Float[ndarray, " P"]:
    """Return where a descent ends."""
    lower, upper = np.array([one.narrowed for one in limited]).reshape(-1, 2).T
    if region is not None:
        lower = np.append(lower, region.limits[0])
        upper = np.append(upper, region.limits[1])

    # SLSQP asks for values and slopes of the same point in two calls.
    @lru_cache(maxsize=1)
    def at(u: bytes) -> tuple[Float[ndarray, " m"], Float[ndarray, "m P"]]:
        point = np.frombuffer(u)[None]
        found = [one.function(point) for one in limited]
        values = np.array([value[0] for value, _ in found])
        slopes = np.array([slope[0] for _, slope in found]).reshape(-1, len(start))
        if region is None:
            return values, slopes
        more, steeper = region.rows(point[0])
        return np.append(values, more), np.vstack([slopes, steeper])

    def rows(
        u: Float[ndarray, " P"],
    ) -> tuple[Float[ndarray, " m"], Float[ndarray, "m P"]]:
        return at(u.tobytes())

    return programmed(objective, start, free, rows, (lower, upper), DESCENT.steps)
