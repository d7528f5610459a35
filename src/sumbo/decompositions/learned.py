"""Groups learned from the data: a random walk over partitions that never stops."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sumbo.data import Data
from sumbo.decompositions.base import DECOMPOSITIONS
from sumbo.gp import AdditiveGP
from sumbo.partitions.chain import OBSERVATIONS, Target, Visit, walk
from sumbo.structure import expand
from sumbo.typing import Groups, State

# Partitions that are remembered, and sweeps over which co-membership is averaged:
# the first ones of a walk are far from where it goes.
REMEMBERED, MEMORY = 60, 12
# Observations per parameter from which groups can be told at all, and well.
TOLD_BY, TOLD_WELL_BY = 1.25, 2
# A walk that begins with so many observations is the best of so many: the more they
# tell, the harder it is to leave groups that are only half right.
MANY, WALKS = 45, 3


@DECOMPOSITIONS.register("learned")
@dataclass(frozen=True, kw_only=True)
class Learned:
    """A draw from the posterior over partitions into groups of at most five.

    Attributes:
        max_size: The most parameters in a group; None for no limit.
        first_sweeps: Sweeps of the walk when it begins; so many for every 15
            observations, five times as many at most. Of three walks that begin with
            45 observations or more, the one that finds the best groups goes on.
        sweeps: Sweeps at every later refit, which go on from the last state.

    While observations are fewer than twice the parameters, which can tell little, a
    third of these sweeps is made; while they are fewer than one and a quarter times
    the parameters, none, and the walk stays with singletons.
    """

    changes: ClassVar[bool] = True

    max_size: int | None = 5
    first_sweeps: int = 6
    sweeps: int = 2

    def propose(
        self, rng: np.random.Generator, state: State, data: Data
    ) -> tuple[Groups, State]:
        """Return groups, and what is needed to go on.

        The state holds where the walk is ("partition"), whether it has made a sweep
        ("walked"), the partitions that it visited last ("visited"), how probable it was
        in its last sweeps that two parameters share a group ("together"), the groups
        that are returned ("groups"), and parameters fitted to them ("log_theta",
        "mean", "kernel"); whoever fits them further may put better ones there, to start
        from next time.
        Structures that are plausible next to the one returned are in "others", with
        their "weight".
        """
        K = len(data.domain.blocks)
        target = Target(data=data.at_most(OBSERVATIONS), max_size=self.max_size or K)
        last = _model(state, data) if state else None
        walked = state.get("walked", False)
        sweeps = self._sweeps(len(data.y), K, walked)
        if last is None:
            start = target.singletons()
        else:
            partition = _as_groups(state["partition"])
            # Without a walk the method's own fit is the only one that is needed.
            start = (
                target.fit(partition, last) if sweeps else Visit(partition, last, 0.0)
            )
        many = len(data.y) >= max(MANY, TOLD_WELL_BY * K)
        count = WALKS if many and not walked else 1
        walks = [walk(rng, target, start, sweeps) or [start] for _ in range(count)]
        visits = max(walks, key=_best_score)
        seen = [*state.get("visited", ()), *(_listed(v.groups) for v in visits)]
        (_, chosen), *others = self.choose(rng, target, visits[-1], last)
        return chosen.groups, {
            "partition": _listed(visits[-1].groups),
            "visited": seen[-REMEMBERED:],
            "walked": walked or sweeps > 0,
            **_together(state, visits),
            "others": [{"weight": w, **_stored(visit)} for w, visit in others],
            **_stored(chosen),
        }

    def _sweeps(self, N: int, K: int, goes_on: bool) -> int:
        sweeps = self.sweeps if goes_on else self.first_sweeps
        if N < TOLD_BY * K:
            return 0
        if N < TOLD_WELL_BY * K:
            return max(1, sweeps // 3)
        return sweeps if goes_on else sweeps * min(max(N // 15, 1), 5)

    def choose(
        self,
        rng: np.random.Generator,
        target: Target,
        now: Visit,
        last: AdditiveGP | None,
    ) -> list[tuple[float, Visit]]:
        """Return the structure to use, and others that are plausible, with weights.

        Given are where the walk is and the last model.
        """
        del rng, target, last
        return [(1.0, now)]


def _best_score(visits: list[Visit]) -> float:
    # A fit may have failed; such groups are no reason to follow a walk.
    return max(v.score if np.isfinite(v.score) else -np.inf for v in visits)


def _together(state: State, visits: list[Visit]) -> State:
    """Return the mean over the sweeps so far, those long ago forgotten bit by bit."""
    swept, mean = state.get("swept", 0), state.get("together")
    for visit in visits:
        if visit.together is not None:
            swept += 1
            last = visit.together if mean is None else mean
            mean = last + (visit.together - last) / min(swept, MEMORY)
    return {} if mean is None else {"swept": swept, "together": mean}


def _stored(visit: Visit) -> State:
    return {
        "groups": _listed(visit.groups),
        "log_theta": visit.gp.hyperparameters().log(),
        "mean": visit.gp.mean,
        "kernel": visit.gp.kernel,
    }


def _model(state: State, data: Data) -> AdditiveGP:
    groups = expand(_as_groups(state["groups"]), data.domain.blocks)
    # Files from before kernels were chosen do not name one.
    kernel = state.get("kernel", "matern52")
    return AdditiveGP.from_log(groups, state["log_theta"], state["mean"], kernel)


def _as_groups(listed: Iterable[Iterable[int]]) -> Groups:
    return tuple(tuple(int(k) for k in group) for group in listed)


def _listed(groups: Groups) -> list[list[int]]:
    return [list(group) for group in groups]
