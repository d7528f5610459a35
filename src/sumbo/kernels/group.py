"""A kernel on one group of coordinates, with its length-scales and its variance."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from sumbo.kernels.base import Kernel
from sumbo.typing import Float, ndarray

# Elements of one panel. One thread is as fast with a quarter of it; two threads wait
# less for the interpreter's lock, which every call takes, where calls are longer.
PANEL = 65_536
# Rows of one panel at most, alone and as a share of all: half of its diagonal block is
# evaluated in vain.
ROWS, SHARE = 40, 0.1


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

    def lower(self, A: Float[ndarray, "n d"]) -> Float[ndarray, "n n"]:
        """Return the Gram matrix of ``A``, Fortran-ordered, in its lower triangle.

        Half the kernel evaluations of the full square. Above the diagonal is what
        the memory held before.
        """
        out = np.empty((len(A), len(A)), order="F")
        rows = out.T  # C-ordered: a panel of columns of out is a panel of rows here
        for start, stop, k in self._panels(A):
            np.multiply(k, self.variance, out=rows[start:stop, start:])
        return out

    def add_lower(self, A: Float[ndarray, "n d"], out: Float[ndarray, "n n"]) -> None:
        """Add the Gram matrix of ``A`` to the lower triangle of Fortran-ordered out.

        The strict upper triangle of the panels' diagonal blocks is written too and
        has no meaning.
        """
        rows = out.T
        for start, stop, k in self._panels(A):
            rows[start:stop, start:] += np.multiply(k, self.variance, out=k)

    def _panels(
        self, A: Float[ndarray, "n d"]
    ) -> Iterator[tuple[int, int, Float[ndarray, "p q"]]]:
        """Yield the correlations of rows start to stop with all rows from start on.

        Temporaries are as large as a panel, not as the matrix.
        """
        A = A / self.lengthscales
        for start, stop in panels(len(A)):
            s = between(A[start:stop], A[start:])
            yield start, stop, self.kernel.correlation(s)

    def diagonal(self, A: Float[ndarray, "n d"]) -> Float[ndarray, " n"]:
        """Return the variance at each point."""
        return np.full(len(A), self.variance)

    def diagonal_gradient(self, A: Float[ndarray, "n d"]) -> Float[ndarray, "n d"]:
        """Return the gradient of the variance at each point."""
        return np.zeros(A.shape)

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


def panels(n: int) -> Iterator[tuple[int, int]]:
    """Yield the rows start to stop of a lower triangle that are computed at a time."""
    most = max(ROWS, int(SHARE * n))
    start = 0
    while start < n:
        stop = min(n, start + max(8, min(most, PANEL // (n - start))))
        yield start, stop
        start = stop


def squared_distances(
    A: Float[ndarray, "n d"],
    B: Float[ndarray, "m d"],
    lengthscales: Float[ndarray, "d"],
) -> Float[ndarray, "n m"]:
    """Return Σ_j (a_j − b_j)²/ℓ_j² for all pairs.

    Differences are squared, not expanded into a·a − 2a·b + b·b: the expansion loses
    half of the digits where points nearly coincide, and Matérn kernels take a root.
    """
    return between(A / lengthscales, B / lengthscales)


def between(
    A: Float[ndarray, "n d"], B: Float[ndarray, "m d"]
) -> Float[ndarray, "n m"]:
    """Return the squared distances of all pairs, as they are."""
    if A.shape[1] > 1:
        return cdist(A, B, "sqeuclidean")  # squares differences, in one pass
    s = np.subtract.outer(A[:, 0], B[:, 0])
    return np.multiply(s, s, out=s)
