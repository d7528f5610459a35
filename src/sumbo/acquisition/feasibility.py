"""The logarithm of the probability that outcomes lie within their limits.

With mean μ and standard deviation σ of an outcome c, and limits l and u,

    P(l ≤ c ≤ u) = Φ(b) − Φ(a),   b = (u − μ)/σ,   a = (l − μ)/σ.

Outcomes are independent given the data, so logarithms add up. Added to the logarithm
of expected improvement this is constrained expected improvement, [gardner2014]. In
logarithms it has a slope everywhere, [ament2023].
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

from sumbo.gp import Posterior
from sumbo.surrogate import OutcomeModel
from sumbo.typing import Float, ndarray

# Variances below this are rounding.
SMALLEST_VARIANCE = 1e-12
_LARGEST = 200.0  # exponent of φ/P, which limits that are equal in floats exceed
_LOG_ROOT_TWO_PI = 0.5 * math.log(2.0 * math.pi)


@dataclass(frozen=True, kw_only=True, eq=False)
class LogFeasibility:
    """−log P(all outcomes are within their limits), to be minimised.

    Where several structures are plausible, probabilities are averaged over them.
    """

    models: tuple[OutcomeModel, ...]

    def value(self, U: Float[ndarray, "b P"]) -> Float[ndarray, " b"]:
        """Return the function at points of the cube."""
        out = np.zeros(len(U))
        for model in self.models:
            logs = []
            for post in model.surrogate.posteriors:
                mean, var = post.sum_moments(U)
                sd = np.sqrt(np.maximum(var, SMALLEST_VARIANCE))
                mean = mean + post.gp.mean
                logs.append(log_within(mean, sd, model.lower, model.upper)[0])
            weights = np.log(model.surrogate.weights)[:, None]
            out -= np.logaddexp.reduce(weights + np.array(logs))
        return out

    def gradient(
        self, U: Float[ndarray, "b P"]
    ) -> tuple[Float[ndarray, " b"], Float[ndarray, "b P"]]:
        """Return the function and its gradient at points of the cube."""
        out, slope = np.zeros(len(U)), np.zeros(U.shape)
        for model in self.models:
            found = [_gradient(post, U, model) for post in model.surrogate.posteriors]
            weights = np.log(model.surrogate.weights)[:, None]
            logs = weights + np.array([value for value, _ in found])
            total = np.logaddexp.reduce(logs)
            shares = np.exp(logs - total)
            slopes = np.array([gradient for _, gradient in found])
            out -= total
            slope -= np.einsum("sb,sbp->bp", shares, slopes)
        return out, slope


def _gradient(
    post: Posterior, U: Float[ndarray, "b P"], model: OutcomeModel
) -> tuple[Float[ndarray, " b"], Float[ndarray, "b P"]]:
    """Return log P of one posterior and its gradient."""
    mean, var, pullback = post.sum_moments_pullback(U)
    sd = np.sqrt(np.maximum(var, SMALLEST_VARIANCE))
    mean = mean + post.gp.mean
    value, by_mean, by_sd = log_within(mean, sd, model.lower, model.upper)
    by_var = by_sd / (2.0 * sd) * (var > SMALLEST_VARIANCE)
    return value, pullback(by_mean, by_var)


def log_within(
    mean: Float[ndarray, " b"], sd: Float[ndarray, " b"], lower: float, upper: float
) -> tuple[Float[ndarray, " b"], Float[ndarray, " b"], Float[ndarray, " b"]]:
    """Return log P(lower ≤ c ≤ upper), and its derivatives in mean and sd.

    Examples:
        >>> log_p, _, _ = log_within(np.array([0.0]), np.array([1.0]), -1.0, 1.0)
        >>> round(float(np.exp(log_p[0])), 4)
        0.6827
    """
    a, b = (lower - mean) / sd, (upper - mean) / sd
    # Both tails are computed on the side where they are small.
    turned = a > 0
    low, high = np.where(turned, -b, a), np.where(turned, -a, b)
    log_low, log_high = log_ndtr(low), log_ndtr(high)
    with np.errstate(divide="ignore"):
        value = log_high + np.log1p(-np.exp(np.minimum(log_low - log_high, 0.0)))
    value = np.maximum(value, -1e300)
    by_mean, by_sd = np.zeros_like(mean), np.zeros_like(mean)
    for z, sign in ((b, 1.0), (a, -1.0)):
        if not np.isfinite(z).all():
            continue
        exponent = -0.5 * z**2 - _LOG_ROOT_TWO_PI - value
        ratio = np.exp(np.minimum(exponent, _LARGEST))  # φ(z)/P
        by_mean -= sign * ratio / sd
        by_sd -= sign * z * ratio / sd
    return value, by_mean, by_sd
