"""Sequential decisions with additive values, many replicates side by side.

In every round there are *offers*; one is chosen, and its value is the sum of the parts
that it contains, f = φ·θ with features φ in {0, 1}. Only the sum is observed, with
noise. Everything is minimised, and the regret of a choice is known.

| symbol | shape | meaning |
|---|---|---|
| theta | (R, d) | the truth of every replicate |
| offers | (R, K, d) | features of the choices of one round |
| choice | (R, d) | features of the chosen ones |
| weights | (R, d) | coefficients by which choices are ranked, such as a draw of θ |
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sumbo.decisions.belief import Belief
from sumbo.errors import ArgumentError, require_positive_integer
from sumbo.registry import Registry
from sumbo.rng import rng_at
from sumbo.typing import Float, Int, ndarray


@dataclass(frozen=True, kw_only=True)
class Decision(ABC):
    """A problem of sequential decisions; register one with ``DECISIONS``.

    Attributes:
        replicates: How many independent copies are played at once.
        rounds: How many decisions each has.
        seed: The seed of truth, offers and noise, which all policies share.
        noise: Standard deviation of the noise of an observed value.
    """

    # What is known in every arm's data still leaves this open; see the theory page.
    floor: ClassVar[str]
    # Whether the choices of a round are few enough to be listed.
    listed: ClassVar[bool] = True

    replicates: int = 40
    rounds: int = 500
    seed: int = 0
    noise: float = 0.5

    def __post_init__(self) -> None:
        for name in ("replicates", "rounds"):
            require_positive_integer(name, getattr(self, name))
        if not self.noise > 0:
            msg = f"noise={self.noise!r} is not positive. Pass a standard deviation."
            raise ArgumentError(msg)

    @property
    @abstractmethod
    def parts(self) -> Int[ndarray, " d"]:
        """The part of each feature."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """The prior variance of every coefficient."""

    @abstractmethod
    def offers(self, t: int) -> Any:
        """Return the offers of round t."""

    @abstractmethod
    def best(self, offers: Any, weights: Float[ndarray, "R d"]) -> ndarray:
        """Return the features (R, d) of the choices of the least φ·w."""

    @cached_property
    def theta(self) -> Float[ndarray, "R d"]:
        """The truth: independent normal coefficients."""
        xi = rng_at(self.seed, "truth").standard_normal(self._shape)
        return np.sqrt(self.variance) * xi

    def belief(self) -> Any:
        """Return what is known before the first round: a ``Belief``, or like one."""
        return Belief.prior(self.replicates, self.parts, self.variance)

    def values(self, choice: Float[ndarray, "R d"]) -> Float[ndarray, " R"]:
        """Return the values of choices, without noise."""
        return np.einsum("rd,rd->r", choice, self.theta)

    def observed(self, t: int, choice: Float[ndarray, "R d"]) -> Float[ndarray, " R"]:
        """Return what is observed in round t; the noise is that of the round."""
        noise = rng_at(self.seed, "noise", t).standard_normal(self.replicates)
        return self.values(choice) + self.noise * noise

    def regret(
        self, offers: Any, choice: Float[ndarray, "R d"]
    ) -> Float[ndarray, " R"]:
        """Return how much greater the values are than the smallest that can occur."""
        return self.values(choice) - self.values(self.best(offers, self.theta))

    @property
    def _shape(self) -> tuple[int, int]:
        return self.replicates, len(self.parts)


DECISIONS: Registry[type[Decision]] = Registry("decision", "sumbo.decisions")


def best_row(
    offers: Float[ndarray, "R K d"], scores: Float[ndarray, "R K"]
) -> Float[ndarray, "R d"]:
    """Return the offers of the least scores."""
    return offers[np.arange(len(offers)), scores.argmin(axis=1)]


@dataclass(frozen=True, kw_only=True)
class Levelled(Decision):
    """Offers with parts of several levels, of which each part has one.

    Attributes:
        parts_count: The number of parts M.
        levels: Levels of each part.
    """

    parts_count: int = 20
    levels: int = 2

    @property
    def parts(self) -> Int[ndarray, " d"]:
        """The part of each level."""
        return np.repeat(np.arange(self.parts_count), self.levels)

    @property
    def variance(self) -> float:
        """Such that the value of an offer with all parts has variance 1."""
        return 1.0 / self.parts_count

    def random_offers(self, t: int, count: int) -> Float[ndarray, "R K d"]:
        """Return uniformly random offers of a round, as 0 and 1."""
        shape = self.replicates, count, self.parts_count
        level = rng_at(self.seed, "offers", t).integers(self.levels, size=shape)
        features = level[..., None] == np.arange(self.levels)
        return features.reshape(*shape[:2], -1).astype(np.float64)

    def best(
        self, offers: Float[ndarray, "R K d"], weights: Float[ndarray, "R d"]
    ) -> Float[ndarray, "R d"]:
        """Return the offers of the least scores."""
        return best_row(offers, np.einsum("rkd,rd->rk", offers, weights))
