"""Random forests of pairs, drawn anew before every refit, whatever the data say.

The rule of [ziomek2023]: pairs of parameters are drawn uniformly, and a pair becomes an
edge if its ends are not connected yet, until there are ⌊0.2 K⌋ edges, at least one.
Every edge is a part, and so is every parameter on none.
"""

import math
from dataclasses import dataclass

import numpy as np

from sumbo.data import Data
from sumbo.decompositions.base import DECOMPOSITIONS, Decomposition, Proposal
from sumbo.errors import require_number
from sumbo.gp import AdditiveGP
from sumbo.partitions.coordinates import per_coordinate_of_overlapping, with_groups
from sumbo.partitions.forest import forest_groups, random_forest
from sumbo.structure import expand


@DECOMPOSITIONS.register("random_tree")
@dataclass(frozen=True, kw_only=True)
class RandomTree(Decomposition):
    """A random forest of pairs that may overlap, with few edges.

    Length-scales and variances belong to parameters, as in [ziomek2023]: the fit of a
    new forest starts from those of the last one.

    Attributes:
        edges: Edges per parameter; the number of edges is rounded down, with at least
            one and at most a tree that connects all parameters.
    """

    edges: float = 0.2

    def __post_init__(self) -> None:
        require_number("edges", self.edges)

    def propose(
        self,
        rng: np.random.Generator,
        memory: None,
        data: Data,
        last: AdditiveGP | None,
    ) -> Proposal:
        """Return a fresh forest."""
        del memory
        blocks = data.domain.blocks
        K = len(blocks)
        # The product of 0.2 and a multiple of five may be just below a whole number.
        wanted = max(1, math.floor(self.edges * K + 1e-9))
        groups = forest_groups(random_forest(rng, K, min(wanted, K - 1)), K)
        start = None
        if last is not None:
            own = per_coordinate_of_overlapping(last)
            start = with_groups(last, expand(groups, blocks), *own)
        return Proposal(groups=groups, start=start)
