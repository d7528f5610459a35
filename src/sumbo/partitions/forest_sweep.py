"""Sweeps over forests: edges are drawn, then hyperparameters are fitted to them.

The walk holds a length-scale and a variance per parameter (``coordinates``). Given
these, Metropolis-Hastings has the stationary distribution

    p(y | forest, θ) p(forest),
    log p(forest) = −(penalty + log max(1, (K − 1)/2)) · edges.

K parameters have K(K − 1)/2 pairs. The logarithm keeps the number of edges that are
expected without data below K · exp(−penalty).

The probabilities with which pairs are proposed depend on their *affinity*: the slope
of the evidence in the variance of a pair part, where the singletons are fitted,

    ½ Σ_ij (ααᵀ − K⁻¹)_ij k_p(i, j) k_q(i, j),

one product of matrices for all pairs.
"""

import math
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np

from sumbo.data import Data
from sumbo.errors import require_number, require_positive_integer
from sumbo.gp import AdditiveGP
from sumbo.gp.observed import fit_to
from sumbo.kernels import as_kernel
from sumbo.linalg import (
    cho_solve,
    cholesky,
    inverse_lower,
    pack_lower,
    unpack_lower,
)
from sumbo.partitions.coordinates import (
    CoordinateModel,
    check_spread,
    per_coordinate_of_overlapping,
    shrunk_towards_mean,
    with_groups,
)
from sumbo.partitions.density import log_density
from sumbo.partitions.forest import (
    Forest,
    change_edge,
    forest_groups,
    move_end,
)
from sumbo.partitions.metropolis import in_turn, walk
from sumbo.structure import expand
from sumbo.typing import Float, Group, ndarray


@dataclass(frozen=True, kw_only=True)
class ForestSweep:
    """Settings of the sweeps over forests.

    Attributes:
        penalty: Log evidence, in nats, that each edge must add, on top of a prior under
            which about one edge per parameter is expected.
        own_spread: Shares of their spread in logarithms that the parameters of the
            coordinates keep, sweep after sweep; the last sweep has the last share. With
            0 all coordinates have the same length-scale and variance, with 1 their own.
        even_share: Share of the proposal probabilities that is the same for all pairs,
            so that every pair is tried. The rest favours pairs of high affinity.
        steps_per_parameter: Metropolis steps of one sweep for each parameter.
        max_steps: Most Metropolis steps of one sweep.
        fit_steps: Quasi-Newton steps of the fit after each sweep. Few are enough,
            because each fit starts from the last one.
        first_fit_steps: Quasi-Newton steps of the fit of singletons, which starts from
            default hyperparameters.
        max_observations: Observations that are used, evenly spaced among all. Every
            likelihood costs O(N³), and edges can be found with fewer observations
            than the search needs.
    """

    penalty: float = 1.0
    own_spread: tuple[float, ...] = (0.0, 0.5, 1.0)
    even_share: float = 0.5
    steps_per_parameter: int = 6
    max_steps: int = 160
    fit_steps: int = 6
    first_fit_steps: int = 30
    max_observations: int = 250

    def __post_init__(self) -> None:
        require_number("penalty", self.penalty)
        check_spread(self.own_spread)
        require_number("even_share", self.even_share, high=1.0)
        counts = ("steps_per_parameter", "max_steps", "fit_steps", "first_fit_steps")
        for name in (*counts, "max_observations"):
            require_positive_integer(name, getattr(self, name))


class FittedForest(NamedTuple):
    """A forest and the model fitted to it, in unit-cube coordinates."""

    forest: Forest
    gp: AdditiveGP


