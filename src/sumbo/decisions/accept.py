"""Accept or decline: parts that are all there, or none of them."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sumbo.decisions.base import DECISIONS, Levelled
from sumbo.typing import Float, ndarray


@DECISIONS.register("accept")
@dataclass(frozen=True, kw_only=True)
class Accept(Levelled):
    """One offer per round: pay its value and observe it, or pay 0 and see nothing.

    Attributes:
        parts_count: The number of parts M.
        levels: Levels of each part.
    """

    floor: ClassVar[str] = "(1 − 1/M)/L"

    def offers(self, t: int) -> Float[ndarray, "R 2 d"]:
        """Return a random offer, and nothing."""
        offer = self.random_offers(t, 1)
        return np.concatenate([offer, np.zeros_like(offer)], axis=1)
