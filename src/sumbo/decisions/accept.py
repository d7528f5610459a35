"""Accept or decline: parts that are all there, or none of them."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sumbo.decisions.base import DECISIONS, Decision, best_row, random_levels
from sumbo.rng import rng_at
from sumbo.typing import Float, Int, ndarray


@DECISIONS.register("accept")
@dataclass(frozen=True, kw_only=True)
class Accept(Decision):
    """One offer per round: pay its value and observe it, or pay 0 and see nothing.

    Attributes:
        parts_count: The number of parts M.
        levels: Levels of each part.
    """

    floor: ClassVar[str] = "(1 − 1/M)/L"

    parts_count: int = 20
    levels: int = 2

    @property
    def parts(self) -> Int[ndarray, " d"]:
        """The part of each level."""
        return np.repeat(np.arange(self.parts_count), self.levels)

    @property
    def variance(self) -> float:
        """Such that the value of an offer has variance 1."""
        return 1.0 / self.parts_count

    def offers(self, t: int) -> Float[ndarray, "R 2 d"]:
        """Return a random offer, and nothing."""
        rng = rng_at(self.seed, "offers", t)
        offer = random_levels(rng, self.replicates, 1, self.parts_count, self.levels)
        return np.concatenate([offer, np.zeros_like(offer)], axis=1)

    def best(
        self, offers: Float[ndarray, "R 2 d"], weights: Float[ndarray, "R d"]
    ) -> Float[ndarray, "R d"]:
        """Return the offer where its score is negative, else nothing."""
        return best_row(offers, np.einsum("rkd,rd->rk", offers, weights))
