"""Moments of the sum at a fixed list of points, while observations come in.

With A = L Lᵀ the covariance of the observations X and C the points,

    V = L⁻¹ K(X, C),   mean = c + Vᵀ L⁻¹ (y − c),   variance = Σ_m σ_m² − Σ_n V_n².

One more observation x appends one row to V, in O(N·B) for B points:

    l = L⁻¹ k(X, x),   s² = k(x, x) + τ² − l·l,   V_new = (k(x, C) − lᵀ V) / s.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sumbo.gp.cross import Cross
from sumbo.gp.model import AdditiveGP
from sumbo.linalg import cholesky, solve_lower
from sumbo.typing import Float, ndarray

# Covariances of points and observations that are computed at a time.
PANEL = 2**18
# Share of the prior variance below which that of an observation is rounding.
ROUNDING = 1e-14


@dataclass(frozen=True, kw_only=True, eq=False)
class Whitened:
    """V for points C and observations X; see the file's head.

    Attributes:
        gp: The model.
        X: The observations.
        C: The points.
        L: The factor of the covariance of the observations.
        rows: V, in blocks of rows: no block is ever copied.
        explained: Σ_n V_n² at each point.
    """

    gp: AdditiveGP
    X: Float[ndarray, "N P"]
    C: Float[ndarray, "B P"]
    L: Float[ndarray, "N N"]
    rows: tuple[Float[ndarray, "_ B"], ...]
    explained: Float[ndarray, " B"]

    @classmethod
    def of(
        cls,
        gp: AdditiveGP,
        X: Float[ndarray, "N P"],
        noise: Float[ndarray, " N"],
        C: Float[ndarray, "B P"],
    ) -> "Whitened":
        """Return V, given the noise variance of each observation, in O(B·N·(M + N))."""
        cross = Cross.of(gp.kernels, gp.groups, X, gp.constant)
        K = cross.gram()
        np.fill_diagonal(K, K.diagonal() + noise)
        L, _ = cholesky(K, what="covariance of the observations")
        V = np.empty((len(X), len(C)))
        width = max(1, PANEL // len(X))
        for start in range(0, len(C), width):
            some = slice(start, start + width)
            V[:, some] = solve_lower(L, cross(C[some]).T)
        explained = np.einsum("nb,nb->b", V, V)
        return cls(gp=gp, X=X, C=C, L=L, rows=(V,), explained=explained)

    def append(self, x: Float[ndarray, " P"], noise: float) -> "Whitened":
        """Return V with one more observation of that noise variance."""
        N, gp = len(self.X), self.gp
        near = Cross.of(gp.kernels, gp.groups, x[None], gp.constant)
        prior = float(_prior(gp, near, x[None]).item())
        l = solve_lower(self.L, near(self.X))[:, 0]
        s = np.sqrt(max(prior + noise - l @ l, ROUNDING * prior + noise))
        row = (near(self.C)[:, 0] - self._weighted(l)) / s
        L = np.zeros((N + 1, N + 1), order="F")
        L[:N, :N], L[N, :N], L[N, N] = self.L, l, s
        return Whitened(
            gp=gp,
            X=np.vstack([self.X, x]),
            C=self.C,
            L=L,
            rows=(*self.rows, row[None]),
            explained=self.explained + row**2,
        )

    def moments(
        self, y: Float[ndarray, " N"]
    ) -> tuple[Float[ndarray, " B"], Float[ndarray, " B"]]:
        """Return mean and variance of f at the points, given values."""
        c = self.gp.mean
        mean = c + self._weighted(solve_lower(self.L, y - c))
        return mean, self.variances

    @property
    def variances(self) -> Float[ndarray, " B"]:
        """The variance of f at the points; it does not depend on the values."""
        return np.maximum(self._prior - self.explained, 0.0)

    @cached_property
    def _prior(self) -> Float[ndarray, " B"]:
        gp = self.gp
        near = Cross.of(gp.kernels, gp.groups, self.C[:1], gp.constant)
        return _prior(gp, near, self.C)

    def product(self, v: Float[ndarray, "N n"]) -> Float[ndarray, "B n"]:
        """Return K(C, X) v, which is Vᵀ Lᵀ v."""
        return np.stack([self._weighted(w) for w in (self.L.T @ v).T], axis=1)

    def _weighted(self, w: Float[ndarray, " N"]) -> Float[ndarray, " B"]:
        out, start = np.zeros(len(self.C)), 0
        for block in self.rows:
            out += w[start : start + len(block)] @ block
            start += len(block)
        return out


def _prior(
    gp: AdditiveGP, cross: Cross, C: Float[ndarray, "B P"]
) -> Float[ndarray, " B"]:
    """Return the prior variance of the sum at points."""
    if cross.stationary:
        return np.full(len(C), gp.variances.sum())
    return cross.prior(C)
