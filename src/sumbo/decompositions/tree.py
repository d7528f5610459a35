"""Overlapping pairs of parameters, the edges of a forest, learned from the data.

A parameter may interact with several others that do not interact with each other:
f(x) = Σ_{ij ∈ forest} f_ij(x_i, x_j) + Σ_{i on no edge} f_i(x_i). Forests as the
structure of additive models are due to [han2021], who learn them by Gibbs sampling and
mutations; here it is Metropolis-Hastings. A partition can
express this only with all of them in one group. A parameter on an edge keeps no part of
its own: functions of x_i alone are among those of (x_i, x_j), so that the data could
not distinguish the two, and fits would divide the variance between them arbitrarily.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from sumbo.data import Data
from sumbo.decompositions.base import (
    DECOMPOSITIONS,
    Decomposition,
    Proposal,
    as_settings,
)
from sumbo.errors import require_positive_integer
from sumbo.gp import AdditiveGP
from sumbo.linalg import one_blas_thread
from sumbo.partitions.forest import Forest, edge_weights, forest_groups
from sumbo.partitions.forest_sweep import (
    ForestPosterior,
    ForestSweep,
    affinity,
    run_forest_sweeps,
)
from sumbo.state import State
from sumbo.typing import Groups


@dataclass(frozen=True, kw_only=True)
class ForestState(State):
    """Where the walk over forests is, and what it visited.

    Attributes:
        edges: The forest at the end of the last sweep.
        visited: Groups after the last sweeps, the last ones last.
    """

    edges: Forest
    visited: tuple[Groups, ...] = ()


@DECOMPOSITIONS.register("tree")
@dataclass(frozen=True, kw_only=True)
class Tree(Decomposition):
    """A draw from the posterior over forests of pairs that may overlap.

    Attributes:
        first_sweeps: Sweeps of the walk when it begins, without edges.
        sweeps: Sweeps at every later refit, which go on from the last forest.
        remembered: Visited structures that are kept.
        sweep: Settings of one sweep.
    """

    remembers: ClassVar[type[State] | None] = ForestState

    first_sweeps: int = 12
    sweeps: int = 4
    remembered: int = 60
    # A ForestSweep; files and designs hold it as a table.
    sweep: Any = field(default_factory=ForestSweep)

    def __post_init__(self) -> None:
        for name in ("first_sweeps", "sweeps", "remembered"):
            require_positive_integer(name, getattr(self, name))
        sweep = as_settings("sweep", self.sweep, ForestSweep)
        object.__setattr__(self, "sweep", sweep)

    def propose(
        self,
        rng: np.random.Generator,
        memory: ForestState | None,
        data: Data,
        last: AdditiveGP | None,
    ) -> Proposal:
        """Return the edges where the walk is after further sweeps, and singletons."""
        del last
        K = len(data.domain.blocks)
        data = data.at_most(self.sweep.max_observations)
        posterior = ForestPosterior(data=data, settings=self.sweep)
        sweeps = self.first_sweeps if memory is None else self.sweeps
        with one_blas_thread():
            alone = posterior.fit_singletons()
            weights = edge_weights(affinity(data, alone.gp), self.sweep.even_share)
            start = alone if memory is None else posterior.fit(memory.edges, alone.gp)
            made = run_forest_sweeps(rng, posterior, weights, start, sweeps)
        before = () if memory is None else memory.visited
        visited = (*before, *(forest_groups(now.forest, K) for now in made))
        return Proposal(
            groups=forest_groups(made[-1].forest, K),
            memory=ForestState(
                edges=made[-1].forest, visited=visited[-self.remembered :]
            ),
            start=made[-1].gp,
            fits=1 + (memory is not None) + sweeps,
        )

    def structures(self, memory: ForestState | None) -> tuple[Groups, ...]:
        """Return the groups after the last sweeps."""
        return () if memory is None else memory.visited
