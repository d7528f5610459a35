"""Information of a part's value about its minimum; [wang2017mes].

Given that the minimum is y*, the value at x is normal cut off below y*. The mean
reduction of its entropy, over draws of y*, is

    a(x) = mean_s [ γ_s r(γ_s)/2 − log Φ(γ_s) ],  γ_s = (μ − y*_s)/σ,  r = φ/Φ.
"""

import numpy as np

from sumbo.acquisition.normal import log_cdf_and_ratio
from sumbo.typing import Float, ndarray

# Variance below which a point counts as known; y has unit variance.
FLOOR = 1e-12


def minimum_entropy(
    mean: Float[ndarray, " B"],
    var: Float[ndarray, " B"],
    minima: Float[ndarray, " S"],
) -> Float[ndarray, " B"]:
    """Return a, the mean entropy reduction in nats, at B points; 0 or more."""
    gamma, ratio, log_cdf = _truncation(mean, var, minima)
    return (0.5 * gamma * ratio - log_cdf).mean(axis=0)


def minimum_entropy_gradient(
    mean: Float[ndarray, " B"],
    var: Float[ndarray, " B"],
    mean_gradient: Float[ndarray, "B d"],
    var_gradient: Float[ndarray, "B d"],
    minima: Float[ndarray, " S"],
) -> tuple[Float[ndarray, " B"], Float[ndarray, "B d"]]:
    """Return a and its gradient in the points.

    da/dγ = −½ [(1 + γ²) r + γ r²] from r′ = −γ r − r², and
    ∇γ = ∇μ/σ − γ ∇σ²/(2σ²).
    """
    gamma, ratio, log_cdf = _truncation(mean, var, minima)
    value = (0.5 * gamma * ratio - log_cdf).mean(axis=0)
    slope = -0.5 * ((1.0 + gamma**2) * ratio + gamma * ratio**2)
    known = var <= FLOOR
    var = np.maximum(var, FLOOR)
    by_mean = slope.mean(axis=0) / np.sqrt(var)
    by_var = np.where(known, 0.0, -(slope * gamma).mean(axis=0) / (2.0 * var))
    return value, by_mean[:, None] * mean_gradient + by_var[:, None] * var_gradient


def _truncation(
    mean: Float[ndarray, " B"],
    var: Float[ndarray, " B"],
    minima: Float[ndarray, " S"],
) -> tuple[Float[ndarray, "S B"], Float[ndarray, "S B"], Float[ndarray, "S B"]]:
    """Return γ, φ(γ)/Φ(γ) and log Φ(γ) of each draw at each point."""
    gamma = (mean - minima[:, None]) / np.sqrt(np.maximum(var, FLOOR))
    log_cdf, ratio = log_cdf_and_ratio(gamma)
    return gamma, ratio, log_cdf
