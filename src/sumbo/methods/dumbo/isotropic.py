"""One length-scale and one variance per part, fitted by Adam through softplus.

This is the model of [bardou2023]: no priors, ``τ² = floor + softplus(raw)``, all else
``softplus(raw)``. The raw parameters are M length-scales, M variances and the noise.
Length-scales that a whole part shares make the evidence cheap: one packed row of
distances per part, scaled by one number.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from sumbo.errors import NotPositiveDefiniteError
from sumbo.gp.evidence import packed_squares
from sumbo.gp.lines import pair_slopes, rate_of
from sumbo.gp.model import AdditiveGP
from sumbo.kernels import Kernel, as_kernel
from sumbo.linalg import cho_solve, cholesky, inverse_lower, pack_lower, unpack_lower
from sumbo.typing import Float, Groups, Int, ndarray

NOISE_FLOOR = 1e-4
# Raw parameters stay here: beyond, softplus underflows, or the part is a constant.
LOWEST, HIGHEST = -12.0, 40.0
# Pairs worked on at a time.
CHUNK = 32_768
# Adam has arrived when this many steps in a row gained less than this many nats.
PATIENCE, GAIN = 25, 0.01


class IsotropicValue(NamedTuple):
    """The evidence at one set of raw parameters; ``mean`` maximises it."""

    log_likelihood: float
    gradient: Float[ndarray, " p"]
    mean: float


class IsotropicFit(NamedTuple):
    """Fitted raw parameters, with the mean that belongs to them."""

    raw: Float[ndarray, " p"]
    mean: float
    log_likelihood: float
    evaluations: int


@dataclass(frozen=True, kw_only=True, eq=False)
class IsotropicEvidence:
    """log p(y | X, θ) for many θ; D (M, T) are packed distances."""

    kernel: Kernel
    D: Float[ndarray, "M T"]
    diagonal: Int[ndarray, " N"]
    y: Float[ndarray, " N"]

    @classmethod
    def of(
        cls,
        X: Float[ndarray, "N P"],
        y: Float[ndarray, " N"],
        groups: Groups,
        kernel: str = "matern52",
    ) -> "IsotropicEvidence":
        """Return the evidence of one structure on fixed data."""
        squares, N = packed_squares(X), len(X)
        D = np.stack([squares[list(group)].sum(axis=0) for group in groups])
        # Row-wise upper order starts each row with its diagonal element.
        diagonal = np.cumsum(np.r_[0, np.arange(N, 1, -1)])
        return cls(kernel=as_kernel(kernel), D=np.sqrt(D), diagonal=diagonal, y=y)

    @cached_property
    def _memory(self) -> tuple[Float[ndarray, "M T"], Float[ndarray, "M T"]]:
        # Used by every evaluation: fresh memory costs more than what is computed in it.
        return np.empty_like(self.D), np.empty_like(self.D)

    def evaluate(self, raw: Float[ndarray, " p"]) -> IsotropicValue:
        """Return the log likelihood, its gradient in ``raw``, and the best mean.

        The constant mean is profiled out, which leaves the gradient in the others as
        it is; [rasmussen2006] Eqs. (5.8) and (5.9).
        """
        M, N = len(self.D), len(self.y)
        theta = softplus(raw)
        lengthscales, variances = theta[:M], theta[M:-1]
        k, ws = self._memory
        scales = (rate_of(self.kernel) / lengthscales)[:, None]
        # Some parts at a time: temporaries stay in the cache.
        rows = max(1, CHUNK // self.D.shape[1])
        for first in range(0, M, rows):
            some = slice(first, first + rows)
            a = self.D[some] * scales[some]
            pair_slopes(self.kernel, a, None, k[some], ws[some])
        packed = variances @ k
        packed[self.diagonal] += NOISE_FLOOR + theta[-1]
        L, _ = cholesky(unpack_lower(packed, N), what="covariance of the observations")

        solved = cho_solve(L, np.stack([self.y, np.ones(N)], axis=1))
        mean = float(solved[:, 0].sum() / solved[:, 1].sum())
        alpha = solved[:, 0] - mean * solved[:, 1]
        log_likelihood = -0.5 * float(
            (self.y - mean) @ alpha
            + 2.0 * np.log(L.diagonal()).sum()
            + N * np.log(2.0 * np.pi)
        )
        G = pack_lower(np.multiply.outer(alpha, alpha) - inverse_lower(L))
        slope = np.empty(2 * M + 1)
        slope[-1] = 0.5 * G[self.diagonal].sum()
        G[self.diagonal] *= 0.5  # pairs off the diagonal count twice
        slope[M:-1] = k @ G
        slope[:M] = variances / lengthscales * (ws @ G)  # ∂k/∂ℓ = w s/ℓ
        return IsotropicValue(log_likelihood, slope * expit(raw), mean)


def fit_isotropic(
    evidence: IsotropicEvidence,
    raw: Float[ndarray, " p"] | None = None,
    steps: int = 200,
    step_size: float = 0.1,
) -> IsotropicFit:
    """Return the best parameters that Adam meets on its way up the likelihood.

    Starts at ``raw``, by default ``start_raw``. With ``steps=0`` it only evaluates the
    start. Adam is [kingma2014] Alg. 1, on log p / N.
    """
    M, N = len(evidence.D), len(evidence.y)
    raw = start_raw(M) if raw is None else np.clip(raw, LOWEST, HIGHEST)
    best = IsotropicFit(raw, 0.0, -np.inf, 0)
    first, second = np.zeros_like(raw), np.zeros_like(raw)
    bests: list[float] = []
    done = 0
    for step in range(1, steps + 2):
        try:
            value = evidence.evaluate(raw)
        except NotPositiveDefiniteError:
            break
        done = step
        if value.log_likelihood > best.log_likelihood:
            best = IsotropicFit(raw, value.mean, value.log_likelihood, step)
        bests.append(best.log_likelihood)
        if step > PATIENCE and bests[-1] < bests[-1 - PATIENCE] + GAIN:
            break
        slope = value.gradient / N
        first = 0.9 * first + 0.1 * slope
        second = 0.999 * second + 0.001 * slope**2
        m_hat = first / (1 - 0.9**step)
        v_hat = second / (1 - 0.999**step)
        raw = raw + step_size * m_hat / (np.sqrt(v_hat) + 1e-8)
        raw = np.clip(raw, LOWEST, HIGHEST)
    return best._replace(evaluations=done)


def start_raw(M: int, noise: float = 1e-2) -> Float[ndarray, " p"]:
    """Return raw parameters of M parts with that noise, all else log 2 (raw 0).

    A large noise is a poor start: the likelihood has a maximum where most of the data
    are noise, and from there Adam does not find the higher one.
    """
    raw = np.zeros(2 * M + 1)
    raw[-1] = np.log(np.expm1(noise - NOISE_FLOOR))  # the inverse of softplus
    return raw


def isotropic_gp(
    groups: Groups,
    raw: Float[ndarray, " p"],
    mean: float,
    kernel: str = "matern52",
) -> AdditiveGP:
    """Return the model with those raw parameters."""
    theta, M = softplus(raw), len(groups)
    return AdditiveGP(
        groups=groups,
        kernel=kernel,
        lengthscales=[
            np.full(len(g), l) for g, l in zip(groups, theta[:M], strict=True)
        ],
        variances=theta[M:-1],
        noise=NOISE_FLOOR + float(theta[-1]),
        mean=mean,
    )


def softplus(raw: Float[ndarray, " p"]) -> Float[ndarray, " p"]:
    """Return log(1 + exp(raw)), without overflow."""
    return np.logaddexp(0.0, raw)
