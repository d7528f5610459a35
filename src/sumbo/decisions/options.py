"""One of several options, each of which has all parts: the control of ``accept``."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sumbo.decisions.base import DECISIONS, Decision, best_row, random_levels
from sumbo.rng import rng_at
from sumbo.typing import Float, Int, ndarray


@DECISIONS.register("options")
@dataclass(frozen=True, kw_only=True)
class Options(Decision):
    """Fresh options in every round, of which one is taken.

    Attributes:
        parts_count: The number of parts M.
        levels: Levels of each part.
        count: Options per round.
    """

    floor: ClassVar[str] = "0"

    parts_count: int = 20
    levels: int = 2
    count: int = 10

    @property
    def parts(self) -> Int[ndarray, " d"]:
        """The part of each level."""
        return np.repeat(np.arange(self.parts_count), self.levels)

    @property
    def variance(self) -> float:
        """Such that the value of an option has variance 1."""
        return 1.0 / self.parts_count

    def offers(self, t: int) -> Float[ndarray, "R K d"]:
        """Return random options."""
        rng = rng_at(self.seed, "offers", t)
        shape = self.replicates, self.count, self.parts_count, self.levels
        return random_levels(rng, *shape)

    def best(
        self, offers: Float[ndarray, "R K d"], weights: Float[ndarray, "R d"]
    ) -> Float[ndarray, "R d"]:
        """Return the options of the least scores."""
        return best_row(offers, np.einsum("rkd,rd->rk", offers, weights))
