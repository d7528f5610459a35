"""Minimise a function of the whole cube that is close to a sum of parts.

Parts are cheap to search one by one, the whole is not. So the global search is
separable: the minimisers of the parts' own bounds, joined to points, and crossed with
the best observations, are starts of a local descent of the function itself, next to
points spread over the cube and around the best observations.
"""

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Protocol, runtime_checkable

import numpy as np

from sumbo.data import Data
from sumbo.gp import Posterior
from sumbo.rng import rng_at
from sumbo.search.candidates import (
    draw_candidates,
    free_coordinates,
    line_candidates,
)
from sumbo.search.components import Component
from sumbo.search.feasible import made_feasible, minimise_feasible
from sumbo.search.local import RowFunction, descend
from sumbo.typing import Bool, Float, ndarray


@dataclass(frozen=True, kw_only=True)
class WholeSearch:
    """Where the search of the whole cube starts, and how it descends.

    Attributes:
        betas: Factors β of the bounds μ − βσ whose minimisers, part by part, form
            starts: from pure exploitation to exploration.
        spread: Quasi-random points of the whole cube.
        local: Points around the best observations.
        crossed: Points that take some parameters from a best observation and the
            others from the minimisers of bounds.
        best: How many of the best observations are used.
        changed: Share of the parameters in which a point around an observation
            differs from it; at least one does.
        smallest_step: Smallest standard deviation of such a step, as a power of ten.
        largest_step: Largest standard deviation of such a step, as a power of ten.
        steps: Quasi-Newton steps of each descent.
        tolerance: Projected gradient at which a descent ends. Across the whole cube
            such a slope changes the function by this much.
        halving: Steps after which the worse half of the descents is given up.
        wide: With limits of outcomes, so many more points of the whole cube, and as
            many more around the best observations, form as many starts again. The
            feasible set may have several pieces, which the parts of the objective do
            not show.
    """

    betas: tuple[float, ...] = (0.0, 0.5, 1.0, 2.0)
    spread: int = 16
    local: int = 64
    crossed: int = 32
    best: int = 5
    changed: float = 0.3
    smallest_step: float = -3.0
    largest_step: float = -0.3
    steps: int = 40
    tolerance: float = 2e-2
    halving: int = 3
    wide: int = 256


SEARCH = WholeSearch()


@runtime_checkable
class Function(Protocol):
    """A function of the whole cube with its gradient."""

    def value(self, U: Float[ndarray, "b P"]) -> Float[ndarray, " b"]:
        """Return values at rows of points."""
        ...

    def gradient(
        self, U: Float[ndarray, "b P"]
    ) -> tuple[Float[ndarray, " b"], Float[ndarray, "b P"]]:
        """Return values and gradients at rows of points."""
        ...


def search_whole(
    rng: np.random.Generator,
    function: Function,
    post: Posterior,
    data: Data,
    *,
    per_part: int,
    starts: int,
) -> Float[ndarray, " P"]:
    """Return the lowest feasible point found of a function close to a sum of parts.

    Args:
        rng: The source of randomness.
        function: The function.
        post: The posterior whose parts guide the search.
        data: The observations.
        per_part: Candidate points per part.
        starts: Descents.
    """
    free = free_coordinates(data)
    points = whole_candidates(rng, post, data, free, per_part)
    values, region = function.value(points), data.domain.region
    if data.outcomes:
        top = np.argsort(values, kind="stable")[:starts]
        wide = _wide(rng, data)
        more = function.value(wide)
        other = _distinct(more, wide[:, ~free], starts)
        points = np.vstack([points[top], wide[other]])
        values, starts = np.append(values[top], more[other]), len(points)
    if region is None:
        return minimise_whole(function.gradient, values, points, free, starts=starts)
    return minimise_feasible(
        rng,
        function.gradient,
        values,
        points,
        free,
        region,
        starts=starts,
        steps=SEARCH.steps,
    )


def minimise_whole(
    f_and_grad: RowFunction,
    values: Float[ndarray, " n"],
    points: Float[ndarray, "n P"],
    free: Bool[ndarray, " P"],
    *,
    starts: int,
    steps: int = SEARCH.steps,
) -> Float[ndarray, " P"]:
    """Return the lowest point found below the best of some points.

    Args:
        f_and_grad: Values and gradients at rows of points.
        values: The function at ``points``.
        points: Where descents may start, representable.
        free: Coordinates that may leave them (not integers, not one-hot).
        starts: Descents.
        steps: Quasi-Newton steps of each.
    """
    top = points[np.argsort(values, kind="stable")[:starts]]
    if not free.any():
        return top[0]

    # A coordinate without slope never moves.
    held = partial(_held, f_and_grad, free)
    found, reached = descend(
        held,
        top,
        steps=steps,
        tolerance=SEARCH.tolerance,
        halving=SEARCH.halving,
    )
    return found[int(np.argmin(reached))]


def _held(
    f_and_grad: RowFunction, free: Bool[ndarray, " P"], U: Float[ndarray, "b P"]
) -> tuple[Float[ndarray, " b"], Float[ndarray, "b P"]]:
    value, gradient = f_and_grad(U)
    return value, gradient * free


