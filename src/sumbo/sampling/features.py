"""Feature expansions of a kernel: φ(a)·φ(b) ≈ k(a, b), with cosines and sines."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import roots_hermite

from sumbo.kernels import CentredAxis, GroupKernel, OrthogonalKernel
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
) -> "Features | CentredFeatures":
    """Return quadrature features where they are exact and cheap, else random ones.

    Quadrature serves squared-exponential groups of at most two coordinates on a box
    of the given side; ``count`` is the number of random features otherwise.
    """
    if isinstance(kernel, OrthogonalKernel):
        return CentredFeatures.of(rng, kernel, count)
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


@dataclass(frozen=True, kw_only=True, eq=False)
class CentredFeatures:
    """Features of an orthogonal part: products of cosines less their averages.

    Feature g is Σ_S γ_S ∏_{j ∈ S} (1 + ψ_gj(x_j)) with ψ_gj a random cosine less its
    regression on its average, as ``AnovaTerms`` combines kernels: phases are random, so
    that products of different subsets are uncorrelated, and φ(a)·φ(b) has the kernel as
    its expectation. Every feature is an orthogonal part.
    """

    kernel: OrthogonalKernel
    frequencies: Float[ndarray, "G d"]
    phases: Float[ndarray, "G k"]

    @classmethod
    def of(
        cls, rng: np.random.Generator, kernel: OrthogonalKernel, count: int
    ) -> "CentredFeatures":
        """Return random features, an even number of them."""
        G = 2 * max(1, count // 2)
        phases = rng.uniform(0.0, 2.0 * np.pi, (G, len(kernel.axes)))
        frequencies = np.empty((G, len(kernel.lengthscales)))
        for axis, columns in zip(kernel.axes, kernel.columns, strict=True):
            drawn = axis.kernel.spectral(rng, G, len(columns))
            frequencies[:, columns] = drawn / axis.lengthscales
        return cls(kernel=kernel, frequencies=frequencies, phases=phases)

    @property
    def weights(self) -> Float[ndarray, " F"]:
        """One number for every two features, as ``Features`` have."""
        F = len(self.phases) // 2
        return np.full(F, self.kernel.variance / F)

    @property
    def _root(self) -> float:
        kernel = self.kernel
        return np.sqrt(kernel.variance / kernel.terms.total / len(self.phases))

    def __call__(self, Z: Float[ndarray, "B d"]) -> Float[ndarray, "B G"]:
        """Return the features of each point."""
        return self._root * self.kernel.terms.combine(self._waves(Z))

    def gradient(
        self, Z: Float[ndarray, "B d"], w: Float[ndarray, " G"]
    ) -> Float[ndarray, "B d"]:
        """Return the gradient of φ(z)·w at each point."""
        kernel = self.kernel
        slopes = kernel.terms.slopes(self._waves(Z))
        out = np.empty(Z.shape)
        for j, (axis, columns) in enumerate(
            zip(kernel.axes, kernel.columns, strict=True)
        ):
            A, omega = Z[:, columns], self.frequencies[:, columns]
            weight = self._root * self._size * slopes[j] * w
            sines = np.sin(A @ omega.T + self.phases[:, j])
            along = -(weight * sines) @ omega
            out[:, columns] = along - (weight @ self._averages[j])[
                :, None
            ] * axis.u_gradient(A)
        return out

    @property
    def _size(self) -> float:
        return np.sqrt(2.0 * self.kernel.terms.scale)

    @cached_property
    def _averages(self) -> list[Float[ndarray, " G"]]:
        """The averages of the cosines along each parameter, over c."""
        rows = zip(self.kernel.axes, self.kernel.columns, strict=True)
        return [
            _average_of_cosines(axis, self.frequencies[:, columns], phase) / axis.c
            for (axis, columns), phase in zip(rows, self.phases.T, strict=True)
        ]

    def _waves(self, Z: Float[ndarray, "B d"]) -> list[Float[ndarray, "B G"]]:
        """Return √scale ψ_gj at each point, for each parameter."""
        out = []
        for j, (axis, columns) in enumerate(
            zip(self.kernel.axes, self.kernel.columns, strict=True)
        ):
            A = Z[:, columns]
            angle = A @ self.frequencies[:, columns].T
            angle += self.phases[:, j]
            wave = np.cos(angle, out=angle)
            wave -= np.outer(axis.u(A), self._averages[j])
            wave *= self._size
            out.append(wave)
        return out


def _average_of_cosines(
    axis: CentredAxis, omega: Float[ndarray, "G d"], phase: Float[ndarray, " G"]
) -> Float[ndarray, " G"]:
    """Return ∫ cos(ω·t + φ) dμ(t) for each frequency and phase."""
    one = axis.measure
    if axis.atoms is not None:
        return np.cos(axis.atoms @ omega.T + phase).T @ axis.rule_weights
    middle, half = 0.5 * (one.low + one.high), 0.5 * (one.high - one.low)
    # np.sinc(x) = sin(πx)/(πx)
    return np.cos(omega[:, 0] * middle + phase) * np.sinc(omega[:, 0] * half / np.pi)
