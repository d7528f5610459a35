"""Two-level factors with a log whose rows all have the same total."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.linalg import hadamard

from sumbo.decisions.base import DECISIONS, Decision
from sumbo.decisions.belief import Belief
from sumbo.errors import ArgumentError
from sumbo.rng import rng_at
from sumbo.typing import Float, Int, ndarray


@dataclass(frozen=True, kw_only=True, eq=False)
class EarlierRows:
    """Rows that were observed before the first round, with their values."""

    rows: Float[ndarray, "n d"]
    values: Float[ndarray, "R n"]


@DECISIONS.register("balanced")
@dataclass(frozen=True, kw_only=True)
class BalancedLog(Decision):
    """Set M two-level factors; f = s Σ_m x_m with x_m = ±1, |s| = 1/√M.

    Beliefs start from independent effects of variance 1 and a log: all rows of a
    Hadamard matrix but the first, in which Σ_m x_m = 0. The log says how effects
    compare, and nothing of their mean, which is all that counts here.

    Attributes:
        factors: The number of factors M, a power of 2.
        log_noise: Standard deviation of the noise of the values in the log.
    """

    floor: ClassVar[str] = "0"
    listed: ClassVar[bool] = False

    factors: int = 16
    noise: float = 4.0
    log_noise: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.factors < 2 or self.factors & (self.factors - 1):
            msg = f"factors={self.factors!r} is not a power of 2. Pass one, such as 16."
            raise ArgumentError(msg)

    @property
    def parts(self) -> Int[ndarray, " d"]:
        """Each factor has a coefficient for −1 and one for 1."""
        return np.repeat(np.arange(self.factors), 2)

    @property
    def variance(self) -> float:
        """That of an effect."""
        return 1.0

    @cached_property
    def theta(self) -> Float[ndarray, "R d"]:
        """The truth: all effects are equal, and random in their sign."""
        u = rng_at(self.seed, "truth").random((self.replicates, 1))
        s = np.where(u < 0.5, -1.0, 1.0) / np.sqrt(self.factors)
        return s * np.tile([-1.0, 1.0], self.factors)

    @cached_property
    def log(self) -> EarlierRows:
        """What was observed before."""
        rows = as_features(hadamard(self.factors)[1:])
        noise = rng_at(self.seed, "log").standard_normal((self.replicates, len(rows)))
        values = self.theta @ rows.T + self.log_noise * noise
        return EarlierRows(rows=rows, values=values)

    def belief(self) -> Belief:
        """Return what the log says; both coefficients of a factor differ in sign."""
        prior = Belief.prior(self.replicates, self.parts, self.variance)
        sign = np.tile([-1.0, 1.0], self.factors)
        cov = np.tile(prior.within * np.outer(sign, sign), (self.replicates, 1, 1))
        known = replace(prior, cov=cov)
        for row, values in zip(self.log.rows, self.log.values.T, strict=True):
            phi = np.tile(row, (self.replicates, 1))
            known = known.given(phi, values, self.log_noise**2)
        return known

    def offers(self, t: int) -> None:
        """Return nothing: all settings are allowed in every round."""
        del t

    def best(self, offers: None, weights: Float[ndarray, "R d"]) -> ndarray:
        """Return, for each factor, the level of the least coefficient."""
        del offers
        level = weights.reshape(len(weights), -1, 2).argmin(axis=2)
        return as_features(2 * level - 1)


def as_features(signs: Int[ndarray, "n M"]) -> Float[ndarray, "n d"]:
    """Return which of its two coefficients each factor has."""
    chosen = signs[:, :, None] == np.array([-1, 1])
    return chosen.reshape(len(signs), -1).astype(np.float64)
