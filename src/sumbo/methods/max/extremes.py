"""Draws of the smallest value of a part, from its mean and deviation on a grid.

Values at different grid points are treated as independent (a mean field), so that

    P(min > y) = Π_i Φ((μ_i − y)/σ_i),

which makes the minimum lower than it is: close points move together in truth.
[wang2017mes] approximates the maximum in the same way.
"""

from collections.abc import Callable

import numpy as np
from scipy.special import ndtri_exp

from sumbo.acquisition.normal import log_cdf_and_ratio
from sumbo.typing import Float, ndarray

# Newton steps; quadratic convergence needs about ten, deviations that differ by six
# orders of magnitude about thirty.
NEWTON_STEPS = 200
QUARTILES = np.array([0.25, 0.5, 0.75])
# Points that give the start, and how well it and the root itself are found.
FEW, COARSE, PRECISE = 500, 1e-3, 1e-12
# −log Φ is 1e-19 here: ten thousand such points change nothing.
CERTAIN = 9.0


def quantiles_of_minimum(
    survival: Float[ndarray, " n"],
    mean: Float[ndarray, " B"],
    sd: Float[ndarray, " B"],
) -> Float[ndarray, " n"]:
    """Return the y with P(min > y) = survival, for probabilities in (0, 1).

    Newton's method on log P(min > y), which is concave and falling because log Φ is:
    a tangent lies above the curve, so from the second step on the iterates come down
    to the root from the right, without a bracket. Where points are many, a few of them
    with a greater weight give the start. Points that cannot matter are left out.
    """
    target = np.log(survival)
    # The lowest mean, where the slope is not 0.
    y = np.full(len(survival), mean.min())
    if len(mean) > 2 * FEW:
        thin = len(mean) // FEW
        y = _newton(target / thin, mean[::thin], sd[::thin], y, COARSE)
    # No root lies further up than that of one point alone.
    highest = (mean - ndtri_exp(target.min()) * sd).min()
    close = mean - max(highest, y.max()) < CERTAIN * sd
    return _newton(target, mean[close], sd[close], y, PRECISE)


def _newton(
    target: Float[ndarray, " n"],
    mean: Float[ndarray, " B"],
    sd: Float[ndarray, " B"],
    start: Float[ndarray, " n"],
    tolerance: float,
) -> Float[ndarray, " n"]:
    """Return the y where log P(min > y) is ``target``."""
    y = start.copy()
    open_ = np.arange(len(y))
    for _ in range(NEWTON_STEPS):
        log_cdf, ratio = log_cdf_and_ratio((mean - y[open_, None]) / sd)
        ratio /= sd
        step = (log_cdf.sum(axis=1) - target[open_]) / ratio.sum(axis=1)
        y[open_] += step
        moved = np.abs(step) > tolerance * (1.0 + np.abs(y[open_]))
        open_ = open_[moved]
        if not len(open_):
            break
    return y


def sample_by_inverse(
    rng: np.random.Generator,
    mean: Float[ndarray, " B"],
    sd: Float[ndarray, " B"],
    n: int,
) -> Float[ndarray, " n"]:
    """Return n draws of the mean-field minimum by inverting its distribution."""
    return quantiles_of_minimum(_open_uniform(rng, n), mean, sd)


def sample_by_gumbel(
    rng: np.random.Generator,
    mean: Float[ndarray, " B"],
    sd: Float[ndarray, " B"],
    n: int,
) -> Float[ndarray, " n"]:
    """Return n draws of the Gumbel distribution with the mean field's quartiles.

    [wang2017mes] with the sign turned: P(min > y) = exp(−exp((y − a)/b)).
    The width b is matched to the outer quartiles, the location a to the median.
    """
    low, middle, high = quantiles_of_minimum(QUARTILES[::-1], mean, sd)
    b = (high - low) / (np.log(np.log(4.0)) - np.log(np.log(4.0 / 3.0)))
    a = middle - b * np.log(np.log(2.0))
    return a + b * np.log(-np.log(_open_uniform(rng, n)))


EXTREMES: dict[str, Callable[..., Float[ndarray, " n"]]] = {
    "cdf": sample_by_inverse,
    "gumbel": sample_by_gumbel,
}


def _open_uniform(rng: np.random.Generator, n: int) -> Float[ndarray, " n"]:
    # 0 has no quantile; the half-open interval of the generator is turned around.
    return np.minimum(1.0 - rng.random(n), 1.0 - 1e-16)
