"""Routes through layers of states, of which only the total cost is observed."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sumbo.decisions.base import DECISIONS, Decision
from sumbo.typing import Float, Int, ndarray


@DECISIONS.register("route")
@dataclass(frozen=True, kw_only=True)
class Route(Decision):
    """Find the cheapest route; reinforcement learning with feedback per episode.

    A step from state s to s′ of the next layer costs θ_h(s, s′). Both ends are free.
    A part is a step, and steps share their states: parts overlap.

    Attributes:
        steps: The number of steps H.
        states: States of each layer, S.
    """

    floor: ClassVar[str] = "positive"
    listed: ClassVar[bool] = False

    steps: int = 10
    states: int = 2

    @property
    def parts(self) -> Int[ndarray, " d"]:
        """The step of each pair of states."""
        return np.repeat(np.arange(self.steps), self.states**2)

    @property
    def variance(self) -> float:
        """Such that the cost of a route has variance 1."""
        return 1.0 / self.steps

    def offers(self, t: int) -> None:
        """Return nothing: the routes stay the same."""
        del t

    def best(self, offers: None, weights: Float[ndarray, "R d"]) -> ndarray:
        """Return the cheapest routes, by dynamic programming."""
        del offers
        R, H, S = len(weights), self.steps, self.states
        cost = weights.reshape(R, H, S, S)
        ahead = np.zeros((R, S))
        following = np.empty((R, H, S), dtype=int)
        for h in reversed(range(H)):
            through = cost[:, h] + ahead[:, None, :]
            following[:, h] = through.argmin(axis=2)
            ahead = through.min(axis=2)
        out, state, every = np.zeros((R, H, S, S)), ahead.argmin(axis=1), np.arange(R)
        for h in range(H):
            then = following[every, h, state]
            out[every, h, state, then] = 1.0
            state = then
        return out.reshape(R, -1)
