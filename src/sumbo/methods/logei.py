"""Expected improvement of the whole sum."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sumbo.data import Data
from sumbo.errors import require_positive_integer
from sumbo.gp import Posterior
from sumbo.maximize.improvement import Improvement
from sumbo.maximize.whole import minimise_whole, whole_candidates
from sumbo.methods.base import METHODS, AdditiveModel, Info, free_coordinates
from sumbo.typing import Float, State, ndarray


@METHODS.register("logei")
@dataclass(frozen=True, kw_only=True)
class LogExpectedImprovement(AdditiveModel):
    """Return the maximiser of the log of expected improvement; [ament2023].

    The variance is that of the sum, bilateral covariances included. Parts only guide
    the search. Batches and pending points are hallucinated: the model believes its own
    mean there, so that the variance shrinks around them; [desautels2014].

    Attributes:
        descents: Starts of the local search.
        candidates: Candidate points per part, whose best make up such starts.
    """

    cite: ClassVar[str] = "ament2023"
    label: ClassVar[str] = "log EI"

    descents: int = 6
    candidates: int = 32

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("descents", "candidates"):
            require_positive_integer(name, getattr(self, name))

    def propose(
        self, rng: np.random.Generator, state: State, data: Data, q: int
    ) -> tuple[Float[ndarray, "q P"], State, Info]:
        """Return q maximisers, each chosen with the earlier ones hallucinated."""
        post, state, info = self.model(rng, state, data)
        if len(data.pending):
            post = _believed(post, data.pending)
        out = np.empty((q, data.domain.dim))
        for i in range(q):
            out[i] = self._maximise(rng, post, data)
            if i + 1 < q:
                post = _believed(post, out[i : i + 1])
        return out, state, info

    def _maximise(
        self, rng: np.random.Generator, post: Posterior, data: Data
    ) -> Float[ndarray, " P"]:
        free = free_coordinates(data)
        # The best mean, not the best value: noise is no improvement. Believed points
        # count: what they promise is as good as had, and to be improved on elsewhere.
        best = float(post.fitted().min())
        target = Improvement(post=post, best=best)
        points = whole_candidates(rng, post, data, free, self.candidates)
        return minimise_whole(
            target.gradient, target.value(points), points, free, starts=self.descents
        )


def _believed(post: Posterior, U: Float[ndarray, "n P"]) -> Posterior:
    """Return the posterior with its own mean observed at some points."""
    return post.append(U, post.predict(U)[0])
