"""Every parameter a part of its own."""

from typing import ClassVar

import numpy as np

from sumbo.data import Data
from sumbo.decompositions.base import DECOMPOSITIONS
from sumbo.typing import Groups, State


@DECOMPOSITIONS.register("singletons")
class Singletons:
    """One group per parameter: the objective is a sum of one-parameter functions."""

    changes: ClassVar[bool] = False

    def propose(
        self, rng: np.random.Generator, state: State, data: Data
    ) -> tuple[Groups, State]:
        """Return ((0,), (1,), …)."""
        del rng, state
        return tuple((k,) for k in range(len(data.domain.blocks))), {}
