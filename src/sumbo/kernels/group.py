"""A kernel on one group of coordinates, with its length-scales and its variance."""

from dataclasses import dataclass

import numpy as np

from sumbo.kernels.base import Kernel
from sumbo.typing import Float, ndarray

# Elements of one panel: three temporaries of this many doubles stay in a 1 MiB cache.
PANEL = 24_576


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupKernel:
    """``variance · k(s)`` with ``s = Σ_j (a_j − b_j)²/ℓ_j²`` on d coordinates."""

    kernel: Kernel
    lengthscales: Float[ndarray, " d"]
    variance: float

    def __call__(
        self, A: Float[ndarray, "n d"], B: Float[ndarray, "m d"]
    ) -> Float[ndarray, "n m"]:
        """Return the covariances between two sets of points."""
        K = self.kernel.correlation(squared_distances(A, B, self.lengthscales))
        K *= self.variance
        return K

    def add_lower(self, A: Float[ndarray, "n d"], out: Float[ndarray, "n n"]) -> None:
        """Add the Gram matrix of ``A`` to the lower triangle of Fortran-ordered out.

        Worked in panels of columns: half the kernel evaluations of the full square,
        and temporaries that never leave the cache. The strict upper triangle of the
        panels' diagonal blocks is written too and has no meaning.
        """
        rows = out.T  # C-ordered: a panel of columns of out is a panel of rows here
        n = len(A)
        start = 0
        while start < n:
            stop = min(n, start + max(8, PANEL // (n - start)))
            s = squared_distances(A[start:stop], A[start:], self.lengthscales)
            k = self.kernel.correlation(s)
            k *= self.variance
            rows[start:stop, start:] += k
            start = stop

    def log_gradient(
        self, A: Float[ndarray, "n d"], B: Float[ndarray, "m d"]
    ) -> Float[ndarray, "p n m"]:
        """Return derivatives in (log ℓ_1, …, log ℓ_d, log variance)."""
        s = squared_distances(A, B, self.lengthscales)
        k, w = self.kernel.correlation_and_weight(s)
        scaled = (A[:, None, :] - B[None, :, :]) / self.lengthscales
        out = np.empty((len(self.lengthscales) + 1, *s.shape))
        out[:-1] = self.variance * w * np.moveaxis(scaled**2, -1, 0)
        out[-1] = self.variance * k
        return out

    def input_gradient(
        self, A: Float[ndarray, "n d"], B: Float[ndarray, "m d"]
    ) -> tuple[Float[ndarray, "n m"], Float[ndarray, "n m d"]]:
        """Return the covariances and their derivatives in the points of ``A``."""
        s = squared_distances(A, B, self.lengthscales)
        k, w = self.kernel.correlation_and_weight(s)
        scaled = (A[:, None, :] - B[None, :, :]) / self.lengthscales**2
        gradient = (-self.variance * w)[:, :, None] * scaled
        return self.variance * k, gradient

    def spectral(self, rng: np.random.Generator, n: int) -> Float[ndarray, "n d"]:
        """Return n frequencies ω with E cos(ω·(a − b)) = k(a, b)/variance."""
        d = len(self.lengthscales)
        return self.kernel.spectral(rng, n, d) / self.lengthscales


def squared_distances(
    A: Float[ndarray, "n d"],
    B: Float[ndarray, "m d"],
    lengthscales: Float[ndarray, "d"],
) -> Float[ndarray, "n m"]:
    """Return Σ_j (a_j − b_j)²/ℓ_j² for all pairs.

    Differences are squared, not expanded into a·a − 2a·b + b·b: the expansion loses
    half of the digits where points nearly coincide, and Matérn kernels take a root.
    """
    A = A / lengthscales
    B = B / lengthscales
    s = np.subtract.outer(A[:, 0], B[:, 0])
    np.multiply(s, s, out=s)
    for j in range(1, A.shape[1]):
        step = np.subtract.outer(A[:, j], B[:, j])
        np.multiply(step, step, out=step)
        s += step
    return s
