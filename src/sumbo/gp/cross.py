"""Covariances of the sum with the observations, all parts at once.

A part on one coordinate is little work, and a sum has many: evaluated one by one at a
few points, they cost more in calls than in arithmetic. So one-coordinate parts are
evaluated together, as many at a time as the cache holds.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from sumbo.kernels import GroupKernel
from sumbo.kernels.group import squared_distances
from sumbo.kernels.lines import Lines
from sumbo.typing import Float, Group, Groups, Int, ndarray

# Observations whose covariances with all later ones are computed together.
ROWS = 16

# From weights (b, N) of the covariances to the gradient (b, P) of their sum.
Pullback = Callable[[Float[ndarray, "b N"]], Float[ndarray, "b P"]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Cross:
    """``Σ_m k_m(u, X)`` as a function of points u, with gradients.

    ``lines`` are the coordinates of one-coordinate parts, ``variances`` theirs,
    ``along_lines`` the observations along them; ``others`` are the parts on several
    coordinates.
    """

    X: Float[ndarray, "N P"]
    lines: Int[ndarray, " L"]
    variances: Float[ndarray, " L"]
    along_lines: Lines
    others: Sequence[tuple[GroupKernel, Group]]

    @classmethod
    def of(
        cls,
        kernels: Sequence[GroupKernel],
        groups: Groups,
        X: Float[ndarray, "N P"],
    ) -> "Cross":
        """Return the covariances of parts with the observations X."""
        pairs = list(zip(kernels, groups, strict=True))
        single = [(kernel, group[0]) for kernel, group in pairs if len(group) == 1]
        lines = np.array([p for _, p in single], dtype=int)
        lengths = np.array([kernel.lengthscales[0] for kernel, _ in single])
        return cls(
            X=X,
            lines=lines,
            variances=np.array([kernel.variance for kernel, _ in single]),
            along_lines=Lines.of(kernels[0].kernel, X.T[lines], lengths),
            others=[pair for pair in pairs if len(pair[1]) > 1],
        )

    def __call__(self, U: Float[ndarray, "b P"]) -> Float[ndarray, "b N"]:
        """Return the covariances of the sum between points and observations."""
        out = self._of_lines(U, 0)
        for kernel, group in self.others:
            out += kernel(U[:, group], self.X[:, group])
        return out

    def gram(self) -> Float[ndarray, "N N"]:
        """Return the covariances of the sum at the observations, Fortran-ordered.

        Only the lower triangle has a meaning.
        """
        N = len(self.X)
        out = np.zeros((N, N), order="F")
        rows = out.T  # C-ordered: columns of out are rows here
        for start in range(0, N if len(self.lines) else 0, ROWS):
            stop = min(N, start + ROWS)
            rows[start:stop, start:] = self._of_lines(self.X[start:stop], start)
        for kernel, group in self.others:
            kernel.add_lower(self.X[:, group], out)
        return out

    def _of_lines(self, U: Float[ndarray, "b P"], first: int) -> Float[ndarray, "b n"]:
        """Return those of the lines, with the observations from the ``first`` on."""
        out = np.zeros((len(U), len(self.X) - first))
        for some, k in self.along_lines.correlations(U.T[self.lines], first):
            out += _weighted(self.variances[some], k)
        return out

    def by_line(
        self, U: Float[ndarray, "b P"]
    ) -> Iterator[tuple[slice, Float[ndarray, "l b N"]]]:
        """Yield the covariances of the one-coordinate parts, some lines at a time."""
        for some, k in self.along_lines.correlations(U.T[self.lines]):
            yield some, np.multiply(self.variances[some, None, None], k, out=k)

    def with_pullback(
        self, U: Float[ndarray, "b P"]
    ) -> tuple[Float[ndarray, "b N"], Pullback]:
        """Return the covariances, and what gives gradients of weighted sums of them.

        ``pullback(weights)`` is the gradient in the points of Σ_n weights_n k(u, x_n),
        row by row.
        """
        out = np.zeros((len(U), len(self.X)))
        along: list[tuple[slice, Float[ndarray, "l b N"]]] = []
        for some, k, slope in self.along_lines.slopes(U.T[self.lines]):
            out += _weighted(self.variances[some], k)
            along.append((some, slope))
        within: list[Float[ndarray, "b N"]] = []
        for kernel, group in self.others:
            s = squared_distances(U[:, group], self.X[:, group], kernel.lengthscales)
            k, w = kernel.kernel.correlation_and_weight(s)
            out += kernel.variance * k
            within.append(w)

        return out, partial(self._pull, U, along, within)

    def _pull(
        self,
        U: Float[ndarray, "b P"],
        along: list[tuple[slice, Float[ndarray, "l b N"]]],
        within: list[Float[ndarray, "b N"]],
        weights: Float[ndarray, "b N"],
    ) -> Float[ndarray, "b P"]:
        gradient = np.zeros(U.shape)
        # ∂k/∂u = −w (u − x)/ℓ², and slopes are w (u − x)·rate/ℓ.
        units = self.along_lines.per_unit / self.along_lines.rate**2
        for some, slope in along:
            pull = np.einsum("lbn,bn->lb", slope, weights)
            pull *= -(self.variances * units)[some, None]
            # Not +=: overlapping structures may have two parts on one coordinate.
            np.add.at(gradient.T, self.lines[some], pull)
        for (kernel, group), w in zip(self.others, within, strict=True):
            # Σ_n c_n (u − x_n) as two products: no array of all differences.
            g = list(group)
            c = w * weights
            pull = U[:, g] * c.sum(axis=1, keepdims=True) - c @ self.X[:, g]
            gradient[:, g] -= kernel.variance / kernel.lengthscales**2 * pull
        return gradient


def _weighted(
    variances: Float[ndarray, " l"], k: Float[ndarray, "l b N"]
) -> Float[ndarray, "b N"]:
    """Return Σ_l variance_l k_l: one product of a vector and a matrix."""
    return (variances @ k.reshape(len(k), -1)).reshape(k.shape[1:])
