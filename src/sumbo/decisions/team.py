"""A team: k of M members, whose total is observed."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sumbo.decisions.base import DECISIONS, Decision
from sumbo.typing import Float, Int, ndarray


@DECISIONS.register("team")
@dataclass(frozen=True, kw_only=True)
class Team(Decision):
    """Choose members; a part is one of them, so that parts add no gauge freedom.

    Attributes:
        members: How many there are, M.
        chosen: How many are chosen, k.
    """

    floor: ClassVar[str] = "0"
    listed: ClassVar[bool] = False

    members: int = 20
    chosen: int = 5
    noise: float = 1.0

    @property
    def parts(self) -> Int[ndarray, " d"]:
        """Every member is a part."""
        return np.arange(self.members)

    @property
    def variance(self) -> float:
        """That of a member's contribution."""
        return 1.0

    def offers(self, t: int) -> None:
        """Return nothing: the members stay the same."""
        del t

    def best(self, offers: None, weights: Float[ndarray, "R d"]) -> ndarray:
        """Return the members of the least contributions."""
        del offers
        out = np.zeros(weights.shape)
        members = np.argsort(weights, axis=1, kind="stable")[:, : self.chosen]
        np.put_along_axis(out, members, 1.0, axis=1)
        return out
