"""Groups learned from the data: a random walk over partitions that never stops."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sumbo.data import Data
from sumbo.decompositions.base import DECOMPOSITIONS
from sumbo.decompositions.chain import OBSERVATIONS, Target, Visit, walk
from sumbo.typing import Groups, State

# Partitions that are remembered, for the co-membership of parameters.
REMEMBERED = 60


@DECOMPOSITIONS.register("learned")
@dataclass(frozen=True, kw_only=True)
class Learned:
    """A draw from the posterior over partitions into groups of at most five.

    Attributes:
        max_size: The most parameters in a group; None for no limit.
        first_sweeps: Sweeps of the walk when it begins.
        sweeps: Sweeps at every later refit, which go on from the last state.
    """

    changes: ClassVar[bool] = True

    max_size: int | None = 5
    first_sweeps: int = 12
    sweeps: int = 4

    def propose(
        self, rng: np.random.Generator, state: State, data: Data
    ) -> tuple[Groups, State]:
        """Return groups, and what is needed to go on.

        The state holds where the walk is ("partition"), the partitions that it
        visited last ("visited"), and parameters fitted to the groups that are returned
        ("log_theta", "mean").
        """
        K = len(data.domain.blocks)
        target = Target(data=data.at_most(OBSERVATIONS), max_size=self.max_size or K)
        start = target.singletons()
        if state:
            partition = tuple(tuple(int(k) for k in g) for g in state["partition"])
            start = target.fit(partition, start.gp)
        sweeps = self.sweeps if state else self.first_sweeps
        visits = walk(rng, target, start, sweeps)
        seen = [*state.get("visited", ()), *(_listed(v.groups) for v in visits)]
        chosen = self.choose(rng, target, visits[-1])
        return chosen.groups, {
            "partition": _listed(visits[-1].groups),
            "visited": seen[-REMEMBERED:],
            "log_theta": chosen.gp.hyperparameters().log(),
            "mean": chosen.gp.mean,
        }

    def choose(self, rng: np.random.Generator, target: Target, now: Visit) -> Visit:
        """Return the structure to use, given where the walk is."""
        del rng, target
        return now


def _listed(groups: Groups) -> list[list[int]]:
    return [list(group) for group in groups]
