"""Cholesky factors of one part's prior covariance."""

import numpy as np

from sumbo.errors import NotPositiveDefiniteError
from sumbo.kernels import GroupKernel
from sumbo.linalg import LADDER, Factor, factor_in_place
from sumbo.typing import Float, ndarray

# Gram matrices of many close points are singular in floats: the first rung is not 0.
FIRST_RUNG = 1e-10


def prior_factor(kernel: GroupKernel, A: Float[ndarray, "A d"]) -> Factor:
    """Return the lower factor of the kernel's Gram matrix at ``A``, built in place.

    The strict upper triangle of the factor holds rubbish: multiply with
    ``times_lower``. Nothing is copied; a failed rung of the jitter ladder fills the
    triangle anew, which is rare enough to cost nothing on average.

    Raises:
        NotPositiveDefiniteError: If the last rung of the ladder is not enough.
    """
    n = len(A)
    for rung in (r for r in LADDER if r >= FIRST_RUNG):
        K = np.zeros((n, n), order="F")
        kernel.add_lower(A, K)
        jitter = rung * kernel.variance
        K.ravel(order="K")[:: n + 1] += jitter
        if factor_in_place(K):
            return Factor(K, jitter)
    msg = (
        f"the prior covariance of {n} points is not positive definite, even with "
        f"{LADDER[-1]:g} of the variance added. Space the candidates further apart."
    )
    raise NotPositiveDefiniteError(msg)
