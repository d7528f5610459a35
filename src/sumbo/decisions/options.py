"""One of several options, each of which has all parts: the control of ``accept``."""

from dataclasses import dataclass
from typing import ClassVar

from sumbo.decisions.base import DECISIONS, Levelled
from sumbo.typing import Float, ndarray


@DECISIONS.register("options")
@dataclass(frozen=True, kw_only=True)
class Options(Levelled):
    """Fresh options in every round, of which one is taken.

    Attributes:
        parts_count: The number of parts M.
        levels: Levels of each part.
        count: Options per round.
    """

    floor: ClassVar[str] = "0"

    count: int = 10

    def offers(self, t: int) -> Float[ndarray, "R K d"]:
        """Return random options."""
        return self.random_offers(t, self.count)
