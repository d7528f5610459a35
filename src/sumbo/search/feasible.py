"""Search under known constraints: candidates made feasible, descents that stay inside.

Linear constraints are smooth in the unit cube, and a descent respects them by
sequential quadratic programming (SLSQP). Tests have no slope: a descent stops where it
leaves the feasible points, and random feasible steps follow the boundary from there.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from sumbo.search.local import RowFunction, descend
from sumbo.typing import Bool, Float, Region, ndarray

# Constraints at a point, and their gradients.
RowsAt = Callable[
    [Float[ndarray, " P"]], tuple[Float[ndarray, " m"], Float[ndarray, "m P"]]
]


@dataclass(frozen=True, kw_only=True)
class FeasibleSearch:
    """How a function is minimised over feasible points.

    Attributes:
        tolerance: Change of the value at which SLSQP stops.
        rounds: Rounds of random steps where tests decide.
        tried: Random steps of each round.
        first_step: Standard deviation of the first round's steps, in the unit cube.
        shrink: Factor from one round to the next.
    """

    tolerance: float = 1e-6
    rounds: int = 5
    tried: int = 24
    first_step: float = 0.1
    shrink: float = 0.4


SEARCH = FeasibleSearch()


def made_feasible(
    rng: np.random.Generator,
    region: Region,
    points: Float[ndarray, "n P"],
    best: Float[ndarray, "b P"],
    spread: int,
) -> Float[ndarray, "m P"]:
    """Return the points moved into the region, and uniform points of it.

    Args:
        rng: The source of randomness.
        region: The feasible points.
        points: Representable points.
        best: The best observations, from which infeasible points are approached.
        spread: How many uniform points are added.
    """
    best = best[region.feasible(best)]
    moved = region.nearest(points, best)
    return np.vstack([moved, region.draw(rng, spread)])


def minimise_feasible(
    rng: np.random.Generator,
    f_and_grad: RowFunction,
    values: Float[ndarray, " n"],
    points: Float[ndarray, "n P"],
    free: Bool[ndarray, " P"],
    region: Region,
    *,
    starts: int,
    steps: int,
) -> Float[ndarray, " P"]:
    """Return the lowest feasible point found below the best of some feasible points.

    Args:
        rng: The source of randomness.
        f_and_grad: Values and gradients at rows of points.
        values: The function at ``points``.
        points: Where descents may start, feasible.
        free: Coordinates that may leave them (not integers, not one-hot).
        region: The feasible points.
        starts: Descents.
        steps: Most steps of each.
    """
    top = points[np.argsort(values, kind="stable")[:starts]]
    if not free.any():
        return top[0]
    if len(region.limits[0]):
        found = np.array(
            [
                programmed(f_and_grad, u, free, region.rows, region.limits, steps)
                for u in top
            ]
        )
    else:

        def held(U: ndarray) -> tuple[ndarray, ndarray]:
            value, gradient = f_and_grad(U)
            return value, gradient * free

        found, _ = descend(held, top, steps=steps)
    inside = region.towards(top, found)
    both = np.vstack([top, inside])
    both = both[region.feasible(both)]
    reached = f_and_grad(both)[0]
    best = int(np.argmin(reached))
    u, value = both[best], float(reached[best])
    # The boundary of a test has no equation to slide along.
    if not np.allclose(inside, found, atol=1e-6):
        u = _stepped(rng, f_and_grad, u, value, free, region)
    return u


def programmed(
    f_and_grad: RowFunction,
    start: Float[ndarray, " P"],
    free: Bool[ndarray, " P"],
    rows: RowsAt,
    limits: tuple[Float[ndarray, " m"], Float[ndarray, " m"]],
    steps: int,
) -> Float[ndarray, " P"]:
    """Return where SLSQP ends; it may be infeasible by a little.

    Args:
        f_and_grad: Values and gradients at rows of points.
        start: Where the descent starts.
        free: Coordinates that may leave it.
        rows: Smooth constraints at a point, and their gradients.
        limits: Lower and upper limits of ``rows``; equal ones are an equation.
        steps: Most steps.
    """
    lower, upper = limits
    equal = lower == upper
    below, above = ~equal & np.isfinite(upper), ~equal & np.isfinite(lower)

    def whole(x: Float[ndarray, " k"]) -> Float[ndarray, " P"]:
        u = start.copy()
        u[free] = np.clip(x, 0.0, 1.0)
        return u

    def objective(x: Float[ndarray, " k"]) -> tuple[float, Float[ndarray, " k"]]:
        value, gradient = f_and_grad(whole(x)[None])
        return float(value[0]), gradient[0, free]

    def slacks(x: Float[ndarray, " k"]) -> Float[ndarray, " c"]:
        value = rows(whole(x))[0]
        return np.concatenate([(upper - value)[below], (value - lower)[above]])

    def slack_slopes(x: Float[ndarray, " k"]) -> Float[ndarray, "c k"]:
        slope = rows(whole(x))[1][:, free]
        return np.vstack([-slope[below], slope[above]])

    constraints = []
    if below.any() or above.any():
        constraints.append({"type": "ineq", "fun": slacks, "jac": slack_slopes})
    # Equations without a continuous coordinate hold at the start already.
    equal &= rows(start)[1][:, free].any(axis=1)
    if equal.any():
        constraints.append(
            {
                "type": "eq",
                "fun": lambda x: (rows(whole(x))[0] - lower)[equal],
                "jac": lambda x: rows(whole(x))[1][equal][:, free],
            }
        )
    result = minimize(
        objective,
        start[free],
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * int(free.sum()),
        constraints=constraints,
        options={"maxiter": steps, "ftol": SEARCH.tolerance},
    )
    return whole(result.x) if np.isfinite(result.x).all() else start


def _stepped(
    rng: np.random.Generator,
    f_and_grad: RowFunction,
    u: Float[ndarray, " P"],
    value: float,
    free: Bool[ndarray, " P"],
    region: Region,
) -> Float[ndarray, " P"]:
    """Return a lower feasible point near u, by random steps that become smaller."""
    scale = SEARCH.first_step
    for _ in range(SEARCH.rounds):
        steps = scale * rng.standard_normal((SEARCH.tried, len(u))) * free
        tried = np.clip(u + steps, 0.0, 1.0)
        around = np.tile(u, (SEARCH.tried, 1))
        tried = region.towards(around, tried)
        values = f_and_grad(tried)[0]
        best = int(np.argmin(values))
        if values[best] < value:
            u, value = tried[best], float(values[best])
        else:
            scale *= SEARCH.shrink
    return u
