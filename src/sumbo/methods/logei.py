"""Expected improvement of the whole sum."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sumbo.acquisition.improvement import Averaged, Improvement
from sumbo.data import Data
from sumbo.errors import require_positive_integer
from sumbo.methods.base import (
    METHODS,
    AdditiveModel,
    CandidateSearch,
    Info,
    Models,
    believing,
    free_coordinates,
    minimise_draws,
)
from sumbo.sampling.expansion import expand_joint
from sumbo.search.whole import minimise_whole, whole_candidates
from sumbo.typing import Float, State, ndarray

# Asks in a row that may end level with the best without a gain to speak of; the next
# one looks for a leap. All in standard deviations of the values: on a function with
# many valleys, the sure last digits of one must not keep the search from the others.
PATIENCE = 2
LEVEL, GAIN, LEAP = 1e-2, 2e-3, 3e-2
# Observations per parameter from which draws are made: where the model knows little
# of some parameters, a draw is a guess at these, and wins no more than it loses.
KNOWN = 12
# How draws are searched; their candidates are used once.
_SEARCH = CandidateSearch(fresh_candidates=True)


@METHODS.register("logei")
@dataclass(frozen=True, kw_only=True)
class LogExpectedImprovement(AdditiveModel):
    """Return the maximiser of the log of expected improvement; [ament2023].

    The variance is that of the sum, bilateral covariances included. Parts only guide
    the search. Where more than one structure is plausible, expected improvement is
    averaged over them. When two points in a row only polished the best one, the next
    is to improve on it by three hundredths of the values' spread.

    Batches and pending points are hallucinated: the model believes its own mean there,
    so that the variance shrinks around them; [desautels2014]. Where data are many and
    many points wait for their values, some are minimisers of joint draws instead: they
    do not depend on what the model believes of the others.

    Attributes:
        descents: Starts of the local search.
        candidates: Candidate points per part, whose best make up such starts.
        draw_every: Of so many points that wait at the same time, one is the minimiser
            of a joint draw.
    """

    cite: ClassVar[str] = "ament2023"
    label: ClassVar[str] = "log EI"

    descents: int = 6
    candidates: int = 32
    draw_every: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("descents", "candidates", "draw_every"):
            require_positive_integer(name, getattr(self, name))

    def propose(
        self, rng: np.random.Generator, state: State, data: Data, q: int
    ) -> tuple[Float[ndarray, "q P"], State, Info]:
        """Return maximisers, one after the other, then the minimisers of draws."""
        models, state, info = self.models(rng, state, data, q)
        post = models[0][1]
        if len(data.pending):
            models = believing(models, data.pending)
        out = np.empty((q, data.domain.dim))
        count = self._draws(data, q)
        # One leap at a time: what pending points bring is not known yet.
        leaps = len(data.pending) == 0 and is_polishing(data.y)
        for i in range(q - count):
            least = LEAP * float(data.y.std()) if leaps and i == 0 else 0.0
            out[i] = self._maximise(rng, models, data, least)
            if i + 1 < q - count:
                models = believing(models, out[i : i + 1])
        if count:
            out[q - count :], _ = minimise_draws(
                _SEARCH, expand_joint, rng, post, state, data, count
            )
        return out, state, info

    def _draws(self, data: Data, q: int) -> int:
        """Return how many of the next q points are to be minimisers of draws."""
        few = len(data.y) < KNOWN * len(data.domain.blocks)
        if few or q + len(data.pending) < self.draw_every:
            return 0
        # Counted from the first point of the run on: workers may come back one by one.
        return (data.step + q) // self.draw_every - data.step // self.draw_every

    def _maximise(
        self, rng: np.random.Generator, models: Models, data: Data, least: float
    ) -> Float[ndarray, " P"]:
        free = free_coordinates(data)
        # The structure that was drawn guides the search.
        points = whole_candidates(rng, models[0][1], data, free, self.candidates)
        target = _target(models, least)
        return minimise_whole(
            target.gradient, target.value(points), points, free, starts=self.descents
        )


def is_polishing(y: Float[ndarray, " N"]) -> bool:
    """Return whether the last values, in order, are next to the best for nothing."""
    early, late = y[:-PATIENCE], y[-PATIENCE:]
    if len(early) == 0:
        return False
    best, scale = y.min(), y.std()
    return bool(late.max() - best < LEVEL * scale and early.min() - best < GAIN * scale)


def _target(models: Models, least: float) -> Improvement | Averaged:
    """Return expected improvement by ``least`` or more, averaged over the models."""
    # The best mean, not the best value: noise is no improvement. Believed points
    # count: what they promise is as good as had, and to be improved on elsewhere.
    each = tuple(
        Improvement(post=post, best=float(post.fitted().min()) - least)
        for _, post in models
    )
    if len(each) == 1:
        return each[0]
    return Averaged(weights=np.array([weight for weight, _ in models]), models=each)
