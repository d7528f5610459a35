"""Sweeps over partitions: groups are drawn, then hyperparameters are fitted to them.

Given a length-scale and a variance per coordinate (``coordinates``), a sweep draws

* the group of each parameter in turn from its conditional distribution, where all
  other groups and a new one are the choices (a Gibbs sweep), and
* a few exchanges of two parameters, and a few splits and merges
  (Metropolis-Hastings);

then the hyperparameters are fitted to the partition by a few quasi-Newton steps. With
fixed hyperparameters θ, the stationary distribution is

    p(y | partition, θ) p(partition),   log p(partition) = −penalty · Σ_g (|g| − 1).

Parameters fitted to a wrong group favour that group. Therefore, in two sweeps of three,
those of all coordinates are shrunk towards their geometric mean before the groups are
drawn.

The conditional distributions of a sweep hold more information than the partition at
its end. Their average is the co-membership that is remembered; how well it separates
pairs that share a group from others is measured by ``benchmarks/recovery.py``.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from sumbo.data import Data
from sumbo.errors import require_number, require_positive_integer
from sumbo.gp import AdditiveGP
from sumbo.gp.observed import fit_to
from sumbo.linalg import one_blas_thread
from sumbo.partitions.conditional import (
    GroupDraw,
    PartitionConditional,
    co_membership_of,
)
from sumbo.partitions.coordinates import (
    CoordinateModel,
    carried,
    check_spread,
    per_coordinate,
    shrunk_towards_mean,
)
from sumbo.partitions.metropolis import walk
from sumbo.partitions.partition import (
    count_merged,
    exchange,
    singletons,
    split_or_merge,
)
from sumbo.structure import expand
from sumbo.typing import Float, Groups, ndarray


@dataclass(frozen=True, kw_only=True)
class PartitionSweep:
    """Settings of the sweeps over partitions.

    Attributes:
        penalty: Log evidence, in nats, that each further member of a group must add.
            A group of three parameters has the log prior probability −2 · penalty.
        own_spread: Shares of their spread in logarithms that the parameters of the
            coordinates keep, sweep after sweep; the last sweep has the last share. With
            0 all coordinates have the same length-scale and variance, with 1 their own.
        fit_steps: Quasi-Newton steps of the fit after each sweep. Few are enough,
            because the walk returns to the same groups often.
        first_fit_steps: Quasi-Newton steps of the fit of singletons where a walk
            begins; there the fit starts from default hyperparameters.
        max_observations: Observations that are used, evenly spaced among all. Every
            likelihood costs O(N³), and groups can be found with fewer observations
            than the search needs.
        max_likelihoods: Likelihoods in one Gibbs sweep after which it stops. With many
            parameters, each sweep then draws the groups of some of them only.
        max_exchanges: Most proposals to exchange two parameters in one sweep; with
            fewer parameters, one proposal per parameter.
        max_splits: Most proposals to split or merge groups in one sweep; with fewer
            parameters, one proposal per four parameters, but at least two.
        residual_share: Variance with which a new residual part starts its fit, as a
            share of the variance of all other parts.
    """

    penalty: float = 1.0
    own_spread: tuple[float, ...] = (0.0, 0.5, 1.0)
    fit_steps: int = 4
    first_fit_steps: int = 30
    max_observations: int = 250
    max_likelihoods: int = 100
    max_exchanges: int = 12
    max_splits: int = 5
    residual_share: float = 0.1

    def __post_init__(self) -> None:
        require_number("penalty", self.penalty)
        check_spread(self.own_spread)
        counts = ("fit_steps", "first_fit_steps", "max_observations", "max_likelihoods")
        for name in (*counts, "max_exchanges", "max_splits"):
            require_positive_integer(name, getattr(self, name))
        require_number("residual_share", self.residual_share)


class FittedPartition(NamedTuple):
    """Groups of parameters, and the model fitted to them.

    Attributes:
        groups: A partition, or a partition and a residual part.
        gp: The fitted model, in unit-cube coordinates.
        log_density: The log posterior density of the fit and of the partition.
        co_membership: After a sweep, the probability that two parameters share a group.
    """

    groups: Groups
    gp: AdditiveGP
    log_density: float
    co_membership: Float[ndarray, "K K"] | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class PartitionPosterior:
    """The posterior distribution over partitions of the parameters, given data."""

    data: Data
    max_size: int
    settings: PartitionSweep = PartitionSweep()

    def fit(
        self, groups: Groups, gp: AdditiveGP, steps: int | None = None
    ) -> FittedPartition:
        """Return the groups with parameters fitted from those of another structure.

        The last group may be a residual part.
        """
        blocks, settings = self.data.domain.blocks, self.settings
        start = carried(gp, expand(groups, blocks), settings.residual_share)
        steps = settings.fit_steps if steps is None else steps
        fitted = fit_to(start, self.data, starts=1, steps=steps)
        value = fitted.info.log_posterior if fitted.info else math.nan
        log_prior = -settings.penalty * count_merged(groups)
        return FittedPartition(groups, fitted, value + log_prior)

    def fit_singletons(self) -> FittedPartition:
        """Return the all-singletons partition, fitted from default parameters."""
        groups = singletons(len(self.data.domain.blocks))
        gp = AdditiveGP(groups=expand(groups, self.data.domain.blocks))
        return self.fit(groups, gp, steps=self.settings.first_fit_steps)

    def given(self, gp: AdditiveGP, own: float = 1.0) -> PartitionConditional:
        """Return the distribution of the partition, given the parameters of ``gp``.

        They keep the share ``own`` of their spread, see ``shrunk_towards_mean``.
        """
        length, share = (shrunk_towards_mean(x, own) for x in per_coordinate(gp))
        return PartitionConditional(
            model=CoordinateModel.of(self.data, gp, length, share),
            penalty=self.settings.penalty,
            max_size=self.max_size,
        )


def run_sweeps(
    rng: np.random.Generator,
    posterior: PartitionPosterior,
    start: FittedPartition,
    sweeps: int,
) -> list[FittedPartition]:
    """Return the fitted partition after each of ``sweeps`` sweeps from the start."""
    own_spread = posterior.settings.own_spread
    made = [start]
    with one_blas_thread():
        for t in range(sweeps):
            own = own_spread[(t - sweeps) % len(own_spread)]
            made.append(_sweep(rng, posterior, made[-1], own))
    return made[1:]


def gibbs_sweep(
    rng: np.random.Generator,
    conditional: PartitionConditional,
    partition: Groups,
    max_likelihoods: int,
) -> tuple[Groups, dict[int, GroupDraw]]:
    """Return the partition after draws of the groups, and the draw of each parameter.

    Parameters come in random order. No further draw is made once there were more
    likelihoods than ``max_likelihoods``.
    """
    K = sum(len(group) for group in partition)
    draws: dict[int, GroupDraw] = {}
    likelihoods = 0
    for j in rng.permutation(K):
        draw = conditional.draw_group(rng, partition, int(j))
        draws[int(j)], partition = draw, draw.partition
        likelihoods += draw.likelihoods
        if likelihoods > max_likelihoods:
            break
    return partition, draws


def _sweep(
    rng: np.random.Generator,
    posterior: PartitionPosterior,
    now: FittedPartition,
    own: float,
) -> FittedPartition:
    settings = posterior.settings
    conditional = posterior.given(now.gp, own)
    K = len(posterior.data.domain.blocks)
    partition, draws = gibbs_sweep(
        rng, conditional, now.groups, settings.max_likelihoods
    )
    for propose, steps in (
        (exchange, min(K, settings.max_exchanges)),
        (
            partial(split_or_merge, max_size=posterior.max_size),
            min(max(2, K // 4), settings.max_splits),
        ),
    ):
        made = walk(rng, partition, conditional.log_density, propose, steps)
        partition = made[-1].state
    co_membership = co_membership_of(draws, partition)
    return posterior.fit(partition, now.gp)._replace(co_membership=co_membership)
