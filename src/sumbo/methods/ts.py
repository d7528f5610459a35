"""Joint Thompson sampling."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sumbo.data import Data
from sumbo.methods.base import METHODS, CandidateSearch, Info, minimise_draws
from sumbo.sampling.expansion import expand_joint
from sumbo.typing import Float, State, ndarray


@METHODS.register("ts")
@dataclass(frozen=True, kw_only=True)
class Thompson(CandidateSearch):
    """Return, per batch point, the minimiser of one joint draw; [wycoff2025] Alg. 2.

    The draw respects the correlation between parts. Points of a batch, and points
    asked while others are pending, come from independent draws; [kandasamy2018].
    """

    cite: ClassVar[str] = "wycoff2025"
    label: ClassVar[str] = "TS (joint)"

    def propose(
        self, rng: np.random.Generator, state: State, data: Data, q: int
    ) -> tuple[Float[ndarray, "q P"], State, Info]:
        """Return the minimisers of q joint draws."""
        post, state, info = self.model(rng, state, data, q)
        U, state = minimise_draws(self, expand_joint, rng, post, state, data, q)
        return U, state, info
