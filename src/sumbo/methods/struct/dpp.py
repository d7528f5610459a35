"""Draws of k diverse points: the k-determinantal point process; [kulesza2011]."""

import numpy as np
from scipy import linalg

from sumbo.errors import ArgumentError
from sumbo.typing import Float, Int, ndarray


def sample_kdpp(
    rng: np.random.Generator, C: Float[ndarray, "B B"], k: int
) -> Int[ndarray, " k"]:
    """Return k of B items, a set S with probability ∝ det C_S, in order of drawing.

    Exact: eigenvectors are chosen by elementary symmetric polynomials of the
    eigenvalues, then items one by one. Costs one eigendecomposition, O(B³).
    Eigenvalues that rounding made negative count as 0.

    Raises:
        ArgumentError: If ``C`` has fewer than k positive eigenvalues.
    """
    values, vectors = linalg.eigh(C)
    top = values[-1] if len(values) else 0.0
    positive = values > len(values) * np.finfo(float).eps * max(top, 0.0)
    values, vectors = values[positive], vectors[:, positive]
    if not 0 <= k <= len(values):
        msg = (
            f"k={k} points cannot be drawn from a kernel of rank {len(values)}. "
            "Ask for fewer, or add to its diagonal."
        )
        raise ArgumentError(msg)
    chosen = _choose_eigenvalues(rng, np.log(values), k)
    return _sample_projection(rng, vectors[:, chosen])


def log_elementary(log_values: Float[ndarray, " n"], k: int) -> Float[ndarray, "s r"]:
    """Return log e_l(λ_1, …, λ_i) at [l, i] for l = 0…k and i = 0…n.

    e_l(i) = e_l(i−1) + λ_i e_{l−1}(i−1), kept as logarithms: products of hundreds of
    eigenvalues neither overflow nor vanish, and no sum cancels.
    """
    out = np.full((k + 1, len(log_values) + 1), -np.inf)
    out[0] = 0.0
    for i, log_value in enumerate(log_values, start=1):
        out[1:, i] = np.logaddexp(out[1:, i - 1], log_value + out[:-1, i - 1])
    return out


def _choose_eigenvalues(
    rng: np.random.Generator, log_values: Float[ndarray, " n"], k: int
) -> Int[ndarray, " k"]:
    """Return k indices, a set with probability ∝ the product of its eigenvalues."""
    log_e = log_elementary(log_values, k)
    chosen = np.empty(k, dtype=np.int64)
    left = k
    for i in range(len(log_values), 0, -1):
        if left == 0:
            break
        # P(take i) = λ_i e_{l−1}(i−1)/e_l(i), which is 1 when all left are wanted.
        log_odds = log_values[i - 1] + log_e[left - 1, i - 1] - log_e[left, i]
        if i == left or rng.random() < np.exp(log_odds):
            left -= 1
            chosen[left] = i - 1
    return chosen


def _sample_projection(
    rng: np.random.Generator, V: Float[ndarray, "B k"]
) -> Int[ndarray, " k"]:
    """Return items of the projection process with kernel V Vᵀ, V orthonormal.

    ``left`` is the diagonal of the kernel given the items drawn so far, ``rows``
    the Cholesky rows that took them out: the chain rule of the determinant.
    """
    B, k = V.shape
    left = np.einsum("ij,ij->i", V, V)
    rows = np.zeros((k, B))
    out = np.empty(k, dtype=np.int64)
    for j in range(k):
        weights = np.maximum(left, 0.0)
        weights[out[:j]] = 0.0
        i = int(rng.choice(B, p=weights / weights.sum()))
        out[j] = i
        rows[j] = (V @ V[i] - rows[:j].T @ rows[:j, i]) / np.sqrt(weights[i])
        left = left - rows[j] ** 2
    return out
