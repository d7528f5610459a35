"""Groups learned from the data: a random walk over partitions that never stops."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from sumbo.data import Data
from sumbo.decompositions.base import (
    DECOMPOSITIONS,
    Decomposition,
    Proposal,
    as_settings,
)
from sumbo.errors import require_number, require_positive_integer
from sumbo.gp import AdditiveGP
from sumbo.partitions.sweep import (
    FittedPartition,
    PartitionPosterior,
    PartitionSweep,
    run_sweeps,
)
from sumbo.state import State
from sumbo.typing import Float, Groups, ndarray


@dataclass(frozen=True, kw_only=True, eq=False)
class WalkState(State):
    """Where the walk over partitions is, and what it visited.

    Attributes:
        partition: The partition at the end of the last sweep.
        visited: Partitions after the last sweeps, the last one last.
        walked: Whether a sweep was made; before, the data were too few.
        swept: The number of sweeps over which ``co_membership`` is averaged.
        co_membership: The probability that two parameters share a group, None before
            the first sweep.
    """

    partition: Groups
    visited: tuple[Groups, ...] = ()
    walked: bool = False
    swept: int = 0
    co_membership: Float[ndarray, "K K"] | None = None


@DECOMPOSITIONS.register("learned")
@dataclass(frozen=True, kw_only=True)
class Learned(Decomposition):
    """A draw from the posterior over partitions into groups of at most five.

    The walk begins with singletons. At every later refit it goes on from where it was.

    Attributes:
        max_size: Most parameters in a group; None for no limit.
        first_sweeps: Sweeps of a walk that begins, for every ``observations_per_round``
            observations.
        sweeps: Sweeps at every later refit.
        observations_per_round: Observations for which a walk that begins makes
            ``first_sweeps`` sweeps. With 6 sweeps per 15 observations, a walk that
            begins with 45 observations makes 18 sweeps.
        max_rounds: Most times that ``first_sweeps`` sweeps are made.
        min_data: Observations per parameter below which no sweep is made and singletons
            are kept, because the data cannot distinguish groups.
        enough_data: Observations per parameter below which the number of sweeps is
            divided by ``few_data_divisor``, because the data distinguish groups badly.
        few_data_divisor: Divisor of the number of sweeps while data are few.
        walks: Walks that begin together if there are ``walks_from`` observations or
            more. The one that visits the partition of highest posterior density goes
            on.
        walks_from: Observations from which several walks begin. The more data, the less
            likely one walk leaves groups that are only half right.
        many: Observations above which a walk that begins is a single one of
            ``sweeps_of_many`` sweeps: so many data distinguish groups well.
        sweeps_of_many: Its sweeps.
        remembered: Visited partitions that are kept.
        averaged_sweeps: Sweeps over which co-membership is averaged. After more sweeps,
            each new one has the weight 1 / ``averaged_sweeps``, so that the first ones,
            which are far from stationary, are forgotten.
        sweep: Settings of one sweep.
    """

    remembers: ClassVar[type[State] | None] = WalkState

    max_size: int | None = 5
    first_sweeps: int = 6
    sweeps: int = 2
    observations_per_round: int = 15
    max_rounds: int = 5
    min_data: float = 1.25
    enough_data: float = 2.0
    few_data_divisor: int = 3
    walks: int = 3
    walks_from: int = 45
    many: int = 400
    sweeps_of_many: int = 16
    remembered: int = 60
    averaged_sweeps: int = 12
    # A PartitionSweep; files and designs hold it as a table.
    sweep: Any = field(default_factory=PartitionSweep)

    def __post_init__(self) -> None:
        if self.max_size is not None:
            require_positive_integer("max_size", self.max_size)
        counts = ("first_sweeps", "sweeps", "observations_per_round", "max_rounds")
        more = ("few_data_divisor", "walks", "walks_from", "many", "sweeps_of_many")
        for name in (*counts, *more, "remembered", "averaged_sweeps"):
            require_positive_integer(name, getattr(self, name))
        require_number("min_data", self.min_data)
        require_number("enough_data", self.enough_data)
        sweep = as_settings("sweep", self.sweep, PartitionSweep)
        object.__setattr__(self, "sweep", sweep)

    def propose(
        self,
        rng: np.random.Generator,
        memory: WalkState | None,
        data: Data,
        last: AdditiveGP | None,
    ) -> Proposal:
        """Return the groups where the walk is after further sweeps."""
        N, K = len(data.y), len(data.domain.blocks)
        posterior = PartitionPosterior(
            data=data.at_most(self.sweep.max_observations),
            max_size=self.max_size or K,
            settings=self.sweep,
        )
        if memory is None:
            last = None  # without a memory, the last model need not be of a partition
        walked = memory is not None and memory.walked
        sweeps = self._count_sweeps(N, K, walked)
        start, fits = _start(posterior, memory, last, sweeps)
        enough = max(self.walks_from, self.enough_data * K) <= N <= self.many
        count = self.walks if not walked and enough else 1
        walks = [run_sweeps(rng, posterior, start, sweeps) for _ in range(count)]
        made = max((walk or [start] for walk in walks), key=_highest_density)
        memory = self._remember(memory, made)
        choice = self.choose(rng, posterior, made[-1], last, memory.visited)
        return replace(choice, memory=memory, fits=choice.fits + fits + count * sweeps)

    def choose(
        self,
        rng: np.random.Generator,
        posterior: PartitionPosterior,
        now: FittedPartition,
        last: AdditiveGP | None,
        visited: tuple[Groups, ...] = (),
    ) -> Proposal:
        """Return what to propose, without memory, given where the walk is.

        ``last`` is the last model if there is one, and ``visited`` are the partitions
        after the last sweeps. ``fits`` counts those made here.
        """
        del rng, posterior, last, visited
        return Proposal(groups=now.groups, start=now.gp)

    def structures(self, memory: WalkState | None) -> tuple[Groups, ...]:
        """Return the partitions after the last sweeps."""
        return () if memory is None else memory.visited

    def co_membership(self, memory: WalkState | None) -> Float[ndarray, "K K"] | None:
        """Return the probability that two parameters share a group.

        It is the conditional probability in the Gibbs sweeps, averaged over the last
        sweeps. None before the first sweep.
        """
        return None if memory is None else memory.co_membership

    def _count_sweeps(self, N: int, K: int, walked: bool) -> int:
        sweeps = self.sweeps if walked else self.first_sweeps
        if self.min_data * K > N:
            return 0
        if self.enough_data * K > N:
            return max(1, sweeps // self.few_data_divisor)
        if self.many < N and not walked:
            return self.sweeps_of_many
        rounds = min(max(N // self.observations_per_round, 1), self.max_rounds)
        return sweeps if walked else sweeps * rounds

    def _remember(
        self, memory: WalkState | None, made: list[FittedPartition]
    ) -> WalkState:
        """Return the memory after the sweeps that were made."""
        before = memory or WalkState(partition=made[-1].groups)
        swept, mean = before.swept, before.co_membership
        for now in made:
            if now.co_membership is not None:
                swept += 1
                old = now.co_membership if mean is None else mean
                step = (now.co_membership - old) / min(swept, self.averaged_sweeps)
                mean = old + step
        visited = (*before.visited, *(now.groups for now in made))
        return WalkState(
            partition=made[-1].groups,
            visited=visited[-self.remembered :],
            walked=before.walked or made[-1].co_membership is not None,
            swept=swept,
            co_membership=mean,
        )


def _start(
    posterior: PartitionPosterior,
    memory: WalkState | None,
    last: AdditiveGP | None,
    sweeps: int,
) -> tuple[FittedPartition, int]:
    """Return where the walk starts, and how many fits that took."""
    if memory is None:
        return posterior.fit_singletons(), 1
    if last is None:
        gp = posterior.fit_singletons().gp
        return posterior.fit(memory.partition, gp), 2
    if sweeps == 0:  # the fit of the caller is the only one that is needed
        return FittedPartition(memory.partition, last, 0.0), 0
    return posterior.fit(memory.partition, last), 1


def _highest_density(made: list[FittedPartition]) -> float:
    # A fit may have failed; its density is NaN.
    densities = [now.log_density for now in made]
    return max(value if np.isfinite(value) else -np.inf for value in densities)
