"""Candidate points of each component, inside the cube and representable."""

from dataclasses import dataclass

import numpy as np

from sumbo.data import Data
from sumbo.search.components import Component
from sumbo.typing import Bool, Float, Region, ndarray


@dataclass(frozen=True, kw_only=True)
class SpreadCandidates:
    """How candidates of a component of several coordinates are spread.

    Attributes:
        local: Share of the candidates that lie around the best observations. The
            others are scrambled Sobol points.
        best: How many of the best observations are used; they are candidates too.
        smallest_step: Smallest standard deviation of a step away from one of them, as
            a power of ten.
        largest_step: Largest standard deviation of such a step, as a power of ten.
        moved: Share of the coordinates that such a step changes; at least one.
    """

    local: float = 0.4
    best: int = 3
    smallest_step: float = -3.0
    largest_step: float = -0.5
    moved: float = 0.5


SPREAD = SpreadCandidates()


def draw_candidates(
    rng: np.random.Generator,
    data: Data,
    parts: list[Component],
    count: int,
    how: str = "spread",
) -> list[Float[ndarray, "..."]]:
    """Return ``count`` candidates per component, in the component's coordinates.

    ``how="uniform"`` draws them independently, as [wycoff2025]; ``"spread"`` takes
    scrambled Sobol points, and for components of several coordinates some around
    the best observations, whose coordinates are candidates too. Candidates of a
    component with constraints are feasible.
    """
    out = []
    for part in parts:
        d = len(part.coordinates)
        if part.region is not None:
            out.append(_feasible(rng, data, part, part.region, count, how))
            continue
        if how == "uniform":
            U = rng.random((count, d))
        elif d == 1:
            U = _jittered(rng, count, 1)
        else:
            U = _spread(rng, data, part, count)
        out.append(_snap(data, part, U))
    return out


def free_coordinates(data: Data) -> Bool[ndarray, " P"]:
    """Return which coordinates are continuous: snapping leaves them alone."""
    # An irrational-looking probe point: no integer level or one-hot corner is there.
    probe = np.full((1, data.domain.dim), 0.3819660112501051)
    return data.domain.snap(probe)[0] == probe[0]


def line_candidates(
    rng: np.random.Generator, data: Data, count: int
) -> Float[ndarray, "count P"]:
    """Return points that are candidates along each coordinate by itself."""
    return data.domain.snap(_jittered(rng, count, data.domain.dim))


def _jittered(
    rng: np.random.Generator, count: int, d: int
) -> Float[ndarray, "count d"]:
    """Return a jittered grid with both ends, for one coordinate."""
    U = (np.arange(count)[:, None] + rng.random((count, d))) / count
    U[0], U[-1] = 0.0, 1.0
    return U


def _spread(
    rng: np.random.Generator, data: Data, part: Component, count: int
) -> Float[ndarray, "count d"]:
    from scipy.stats import qmc  # a second of import time that few calls need

    d = len(part.coordinates)
    local = int(SPREAD.local * count) if len(data.y) else 0
    if d > qmc.Sobol.MAXDIM:  # no direction numbers beyond
        U = rng.random((count - local, d))
    else:
        sobol = qmc.Sobol(d, rng=rng).random(_power_of_two(count - local))
        U = sobol[: count - local]
    if not local:
        return U
    best = data.U[data.order[: SPREAD.best]][:, part.coordinates]
    around = _around(rng, best, local)
    around[: len(best)] = best[:local]
    return np.vstack([U, around])


def _around(
    rng: np.random.Generator, best: Float[ndarray, "b d"], local: int
) -> Float[ndarray, "n d"]:
    """Return points around the best observations."""
    d = best.shape[1]
    centers = best[rng.integers(len(best), size=local)]
    # Steps of all sizes, some coordinates kept: a coarse to fine pattern search.
    scale = 10.0 ** rng.uniform(
        SPREAD.smallest_step, SPREAD.largest_step, size=(local, 1)
    )
    moved = rng.random((local, d)) < max(SPREAD.moved, 1.0 / d)
    moved[np.arange(local), rng.integers(d, size=local)] = True
    steps = scale * rng.standard_normal((local, d)) * moved
    return np.clip(centers + steps, 0.0, 1.0)


def _feasible(
    rng: np.random.Generator,
    data: Data,
    part: Component,
    region: Region,
    count: int,
    how: str,
) -> Float[ndarray, "count d"]:
    """Return uniform feasible points, and with ``"spread"`` some around the best."""
    best = data.U[data.order[: SPREAD.best]][:, part.coordinates]
    best = best[region.feasible(best)]
    local = int(SPREAD.local * count) if how == "spread" and len(best) else 0
    U = region.draw(rng, count - local)
    if not local:
        return U
    around = _around(rng, best, local)
    around[: len(best)] = best[:local]
    return np.vstack([U, region.nearest(around, best)])


def _snap(
    data: Data, part: Component, U: Float[ndarray, "B d"]
) -> Float[ndarray, "B d"]:
    full = np.full((len(U), data.domain.dim), 0.5)
    full[:, part.coordinates] = U
    return np.ascontiguousarray(data.domain.snap(full)[:, part.coordinates])


def _power_of_two(n: int) -> int:
    return 1 << max(0, (n - 1).bit_length())
