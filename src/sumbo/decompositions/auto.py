"""Any structure from all singletons to one group, as the data say: the default.

A function that is nearly additive need not be exactly additive. A *residual* part over
all parameters, on top of the groups, models what the groups leave; its fitted variance
measures how much that is. At every refit two structures are compared by the posterior
density of their fits: the partition where the walk is, and singletons, both with a
residual part. One is drawn. If the other is plausible too, it is returned with its
weight, for methods that average over structures. Members of groups are penalised:
while data are few, many partitions explain them equally well, and a wrong one misleads
the search where singletons do not.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from sumbo.decompositions.base import DECOMPOSITIONS, Proposal, Weighted
from sumbo.decompositions.learned import Learned
from sumbo.errors import require_number, require_positive_integer
from sumbo.gp import AdditiveGP
from sumbo.partitions.partition import count_merged, singletons, with_residual
from sumbo.partitions.sweep import FittedPartition, PartitionPosterior
from sumbo.typing import Groups


@DECOMPOSITIONS.register("auto")
@dataclass(frozen=True, kw_only=True)
class Auto(Learned):
    """Learned groups of any size, or singletons, and a residual part on top.

    The settings of ``Learned`` are settings of ``Auto`` too.

    Attributes:
        max_size: Most parameters in a group; None for no limit.
        use_penalty: Log evidence, in nats, that each further member of a group must
            add so that the group is used, on top of ``sweep.penalty``.
        compared_fit_steps: Quasi-Newton steps of the fits that are compared.
        averaged: Structures that are compared, and over which methods average: with
            two, the walk's partition and singletons; with more, also the last other
            partitions of the walk, as in [gardner2017]. Weights are posterior
            densities instead of frequencies of visits. With 1, two are compared and
            the one that is drawn stands alone.
        min_weight: Probability from which a structure that was not drawn is plausible.
    """

    max_size: int | None = None
    use_penalty: float = 2.0
    compared_fit_steps: int = 8
    averaged: int = 2
    min_weight: float = 0.02

    def __post_init__(self) -> None:
        super().__post_init__()
        require_number("use_penalty", self.use_penalty)
        for name in ("compared_fit_steps", "averaged"):
            require_positive_integer(name, getattr(self, name))
        require_number("min_weight", self.min_weight, high=1.0)

    def choose(
        self,
        rng: np.random.Generator,
        posterior: PartitionPosterior,
        now: FittedPartition,
        last: AdditiveGP | None,
        visited: tuple[Groups, ...] = (),
    ) -> Proposal:
        """Return the walk's partition or singletons, with a residual part.

        With ``averaged`` above two, also one of the last other partitions of the walk.
        """
        known = {now.groups, singletons(len(posterior.data.domain.blocks))}
        for partition in reversed(visited if self.averaged > 2 else ()):
            if len(known) < self.averaged:
                known.add(partition)
        partitions = sorted(known)
        # The last model has a residual part, the walk's has none.
        start = now.gp if last is None else last
        fitted = [
            posterior.fit(with_residual(p), start, self.compared_fit_steps)
            for p in partitions
        ]
        merged = np.array([count_merged(p) for p in partitions])
        scores = np.array([f.log_density for f in fitted]) - self.use_penalty * merged
        worked = np.isfinite(scores)  # a fit may have failed
        scores = np.where(worked, scores, np.finfo(float).min)
        # Gumbel-max: an exact draw from unnormalised log weights.
        drawn = int(np.argmax(scores + rng.gumbel(size=len(scores))))
        weights = softmax(scores)
        plausible = np.flatnonzero(worked & (weights >= self.min_weight))
        return Proposal(
            groups=fitted[drawn].groups,
            start=fitted[drawn].gp,
            others=tuple(
                Weighted(float(weights[i]), fitted[i].gp)
                for i in plausible
                if i != drawn and self.averaged > 1
            ),
            fits=len(fitted),
        )
