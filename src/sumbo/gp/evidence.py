"""The log marginal likelihood with its gradient, on packed triangles.

Symbols: ``T = N(N+1)/2`` packed pairs, ``D`` (d, T) squared differences of the
coordinates of a group, ``k`` and ``w`` (M, T) correlations and weights. Everything
beyond one Cholesky factor and one inverse is a pass over packed arrays or a product
with ``D``, which never changes while parameters do.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sumbo.errors import TooLargeError
from sumbo.kernels import Kernel
from sumbo.linalg import cho_solve, cholesky, inverse_lower, pack_lower, unpack_lower
from sumbo.typing import Float, Groups, Int, ndarray

# Bytes that the packed distances of one fit may take.
LIMIT = 4 * 2**30
# Pairs worked on at a time: a handful of temporaries of this length stay in the cache.
CHUNK = 16_384


@dataclass(frozen=True, kw_only=True, eq=False)
class Hyperparameters:
    """Parameters of an additive GP as flat arrays; ``log`` is what fits move."""

    lengthscales: Float[ndarray, " k"]
    variances: Float[ndarray, " M"]
    noise: float
    mean: float

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


@dataclass(frozen=True, kw_only=True, eq=False)
class Evidence:
    """log p(y | X, θ) of one structure on fixed inputs, for many θ and any y."""

    N: int
    kernel: Kernel
    groups: Groups
    ties: tuple[Int[ndarray, "..."], ...]
    D: tuple[Float[ndarray, "..."], ...]
    diagonal: Int[ndarray, " N"]

    @classmethod
    def of(
        cls,
        X: Float[ndarray, "N P"],
        kernel: Kernel,
        groups: Groups,
        ties: tuple[Int[ndarray, "..."], ...],
    ) -> "Evidence":
        """Return the evidence with all squared differences packed once.

        Raises:
            TooLargeError: If the packed arrays would not fit the memory limit.
        """
        N = len(X)
        T = N * (N + 1) // 2
        need = 8 * T * (sum(len(g) for g in groups) + 2 * len(groups))
        if need > LIMIT:
            msg = (
                f"a fit on N={N} points with {len(groups)} groups needs "
                f"{need / 2**30:.1f} GiB of packed distances (limit "
                f"{LIMIT / 2**30:.0f}). Fit on a subset of the points."
            )
            raise TooLargeError(msg)
        i, j = np.triu_indices(N)
        packed = {p: (X[i, p] - X[j, p]) ** 2 for p in {p for g in groups for p in g}}
        D = tuple(np.stack([packed[p] for p in group]) for group in groups)
        # Row-wise upper order starts each row with its diagonal element.
        diagonal = np.cumsum(np.r_[0, np.arange(N, 1, -1)])
        return cls(N=N, kernel=kernel, groups=groups, ties=ties, D=D, diagonal=diagonal)

    def rescaled(self, spans: Float[ndarray, " k"]) -> "Evidence":
        """Return the evidence with lengths measured in units of ``spans``."""
        if (spans == 1.0).all():
            return self
        D = tuple(
            D / spans[tie][:, None] ** 2
            for D, tie in zip(self.D, self.ties, strict=True)
        )
        return replace(self, D=D)

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
        precisions = theta.lengthscales**-2.0
        k, w = self._correlations(precisions)
        packed = theta.variances @ k
        packed[self.diagonal] += theta.noise
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
        w *= G
        # A length-scale that several groups share gathers from all of them.
        slopes = [
            variance * precisions[tie] * (D @ row)
            for variance, tie, D, row in zip(
                theta.variances, self.ties, self.D, w, strict=True
            )
        ]
        lengthscale_gradient = np.bincount(
            np.concatenate(self.ties), np.concatenate(slopes), len(precisions)
        )
        gradient = np.concatenate(
            [lengthscale_gradient, theta.variances * (k @ G), [noise_gradient]]
        )
        return Value(log_likelihood, gradient, mean, jitter)

    def _correlations(
        self, precisions: Float[ndarray, " k"]
    ) -> tuple[Float[ndarray, "M T"], Float[ndarray, "M T"]]:
        M, T = len(self.D), self.D[0].shape[1]
        k, w = np.empty((M, T)), np.empty((M, T))
        for m, (D, tie) in enumerate(zip(self.D, self.ties, strict=True)):
            for start in range(0, T, CHUNK):
                chunk = slice(start, start + CHUNK)
                s = precisions[tie] @ D[:, chunk]
                k[m, chunk], w[m, chunk] = self.kernel.correlation_and_weight(s)
        return k, w
