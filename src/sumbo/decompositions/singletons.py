"""Every parameter a part of its own."""

from dataclasses import dataclass

import numpy as np

from sumbo.data import Data
from sumbo.decompositions.base import DECOMPOSITIONS, Decomposition, Proposal
from sumbo.gp import AdditiveGP
from sumbo.partitions.partition import singletons


@DECOMPOSITIONS.register("singletons")
@dataclass(frozen=True, kw_only=True)
class Singletons(Decomposition):
    """One group per parameter: the objective is a sum of one-parameter functions."""

    def propose(
        self,
        rng: np.random.Generator,
        memory: None,
        data: Data,
        last: AdditiveGP | None,
    ) -> Proposal:
        """Return ((0,), (1,), …)."""
        del rng, memory, last
        return Proposal(groups=singletons(len(data.domain.blocks)))
