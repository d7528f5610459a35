"""Covariances of the sum with the observations, all parts at once.

A part on one coordinate is little work, and a sum has many: evaluated one by one at a
few points, they cost more in calls than in arithmetic. So one-coordinate parts are
evaluated together, as many at a time as the cache holds.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from sumbo.kernels import GroupKernel, Kernel
from sumbo.kernels.group import squared_distances
from sumbo.kernels.lines import line_correlations, line_slopes
from sumbo.typing import Float, Group, Groups, Int, ndarray

# Elements worked on at a time: they stay in the cache, and the memory of arrays of this
# size is used again and again, where larger ones would be fetched from the system.
PANEL = 8192

# From weights (b, N) of the covariances to the gradient (b, P) of their sum.
Pullback = Callable[[Float[ndarray, "b N"]], Float[ndarray, "b P"]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Cross:
    """``Σ_m k_m(u, X)`` as a function of points u, with gradients.

    ``lines`` are the coordinates of one-coordinate parts, ``lengths`` and
    ``variances`` theirs, ``scaled`` the observations along them in units of
    ``lengths``; ``others`` are the parts on several coordinates.
    """

    X: Float[ndarray, "N P"]
    kernel: Kernel
    lines: Int[ndarray, " L"]
    lengths: Float[ndarray, " L"]
    variances: Float[ndarray, " L"]
    scaled: Float[ndarray, "L N"]
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
            kernel=kernels[0].kernel,
            lines=lines,
            lengths=lengths,
            variances=np.array([kernel.variance for kernel, _ in single]),
            scaled=X.T[lines] / lengths[:, None],
            others=[pair for pair in pairs if len(pair[1]) > 1],
        )

    def __call__(self, U: Float[ndarray, "b P"]) -> Float[ndarray, "b N"]:
        """Return the covariances of the sum between points and observations."""
        out = np.zeros((len(U), len(self.X)))
        for chunk, u, x in self._lines(U):
            k = line_correlations(self.kernel, u, x)
            out += _weighted(self.variances[chunk], k)
        for kernel, group in self.others:
            out += kernel(U[:, group], self.X[:, group])
        return out

    def with_pullback(
        self, U: Float[ndarray, "b P"]
    ) -> tuple[Float[ndarray, "b N"], Pullback]:
        """Return the covariances, and what gives gradients of weighted sums of them.

        ``pullback(weights)`` is the gradient in the points of Σ_n weights_n k(u, x_n),
        row by row.
        """
        out = np.zeros((len(U), len(self.X)))
        along: list[tuple[slice, Float[ndarray, "l b N"]]] = []
        for chunk, u, x in self._lines(U):
            k, slope = line_slopes(self.kernel, u, x)
            out += _weighted(self.variances[chunk], k)
            along.append((chunk, slope))
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
        for chunk, slope in along:
            pull = np.einsum("lbn,bn->lb", slope, weights)
            pull *= -(self.variances / self.lengths)[chunk, None]
            # Not +=: overlapping structures may have two parts on one coordinate.
            np.add.at(gradient.T, self.lines[chunk], pull)
        for (kernel, group), w in zip(self.others, within, strict=True):
            # Σ_n c_n (u − x_n) as two products: no array of all differences.
            g = list(group)
            c = w * weights
            pull = U[:, g] * c.sum(axis=1, keepdims=True) - c @ self.X[:, g]
            gradient[:, g] -= kernel.variance / kernel.lengthscales**2 * pull
        return gradient

    def _lines(
        self, U: Float[ndarray, "b P"]
    ) -> Iterator[tuple[slice, Float[ndarray, "l b"], Float[ndarray, "l N"]]]:
        """Yield points and data along some lines at a time, in units of lengths."""
        step = max(1, PANEL // max(1, len(U) * len(self.X)))
        for start in range(0, len(self.lines), step):
            chunk = slice(start, start + step)
            u = U.T[self.lines[chunk]] / self.lengths[chunk, None]
            yield chunk, u, self.scaled[chunk]


def _weighted(
    variances: Float[ndarray, " l"], k: Float[ndarray, "l b N"]
) -> Float[ndarray, "b N"]:
    """Return Σ_l variance_l k_l: one product of a vector and a matrix."""
    return (variances @ k.reshape(len(k), -1)).reshape(k.shape[1:])
