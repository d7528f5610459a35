"""What is known of the coefficients: a normal distribution for each replicate."""

from dataclasses import dataclass, replace

import numpy as np

from sumbo.typing import Bool, Float, Int, ndarray

# Added to covariances before they are factorized, as a share of their mean diagonal.
JITTER = 1e-9


@dataclass(frozen=True, kw_only=True, eq=False)
class Belief:
    """Normal distributions of coefficients that belong to parts.

    Attributes:
        mean: The means.
        cov: The covariances.
        parts: The part of each coefficient.
    """

    mean: Float[ndarray, "R d"]
    cov: Float[ndarray, "R d d"]
    parts: Int[ndarray, " d"]

    @classmethod
    def prior(cls, R: int, parts: Int[ndarray, " d"], variance: float) -> "Belief":
        """Return independent coefficients of mean zero."""
        d = len(parts)
        cov = np.tile(variance * np.eye(d), (R, 1, 1))
        return cls(mean=np.zeros((R, d)), cov=cov, parts=parts)

    @property
    def within(self) -> Bool[ndarray, "d d"]:
        """Whether two coefficients belong to one part."""
        return self.parts[:, None] == self.parts

    def given(
        self, phi: Float[ndarray, "R d"], y: Float[ndarray, " R"], variance: float
    ) -> "Belief":
        """Return the belief after φ·θ was observed; nothing is learned from φ = 0."""
        g = np.einsum("rij,rj->ri", self.cov, phi)
        s = np.einsum("ri,ri->r", phi, g) + variance
        misfit = y - np.einsum("ri,ri->r", phi, self.mean)
        mean = self.mean + g * (misfit / s)[:, None]
        cov = self.cov - (g / s[:, None])[:, :, None] * g[:, None, :]
        return replace(self, mean=mean, cov=cov)

    def joint(self, rng: np.random.Generator) -> Float[ndarray, "R d"]:
        """Return one draw per replicate."""
        return self.mean + times_root(self.cov, rng)

    def marginal(self, rng: np.random.Generator) -> Float[ndarray, "R d"]:
        """Return one draw per replicate in which the parts are independent."""
        return self.mean + times_root(self.cov * self.within, rng)

    def centred(self, rng: np.random.Generator) -> Float[ndarray, "R d"]:
        """Return one draw per replicate in which contrasts of parts are independent.

        The averages of the parts are drawn jointly, but apart from their contrasts.
        """
        average = self.within / self.within.sum(axis=1)
        rest = np.eye(len(average)) - average
        cov = average @ self.cov @ average + (rest @ self.cov @ rest) * self.within
        return self.mean + times_root(cov, rng)

    def deviations(self) -> Float[ndarray, "R d"]:
        """Return the standard deviation of each coefficient."""
        return np.sqrt(np.maximum(np.einsum("rii->ri", self.cov), 0.0))

    def total_deviations(
        self, offers: Float[ndarray, "R K d"]
    ) -> Float[ndarray, "R K"]:
        """Return the standard deviation of the sum of each offer."""
        var = np.einsum("rki,rij,rkj->rk", offers, self.cov, offers, optimize=True)
        return np.sqrt(np.maximum(var, 0.0))


def times_root(
    cov: Float[ndarray, "R d d"], rng: np.random.Generator
) -> Float[ndarray, "R d"]:
    """Return one draw per replicate of mean zero and the given covariance."""
    d = cov.shape[1]
    scale = JITTER * np.einsum("rii->r", cov) / d
    L = np.linalg.cholesky(cov + scale[:, None, None] * np.eye(d))
    return np.einsum("rij,rj->ri", L, rng.standard_normal(cov.shape[:2]))
