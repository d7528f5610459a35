"""The log marginal likelihood of orthogonal parts, with its gradient.

Lines have the packed kernels of the plain model, from which ``R Rᵀ`` is subtracted, a
product of N × L matrices with R_l = √(v/c) u_l(X). With W = ααᵀ − K⁻¹ and q = uᵀ W u,
the rank-one term −(v/c) u uᵀ has the derivatives

    in log v: −½ (v/c) q,      in log ℓ: −½ (v/c) (2 u̇ᵀ W u − q ċ/c).

Parts of several parameters are multiplied from packed kernels k̃ of one parameter each.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sumbo.errors import TooLargeError
from sumbo.gp.anova import Layout, layouts
from sumbo.gp.centre import Centre
from sumbo.gp.evidence import LIMIT, Evidence, Hyperparameters, Value
from sumbo.kernels import CentredAxis
from sumbo.linalg import (
    blas,
    cho_solve,
    cholesky,
    inverse_lower,
    pack_lower,
    unpack_lower,
)
from sumbo.space.measure import Measure
from sumbo.typing import Float, Int, ndarray


class WidePart(NamedTuple):
    """A part of several coordinates at one set of parameters, on packed triangles.

    ``b`` are the k̃_j times the scale of the terms, ``slopes`` their derivatives in the
    logarithms of the length-scales ``ties``.
    """

    m: int
    layout: Layout
    b: list[Float[ndarray, " T"]]
    slopes: list[list[Float[ndarray, " T"]]]
    ties: list[Int[ndarray, "..."]]
    amplitude: float

    @property
    def covariance(self) -> Float[ndarray, " T"]:
        """The covariances of all pairs."""
        return self.amplitude * self.layout.terms.combine(self.b)

    def by_length(self, G: Float[ndarray, " T"]) -> Iterator[tuple[int, float]]:
        """Yield every length-scale and Σ G ∂k/∂log ℓ."""
        outer = self.layout.terms.slopes(self.b)
        for slope, along, tie in zip(outer, self.slopes, self.ties, strict=True):
            weighted = (self.amplitude * self.layout.terms.scale) * slope
            weighted *= G
            for j, one in zip(tie, along, strict=True):
                yield int(j), float(weighted @ one)


@dataclass(frozen=True, kw_only=True, eq=False)
class OrthogonalEvidence(Evidence):
    """log p(y | X, θ) of orthogonal parts, and a constant of its own.

    Attributes:
        X: The inputs.
        measures: The distribution of each parameter.
        spans: Units of the length-scales: distributions stay in those of X.
    """

    X: Float[ndarray, "N P"]
    measures: tuple[Measure, ...]
    spans: Any = field(default=1.0)

    @classmethod
    def around(
        cls, plain: Evidence, X: Float[ndarray, "N P"], measures: tuple[Measure, ...]
    ) -> "OrthogonalEvidence":
        """Return the evidence of orthogonal parts with the groups of a plain one.

        Raises:
            TooLargeError: If the packed arrays would not fit the memory limit.
        """
        wide = [len(group) for group in plain.groups if len(group) > 1]
        need = 8 * len(plain.diagonal) ** 2 // 2 * (3 * sum(wide) + 3 * max([0, *wide]))
        if need > LIMIT:
            msg = (
                f"a fit of orthogonal parts of up to {max(wide)} coordinates to "
                f"N={plain.N} points needs {need / 2**30:.1f} GiB (limit "
                f"{LIMIT / 2**30:.0f}). Fit on a subset of the points."
            )
            raise TooLargeError(msg)
        known = {name: getattr(plain, name) for name in plain.__dataclass_fields__}
        return cls(**known, X=X, measures=measures)

    def rescaled(
        self, spans: Float[ndarray, " k"], scale: float = 1.0
    ) -> "OrthogonalEvidence":
        """Return the evidence with lengths in units of ``spans``, y in ``scale``."""
        known = None if self.known is None else self.known / scale**2
        return replace(self, spans=self.spans * spans, known=known)

    def evaluate(
        self,
        theta: Hyperparameters,
        y: Float[ndarray, " N"],
        *,
        profile_mean: bool = False,
    ) -> Value:
        """Return the log likelihood and its gradient in the log-parameters."""
        lengthscales = theta.lengthscales * self.spans
        variances = theta.variances[self.lines]
        lines = len(self.lines)
        k, slopes = (a[:lines] for a in self._memory)
        centre, R = None, np.empty((0, self.N))
        if lines:
            l = lengthscales[self._line_ties]
            self._along_lines(l, k, slopes)
            centre = Centre.over(self.kernel, self._line_measures, l, variances)
            R = centre.at(self._on_lines)
        wide = list(self._wide_parts(theta, lengthscales))
        K = self._covariance(theta, variances @ k, R, wide)
        L, jitter = cholesky(K, what="covariance of the observations")
        mean = theta.mean
        if profile_mean:
            ones = cho_solve(L, np.ones(self.N))
            mean = float(ones @ y / ones.sum())
        alpha = cho_solve(L, y - mean)
        # [rasmussen2006] Eqs. (5.8) and (5.9), as in the plain evidence.
        log_likelihood = -0.5 * float(
            (y - mean) @ alpha
            + 2 * np.log(L.diagonal()).sum()
            + self.N * np.log(2 * np.pi)
        )
        W = np.outer(alpha, alpha) - inverse_lower(L)
        G = pack_lower(W)
        noise = 0.5 * theta.noise * G[self.diagonal].sum()
        G[self.diagonal] *= 0.5
        by_length = np.zeros(len(lengthscales))
        by_variance = np.zeros(len(self.groups))
        if centre is not None:
            moved, of_c = centre.length_slopes(self._on_lines, R)
            WR = blas.dsymm(1.0, W, R.T, lower=1).T
            q = np.einsum("ln,ln->l", R, WR)
            of_length = variances * (slopes @ G) + 0.5 * q * of_c
            of_length -= np.einsum("ln,ln->l", moved, WR)
            np.add.at(by_length, self._line_ties, of_length)
            by_variance[self.lines] = variances * (k @ G) - 0.5 * q
        for part in wide:
            for j, value in part.by_length(G):
                by_length[j] += value
            by_variance[part.m] = part.covariance @ G
        gradient = np.concatenate([by_length, by_variance, [noise]])
        return Value(log_likelihood, gradient, mean, jitter)

    def _covariance(
        self,
        theta: Hyperparameters,
        packed: Float[ndarray, " T"],
        R: Float[ndarray, "L N"],
        wide: list[WidePart],
    ) -> Float[ndarray, "N N"]:
        """Return the covariance of the observations in its lower triangle."""
        packed += theta.constant
        packed[self.diagonal] += theta.noise
        if self.known is not None:
            packed[self.diagonal] += self.known
        for part in wide:
            packed += part.covariance
        K = unpack_lower(packed, self.N)
        if len(R):
            K = blas.dsyrk(-1.0, R.T, beta=1.0, c=K, lower=1, overwrite_c=1)
        return K

    # ------------------------------------------------------------------ lines
    @cached_property
    def _on_lines(self) -> Float[ndarray, "L N"]:
        """The inputs along each line."""
        return self.X.T[[self.groups[m][0] for m in self.lines]]

    @cached_property
    def _owner(self) -> dict[int, Measure]:
        """The distribution that each coordinate belongs to."""
        return {p: one for one in self.measures for p in one.coordinates}

    @cached_property
    def _line_measures(self) -> list[Measure]:
        """The distribution along each line."""
        return [self._owner[self.groups[m][0]] for m in self.lines]

    # ------------------------------------------------------------------ wide parts
    @cached_property
    def _layouts(self) -> tuple[Layout, ...]:
        return layouts(self.groups, tuple(one.coordinates for one in self.measures))

    @cached_property
    def _numbers(self) -> list[tuple[int, int]]:
        """The part and the parameter of each k̃ with one coordinate in wide parts."""
        return [
            (m, j)
            for m in self._others
            for j, columns in enumerate(self._layouts[m].columns)
            if len(columns) == 1
        ]

    @cached_property
    def _within(self) -> Evidence:
        """The packed kernels along these coordinates, as lines of a plain model."""
        groups, ties = [], []
        for m, j in self._numbers:
            (column,) = self._layouts[m].columns[j]
            groups.append((self.groups[m][column],))
            ties.append(self.ties[m][[column]])
        return Evidence.of(self.X, self.kernel, tuple(groups), tuple(ties))

    def _wide_parts(
        self, theta: Hyperparameters, lengthscales: Float[ndarray, " k"]
    ) -> Iterator[WidePart]:
        """Yield the parts of several coordinates."""
        found: dict[tuple[int, int], tuple[ndarray, list[ndarray]]] = {}
        if self._numbers:
            within = self._within
            l = lengthscales[[int(tie[0]) for tie in within.ties]]
            k, slopes = within._correlations(lengthscales)
            owners = [self._owner[group[0]] for group in within.groups]
            centre = Centre.over(self.kernel, owners, l, np.ones(len(l)))
            x = self.X.T[[group[0] for group in within.groups]]
            r = centre.at(x)
            moved, of_c = centre.length_slopes(x, r)
            moved -= 0.5 * of_c[:, None] * r  # ∂(u/√c)/∂log ℓ
            for row, number in enumerate(self._numbers):
                first, second = self._pairs_of(r[row])
                moved_first, moved_second = self._pairs_of(moved[row])
                slope = slopes[row] - moved_first * second
                slope -= moved_second * first
                found[number] = k[row] - first * second, [slope]
        for m in self._others:
            layout = self._layouts[m]
            b, along, ties = [], [], []
            for j, columns in enumerate(layout.columns):
                tie = self.ties[m][list(columns)]
                if (m, j) not in found:
                    found[m, j] = self._of_several(m, columns, lengthscales[tie])
                k, slopes = found[m, j]
                b.append(layout.terms.scale * k)
                along.append(slopes)
                ties.append(tie)
            amplitude = float(theta.variances[m]) / layout.terms.total
            yield WidePart(m, layout, b, along, ties, amplitude)

    def _of_several(
        self, m: int, columns: tuple[int, ...], l: Float[ndarray, " d"]
    ) -> tuple[Float[ndarray, " T"], list[Float[ndarray, " T"]]]:
        """Return k̃ of a parameter with several coordinates, and its derivatives."""
        coordinates = [self.groups[m][column] for column in columns]
        measure = self._owner[coordinates[0]]
        axis = CentredAxis(kernel=self.kernel, lengthscales=l, measure=measure)
        k, slopes = axis.length_slopes(self.X[:, coordinates])
        return pack_lower(k), [pack_lower(slope) for slope in slopes]

    def _pairs_of(
        self, r: Float[ndarray, " N"]
    ) -> tuple[Float[ndarray, " T"], Float[ndarray, " T"]]:
        """Return r_i and r_j of all pairs."""
        first = np.repeat(r, np.arange(self.N, 0, -1))
        return first, np.take(r, self._second, mode="clip")
