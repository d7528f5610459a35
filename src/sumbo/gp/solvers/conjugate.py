"""Preconditioned conjugate gradients, and the preconditioner of additive models.

Woodbury's identity inverts ``B Bᵀ + diag(D)`` through an R × R matrix. The columns of
B come from a grid per one-coordinate part, ``K_m ≈ W_m K_m(g, g) W_mᵀ`` with W_m a
cubic spline interpolation (four entries per row), and from the features of the others.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.interpolate import BSpline, make_interp_spline

from sumbo.errors import SumboError
from sumbo.gp.solvers.statespace import states_of
from sumbo.kernels import GroupKernel
from sumbo.linalg import blas, cho_solve, cholesky
from sumbo.typing import Float, ndarray

# Grid points per length-scale, by the number of states: rougher parts need more of
# them to leave as few steps. Measured at 20 parts and noise from 1e-5 to 1e-2.
PER_LENGTHSCALE = {1: 40, 2: 24, 3: 16}
# Grid points of all parts together: a matrix of this size is factorized.
MOST_NODES = 2000
# Fewest nodes of a cubic spline that interpolates.
LEAST_NODES = 6
# Rows of B that are made dense at a time.
ROWS = 2048

Apply = Callable[[Float[ndarray, "N k"]], Float[ndarray, "N k"]]


class Solution(NamedTuple):
    """The solution of a linear system, and how many steps it took."""

    x: Float[ndarray, "N k"]
    steps: int


def solve_by_cg(
    apply: Apply,
    precondition: Apply,
    b: Float[ndarray, "N k"],
    tolerance: float,
    most: int,
) -> Solution:
    """Return x with |b − A x| ≤ tolerance·|b| in every column, columns side by side.

    Raises:
        SumboError: If that takes more than ``most`` steps.
    """
    x = np.zeros_like(b)
    r = b.copy()
    goal = tolerance * np.linalg.norm(b, axis=0)
    p = np.array(precondition(r))  # a copy: r itself is changed below
    rz = np.einsum("ij,ij->j", r, p)
    for step in range(most + 1):
        if (np.linalg.norm(r, axis=0) <= goal).all():
            return Solution(x, step)
        Ap = apply(p)
        length = _ratio(rz, np.einsum("ij,ij->j", p, Ap))
        x += length * p
        r -= length * Ap
        z = precondition(r)
        rz, before = np.einsum("ij,ij->j", r, z), rz
        p = z + _ratio(rz, before) * p
    error = np.linalg.norm(r, axis=0)
    worst = float((tolerance * _ratio(error, goal)).max())
    msg = (
        f"conjugate gradients left a residual of {worst:.1e} after {most} steps, "
        f"tolerance={tolerance:g}. Raise the noise of the model, or the tolerance."
    )
    raise SumboError(msg)


def _ratio(a: Float[ndarray, " k"], b: Float[ndarray, " k"]) -> Float[ndarray, " k"]:
    # A column that is solved exactly has nothing left to move along.
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)


@dataclass(frozen=True, eq=False)
class Woodbury:
    """(B Bᵀ + diag(D))⁻¹ with B = [W C, Phi]: W sparse, C block-diagonal.

    Both are ``scipy.sparse`` arrays, which have no types to speak of.
    """

    W: Any
    C: Any
    Phi: Float[ndarray, "N r"]
    D: Float[ndarray, " N"]
    L: Float[ndarray, "R R"]

    @classmethod
    def of(
        cls,
        kernels: list[GroupKernel],
        X: list[Float[ndarray, "..."]],
        Phi: Float[ndarray, "N r"],
        D: Float[ndarray, " N"],
    ) -> "Woodbury":
        """Return the inverse, from one-coordinate parts and features of the others."""
        W, C = _splines(kernels, X, len(D))
        R = C.shape[1] + Phi.shape[1]
        S = np.zeros((R, R), order="F")
        for start in range(0, len(D), ROWS):
            rows = slice(start, start + ROWS)
            B = np.hstack([(W[rows] @ C).toarray(), Phi[rows]])
            B /= np.sqrt(D[rows])[:, None]
            S = blas.dsyrk(1.0, B, beta=1.0, c=S, trans=1, lower=1, overwrite_c=1)
        np.fill_diagonal(S, S.diagonal() + 1.0)
        L, _ = cholesky(S, what="preconditioner")
        return cls(W, C, Phi, D, L)

    def __call__(self, r: Float[ndarray, "N k"]) -> Float[ndarray, "N k"]:
        """Return the product with r."""
        q = r / self.D[:, None]
        inside = np.vstack([self.C.T @ (self.W.T @ q), self.Phi.T @ q])
        inside = cho_solve(self.L, inside)
        cut = self.C.shape[1]
        out = self.W @ (self.C @ inside[:cut]) + self.Phi @ inside[cut:]
        return q - out / self.D[:, None]


def _splines(
    kernels: list[GroupKernel], X: list[Float[ndarray, "..."]], N: int
) -> tuple[Any, Any]:
    """Return W (N, G) and C (G, G) with W C Cᵀ Wᵀ ≈ Σ_m K_m(X, X)."""
    if not kernels:
        return sparse.csr_array((N, 0)), sparse.csr_array((0, 0))
    share = max(LEAST_NODES, MOST_NODES // len(kernels))
    rows, blocks = [], []
    for kernel, Xm in zip(kernels, X, strict=True):
        l, x = float(kernel.lengthscales[0]), Xm[:, 0]
        low, side = x.min(), max(float(np.ptp(x)), 0.1 * l)
        density = PER_LENGTHSCALE[states_of(kernel.kernel)]
        count = np.clip(density * side / l, LEAST_NODES, share)
        grid = np.linspace(low, low + side, int(count))
        K = kernel(grid[:, None], grid[:, None])
        spline = make_interp_spline(grid, cholesky(K, what="prior on a grid").L, k=3)
        inside = np.clip(x, grid[0], grid[-1])  # the last node may round below x
        rows.append(BSpline.design_matrix(inside, spline.t, 3))
        blocks.append(spline.c)
    W = sparse.csr_array(sparse.hstack(rows, format="csr"))
    return W, sparse.csr_array(sparse.block_diag(blocks, format="csr"))
