"""Thompson sampling with the additive approximation."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sumbo.data import Data
from sumbo.methods.base import METHODS, CandidateSearch, Info, minimise_draws
from sumbo.sampling.expansion import expand_marginal
from sumbo.typing import Float, State, ndarray


@METHODS.register("ats")
@dataclass(frozen=True, kw_only=True)
class AdditiveThompson(CandidateSearch):
    """Return, per batch point, the minimiser of one marginal draw; [wycoff2025] Alg. 1.

    Parts are drawn independently: the correlation between them is ignored.
    """

    cite: ClassVar[str] = "wycoff2025"
    label: ClassVar[str] = "TS (additive)"

    def propose(
        self, rng: np.random.Generator, state: State, data: Data, q: int
    ) -> tuple[Float[ndarray, "q P"], State, Info]:
        """Return the minimisers of q marginal draws."""
        post, state, info = self.model(rng, state, data, q)
        U, state = minimise_draws(self, expand_marginal, rng, post, state, data, q)
        return U, state, info
