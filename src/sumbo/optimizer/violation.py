"""By how much observations break constraints."""

from typing import Any

import numpy as np

from sumbo.errors import SumboError
from sumbo.optimizer.history import History
from sumbo.space import Space
from sumbo.typing import Float, ndarray

# Shares of a mixture are often written with few digits: what was observed counts as
# feasible if it is within this share of a constraint's terms.
ROUNDED = 1e-6


def violations(space: Space, history: History) -> Float[ndarray, " N"] | None:
    """Return 0 for each observation that meets all constraints, and more for others.

    None if there are no constraints. Points that break a known constraint have inf.
    """
    if space.region is None:
        return None
    feasible = space.region.feasible(history.U, ROUNDED)
    return np.where(feasible, 0.0, np.inf)


def best_row(space: Space, history: History) -> int:
    """Return the row of the best feasible observation.

    Raises:
        SumboError: If there is none.
    """
    y = history.y
    if not np.isfinite(y).any():
        msg = "there is no best point yet: no value has been told."
        raise SumboError(msg)
    broken = violations(space, history)
    if broken is None:
        return int(np.nanargmin(y))
    y = np.where(broken == 0, y, np.nan)
    if not np.isfinite(y).any():
        msg = "there is no best point yet: none that was told meets all constraints."
        raise SumboError(msg)
    return int(np.nanargmin(y))


def best_of(opt: Any) -> tuple[ndarray, float] | None:
    """Return the best feasible point of an optimizer and its value, None without."""
    try:
        return opt.best
    except SumboError:
        return None


def why_none(y: Float[ndarray, " N"]) -> str:
    """Return why a run has no best point."""
    if np.isfinite(y).any():
        return "no feasible point was evaluated"
    return "no evaluation succeeded"
