"""Prior draws of a squared-exponential part on a product grid, axis by axis.

On the points of a grid ``Z = a_1 × … × a_d`` the kernel ``∏_j k_j`` has the covariance
``σ² K_1 ⊗ … ⊗ K_d``. With eigenvectors ``K_j = Q_j Λ_j Q_jᵀ`` and white noise ``ξ``,

    f(Z) = σ (F_1 ⊗ … ⊗ F_d) ξ,                 F_j = Q_j Λ_j^½,
    f(X) = σ (C_1 * … * C_d) ξ + S η,           C_j = k_j(X_j, a_j) Q_j Λ_j^−½,

where ``*`` multiplies rows and ``S Sᵀ = K(X, X) − σ² ∏_j C_j C_jᵀ`` is the
covariance of the data given the grid. Smooth kernels have few eigenvalues above
rounding; the others are left out, which changes covariances by less than the jitter of
a dense factor.
Cost: O(Σ n_j³ + N³ + (B + N)·Σ n_j), where a dense factor takes O((B + N)³).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from sumbo.errors import ArgumentError
from sumbo.kernels import CentredAxis, GroupKernel, OrthogonalKernel
from sumbo.kernels.rbf import RBF
from sumbo.linalg import cholesky, times_lower
from sumbo.sampling.factors import LADDER, PartFactor
from sumbo.typing import Float, ndarray

# Candidates from which on the axes are worth looking for.
LEAST_CANDIDATES = 256


@dataclass(frozen=True, eq=False)
class Grid:
    """All points with one coordinate from each axis; the last axis runs fastest.

    Pass it wherever candidates (B, d) are asked for: it is an array to NumPy. Parts
    with the ``"rbf"`` kernel are then drawn axis by axis.
    """

    axes: tuple[Float[ndarray, "..."], ...]

    def __post_init__(self) -> None:
        """Check the axes.

        Raises:
            ArgumentError: If there is no axis, or one of them is empty or no vector.
        """
        axes = tuple(np.array(a, dtype=np.float64) for a in self.axes)
        if not axes or any(a.ndim != 1 or len(a) == 0 for a in axes):
            msg = (
                f"axes have shapes {[a.shape for a in axes]}. Pass one vector of "
                "values for each coordinate."
            )
            raise ArgumentError(msg)
        object.__setattr__(self, "axes", axes)

    def __len__(self) -> int:
        """Return the number of points."""
        return math.prod(len(a) for a in self.axes)

    def points(self) -> Float[ndarray, "B d"]:
        """Return all points as rows."""
        mesh = np.meshgrid(*self.axes, indexing="ij")
        return np.stack([part.ravel() for part in mesh], axis=1)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> ndarray:
        """Return all points as rows, for NumPy.

        Raises:
            ValueError: If NumPy asks for a view, which a grid cannot give.
        """
        if copy is False:
            msg = "A Grid makes its points anew. Do not ask for copy=False."
            raise ValueError(msg)
        return self.points().astype(dtype or np.float64, copy=False)


def as_grid(Z: Float[ndarray, "B d"]) -> Grid | None:
    """Return the grid whose points are the rows of ``Z`` in their order, or None."""
    sides = [len(np.unique(column)) for column in Z.T]
    if math.prod(sides) != len(Z):
        return None
    whole = Z.reshape(*sides, len(sides))
    first = np.zeros(len(sides), dtype=int)
    axes = []
    for j in range(len(sides)):
        along: list[Any] = [*first, j]
        along[j] = slice(None)
        axes.append(whole[tuple(along)])
    grid = Grid(tuple(axes))
    return grid if np.array_equal(grid.points(), Z) else None


def part_factor(
    kernel: GroupKernel, Z: Float[ndarray, "B d"], X: Float[ndarray, "N d"]
) -> "PartFactor | GridFactor":
    """Return what draws the part's prior: axis by axis where ``Z`` is a large grid."""
    product = Z.shape[1] > 1 and _is_product(kernel)
    if product and len(Z) >= LEAST_CANDIDATES and (grid := as_grid(Z)):
        return GridFactor.of(kernel, grid, X)
    return PartFactor.of(kernel, Z, X)


@dataclass(frozen=True, eq=False)
class GridCross:
    """``K(Z, X)`` of a grid, as one matrix (N, n_j) per axis; multiply with ``@``."""

    variance: float
    factors: tuple[Float[ndarray, "..."], ...]

    def __matmul__(self, v: Float[ndarray, "N n"]) -> Float[ndarray, "B n"]:
        """Return the product without the B × N matrix."""
        *first, last = self.factors
        out = []
        for column in (self.variance * v).T:
            weighted = reduce(_times_rows, first, column[:, None])
            out.append((weighted.T @ last).ravel())
        return np.stack(out, axis=1)


