"""All parameters in one part: an ordinary Gaussian process."""

from dataclasses import dataclass

import numpy as np

from sumbo.data import Data
from sumbo.decompositions.base import DECOMPOSITIONS, Decomposition, Proposal
from sumbo.gp import AdditiveGP


@DECOMPOSITIONS.register("one")
@dataclass(frozen=True, kw_only=True)
class One(Decomposition):
    """One group with every parameter: no additive structure is assumed."""

    def propose(
        self,
        rng: np.random.Generator,
        memory: None,
        data: Data,
        last: AdditiveGP | None,
    ) -> Proposal:
        """Return ((0, 1, …),)."""
        del rng, memory, last
        return Proposal(groups=(tuple(range(len(data.domain.blocks))),))
