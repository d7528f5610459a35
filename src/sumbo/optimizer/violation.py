"""By how much observations break constraints."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sumbo.errors import SumboError
from sumbo.optimizer.history import History
from sumbo.optimizer.outcomes import measured
from sumbo.space import Outcome, Space
from sumbo.surrogate.base import beyond
from sumbo.typing import Float, ndarray

# Shares of a mixture are often written with few digits: what was observed counts as
# feasible if it is within this share of a constraint's terms.
ROUNDED = 1e-6


def violations(
    space: Space, history: History, limits: Sequence[Outcome] = ()
) -> Float[ndarray, " N"] | None:
    """Return 0 for each observation that meets all constraints, and more for others.

    None if there are no constraints. Points that break a known constraint have inf, as
    have those whose outcomes are not known. The others have the sum of what outcomes
    are beyond their limits, in standard deviations of the outcome.
    """
    if space.region is None and not limits:
        return None
    out = np.zeros(len(history.y))
    for outcome in measured(limits, history.outcomes):
        known = outcome.values[np.isfinite(outcome.values)]
        scale = float(known.std()) if len(known) and np.ptp(known) > 0 else 1.0
        broken = beyond(outcome.values, outcome.lower, outcome.upper)
        out += np.where(np.isnan(broken), np.inf, broken / scale)
    if space.region is not None:
        out[~space.region.feasible(history.U, ROUNDED)] = np.inf
    return out


def best_row(space: Space, history: History, limits: Sequence[Outcome] = ()) -> int:
    """Return the row of the best feasible observation.

    Raises:
        SumboError: If there is none.
    """
    if not np.isfinite(history.y).any():
        msg = "there is no best point yet: no value was observed."
        raise SumboError(msg)
    y = feasible_values(space, history, limits)
    if not np.isfinite(y).any():
        msg = "there is no best point yet: no observed point meets all constraints."
        raise SumboError(msg)
    return int(np.nanargmin(y))


def feasible_values(
    space: Space, history: History, limits: Sequence[Outcome] = ()
) -> Float[ndarray, " N"]:
    """Return the values, NaN where an observation breaks a constraint."""
    broken = violations(space, history, limits)
    return history.y if broken is None else np.where(broken == 0, history.y, np.nan)


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
