"""The Gaussian likelihood of a measured vector."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from sumbo.errors import ProblemError
from sumbo.typing import Float, ndarray

# The value where CAMB fails, and the ceiling of all other values.
PENALTY = 1e10


@dataclass(frozen=True, kw_only=True, eq=False)
class Gaussian:
    """A measured vector d with its precision matrix C⁻¹."""

    data: Float[ndarray, " n"]
    precision: Float[ndarray, "n n"]

    def value(self, prediction: Float[ndarray, " n"]) -> float:
        """Return ½ rᵀC⁻¹r of the residuals r, at most `PENALTY`."""
        r = self.data - prediction
        value = 0.5 * float(r @ self.precision @ r)
        return min(value, PENALTY) if np.isfinite(value) else PENALTY


def gaussian(data: Float[ndarray, " n"], covariance: Float[ndarray, "n n"]) -> Gaussian:
    """Return the likelihood of a vector with a covariance.

    Raises:
        ProblemError: If the covariance is not positive definite.
    """
    try:
        factor = cho_factor(covariance)
    except (np.linalg.LinAlgError, ValueError) as error:
        msg = (
            "the covariance of the data is not positive definite. The data file is "
            "damaged or another one: remove it and fetch the data again."
        )
        raise ProblemError(msg) from error
    return Gaussian(data=data, precision=cho_solve(factor, np.eye(len(data))))


def mock_factor(mocks: int, size: int) -> float:
    """Return the factor of a covariance that was estimated from few mock surveys.

    It is (N − 1)/(N − n − 2) for N mocks and a vector of n values [hartlap2007].
    """
    return (mocks - 1) / (mocks - size - 2)