@dataclass(frozen=True, kw_only=True, eq=False)
class GridFactor:
    """The prior of one part at a grid and at the data; see the file's head.

    It stands in for a ``PartFactor`` where draws are made and not refined.
    """

    variance: float
    F: tuple[Float[ndarray, "..."], ...]
    C: tuple[Float[ndarray, "..."], ...]
    S: Float[ndarray, "N N"]
    K_ZX: GridCross
    jitter: float

    @classmethod
    def of(
        cls, kernel: GroupKernel, grid: Grid, X: Float[ndarray, "N d"]
    ) -> "GridFactor":
        """Return the factor of a squared-exponential part.

        Raises:
            ArgumentError: If the kernel is no product over coordinates.
        """
        if not _is_product(kernel):
            msg = (
                f"kernel={kernel.kernel.name!r} is no product over coordinates. "
                "Use 'rbf', or pass the candidates as an array."
            )
            raise ArgumentError(msg)
        F, C, cross = [], [], []
        for j, axis in enumerate(grid.axes):
            along = _along(kernel, j)
            values, Q = np.linalg.eigh(along(axis[:, None], axis[:, None]))
            kept = values > len(axis) * np.finfo(float).eps * values[-1]
            roots = np.sqrt(values[kept])
            cross.append(along(X[:, j : j + 1], axis[:, None]))
            F.append(Q[:, kept] * roots)
            C.append(cross[j] @ Q[:, kept] / roots)
        known = reduce(np.multiply, [c @ c.T for c in C])
        S, jitter = cholesky(
            kernel(X, X) - kernel.variance * known,
            ladder=LADDER,
            what="covariance of the data given the grid",
            scale=kernel.variance,
        )
        return cls(
            variance=kernel.variance,
            F=tuple(F),
            C=tuple(C),
            S=S,
            K_ZX=GridCross(kernel.variance, tuple(cross)),
            jitter=jitter,
        )

    def draw(
        self, xi: Float[ndarray, "A n"]
    ) -> tuple[Float[ndarray, "B n"], Float[ndarray, "N n"]]:
        """Return prior draws at the grid and at the data, from white noise.

        The noise is as long as that of a dense factor, B + N; the grid needs less.
        """
        N, n = len(self.S), xi.shape[1]
        ranks = [F.shape[1] for F in self.F]
        t = np.sqrt(self.variance) * xi[: math.prod(ranks)].reshape(*ranks, n)
        f_X = _contract_rows(self.C, t) + times_lower(self.S, xi[len(xi) - N :])
        for j, F in enumerate(self.F):
            t = np.moveaxis(np.tensordot(F, t, axes=(1, j)), 0, j)
        return t.reshape(-1, n), f_X


def _is_product(kernel: GroupKernel) -> bool:
    """Return whether the kernel is a product of one kernel for each coordinate."""
    if isinstance(kernel, OrthogonalKernel):
        return kernel.terms.pure and len(kernel.axes) == len(kernel.lengthscales)
    return isinstance(kernel.kernel, RBF)


def _along(kernel: GroupKernel, j: int) -> GroupKernel | CentredAxis:
    """Return the factor of the kernel for one coordinate, with variance 1."""
    if isinstance(kernel, OrthogonalKernel):
        (axis,) = (
            axis
            for axis, columns in zip(kernel.axes, kernel.columns, strict=True)
            if columns[0] == j
        )
        return axis
    return GroupKernel(
        kernel=kernel.kernel, lengthscales=kernel.lengthscales[[j]], variance=1.0
    )


def _times_rows(
    A: Float[ndarray, "N p"], B: Float[ndarray, "N q"]
) -> Float[ndarray, "N pq"]:
    return (A[:, :, None] * B[:, None, :]).reshape(len(A), -1)


def _contract_rows(
    C: Sequence[Float[ndarray, "..."]], t: Float[ndarray, "..."]
) -> Float[ndarray, "N n"]:
    """Return Σ_i ∏_j C_j[x, i_j] t[i_1, …, i_d] for every x."""
    out = np.tensordot(C[0], t, axes=1)
    for c in C[1:]:
        out = np.einsum("xr,xr...->x...", c, out)
    return out
