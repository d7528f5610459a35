"""The logarithm of expected improvement of a sum of parts, with its gradient.

With mean μ and standard deviation σ of the *sum*, bilateral covariances included,

    EI = E max(best − f, 0) = σ h(z),   z = (best − μ)/σ,   h(z) = φ(z) + z Φ(z).

Far from the optimum EI is zero in floats and has no slope; its logarithm has both
everywhere; [ament2023].
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr

from sumbo.gp import Posterior
from sumbo.typing import Float, ndarray

# Variances below this are rounding.
SMALLEST_VARIANCE = 1e-12
_LOG_ROOT_TWO_PI = 0.5 * math.log(2.0 * math.pi)
_LOG_ROOT_HALF_PI = 0.5 * math.log(0.5 * math.pi)
# Below this, 1 − |z| √(π/2) erfcx(|z|/√2) is rounding, and 1/z² its leading term.
_FAR = -1e5


@dataclass(frozen=True, kw_only=True, eq=False)
class Improvement:
    """−log EI over ``best`` as a function on the unit cube, to be minimised."""

    post: Posterior
    best: float

    def value(self, U: Float[ndarray, "b P"]) -> Float[ndarray, " b"]:
        """Return −log EI at points of the cube."""
        mean, var = self.post.sum_moments(U)
        return -log_improvement(self.best, self.post.gp.mean + mean, var)

    def gradient(
        self, U: Float[ndarray, "b P"]
    ) -> tuple[Float[ndarray, " b"], Float[ndarray, "b P"]]:
        """Return −log EI and its gradient at points of the cube."""
        mean, var, pullback = self.post.sum_moments_pullback(U)
        sd = np.sqrt(np.maximum(var, SMALLEST_VARIANCE))
        z = (self.best - self.post.gp.mean - mean) / sd
        log_improvement = log_h(z)
        # h′ = Φ, so ∂ log(σ h(z)) is −r/σ in μ and (1 − r z)/σ in σ, with r = Φ/h.
        r = np.exp(log_ndtr(z) - log_improvement)
        by_mean = r / sd
        by_var = -(1.0 - r * z) / (2.0 * sd**2) * (var > SMALLEST_VARIANCE)
        return -np.log(sd) - log_improvement, pullback(by_mean, by_var)


@dataclass(frozen=True, kw_only=True, eq=False)
class Averaged:
    """−log Σ_s w_s EI_s of several models with probabilities w_s."""

    weights: Float[ndarray, " s"]
    models: tuple[Improvement, ...]

    def value(self, U: Float[ndarray, "b P"]) -> Float[ndarray, " b"]:
        """Return −log of the average at points of the cube."""
        logs = np.array([-model.value(U) for model in self.models])
        return -np.logaddexp.reduce(np.log(self.weights)[:, None] + logs)

    def gradient(
        self, U: Float[ndarray, "b P"]
    ) -> tuple[Float[ndarray, " b"], Float[ndarray, "b P"]]:
        """Return −log of the average and its gradient at points of the cube."""
        found = [model.gradient(U) for model in self.models]
        logs = np.log(self.weights)[:, None] - np.array([value for value, _ in found])
        total = np.logaddexp.reduce(logs)
        shares = np.exp(logs - total)
        slopes = np.array([gradient for _, gradient in found])
        return -total, np.einsum("sb,sbp->bp", shares, slopes)


def log_improvement(
    best: float, mean: Float[ndarray, " b"], var: Float[ndarray, " b"]
) -> Float[ndarray, " b"]:
    """Return log EI over ``best`` from the moments of the sum."""
    sd = np.sqrt(np.maximum(var, SMALLEST_VARIANCE))
    return np.log(sd) + log_h((best - mean) / sd)


@dataclass(frozen=True, kw_only=True, eq=False)
class Sum:
    """The sum of several functions of a point: logarithms of a product."""

    terms: tuple[Any, ...]

    def value(self, U: Float[ndarray, "b P"]) -> Float[ndarray, " b"]:
        """Return the sum at points of the cube."""
        return np.sum([term.value(U) for term in self.terms], axis=0)

    def gradient(
        self, U: Float[ndarray, "b P"]
    ) -> tuple[Float[ndarray, " b"], Float[ndarray, "b P"]]:
        """Return the sum and its gradient at points of the cube."""
        found = [term.gradient(U) for term in self.terms]
        value = np.sum([v for v, _ in found], axis=0)
        return value, np.sum([slope for _, slope in found], axis=0)


def log_h(z: Float[ndarray, " b"]) -> Float[ndarray, " b"]:
    """Return log(φ(z) + z Φ(z)), accurate for all z; [ament2023] Eq. (9)."""
    out = np.empty_like(z)
    near, far = z > -1.0, z <= _FAR
    pieces = (near, _log_h_near), (~(near | far), _log_h_middle), (far, _log_h_far)
    for where, piece in pieces:
        if where.all():  # no copies; a descent ends with single points
            return piece(z)
        if where.any():
            out[where] = piece(z[where])
    return out


def _log_h_near(z: Float[ndarray, " b"]) -> Float[ndarray, " b"]:
    return np.log(np.exp(-0.5 * z**2 - _LOG_ROOT_TWO_PI) + z * ndtr(z))


def _log_h_middle(z: Float[ndarray, " b"]) -> Float[ndarray, " b"]:
    tail = np.log(erfcx(z / -math.sqrt(2.0)) * -z) + _LOG_ROOT_HALF_PI
    return -0.5 * z**2 - _LOG_ROOT_TWO_PI + np.log(-np.expm1(tail))


def _log_h_far(z: Float[ndarray, " b"]) -> Float[ndarray, " b"]:
    return -0.5 * z**2 - _LOG_ROOT_TWO_PI - 2.0 * np.log(-z)
