"""Any structure from all singletons to one group, as the data say: the default.

What is nearly additive need not be exactly so: on top of the groups, one *residual*
part over all parameters takes up what they leave, and its fitted variance says how
much that is. At every refit two structures compete, each with the posterior density of
its fit: the partition where the walk is, and singletons, both with a residual part.
One is drawn; where the other is plausible too, it is kept with its weight for those
who average. Groups must earn their place: while data are few, many partitions explain
them equally well, and a wrong one misleads the search where singletons do not.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from sumbo.decompositions.base import DECOMPOSITIONS
from sumbo.decompositions.learned import Learned
from sumbo.gp import AdditiveGP
from sumbo.partitions.chain import Target, Visit, merged, with_residual

# Evidence, in nats, that each further member of a group must bring to be used, on
# top of what the walk asks for.
EARNED = 2.0
# Quasi-Newton steps of the fits that are compared.
STEPS = 8
# Probability from which a structure that was not drawn is kept.
PLAUSIBLE = 0.02


@DECOMPOSITIONS.register("auto")
@dataclass(frozen=True, kw_only=True)
class Auto(Learned):
    """Learned groups of any size, or singletons, and a residual part on top."""

    max_size: int | None = None

    def choose(
        self,
        rng: np.random.Generator,
        target: Target,
        now: Visit,
        last: AdditiveGP | None,
    ) -> list[tuple[float, Visit]]:
        """Return the walk's partition and singletons, with a residual part each."""
        singletons = tuple((k,) for k in range(len(target.data.domain.blocks)))
        partitions = sorted({now.groups, singletons})
        # The last model has a residual part, the walk's has none.
        start = last or now.gp
        visits = [target.fit(with_residual(p), start, STEPS) for p in partitions]
        scores = np.array([v.score for v in visits]) - EARNED * np.array(
            [merged(p) for p in partitions]
        )
        known = np.isfinite(scores)  # a fit may have failed
        scores = np.where(known, scores, np.finfo(float).min)
        # Gumbel-max: an exact draw from unnormalised log weights.
        drawn = int(np.argmax(scores + rng.gumbel(size=len(scores))))
        weights = softmax(scores)
        plausible = known & (weights >= PLAUSIBLE)
        kept = [i for i in np.flatnonzero(plausible) if i != drawn]
        return [(float(weights[i]), visits[i]) for i in (drawn, *kept)]
