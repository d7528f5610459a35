"""Minimise a sum of functions of groups, one connected component at a time."""

import numpy as np
from scipy.optimize import minimize

from sumbo.maximize.components import Component
from sumbo.maximize.overlapping import Parts, minimise_overlapping
from sumbo.structure import is_partition
from sumbo.typing import Bool, Float, ndarray

# Each round narrows the bracket to a quarter; five make it a thousand times finer.
ZOOMS = 5
ZOOM_POINTS = 9


def minimise_sum(
    parts: list[Component],
    Z: list[Float[ndarray, "..."]],
    values: list[Float[ndarray, "..."]],
    dim: int,
    functions: Parts | None = None,
    free: Bool[ndarray, " P"] | None = None,
) -> Float[ndarray, " P"]:
    """Return the point whose component coordinates minimise each component's sum.

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
    for part, Zc, f in zip(parts, Z, values, strict=True):
        best = int(np.argmin(f))
        z = Zc[best]
        if functions is not None:
            z = _refine(part, Zc, f, best, functions, free)
        u[list(part.coordinates)] = z
    return u


def _refine(
    part: Component,
    Z: Float[ndarray, "B d"],
    f: Float[ndarray, " B"],
    best: int,
    functions: Parts,
    free: Bool[ndarray, " P"] | None,
) -> Float[ndarray, " d"]:
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
        return z0
    if len(z0) == 1:
        return _zoom(part, Z, f, best, functions)

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
        options={"maxiter": 20},
    )
    if not result.fun < f[best]:
        return z0
    z = z0.copy()
    z[moving] = np.clip(result.x, 0.0, 1.0)
    return z


def _zoom(
    part: Component,
    Z: Float[ndarray, "B 1"],
    f: Float[ndarray, " B"],
    best: int,
    functions: Parts,
) -> Float[ndarray, " 1"]:
    """Return the best of finer and finer grids between the best candidate's neighbours.

    On one coordinate this needs no gradient and a tenth of the time of a
    quasi-Newton search: each round evaluates a handful of points at once.
    """
    z, value = Z[best], f[best]
    below, above = Z[z > Z], Z[z < Z]
    low = below.max() if len(below) else 0.0
    high = above.min() if len(above) else 1.0
    for _ in range(ZOOMS):
        grid = np.linspace(low, high, ZOOM_POINTS)[:, None]
        values = np.sum([functions.value(m, grid) for m in part.groups], axis=0)
        i = int(np.argmin(values))
        if values[i] < value:
            z, value = grid[i], values[i]
        low, high = grid[max(i - 1, 0), 0], grid[min(i + 1, ZOOM_POINTS - 1), 0]
    return z
