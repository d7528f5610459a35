"""All parameters in one part: an ordinary Gaussian process."""

from typing import ClassVar

import numpy as np

from sumbo.data import Data
from sumbo.decompositions.base import DECOMPOSITIONS
from sumbo.typing import Groups, State


@DECOMPOSITIONS.register("one")
class One:
    """One group with every parameter: no additive structure is assumed."""

    changes: ClassVar[bool] = False

    def propose(
        self, rng: np.random.Generator, state: State, data: Data
    ) -> tuple[Groups, State]:
        """Return ((0, 1, …),)."""
        del rng, state
        return (tuple(range(len(data.domain.blocks))),), {}
