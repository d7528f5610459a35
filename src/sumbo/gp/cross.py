"""Covariances of the sum with the observations, all parts at once.

A part on one coordinate is little work, and a sum has many: evaluated one by one at a
few points, they cost more in calls than in arithmetic. So these parts, the *lines*, are
evaluated together, as many at a time as the cache holds.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from sumbo.gp.centre import Centre
from sumbo.gp.lines import LineKernels
from sumbo.kernels import GroupKernel, OrthogonalKernel
from sumbo.kernels.group import between
from sumbo.typing import Float, Group, Groups, Int, ndarray

# Observations whose covariances with all later ones are computed together.
ROWS = 16

# From weights (b, N) of the covariances to the gradient (b, P) of their sum.
Pullback = Callable[[Float[ndarray, "b N"]], Float[ndarray, "b P"]]


class Wide(NamedTuple):
    """A part on several coordinates: which, and the observations there.

    ``scaled`` are the observations in units of the length-scales, ``slopes`` is
    variance/ℓ² of each coordinate.
    """

    kernel: GroupKernel
    columns: slice | Int[ndarray, " d"]
    X: Float[ndarray, "N d"]
    scaled: Float[ndarray, "N d"]
    slopes: Float[ndarray, " d"]

    @classmethod
    def of(cls, kernel: GroupKernel, group: Group, X: Float[ndarray, "N P"]) -> "Wide":
        """Return the part with what every covariance needs of it."""
        # A slice costs a tenth of an index, and is what a residual part has.
        first, d = group[0], len(group)
        columns = np.array(group)
        if group == tuple(range(first, first + d)):
            columns = slice(first, first + d)
        own = np.ascontiguousarray(X[:, columns])
        slopes = kernel.variance / kernel.lengthscales**2
        return cls(kernel, columns, own, own / kernel.lengthscales, slopes)

    def squares(self, U: Float[ndarray, "b P"]) -> Float[ndarray, "b N"]:
        """Return scaled squared distances between points and observations."""
        return between(U[:, self.columns] / self.kernel.lengthscales, self.scaled)


@dataclass(frozen=True, kw_only=True, eq=False)
class Cross:
    """``Σ_m k_m(u, X)`` as a function of points u, with gradients.

    ``lines`` holds the coordinate of each line, ``variances`` its variance,
    ``along_lines`` its kernel with the observations; ``others`` are the parts on
    several coordinates. ``constant`` is the variance of a random constant. Orthogonal
    lines lack a product ``r(u) r(X)``: ``centre`` gives r, ``r`` (L, N) holds r(X).
    """

    X: Float[ndarray, "N P"]
    lines: Int[ndarray, " L"]
    variances: Float[ndarray, " L"]
    along_lines: LineKernels
    others: Sequence[Wide]
    constant: float = 0.0
    centre: Centre | None = None
    r: Float[ndarray, "L N"] | None = None

    @classmethod
    def of(
        cls,
        kernels: Sequence[GroupKernel],
        groups: Groups,
        X: Float[ndarray, "N P"],
        constant: float = 0.0,
    ) -> "Cross":
        """Return the covariances of parts with the observations X."""
        pairs = list(zip(kernels, groups, strict=True))
        single = [(kernel, group[0]) for kernel, group in pairs if len(group) == 1]
        lines = np.array([p for _, p in single], dtype=int)
        lengths = np.array([kernel.lengthscales[0] for kernel, _ in single])
        centre = Centre.of([kernel for kernel, _ in single])
        return cls(
            X=X,
            lines=lines,
            variances=np.array([kernel.variance for kernel, _ in single]),
            along_lines=LineKernels.of(kernels[0].kernel, X.T[lines], lengths),
            others=[Wide.of(k, group, X) for k, group in pairs if len(group) > 1],
            constant=constant,
            centre=centre,
            r=centre.at(X.T[lines]) if centre else None,
        )

    def __call__(self, U: Float[ndarray, "b P"]) -> Float[ndarray, "b N"]:
        """Return the covariances of the sum between points and observations."""
        out = self._of_lines(U, 0)
        if self.constant:
            out += self.constant
        for part in self.others:
            if isinstance(part.kernel, OrthogonalKernel):
                out += part.kernel(U[:, part.columns], part.X)
                continue
            k = part.kernel.kernel.correlation(part.squares(U))
            out += np.multiply(k, part.kernel.variance, out=k)
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
        for part in self.others:
            part.kernel.add_lower(part.X, out)
        if self.constant:
            out += self.constant
        return out

    def _of_lines(self, U: Float[ndarray, "b P"], first: int) -> Float[ndarray, "b n"]:
        """Return those of the lines, with the observations from the ``first`` on."""
        out = np.zeros((len(U), len(self.X) - first))
        for some, k in self.along_lines.correlations(U.T[self.lines], first):
            out += _weighted(self.variances[some], k)
        if self.centre is not None and self.r is not None:
            out -= self.centre.at(U.T[self.lines]).T @ self.r[:, first:]
        return out

    # ------------------------------------------------------------------ variances
    def prior(self, U: Float[ndarray, "b P"]) -> Float[ndarray, " b"]:
        """Return the prior variance of the sum."""
        out = self.constant + self.line_priors(U).sum(axis=0)
        for part in self.others:
            out += part.kernel.diagonal(U[:, part.columns])
        return out

    def prior_gradient(self, U: Float[ndarray, "b P"]) -> Float[ndarray, "b P"]:
        """Return the gradient of the prior variance of the sum in the points."""
        out = np.zeros(U.shape)
        if self.centre is not None:
            np.add.at(out.T, self.lines, self.line_prior_slopes(U))
        for part in self.others:
            gradient = part.kernel.diagonal_gradient(U[:, part.columns])
            out[:, part.columns] += gradient
        return out

    def line_prior_slopes(self, U: Float[ndarray, "b P"]) -> Float[ndarray, "L b"]:
        """Return the derivative of the prior variance of each line."""
        if self.centre is None:
            return np.zeros((len(self.lines), len(U)))
        x = U.T[self.lines]
        return -2.0 * self.centre.at(x) * self.centre.slopes(x)

    def line_priors(self, U: Float[ndarray, "b P"]) -> Float[ndarray, "L b"]:
        """Return the prior variance of each line."""
        out = np.repeat(self.variances[:, None], len(U), axis=1)
        if self.centre is not None:
            out -= self.centre.at(U.T[self.lines]) ** 2
        return out

    @cached_property
    def stationary(self) -> bool:
        """Whether prior variances are the same everywhere."""
        wide = any(isinstance(part.kernel, OrthogonalKernel) for part in self.others)
        return self.centre is None and not wide

    # ------------------------------------------------------------------ line by line
    def by_line(
        self, U: Float[ndarray, "b P"]
    ) -> Iterator[tuple[slice, Float[ndarray, "l b N"]]]:
        """Yield the covariances of the lines, some at a time."""
        r = self.centre.at(U.T[self.lines]) if self.centre else None
        for some, k in self.along_lines.correlations(U.T[self.lines]):
            cross = np.multiply(self.variances[some, None, None], k, out=k)
            if r is not None and self.r is not None:
                cross -= r[some, :, None] * self.r[some, None, :]
            yield some, cross

    def slopes_by_line(
        self, U: Float[ndarray, "b P"]
    ) -> Iterator[tuple[slice, Float[ndarray, "l b N"], Float[ndarray, "l b N"]]]:
        """Yield the covariances of the lines, and their slopes in the points."""
        x = U.T[self.lines]
        for some, k, slope in self.along_lines.slopes(x):
            cross = np.multiply(self.variances[some, None, None], k, out=k)
            by_point = np.multiply(self._line_slopes[some, :, None], slope, out=slope)
            if self.centre is not None and self.r is not None:
                r = self.r[some, None, :]
                cross -= self.centre.at(x)[some, :, None] * r
                by_point -= self.centre.slopes(x)[some, :, None] * r
            yield some, cross, by_point

    @cached_property
    def _line_slopes(self) -> Float[ndarray, "L 1"]:
        # ∂k/∂u = −w (u − x)/ℓ², and ``LineKernels.slopes`` are w (u − x)·rate/ℓ.
        units = self.along_lines.per_unit / self.along_lines.rate**2
        return -(self.variances * units)[:, None]

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
        if self.centre is not None and self.r is not None:
            out -= self.centre.at(U.T[self.lines]).T @ self.r
        if self.constant:
            out += self.constant
        within: list[Float[ndarray, ...]] = []
        for part in self.others:
            if isinstance(part.kernel, OrthogonalKernel):
                k, slope = part.kernel.input_gradient(U[:, part.columns], part.X)
                out += k
                within.append(slope)
                continue
            k, w = part.kernel.kernel.correlation_and_weight(part.squares(U))
            out += part.kernel.variance * k
            within.append(w)

        return out, partial(self._pull, U, along, within)

    def _pull(
        self,
        U: Float[ndarray, "b P"],
        along: list[tuple[slice, Float[ndarray, "l b N"]]],
        within: list[Float[ndarray, "..."]],
        weights: Float[ndarray, "b N"],
    ) -> Float[ndarray, "b P"]:
        gradient = np.zeros(U.shape)
        for some, slope in along:
            pull = np.einsum("lbn,bn->lb", slope, weights)
            pull *= self._line_slopes[some]
            # Not +=: overlapping structures may have two parts on one coordinate.
            np.add.at(gradient.T, self.lines[some], pull)
        if self.centre is not None and self.r is not None:
            pull = self.centre.slopes(U.T[self.lines]) * (self.r @ weights.T)
            np.subtract.at(gradient.T, self.lines, pull)
        for part, w in zip(self.others, within, strict=True):
            if isinstance(part.kernel, OrthogonalKernel):
                gradient[:, part.columns] += np.einsum("bnd,bn->bd", w, weights)
                continue
            # Σ_n c_n (u − x_n) as two products: no array of all differences.
            c = w * weights
            pull = U[:, part.columns] * c.sum(axis=1, keepdims=True) - c @ part.X
            gradient[:, part.columns] -= part.slopes * pull
        return gradient


def _weighted(
    variances: Float[ndarray, " l"], k: Float[ndarray, "l b N"]
) -> Float[ndarray, "b N"]:
    """Return Σ_l variance_l k_l: one product of a vector and a matrix."""
    return (variances @ k.reshape(len(k), -1)).reshape(k.shape[1:])
