"""Feature expansions of a kernel: φ(a)·φ(b) ≈ k(a, b), with cosines and sines."""

from dataclasses import dataclass

import numpy as np
from scipy.special import roots_hermite

from sumbo.kernels import GroupKernel
from sumbo.typing import Float, ndarray

# A tensor grid of quadrature nodes is used up to this many frequencies.
MOST_FREQUENCIES = 2048


@dataclass(frozen=True, kw_only=True, eq=False)
class Features:
    """φ(z) = [√a_j cos(ω_j·z), √a_j sin(ω_j·z)]_j, so φ(z)·φ(z′) = Σ a_j cos(…)."""

    frequencies: Float[ndarray, "F d"]
    weights: Float[ndarray, " F"]

    def __call__(self, Z: Float[ndarray, "B d"]) -> Float[ndarray, "B G"]:
        """Return the 2F features of each point."""
        phase = Z @ self.frequencies.T
        root = np.sqrt(self.weights)
        return np.hstack([root * np.cos(phase), root * np.sin(phase)])

    def gradient(
        self, Z: Float[ndarray, "B d"], w: Float[ndarray, " G"]
    ) -> Float[ndarray, "B d"]:
        """Return the gradient of φ(z)·w at each point."""
        phase = Z @ self.frequencies.T
        root = np.sqrt(self.weights)
        F = len(root)
        slope = root * (w[F:] * np.cos(phase) - w[:F] * np.sin(phase))
        return slope @ self.frequencies


def features_of(
    rng: np.random.Generator, kernel: GroupKernel, count: int, side: float = 1.0
) -> Features:
    """Return quadrature features where they are exact and cheap, else random ones.

    Quadrature serves squared-exponential groups of at most two coordinates on a box
    of the given side; ``count`` is the number of random features otherwise.
    """
    if kernel.kernel.name == "rbf" and len(kernel.lengthscales) <= 2:
        nodes = nodes_needed(kernel.lengthscales, side)
        if np.prod(nodes) / 2 <= MOST_FREQUENCIES:
            return quadrature_features(kernel.lengthscales, nodes, kernel.variance)
    F = max(1, count // 2)
    weights = np.full(F, kernel.variance / F)
    return Features(frequencies=kernel.spectral(rng, F), weights=weights)


def nodes_needed(lengthscales: Float[ndarray, " d"], side: float) -> list[int]:
    """Return how many Gauss–Hermite nodes each coordinate needs for an error < 1e-8.

    Below about ½(side/ℓ)² nodes the features mean another kernel, with correlations
    of order one at large distances; the failure is abrupt, so some are added.
    """
    return [2 * int(np.ceil(0.25 * (side / l) ** 2 + 9)) for l in lengthscales]


def quadrature_features(
    lengthscales: Float[ndarray, " d"], nodes: list[int], variance: float = 1.0
) -> Features:
    """Return the features of a squared-exponential kernel by Gauss–Hermite quadrature.

    The tensor grid runs over *signed* nodes, and one of each ± pair is kept: a grid
    of positive nodes alone leaves products of sines and is another kernel for d ≥ 2.
    [mutny2018] Sec. 4. ``nodes`` are even.
    """
    grids, shares = [], []
    for l, n in zip(lengthscales, nodes, strict=True):
        t, w = roots_hermite(n)
        grids.append(np.sqrt(2.0) * t / l)
        shares.append(w / np.sqrt(np.pi))
    mesh = np.meshgrid(*grids, indexing="ij")
    frequencies = np.stack([g.ravel() for g in mesh], axis=1)
    weights = np.prod(np.stack(np.meshgrid(*shares, indexing="ij")), axis=0).ravel()
    keep = frequencies[:, 0] > 0  # even orders have no node at 0
    return Features(frequencies=frequencies[keep], weights=2 * variance * weights[keep])
