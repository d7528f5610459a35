"""The exact solver: one Cholesky factor of the covariance of the observations."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from sumbo.errors import TooLargeError
from sumbo.gp.cross import Cross, Pullback
from sumbo.gp.solvers.base import LIMIT, MomentPullback, PartFeatures, Pointwise
from sumbo.linalg import cho_solve, cholesky, solve_lower, times_lower
from sumbo.typing import Float, ndarray

if TYPE_CHECKING:
    from sumbo.gp.model import AdditiveGP

# Covariances between data and new points that are held at a time.
MOST_CROSS = 2**24
# Covariances with one part that are worked on at a time: they stay in the cache.
PANEL = 32_768


@dataclass(frozen=True, kw_only=True, eq=False)
class Dense(Pointwise):
    """A = L Lᵀ in O(N³), for up to about 10 000 observations; all parts are exact.

    ``known`` are known noise variances, which the noise of the model adds to.
    """

    gp: "AdditiveGP"
    cross: Cross
    L: Float[ndarray, "N N"]
    jitter: float
    known: Float[ndarray, " N"] | None = None

    @classmethod
    def of(
        cls,
        gp: Any,
        X: Float[ndarray, "N P"],
        *,
        known: Float[ndarray, " N"] | None = None,
    ) -> "Dense":
        """Return the solver of ``gp`` for checked points.

        Raises:
            TooLargeError: If the covariance would not fit the memory limit.
        """
        need = 3 * 8 * len(X) ** 2  # the covariance, its factor, one spare
        if need > LIMIT:
            msg = (
                f"an exact posterior of N={len(X)} points needs {need / 2**30:.1f} GiB "
                f"(limit {LIMIT / 2**30:.0f}). Condition with how='iterative', or on "
                "fewer points."
            )
            raise TooLargeError(msg)
        cross = Cross.of(gp.kernels, gp.groups, X, gp.constant)
        K = cross.gram()
        np.fill_diagonal(K, K.diagonal() + gp.noise)
        if known is not None:
            np.fill_diagonal(K, K.diagonal() + known)
        L, jitter = cholesky(K, what="covariance of the observations")
        return cls(gp=gp, cross=cross, L=L, jitter=jitter, known=known)

    def append(
        self, X_new: Float[ndarray, "k P"], known: Float[ndarray, " k"] | None = None
    ) -> "Dense":
        """Return the solver with further points, in O(N²) for each: L gains rows."""
        gp, n, k = self.gp, len(self.L), len(X_new)
        cross = self.cross(X_new).T
        corner = Cross.of(gp.kernels, gp.groups, X_new, gp.constant)(X_new)
        np.fill_diagonal(corner, corner.diagonal() + gp.noise + self.jitter)
        if known is not None:
            np.fill_diagonal(corner, corner.diagonal() + known)
        row = solve_lower(self.L, cross)
        extra = cholesky(
            corner - row.T @ row,
            what="covariance of the new points",
            scale=float(gp.variances.sum()),
        )
        L = np.zeros((n + k, n + k), order="F")
        L[:n, :n] = self.L
        L[n:, :n] = row.T
        L[n:, n:] = extra.L
        X = np.vstack([self.cross.X, X_new])
        if known is not None or self.known is not None:
            old = np.zeros(n) if self.known is None else self.known
            known = np.concatenate([old, np.zeros(k) if known is None else known])
        return Dense(
            gp=gp,
            cross=Cross.of(gp.kernels, gp.groups, X, gp.constant),
            L=L,
            jitter=max(self.jitter, extra.jitter),
            known=known,
        )

    @property
    def noise(self) -> Float[ndarray, " N"]:
        """The noise of the model, the jitter, and what is known."""
        noise = np.full(len(self.L), self.gp.noise + self.jitter)
        return noise if self.known is None else noise + self.known

    @property
    def features(self) -> Mapping[int, PartFeatures]:
        """None: all parts are exact."""
        return {}

    @cached_property
    def covariance(self) -> Float[ndarray, "N N"]:
        """The covariance A of the observations."""
        return times_lower(self.L, np.tril(self.L).T)

    def solve(self, b: Float[ndarray, "N *k"]) -> Float[ndarray, "N *k"]:
        """Return A⁻¹ b."""
        return cho_solve(self.L, b)

    def log_determinant(self) -> float:
        """Return log det A."""
        return 2.0 * float(np.log(self.L.diagonal()).sum())

    def products(
        self,
        parts: Sequence[int],
        Z: Sequence[Float[ndarray, "..."]],
        v: Float[ndarray, "N k"],
    ) -> list[Float[ndarray, "..."]]:
        """Return K_m(Z_i, X) v for the i-th of some parts, arrays (B_i, k)."""
        kernels, groups, X = self.gp.kernels, self.gp.groups, self.cross.X
        return [
            kernels[m](Zi, X[:, groups[m]]) @ v for m, Zi in zip(parts, Z, strict=True)
        ]

    # ------------------------------------------------------------------ the sum
    def sum_mean(
        self, U: Float[ndarray, "b P"], alpha: Float[ndarray, " N"]
    ) -> Float[ndarray, " b"]:
        """Return the mean of Σ_m f_m at points; [rasmussen2006] Eq. (2.25)."""
        return np.concatenate([self.cross(some) @ alpha for some in self._blocks(U)])

    def sum_moments(
        self, U: Float[ndarray, "b P"], alpha: Float[ndarray, " N"]
    ) -> tuple[Float[ndarray, " b"], Float[ndarray, " b"]]:
        """Return mean and variance of Σ_m f_m; [rasmussen2006] Eqs. (2.25), (2.26)."""
        if len(U) > self._width():
            blocks = [self.sum_moments(some, alpha) for some in self._blocks(U)]
            mean, var = (np.concatenate(values) for values in zip(*blocks, strict=True))
            return mean, var
        cross = self.cross(U)
        V = solve_lower(self.L, cross.T)
        var = self._prior(U) - np.einsum("nb,nb->b", V, V)
        return cross @ alpha, np.maximum(var, 0.0)

    def sum_moments_pullback(
        self, U: Float[ndarray, "b P"], alpha: Float[ndarray, " N"]
    ) -> tuple[Float[ndarray, " b"], Float[ndarray, " b"], MomentPullback]:
        """Return ``sum_moments``, and what gives gradients of functions of the two.

        Mean and variance weigh the same slopes of the kernels, so that a gradient
        takes one pass over them.
        """
        cross, pullback = self.cross.with_pullback(U)
        solved = cho_solve(self.L, cross.T)
        var = self._prior(U) - np.einsum("bn,nb->b", cross, solved)
        prior = None if self.cross.stationary else self.cross.prior_gradient(U)
        pull = partial(_pull, pullback, alpha, solved, prior)
        return cross @ alpha, np.maximum(var, 0.0), pull

    def _prior(self, U: Float[ndarray, "b P"]) -> Float[ndarray, " b"] | float:
        """Return the prior variance of the sum."""
        if self.cross.stationary:
            return float(self.gp.variances.sum())
        return self.cross.prior(U)

    # ------------------------------------------------------------------ the parts
    def part_moments(
        self, m: int, Zm: Float[ndarray, "B d"], alpha: Float[ndarray, " N"]
    ) -> tuple[Float[ndarray, " B"], Float[ndarray, " B"]]:
        """Return mean and variance of part m at points of its own coordinates."""
        kernel, Xm = self.gp.kernels[m], self.cross.X[:, self.gp.groups[m]]
        mean, var = np.empty(len(Zm)), np.empty(len(Zm))
        rows = max(1, PANEL // len(self.L))
        for start in range(0, len(Zm), rows):
            some = slice(start, start + rows)
            cross = kernel(Zm[some], Xm)
            V = solve_lower(self.L, cross.T)
            mean[some] = cross @ alpha
            var[some] = kernel.diagonal(Zm[some]) - np.einsum("nb,nb->b", V, V)
        return mean, np.maximum(var, 0.0)

    def line_moments(
        self, Z: Float[ndarray, "B P"], alpha: Float[ndarray, " N"]
    ) -> tuple[Float[ndarray, "B L"], Float[ndarray, "B L"]]:
        """Return mean and variance of each part on one coordinate."""
        variances, N = self.cross.variances, len(self.L)
        mean, var = (np.empty((len(variances), len(Z))) for _ in range(2))
        prior = self.cross.line_priors(Z)
        for some, cross in self.cross.by_line(Z):
            flat = cross.reshape(-1, N)
            V = solve_lower(self.L, flat.T)
            mean[some] = (flat @ alpha).reshape(-1, len(Z))
            explained = np.einsum("ij,ij->j", V, V).reshape(-1, len(Z))
            var[some] = prior[some] - explained
        return mean.T, np.maximum(var, 0.0).T

    def line_moments_gradient(
        self, Z: Float[ndarray, "B P"], alpha: Float[ndarray, " N"]
    ) -> tuple[
        Float[ndarray, "B L"],
        Float[ndarray, "B L"],
        Float[ndarray, "B L"],
        Float[ndarray, "B L"],
    ]:
        """Return ``line_moments``, and the slopes of both in the lines' coordinates."""
        variances = self.cross.variances
        shape = len(variances), len(Z)
        mean, var, mean_slope, var_slope = (np.empty(shape) for _ in range(4))
        prior, prior_slope = self.cross.line_priors(Z), self.cross.line_prior_slopes(Z)
        for some, cross, slope in self.cross.slopes_by_line(Z):
            flat = cross.reshape(-1, len(self.L))
            solved = self.solve(flat.T).T.reshape(cross.shape)
            mean[some] = cross @ alpha
            explained = np.einsum("lbn,lbn->lb", cross, solved)
            var[some] = prior[some] - explained
            mean_slope[some] = slope @ alpha
            moved = np.einsum("lbn,lbn->lb", slope, solved)
            var_slope[some] = prior_slope[some] - 2.0 * moved
        return mean.T, np.maximum(var, 0.0).T, mean_slope.T, var_slope.T

    def _width(self) -> int:
        return max(1, MOST_CROSS // len(self.L))

    def _blocks(self, U: Float[ndarray, "b P"]) -> Iterator[Float[ndarray, "c P"]]:
        width = self._width()
        for start in range(0, max(1, len(U)), width):
            yield U[start : start + width]


def _pull(
    pullback: Pullback,
    alpha: Float[ndarray, " N"],
    solved: Float[ndarray, "N b"],
    prior: Float[ndarray, "b P"] | None,
    by_mean: Float[ndarray, " b"],
    by_var: Float[ndarray, " b"],
) -> Float[ndarray, "b P"]:
    out = pullback(by_mean[:, None] * alpha - 2.0 * by_var[:, None] * solved.T)
    return out if prior is None else out + by_var[:, None] * prior