def whole_candidates(
    rng: np.random.Generator,
    post: Posterior,
    data: Data,
    free: Bool[ndarray, " P"],
    per_part: int,
) -> Float[ndarray, "n P"]:
    """Return points among which a function close to the sum of parts may be least."""
    best = data.U[data.order[: SEARCH.best]]
    # Sobol points, rotated at random: as evenly spread as scrambled ones, while
    # scrambling would take milliseconds of every ask where parameters are many.
    spread = (_spread(data.domain.dim) + rng.random(data.domain.dim)) % 1.0
    near = _near(rng, data, best, free)
    joined = separable_minimisers(rng, post, data, per_part)
    one = joined[rng.integers(len(joined), size=SEARCH.crossed)]
    other = best[rng.integers(len(best), size=SEARCH.crossed)]
    share = rng.random((SEARCH.crossed, 1))
    crossed = np.where(_by_parameter(rng, data, share), one, other)
    points = data.domain.snap(np.vstack([best, spread, near, joined, crossed]))
    region = data.domain.region
    if region is None:
        return points
    return made_feasible(rng, region, points, best, SEARCH.spread)


def _spread(P: int) -> Float[ndarray, "n P"]:
    from scipy.stats import qmc  # a second of import time that few calls need

    if P > qmc.Sobol.MAXDIM:  # no direction numbers beyond
        return rng_at(0, "search/spread").random((SEARCH.spread, P))
    return _sobol(P, SEARCH.spread)


# Constants; SciPy takes a tenth of an ask to compute them.
@lru_cache(maxsize=8)
def _sobol(P: int, n: int) -> Float[ndarray, "n P"]:
    from scipy.stats import qmc

    points = qmc.Sobol(P, scramble=False).random(n)
    points.setflags(write=False)
    return points


def separable_minimisers(
    rng: np.random.Generator, post: Posterior, data: Data, per_part: int
) -> Float[ndarray, "b P"]:
    """Return, for each of several β, the minimisers of the parts' bounds, joined.

    A part on all coordinates is left out if there are others, as a residual part is:
    the descent takes it into account.
    """
    best = data.U[data.order[: SEARCH.best]]
    out = np.tile(best[0], (len(SEARCH.betas), 1))
    lines = post.lines
    if len(lines):
        Z = np.vstack([line_candidates(rng, data, per_part), best])
        mean, var = post.line_moments(Z)
        sd = np.sqrt(var)
        for i, beta in enumerate(SEARCH.betas):
            out[i, lines] = Z[np.argmin(mean - beta * sd, axis=0), lines]
    for m, group in enumerate(post.gp.groups):
        residual = len(group) == data.domain.dim and len(post.gp.groups) > 1
        if len(group) == 1 or residual:
            continue
        part = Component(
            coordinates=group, groups=(m,), columns=(tuple(range(len(group))),)
        )
        (Z,) = draw_candidates(rng, data, [part], per_part)
        Z = np.vstack([Z, best[:, group]])
        mean, var = post.part_moments(m, Z)
        sd = np.sqrt(var)
        for i, beta in enumerate(SEARCH.betas):
            out[i, list(group)] = Z[int(np.argmin(mean - beta * sd))]
    return out


def _near(
    rng: np.random.Generator,
    data: Data,
    best: Float[ndarray, "b P"],
    free: Bool[ndarray, " P"],
) -> Float[ndarray, "n P"]:
    """Return points around the best: steps of all sizes in some of the parameters."""
    P = data.domain.dim
    centers = best[rng.integers(len(best), size=SEARCH.local)]
    scale = 10.0 ** rng.uniform(
        SEARCH.smallest_step, SEARCH.largest_step, size=(SEARCH.local, 1)
    )
    moved = centers + scale * rng.standard_normal((SEARCH.local, P))
    # Between levels there is nothing to step on: draw another one.
    moved[:, ~free] = rng.random((SEARCH.local, int((~free).sum())))
    share = np.full((SEARCH.local, 1), SEARCH.changed)
    changed = _by_parameter(rng, data, share)
    blocks = data.domain.blocks
    for row, k in enumerate(rng.integers(len(blocks), size=SEARCH.local)):
        changed[row, list(blocks[k])] = True
    return np.clip(np.where(changed, moved, centers), 0.0, 1.0)


def _wide(rng: np.random.Generator, data: Data) -> Float[ndarray, "n P"]:
    """Return points of the whole cube, and of wide surroundings of the best ones.

    Steps around the best change integers like other numbers, all of them together.
    """
    best = data.U[data.order[: SEARCH.best]]
    n, P = SEARCH.wide, data.domain.dim
    centers = best[rng.integers(len(best), size=n)]
    scale = 10.0 ** rng.uniform(-2.0, SEARCH.largest_step, size=(n, 1))
    moved = np.clip(centers + scale * rng.standard_normal((n, P)), 0.0, 1.0)
    points = data.domain.snap(np.vstack([rng.random((n, P)), moved]))
    region = data.domain.region
    if region is None:
        return points
    return made_feasible(rng, region, points, best, n)


def _distinct(
    values: Float[ndarray, " n"], levels: Float[ndarray, "n I"], count: int
) -> list[int]:
    """Return the rows of the least values, each with other integers and choices."""
    order = np.argsort(values, kind="stable")
    if levels.shape[1] == 0:
        return order[:count].tolist()
    first = np.unique(levels[order], axis=0, return_index=True)[1]
    return order[np.sort(first)[:count]].tolist()


def _by_parameter(
    rng: np.random.Generator, data: Data, share: Float[ndarray, "n 1"]
) -> Bool[ndarray, "n P"]:
    """Return which coordinates to take, one-hot ones of a parameter together."""
    blocks = data.domain.blocks
    owner = np.empty(data.domain.dim, dtype=int)
    for k, block in enumerate(blocks):
        owner[list(block)] = k
    return (rng.random((len(share), len(blocks))) < share)[:, owner]
