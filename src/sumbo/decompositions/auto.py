"""Any structure from all singletons to one group, as the data say: the default.

What is nearly additive need not be exactly so: on top of the groups, one *residual*
part over all parameters takes up what they leave, and its fitted variance says how
much that is. At every refit two structures compete, each with the posterior density of
its fit: the partition where the walk is, and singletons, both with a residual part.
One is drawn. Groups must earn their place: while data are few, many partitions explain
them equally well, and a wrong one misleads the search where singletons do not.
"""

from dataclasses import dataclass

import numpy as np

from sumbo.decompositions.base import DECOMPOSITIONS
from sumbo.decompositions.chain import Target, Visit, merged, with_residual
from sumbo.decompositions.learned import Learned
from sumbo.gp import AdditiveGP

# Evidence, in nats, that each further member of a group must bring to be used, on
# top of what the walk asks for.
EARNED = 2.0
# Quasi-Newton steps of the fits that are compared.
STEPS = 8


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
    ) -> Visit:
        """Return the walk's partition or singletons, with a residual part."""
        singletons = tuple((k,) for k in range(len(target.data.domain.blocks)))
        partitions = sorted({now.groups, singletons})
        # The last model has a residual part, the walk's has none.
        start = last or now.gp
        visits = [target.fit(with_residual(p), start, STEPS) for p in partitions]
        scores = np.array([v.score for v in visits]) - EARNED * np.array(
            [merged(p) for p in partitions]
        )
        # Gumbel-max: an exact draw from unnormalised log weights. NaN is never drawn.
        noisy = np.nan_to_num(scores, nan=-np.inf) + rng.gumbel(size=len(scores))
        return visits[int(np.argmax(noisy))]
