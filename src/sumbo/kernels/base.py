"""What a kernel is: a correlation as a function of the scaled squared distance.

With ``s = Σ_p (a_p − b_p)² / ℓ_p²`` a kernel gives ``k(s)`` and the weight
``w(s) = −2 k′(s) ≥ 0``. Every gradient follows from the two:
``∂k/∂log ℓ_p = w (a_p − b_p)²/ℓ_p²`` and ``∂k/∂a_p = −w (a_p − b_p)/ℓ_p²``.
"""

from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from sumbo.registry import Registry
from sumbo.typing import Float, ndarray


@runtime_checkable
class Kernel(Protocol):
    """A stationary correlation function; register one with ``KERNELS``."""

    name: ClassVar[str]

    def correlation(self, s: Float[ndarray, "*shape"]) -> Float[ndarray, "*shape"]:
        """Return k(s) for scaled squared distances s ≥ 0."""
        ...

    def correlation_and_weight(
        self, s: Float[ndarray, "*shape"]
    ) -> tuple[Float[ndarray, "*shape"], Float[ndarray, "*shape"]]:
        """Return k(s) and w(s) = −2 k′(s)."""
        ...

    def spectral(
        self, rng: np.random.Generator, n: int, d: int
    ) -> Float[ndarray, "n d"]:
        """Return n frequencies from the spectral density at unit length-scales."""
        ...


KERNELS: Registry[type[Kernel]] = Registry("kernel", "sumbo.kernels")


def as_kernel(kernel: str | Kernel) -> Kernel:
    """Return the kernel itself, or the registered one of that name."""
    return KERNELS.get(kernel)() if isinstance(kernel, str) else kernel
