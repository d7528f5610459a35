"""Minimise a sum of parts on a grid of the parameters' own values, then descend.

The grid has some levels per parameter. If elimination is affordable, its minimum is
exact for any graph of overlapping parts: [rolland2018] for junction trees, [han2021]
for forests. Gradient steps then leave the grid.
"""

import numpy as np

from sumbo.data import Data
from sumbo.search.candidates import free_coordinates
from sumbo.search.components import Component
from sumbo.search.elimination import tables_of
from sumbo.search.levels import GridCost, minimise_levels
from sumbo.search.local import descend
from sumbo.search.overlapping import Parts, total_and_gradient
from sumbo.typing import Bool, Float, Group, ndarray

# How many of the best observations have their values among the levels.
BEST = 3
# Random points per coordinate of a parameter with several coordinates, such as a
# choice, among which its levels are found.
PROBES = 8
# Quasi-Newton steps of the descent from the minimum of the grid, and the projected
# gradient at which it ends.
STEPS = 40
TOLERANCE = 3e-3


def minimise_on_grid(
    rng: np.random.Generator,
    part: Component,
    functions: Parts,
    data: Data,
    count: int,
    refine: bool = True,
) -> tuple[Float[ndarray, " d"], GridCost]:
    """Return a low point of a component, and what the search of the grid took.

    Args:
        rng: The source of randomness: the grid is shifted by a random part of a step.
        part: The component; it holds all coordinates of a parameter or none.
        functions: Its parts.
        data: The observations.
        count: Levels per parameter, those of the best observations not counted.
        refine: Whether a descent follows, in the coordinates that are continuous.
    """
    place = {p: i for i, p in enumerate(part.coordinates)}
    nodes = [b for b in data.domain.blocks if b[0] in place]
    levels = [parameter_levels(rng, data, block, count) for block in nodes]
    columns = [tuple(place[p] for p in block) for block in nodes]
    numbered = list(zip(part.groups, part.columns, strict=True))
    terms = tables_of(functions.value, numbered, columns, levels)
    chosen, cost = minimise_levels(terms, [len(rows) for rows in levels])
    z = np.empty(len(part.coordinates))
    for own, rows, level in zip(columns, levels, chosen, strict=True):
        z[list(own)] = rows[level]
    moving = free_coordinates(data)[list(part.coordinates)]
    return (_descended(part, z, functions, moving) if refine else z), cost


def parameter_levels(
    rng: np.random.Generator, data: Data, block: Group, count: int
) -> Float[ndarray, "n k"]:
    """Return different values of a parameter, ends and best observations among them."""
    if len(block) == 1:
        inner = (np.arange(count - 2) + rng.random()) / max(count - 2, 1)
        rows = np.concatenate([[0.0, 1.0], inner])[:count, None]
    else:
        rows = rng.random((max(count, PROBES * len(block)), len(block)))
        rows = np.vstack([np.eye(len(block)), rows])
    best = data.U[data.order[:BEST]][:, list(block)]
    full = np.full((len(rows) + len(best), data.domain.dim), 0.5)
    full[:, list(block)] = np.vstack([best, rows])
    found = data.domain.snap(full)[:, list(block)]
    _, first = np.unique(found, axis=0, return_index=True)
    return found[np.sort(first)[: count + len(best)]]


def _descended(
    part: Component,
    z: Float[ndarray, " d"],
    functions: Parts,
    moving: Bool[ndarray, " d"],
) -> Float[ndarray, " d"]:
    """Return the end of a descent from a point; never a higher one."""
    if not moving.any():
        return z

    def held(X: Float[ndarray, "b d"]) -> tuple[ndarray, ndarray]:
        # A coordinate without slope never moves.
        value, gradient = total_and_gradient(part, X, functions)
        return value, gradient * moving

    found, _ = descend(held, z[None], steps=STEPS, tolerance=TOLERANCE)
    return found[0]