@dataclass(frozen=True, kw_only=True, eq=False)
class ForestPosterior:
    """The posterior distribution over forests of the parameters, given data."""

    data: Data
    settings: ForestSweep = ForestSweep()

    def fit(
        self, forest: Forest, gp: AdditiveGP, steps: int | None = None
    ) -> FittedForest:
        """Return the forest with parameters fitted from those of another structure."""
        blocks = self.data.domain.blocks
        groups = expand(forest_groups(forest, len(blocks)), blocks)
        start = with_groups(gp, groups, *per_coordinate_of_overlapping(gp))
        steps = self.settings.fit_steps if steps is None else steps
        fitted = fit_to(start, self.data, starts=1, steps=steps)
        return FittedForest(forest, fitted)

    def fit_singletons(self) -> FittedForest:
        """Return the forest without edges, fitted from default parameters."""
        blocks = self.data.domain.blocks
        gp = AdditiveGP(groups=expand(forest_groups((), len(blocks)), blocks))
        return self.fit((), gp, steps=self.settings.first_fit_steps)

    def given(self, gp: AdditiveGP, own: float = 1.0) -> "ForestConditional":
        """Return the distribution of the forest, given the parameters of ``gp``.

        They keep the share ``own`` of their spread, see ``shrunk_towards_mean``.
        """
        parameters = per_coordinate_of_overlapping(gp)
        length, share = (shrunk_towards_mean(x, own) for x in parameters)
        model = CoordinateModel.of(self.data, gp, length, share)
        return ForestConditional(model=model, penalty=self.settings.penalty)


@dataclass(frozen=True, kw_only=True, eq=False)
class ForestConditional:
    """p(forest | y, parameters), up to a constant; correlations of pairs are kept."""

    model: CoordinateModel
    penalty: float
    _known: dict[Group, Float[ndarray, " T"]] = field(default_factory=dict)

    def log_density(self, forest: Forest) -> float:
        """Return log p(y | forest) + log p(forest), up to a constant."""
        v = self.model.v
        groups = forest_groups(forest, len(v))
        often = np.zeros(len(v))
        for group in groups:
            often[list(group)] += 1.0
        packed = self.model.noise.copy()
        for group in groups:
            g = list(group)
            packed += (v[g] / often[g]).sum() * self._correlation(group)
        value = log_density(packed, self.model.y)
        return value + log_forest_prior(forest, len(v), self.penalty)

    def _correlation(self, group: Group) -> Float[ndarray, " T"]:
        if group not in self._known:
            self._known[group] = self.model.correlation(group)
        return self._known[group]


def log_forest_prior(forest: Forest, K: int, penalty: float) -> float:
    """Return log p(forest), up to a constant."""
    return -(penalty + math.log(max(1.0, (K - 1) / 2))) * len(forest)


def run_forest_sweeps(
    rng: np.random.Generator,
    posterior: ForestPosterior,
    weights: Float[ndarray, "K K"],
    start: FittedForest,
    sweeps: int,
) -> list[FittedForest]:
    """Return the fitted forest after each of ``sweeps`` sweeps from the start.

    Pairs are added with the probabilities ``weights``, see ``forest.edge_weights``.
    """
    settings, K = posterior.settings, len(weights)
    made = [start]
    for t in range(sweeps):
        own = settings.own_spread[(t - sweeps) % len(settings.own_spread)]
        conditional = posterior.given(made[-1].gp, own)
        propose = in_turn(partial(change_edge, weights=weights), partial(move_end, K=K))
        steps = min(settings.max_steps, settings.steps_per_parameter * K)
        if K < 2:
            steps = 0
        visited = walk(rng, made[-1].forest, conditional.log_density, propose, steps)
        made.append(posterior.fit(visited[-1].state, made[-1].gp))
    return made[1:]


def affinity(data: Data, gp: AdditiveGP) -> Float[ndarray, "K K"]:
    """Return the slope of the evidence in the variance of each pair part.

    ``gp`` has singletons in the order of the parameters.
    """
    i, j = np.triu_indices(len(data.y))
    kernel = as_kernel(gp.kernel)
    k = []
    for group, part in zip(gp.groups, gp.kernels, strict=True):
        gaps = (data.U[i][:, group] - data.U[j][:, group]) / part.lengthscales
        k.append(kernel.correlation(np.einsum("td,td->t", gaps, gaps)))
    k = np.stack(k)
    packed = gp.variances @ k
    packed[i == j] += gp.noise if data.noise is None else gp.noise + data.noise
    L = cholesky(unpack_lower(packed, len(data.y))).L
    alpha = cho_solve(L, data.y - gp.mean)
    G = pack_lower(np.outer(alpha, alpha) - inverse_lower(L))
    G[i == j] *= 0.5  # a pair of observations counts twice, the diagonal once
    return (k * G) @ k.T
