"""The logarithm of the normal distribution function, and its derivative."""

import math

import numpy as np
from scipy.special import erfc, log_ndtr

from sumbo.typing import Float, ndarray

# Above this, Φ = 1 − Φ(−z) is exact to 15 digits; ``log_ndtr`` takes twice the time.
DIRECT = -1.5
LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)


def log_cdf_and_ratio(
    z: Float[ndarray, "*b"],
) -> tuple[Float[ndarray, "*b"], Float[ndarray, "*b"]]:
    """Return log Φ(z) and its derivative φ(z)/Φ(z), to rounding.

    Examples:
        >>> log_cdf, ratio = log_cdf_and_ratio(np.array([-30.0, 0.0]))
        >>> log_cdf.round(4).tolist(), ratio.round(4).tolist()
        ([-454.3212, -0.6931], [30.0333, 0.7979])
    """
    above = erfc(z * math.sqrt(0.5))
    above *= -0.5  # −Φ(−z)
    far = np.flatnonzero(z < DIRECT)
    above.flat[far] = 0.0
    log_cdf = np.log1p(above, out=above)
    log_cdf.flat[far] = log_ndtr(z.flat[far])
    ratio = z * z
    ratio *= -0.5
    ratio -= LOG_SQRT_2PI
    ratio -= log_cdf
    return log_cdf, np.exp(ratio, out=ratio)
