"""The squared-exponential kernel."""

from typing import ClassVar

import numpy as np

from sumbo.kernels.base import KERNELS
from sumbo.typing import Float, ndarray


@KERNELS.register("rbf")
class RBF:
    """k(s) = exp(−s/2); [rasmussen2006] Eq. (4.9)."""

    name: ClassVar[str] = "rbf"

    def correlation(self, s: Float[ndarray, "*shape"]) -> Float[ndarray, "*shape"]:
        """Return exp(−s/2)."""
        k = s * -0.5
        return np.exp(k, out=k)

    def correlation_and_weight(
        self, s: Float[ndarray, "*shape"]
    ) -> tuple[Float[ndarray, "*shape"], Float[ndarray, "*shape"]]:
        """Return k(s) and w(s), which are equal."""
        k = self.correlation(s)
        return k, k

    def spectral(
        self, rng: np.random.Generator, n: int, d: int
    ) -> Float[ndarray, "n d"]:
        """Return standard normal frequencies."""
        return rng.standard_normal((n, d))
