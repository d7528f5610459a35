"""The log marginal likelihood with its gradient, on packed triangles.

Symbols: ``T = N(N+1)/2`` packed pairs, ``D`` (d, T) squared differences of the
coordinates of a group, ``k`` and ``w`` (M, T) correlations and weights. Everything
beyond one Cholesky factor and one inverse is a pass over packed arrays or a product
with ``D``, which never changes while parameters do. One-coordinate parts, of which
there are most, are evaluated together and without an exponential per pair.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sumbo.errors import TooLargeError
from sumbo.gp.lines import exponentials, of_pairs, pair_slopes, rate_of
from sumbo.kernels import Kernel
from sumbo.linalg import cho_solve, cholesky, inverse_lower, pack_lower, unpack_lower
from sumbo.typing import Float, Group, Groups, Int, ndarray

# Bytes that the packed distances of one fit may take.
LIMIT = 4 * 2**30
# Pairs worked on at a time: a handful of temporaries of this length stay in the cache,
# and longer ones spare little more of what a call costs.
CHUNK = 32_768


@dataclass(frozen=True, kw_only=True, eq=False)
class Hyperparameters:
    """Parameters of an additive GP as flat arrays; ``log`` is what fits move.

    ``constant`` is the variance of a random constant, which fits do not move.
    """

    lengthscales: Float[ndarray, " k"]
    variances: Float[ndarray, " M"]
    noise: float
    mean: float
    constant: float = 0.0

    def log(self) -> Float[ndarray, " p"]:
        """Return log length-scales, log variances, log noise, in this order."""
        return np.log(np.concatenate([self.lengthscales, self.variances, [self.noise]]))

    def from_log(
        self, theta: Float[ndarray, " p"], mean: float | None = None
    ) -> "Hyperparameters":
        """Return parameters of the same layout from their logarithms."""
        values = np.exp(theta)
        k = len(self.lengthscales)
        return replace(
            self,
            lengthscales=values[:k],
            variances=values[k:-1],
            noise=float(values[-1]),
            mean=self.mean if mean is None else mean,
        )


class Value(NamedTuple):
    """The evidence at one set of parameters."""

    log_likelihood: float
    gradient: Float[ndarray, " p"]
    mean: float
    jitter: float


def packed_squares(X: Float[ndarray, "N P"]) -> Float[ndarray, "P T"]:
    """Return squared differences along each coordinate for all pairs i ≤ j."""
    along = np.ascontiguousarray(X.T)
    second = np.triu_indices(len(X))[1]
    difference = np.repeat(along, np.arange(len(X), 0, -1), axis=1)
    difference -= np.take(along, second, axis=1, mode="clip")
    return np.multiply(difference, difference, out=difference)


def _rows(packed: Float[ndarray, "P T"], group: Group) -> Float[ndarray, "d T"]:
    """Return the rows of a group, without a copy where they are consecutive."""
    first = group[0] if group else 0
    if group == tuple(range(first, first + len(group))):
        return packed[first : first + len(group)]
    return packed[list(group)]


@dataclass(frozen=True, kw_only=True, eq=False)
class Evidence:
    """log p(y | X, θ) of one structure on fixed inputs, for many θ and any y.

    ``lines`` holds the number of each part on one coordinate, ``x`` the inputs along
    it, and ``gaps`` the distances of all pairs there. ``known`` is the known noise
    variance of each observation, which the noise of the model adds to.
    """

    N: int
    kernel: Kernel
    groups: Groups
    ties: tuple[Int[ndarray, "..."], ...]
    D: tuple[Float[ndarray, "..."], ...]
    diagonal: Int[ndarray, " N"]
    lines: Int[ndarray, " L"]
    x: Float[ndarray, "L N"]
    gaps: Float[ndarray, "L T"]
    known: Float[ndarray, " N"] | None = None

    @classmethod
    def of(
        cls,
        X: Float[ndarray, "N P"],
        kernel: Kernel,
        groups: Groups,
        ties: tuple[Int[ndarray, "..."], ...],
        known: Float[ndarray, " N"] | None = None,
    ) -> "Evidence":
        """Return the evidence with all squared differences packed once.

        Raises:
            TooLargeError: If the packed arrays would not fit the memory limit.
        """
        N = len(X)
        T = N * (N + 1) // 2
        lines = np.flatnonzero([len(g) == 1 for g in groups])
        need = 8 * T * (sum(len(g) for g in groups) + 2 * len(groups) + len(lines))
        if need > LIMIT:
            msg = (
                f"a fit on N={N} points with {len(groups)} groups needs "
                f"{need / 2**30:.1f} GiB of packed distances (limit "
                f"{LIMIT / 2**30:.0f}). Fit on a subset of the points."
            )
            raise TooLargeError(msg)
        packed = packed_squares(X)
        D = tuple(_rows(packed, group) for group in groups)
        coordinates = tuple(groups[m][0] for m in lines)
        # Row-wise upper order starts each row with its diagonal element.
        diagonal = np.cumsum(np.r_[0, np.arange(N, 1, -1)])
        return cls(
            N=N,
            kernel=kernel,
            groups=groups,
            ties=ties,
            D=D,
            diagonal=diagonal,
            lines=lines,
            x=X.T[list(coordinates)],
            gaps=np.sqrt(_rows(packed, coordinates)),
            known=known,
        )

    def rescaled(self, spans: Float[ndarray, " k"], scale: float = 1.0) -> "Evidence":
        """Return the evidence with lengths in units of ``spans``, y in ``scale``."""
        known = None if self.known is None else self.known / scale**2
        if (spans == 1.0).all():
            return self if known is None else replace(self, known=known)
        D = tuple(
            D / spans[tie][:, None] ** 2
            for D, tie in zip(self.D, self.ties, strict=True)
        )
        units = spans[self._line_ties][:, None]
        x, gaps = self.x / units, self.gaps / units
        return replace(self, D=D, x=x, gaps=gaps, known=known)

    def evaluate(
        self,
        theta: Hyperparameters,
        y: Float[ndarray, " N"],
        *,
        profile_mean: bool = False,
    ) -> Value:
        """Return the log likelihood and its gradient in the log-parameters.

        With ``profile_mean`` the constant mean is set to its maximum likelihood value
        (generalised least squares); at a maximum its own gradient is zero, so the
        gradient in the other parameters is unchanged.
        """
        k, w = self._correlations(theta.lengthscales)
        variances = theta.variances[self._order]
        packed = variances @ k
        if theta.constant:
            packed += theta.constant
        packed[self.diagonal] += theta.noise
        if self.known is not None:
            packed[self.diagonal] += self.known
        K = unpack_lower(packed, self.N)
        L, jitter = cholesky(K, what="covariance of the observations")

        mean = theta.mean
        if profile_mean:
            ones = cho_solve(L, np.ones(self.N))
            mean = float(ones @ y / ones.sum())
        residual = y - mean
        alpha = cho_solve(L, residual)
        # [rasmussen2006] Eq. (5.8)
        log_likelihood = -0.5 * float(
            residual @ alpha
            + 2 * np.log(L.diagonal()).sum()
            + self.N * np.log(2 * np.pi)
        )
        # [rasmussen2006] Eq. (5.9): ½ tr((ααᵀ − K⁻¹) ∂K), pairs counted twice.
        G = pack_lower(np.outer(alpha, alpha) - inverse_lower(L))
        noise_gradient = 0.5 * theta.noise * G[self.diagonal].sum()
        G[self.diagonal] *= 0.5
        by_length = np.zeros(len(theta.lengthscales))
        n = len(self.lines)
        # Not +=: a length-scale that several groups share gathers from all of them.
        np.add.at(by_length, self._line_ties, variances[:n] * (w[:n] @ G))
        for row, m in enumerate(self._others, start=n):
            tie = self.ties[m]
            weighted = self.D[m] @ (w[row] * G)
            by_length[tie] += (
                theta.variances[m] * theta.lengthscales[tie] ** -2.0 * weighted
            )
        by_variance = np.empty(len(variances))
        by_variance[self._order] = variances * (k @ G)
        gradient = np.concatenate([by_length, by_variance, [noise_gradient]])
        return Value(log_likelihood, gradient, mean, jitter)

    @cached_property
    def _line_ties(self) -> Int[ndarray, " L"]:
        """The length-scale of each part on one coordinate."""
        return np.array([self.ties[m][0] for m in self.lines], dtype=int)

    @cached_property
    def _others(self) -> tuple[int, ...]:
        """The parts on several coordinates."""
        return tuple(m for m, group in enumerate(self.groups) if len(group) > 1)

    @cached_property
    def _order(self) -> Int[ndarray, " M"]:
        """The parts as they are evaluated: those on one coordinate first."""
        return np.concatenate([self.lines, np.array(self._others, dtype=int)])

    @cached_property
    def _second(self) -> Int[ndarray, " T"]:
        """The larger index of each pair."""
        return np.triu_indices(self.N)[1]

    @cached_property
    def _memory(self) -> Float[ndarray, "2 M T"]:
        # Used by every evaluation: megabytes fetched from the system and given back
        # each time cost more than what is computed in them.
        return np.empty((2, len(self.D), self.D[0].shape[1]))

    def _correlations(
        self, lengthscales: Float[ndarray, " k"]
    ) -> tuple[Float[ndarray, "M T"], Float[ndarray, "M T"]]:
        """Return k and w of the parts in their ``_order``; on one coordinate w·s."""
        k, w = self._memory
        L, T = len(self.lines), k.shape[1]
        if L:
            self._along_lines(lengthscales[self._line_ties], k[:L], w[:L])
        for row, m in enumerate(self._others, start=L):
            precisions = lengthscales[self.ties[m]] ** -2.0
            for start in range(0, T, CHUNK):
                chunk = slice(start, start + CHUNK)
                s = precisions @ self.D[m][:, chunk]
                k[row, chunk], w[row, chunk] = self.kernel.correlation_and_weight(s)
        return k, w

    def _along_lines(
        self,
        lengthscales: Float[ndarray, " L"],
        k: Float[ndarray, "L T"],
        slopes: Float[ndarray, "L T"],
    ) -> None:
        """Write k and ∂k/∂log ℓ of the parts on one coordinate."""
        T = k.shape[1]
        scales = (rate_of(self.kernel) / lengthscales)[:, None]
        up = exponentials(self.kernel, self.x * scales)
        rows = max(1, CHUNK // T)
        for first in range(0, len(lengthscales), rows):
            some = slice(first, first + rows)
            e = None if up is None else of_pairs(up[some], self._second)
            for start in range(0, T, CHUNK):
                chunk = slice(start, start + CHUNK)
                pair_slopes(
                    self.kernel,
                    self.gaps[some, chunk] * scales[some],
                    None if e is None else e[:, chunk],
                    k[some, chunk],
                    slopes[some, chunk],
                )
