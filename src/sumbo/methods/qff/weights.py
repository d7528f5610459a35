"""Draws in weight space: f(x) = φ(x)·θ with θ ~ N(0, I), seen through noise.

With features Φ (N, F) of the observed points, y = Φθ + ε and ε ~ N(0, τ²I),

    θ | y ~ N(A⁻¹Φᵀy, τ²A⁻¹),  A = ΦᵀΦ + τ²I;  [rasmussen2006] Eq. (2.8).

Two forms draw from it: one factorizes A (F × F), the other ΦΦᵀ + τ²I (N × N). The
distribution is the same; the smaller matrix is the cheaper.
"""

import numpy as np

from sumbo.linalg import cho_solve, cholesky, solve_upper
from sumbo.typing import Float, ndarray


def sample_weights(
    rng: np.random.Generator,
    Phi: Float[ndarray, "N F"],
    y: Float[ndarray, " N"],
    noise: float,
    n: int,
) -> Float[ndarray, "n F"]:
    """Return n draws of θ given y, by the cheaper of the two forms.

    ``noise`` is the variance τ² > 0.
    """
    N, F = Phi.shape
    how = sample_by_observations if N < F else sample_by_features
    return how(rng, Phi, y, noise, n)


def sample_by_observations(
    rng: np.random.Generator,
    Phi: Float[ndarray, "N F"],
    y: Float[ndarray, " N"],
    noise: float,
    n: int,
) -> Float[ndarray, "n F"]:
    """Return n draws of θ given y in O(N²F): a prior draw, corrected by the data.

    θ₀ + Φᵀ(ΦΦᵀ + τ²I)⁻¹(y − Φθ₀ − ε₀) with θ₀ and ε₀ from the prior (Matheron).
    """
    N, F = Phi.shape
    prior = rng.standard_normal((F, n))
    if N == 0:
        return prior.T
    misfit = y[:, None] - Phi @ prior - np.sqrt(noise) * rng.standard_normal((N, n))
    K = Phi @ Phi.T
    np.fill_diagonal(K, K.diagonal() + noise)
    L, _ = cholesky(K, what="covariance of the observations")
    return (prior + Phi.T @ cho_solve(L, misfit)).T


def sample_by_features(
    rng: np.random.Generator,
    Phi: Float[ndarray, "N F"],
    y: Float[ndarray, " N"],
    noise: float,
    n: int,
) -> Float[ndarray, "n F"]:
    """Return n draws of θ given y in O(NF² + F³): A⁻¹Φᵀy + τL⁻ᵀξ with A = LLᵀ."""
    A = Phi.T @ Phi
    np.fill_diagonal(A, A.diagonal() + noise)
    L, _ = cholesky(A, what="precision of the weights")
    xi = rng.standard_normal((Phi.shape[1], n))
    mean = cho_solve(L, Phi.T @ y)
    return (mean[:, None] + np.sqrt(noise) * solve_upper(L, xi)).T
