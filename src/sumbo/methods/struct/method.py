"""Batches by a confidence bound and a determinantal process, with learned groups."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sumbo.data import Data
from sumbo.errors import require_positive_integer
from sumbo.gp import Posterior
from sumbo.gp.smooth import part_moments
from sumbo.methods.base import METHODS, Info, Method
from sumbo.methods.struct.dpp import sample_kdpp
from sumbo.search import (
    Parts,
    by_group,
    feasible_components,
    free_coordinates,
    minimise_sum,
)
from sumbo.search.covering import covering_candidates
from sumbo.surrogate.labelled import LabelledModel, LabelledState
from sumbo.typing import Float, Group, ndarray

FLOOR = 1e-12
# Larger grids are thinned at random: the determinantal process costs O(B³).
LARGEST_GRID = 1000


@METHODS.register("struct")
@dataclass(frozen=True, kw_only=True)
class StructuralBatch(LabelledModel, Method):
    """Return the minimiser of a lower bound, and diverse points of the relevant region.

    Batched structural kernel learning [wang2017skl], for minima. The first point
    minimises Σ_m μ_m − b_m σ_m with b_m = √(d_m log(2t)/5) at the t-th ask; it is
    fantasised. Each part then draws the others from its own grid by a k-DPP
    whose kernel is the posterior covariance, and parts are joined rank by rank.
    Deviations are listed in docs/methods/struct.md.

    Attributes:
        levels: Grid values per parameter.
        candidates: Candidate points per part for the first point.
        refine: Whether the best candidate of each part is refined by its gradient.
    """

    cite: ClassVar[str] = "wang2017skl"
    label: ClassVar[str] = "SKL (UCB–DPP)"
    look: ClassVar = ("#000000", "X")
    takes_context: ClassVar[bool] = True
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {"candidates": 10_000},
        "paper-author": {"candidates": 10_000},
    }

    max_size: int = 3
    levels: int = 10
    candidates: int = 1000
    refine: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("levels", "candidates"):
            require_positive_integer(name, getattr(self, name))

    def propose(
        self, rng: np.random.Generator, state: LabelledState | None, data: Data, q: int
    ) -> tuple[Float[ndarray, "q P"], LabelledState, Info]:
        """Return the minimiser of the bound, and q − 1 diverse points with it."""
        surrogate, state = self.update(rng, state, data, q)
        info, data = Info.of(surrogate), surrogate.data
        surrogate = surrogate.fantasised(data.pending)
        post = surrogate.posterior
        t = data.asks + 1
        (parameters,) = self.structures(state)
        sizes = np.array([len(group) for group in parameters])
        widths = np.sqrt(sizes * np.log(2 * t) / 5)  # [kandasamy2015] practical β_t
        out = np.empty((q, data.domain.dim))
        out[0] = self._minimise_bound(rng, post, data, widths)
        if q > 1:
            post = surrogate.fantasised(out[:1]).posterior
            for m, group in enumerate(parameters):
                grid = part_grid(rng, data, group, self.levels)
                chosen = diverse_points(rng, post, m, grid, float(widths[m]), q - 1)
                out[1:, post.gp.groups[m]] = chosen
        return out, state, info

    def _minimise_bound(
        self,
        rng: np.random.Generator,
        post: Posterior,
        data: Data,
        widths: Float[ndarray, " M"],
    ) -> Float[ndarray, " P"]:
        parts = feasible_components(post.gp.groups, data.domain)
        Z = covering_candidates(rng, data, parts, self.candidates)

        def value(m: int, z: Float[ndarray, "b d"]) -> Float[ndarray, " b"]:
            mean, var = part_moments(post, m, z)
            return mean - widths[m] * np.sqrt(np.maximum(var, FLOOR))

        def gradient(
            m: int, z: Float[ndarray, "b d"]
        ) -> tuple[Float[ndarray, " b"], Float[ndarray, "b d"]]:
            mean, var, mean_slope, var_slope = post.part_moments_gradient(m, z)
            sd = np.sqrt(np.maximum(var, FLOOR))
            slope = mean_slope - widths[m] * var_slope / (2 * sd[:, None])
            return mean - widths[m] * sd, slope

        bounds = [value(m, Zm) for m, Zm in enumerate(by_group(parts, Z))]
        values = [np.sum([bounds[m] for m in part.groups], axis=0) for part in parts]
        functions = Parts(value, gradient) if self.refine else None
        free = free_coordinates(data)
        return minimise_sum(parts, Z, values, data.domain.dim, functions, free)


def part_grid(
    rng: np.random.Generator, data: Data, parameters: Group, levels: int
) -> Float[ndarray, "B d"]:
    """Return the product of the values of some parameters, in their coordinates.

    A parameter with one coordinate has equispaced values, ends included; one with
    several, its corners; both as far as they can be represented. Beyond the largest
    grid, a random part of the product.
    """
    axes = []
    for k in parameters:
        block = list(data.domain.blocks[k])
        single = np.linspace(0.0, 1.0, levels)[:, None]
        values = single if len(block) == 1 else np.eye(len(block))
        full = np.full((len(values), data.domain.dim), 0.5)
        full[:, block] = values
        axes.append(np.unique(data.domain.snap(full)[:, block], axis=0))
    sizes = [len(axis) for axis in axes]
    if np.prod(sizes, dtype=float) <= LARGEST_GRID:
        index = np.indices(sizes).reshape(len(sizes), -1)
    else:
        index = np.stack([rng.integers(n, size=LARGEST_GRID) for n in sizes])
        index = np.unique(index, axis=1)
    return np.hstack([axis[i] for axis, i in zip(axes, index, strict=True)])


def diverse_points(
    rng: np.random.Generator,
    post: Posterior,
    m: int,
    grid: Float[ndarray, "B d"],
    width: float,
    k: int,
) -> Float[ndarray, "k d"]:
    """Return k points of part m's relevant region, the lowest bound first.

    A point is relevant if μ − 2bσ ≤ min(μ + bσ); a region with fewer than k points
    is extended by the points that come next in μ − 2bσ. A grid with fewer than k
    points is used more than once.
    """
    mean, var = post.part_moments(m, grid)
    spread = width * np.sqrt(np.maximum(var, FLOOR))
    optimistic = mean - 2.0 * spread
    distinct = min(k, len(grid))
    relevant = int((optimistic <= (mean + spread).min()).sum())
    region = np.argsort(optimistic, kind="stable")[: max(relevant, distinct)]
    C = _covariance(post, m, grid[region])
    chosen = region[sample_kdpp(rng, C, distinct)]
    ranked = chosen[np.argsort((mean - spread)[chosen], kind="stable")]
    return grid[np.resize(ranked, k)]


def _covariance(
    post: Posterior, m: int, Z: Float[ndarray, "B d"]
) -> Float[ndarray, "B B"]:
    """Return the posterior covariance of part m at Z, its share of noise included.

    The noise keeps the matrix of full rank, so that any number of points can be drawn.
    """
    others = [np.zeros((1, len(group))) for group in post.gp.groups]
    others[m] = Z
    C = post.parts(others)[m].cov
    share = post.gp.noise / len(post.gp.groups) + 1e-10 * post.gp.variances[m]
    return C + share * np.eye(len(Z))
