"""Minimise a sum of functions of groups, one connected component at a time."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.optimize import minimize

from sumbo.search.components import Component
from sumbo.search.feasible import minimise_feasible
from sumbo.search.levels import GridCost
from sumbo.search.local import RowFunction
from sumbo.search.overlapping import (
    LowPoint,
    Parts,
    minimise_overlapping,
    total_and_gradient,
)
from sumbo.structure import is_partition
from sumbo.typing import Bool, Float, Groups, Int, Region, ndarray


@dataclass(frozen=True, kw_only=True)
class LineSearch:
    """How the best candidate along one coordinate is refined.

    Attributes:
        zooms: Rounds of finer grids. Each narrows the bracket to a quarter.
        points: Points of each grid.
        steps: L-BFGS-B iterations where a part has several coordinates.
        descents: Descents of a part whose coordinates have constraints.
    """

    zooms: int = 3
    points: int = 9
    steps: int = 20
    descents: int = 4


SEARCH = LineSearch()


def minimise_sum(
    parts: list[Component],
    Z: list[Float[ndarray, "..."]],
    values: list[Float[ndarray, "..."]],
    dim: int,
    functions: Parts | None = None,
    free: Bool[ndarray, " P"] | None = None,
) -> Float[ndarray, " P"]:
    """Return the point whose component coordinates minimise each component's sum.

    The arguments are those of ``search_sum``.
    """
    return search_sum(parts, Z, values, dim, functions, free)[0]


def search_sum(
    parts: list[Component],
    Z: list[Float[ndarray, "..."]],
    values: list[Float[ndarray, "..."]],
    dim: int,
    functions: Parts | None = None,
    free: Bool[ndarray, " P"] | None = None,
) -> tuple[Float[ndarray, " P"], GridCost | None]:
    """Return the point of ``minimise_sum``, and the cost where groups overlap.

    Args:
        parts: Connected components of the structure.
        Z: Candidates of each component.
        values: The sum of the component's parts at its candidates.
        dim: The number of coordinates P.
        functions: The parts as functions; given, the best candidate is refined
            within the cube: by L-BFGS-B, on one coordinate by zooming, and where
            groups overlap by ``minimise_overlapping``.
        free: Coordinates that may leave the candidate (not integers, not one-hot).
    """
    u = np.empty(dim)
    lines: list[int] = []
    costs: list[GridCost | None] = []
    for c, (part, Zc, f) in enumerate(zip(parts, Z, values, strict=True)):
        best = int(np.argmin(f))
        z = Zc[best]
        moving = free is None or free[list(part.coordinates)].any()
        if functions is not None and part.region is not None:
            z = _refine_feasible(part, part.region, Zc, f, functions, free)
        elif functions is not None and moving and len(z) == 1:
            lines.append(c)
        elif functions is not None:
            z, cost = _refine(part, Zc, f, best, functions, free)
            costs.append(cost)
        u[list(part.coordinates)] = z
    if lines and functions is not None:
        chosen = [parts[c] for c in lines]
        u[[part.coordinates[0] for part in chosen]] = _zoom(
            chosen, [Z[c] for c in lines], [values[c] for c in lines], functions
        )
    return u, GridCost.of(costs)


def sum_and_gradient(groups: Groups, functions: Parts) -> RowFunction:
    """Return the sum of parts on these groups, as a function of whole points."""
    dim = 1 + max(p for group in groups for p in group)
    whole = Component(
        coordinates=tuple(range(dim)),
        groups=tuple(range(len(groups))),
        columns=tuple(groups),
    )
    return lambda U: total_and_gradient(whole, U, functions)


def _refine(
    part: Component,
    Z: Float[ndarray, "B d"],
    f: Float[ndarray, " B"],
    best: int,
    functions: Parts,
    free: Bool[ndarray, " P"] | None,
) -> LowPoint:
    """Return the best candidate after a local descent; never a worse point."""
    z0 = Z[best]
    moving = np.ones(len(z0), dtype=bool)
    if free is not None:
        moving = free[list(part.coordinates)]
    # Groups without overlap in one component are kept together for another reason,
    # such as a one-hot code that they split: their values must not be recombined.
    equal = all(len(columns) == len(z0) for columns in part.columns)
    if not equal and not is_partition(part.columns):
        return minimise_overlapping(part, Z, f, functions, moving)
    if not moving.any():
        return LowPoint(z0, None)

    def evaluate(x: Float[ndarray, " k"]) -> tuple[float, Float[ndarray, " k"]]:
        z = z0.copy()
        z[moving] = x
        value, gradient = 0.0, np.zeros(len(z0))
        for m, columns in zip(part.groups, part.columns, strict=True):
            v, g = functions.gradient(m, z[None, list(columns)])
            value += v[0]
            gradient[list(columns)] += g[0]
        return value, gradient[moving]

    result = minimize(
        evaluate,
        z0[moving],
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, 1.0)] * int(moving.sum()),
        options={"maxiter": SEARCH.steps},
    )
    if not result.fun < f[best]:
        return LowPoint(z0, None)
    z = z0.copy()
    z[moving] = np.clip(result.x, 0.0, 1.0)
    return LowPoint(z, None)


def _refine_feasible(
    part: Component,
    region: Region,
    Z: Float[ndarray, "B d"],
    f: Float[ndarray, " B"],
    functions: Parts,
    free: Bool[ndarray, " P"] | None,
) -> Float[ndarray, " d"]:
    """Return the lowest feasible point of descents from the best candidates."""
    moving = np.ones(Z.shape[1], dtype=bool)
    if free is not None:
        moving = free[list(part.coordinates)]
    # The draw or bound is given: no other randomness may enter, so it is fixed.
    rng = np.random.default_rng(len(Z))
    return minimise_feasible(
        rng,
        partial(total_and_gradient, part, functions=functions),
        f,
        Z,
        moving,
        region,
        starts=SEARCH.descents,
        steps=SEARCH.steps,
    )


def _zoom(
    parts: list[Component],
    Z: list[Float[ndarray, "B 1"]],
    f: list[Float[ndarray, " B"]],
    functions: Parts,
) -> Float[ndarray, " l"]:
    """Return, for each of some components of one coordinate, where it is least.

    Finer and finer grids between the neighbours of the best candidate, and the vertex
    of the parabola through the last three points: this needs no gradient and a tenth
    of the time of a quasi-Newton search, and all components are evaluated together.
    """
    z, value, low, high = np.array(
        [_bracket(Zc[:, 0], fc) for Zc, fc in zip(Z, f, strict=True)]
    ).T
    rows = [i for i, part in enumerate(parts) for _ in part.groups]
    groups = [m for part in parts for m in part.groups]
    every = np.arange(len(parts))

    def total(at: Float[ndarray, "l b"]) -> Float[ndarray, "l b"]:
        values = np.zeros(at.shape)
        np.add.at(values, rows, functions.along(groups, at[rows]))
        return values

    def look(
        low: Float[ndarray, " l"], high: Float[ndarray, " l"]
    ) -> tuple[Float[ndarray, "l b"], Float[ndarray, "l b"], Int[ndarray, " l"]]:
        grid = np.linspace(low, high, SEARCH.points, axis=1)
        values = total(grid)
        return grid, values, np.argmin(values, axis=1)

    grid, values, i = look(low, high)
    for _ in range(SEARCH.zooms - 1):
        before, after = np.maximum(i - 1, 0), np.minimum(i + 1, SEARCH.points - 1)
        grid, values, i = look(grid[every, before], grid[every, after])
    middle = np.clip(i, 1, SEARCH.points - 2)
    left, mid, right = (values[every, middle + d] for d in (-1, 0, 1))
    bend = left - 2.0 * mid + right
    step = 0.5 * (left - right) / np.where(bend > 0, bend, np.inf)
    vertex = grid[every, middle] + step * (grid[:, 1] - grid[:, 0])
    vertex = np.clip(vertex, grid[:, 0], grid[:, -1])
    # In case of a tie the candidate stays.
    found = np.array([z, grid[every, i], vertex])
    reached = [value, values[every, i], total(vertex[:, None])[:, 0]]
    return found[np.argmin(reached, axis=0), every]


def _bracket(
    z: Float[ndarray, " B"], f: Float[ndarray, " B"]
) -> tuple[float, float, float, float]:
    """Return the best candidate, its value, and its neighbours or ends of the cube."""
    best = int(np.argmin(f))
    low = z[z < z[best]].max(initial=0.0)
    high = z[z > z[best]].min(initial=1.0)
    return float(z[best]), float(f[best]), float(low), float(high)
