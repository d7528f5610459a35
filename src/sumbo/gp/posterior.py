"""``Posterior``: an additive GP conditioned on data.

| symbol | shape | meaning |
|---|---|---|
| X, y | (N, P), (N,) | observations |
| L | (N, N) | Cholesky factor of Σ_m K_m + τ²I |
| alpha | (N,) | (Σ_m K_m + τ²I)⁻¹ (y − c) |
| Z | M arrays (B_m, d_m) | candidate points of each part |
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sumbo.errors import ArgumentError, TooLargeError
from sumbo.gp.arrays import as_candidates, as_data, as_matrix
from sumbo.gp.cross import Cross
from sumbo.kernels import GroupKernel
from sumbo.linalg import (
    cho_solve,
    cholesky,
    inverse_lower,
    one_blas_thread,
    solve_lower,
    times_lower,
)
from sumbo.registry import Registry
from sumbo.rng import Seed, as_seed, rng_at
from sumbo.typing import Float, ndarray

if TYPE_CHECKING:
    from sumbo.gp.model import AdditiveGP

# Samplers live a layer above and register themselves, one file each.
SAMPLERS: Registry[Callable[..., list[Any]]] = Registry("how", "sumbo.sampling")
PATHS: Registry[Callable[..., Any]] = Registry("path", "sumbo.sampling")

# Bytes that the arrays of one posterior may take.
LIMIT = 4 * 2**30
# Covariances between data and new points that are held at a time.
MOST_CROSS = 2**24


class Part(NamedTuple):
    """Mean (B,) and covariance (B, B) of one part; the constant mean is in no part."""

    mean: Float[ndarray, " B"]
    cov: Float[ndarray, "B B"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Posterior:
    """The distribution of all parts given observations of their sum."""

    gp: "AdditiveGP"
    X: Float[ndarray, "N P"]
    y: Float[ndarray, " N"]
    L: Float[ndarray, "N N"]
    alpha: Float[ndarray, " N"]
    jitter: float

    @classmethod
    def from_data(
        cls, gp: Any, X: Float[ndarray, "N P"], y: Float[ndarray, " N"]
    ) -> "Posterior":
        """Return the posterior of ``gp`` given checked data.

        Raises:
            ArgumentError: If equal points have different values and there is no noise.
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
        if gp.noise == 0:
            _refuse_contradictions(X, y)
        cross = Cross.of(gp.kernels, gp.groups, X)
        K = cross.gram()
        np.fill_diagonal(K, K.diagonal() + gp.noise)
        L, jitter = cholesky(K, what="covariance of the observations")
        alpha = cho_solve(L, y - gp.mean)
        post = cls(gp=gp, X=X, y=y, L=L, alpha=alpha, jitter=jitter)
        post.__dict__["cross"] = cross  # what the cached property would compute again
        return post

    @property
    def N(self) -> int:
        """The number of observations."""
        return len(self.X)

    def fitted(self) -> Float[ndarray, " N"]:
        """Return the mean of the sum at the observed points, in O(N)."""
        # (K + (τ² + jitter) I) α = y − c, so K α + c is y less what noise explains.
        return self.y - (self.gp.noise + self.jitter) * self.alpha

    def solve(self, b: Float[ndarray, "N *k"]) -> Float[ndarray, "N *k"]:
        """Return (Σ_m K_m + τ²I)⁻¹ b."""
        return cho_solve(self.L, b)

    def groups(self) -> Iterator[tuple[GroupKernel, Float[ndarray, "N d"]]]:
        """Yield each part's kernel and the observed points in its coordinates."""
        for kernel, group in zip(self.gp.kernels, self.gp.groups, strict=True):
            yield kernel, self.X[:, group]

    @cached_property
    def cross(self) -> Cross:
        """Covariances of the sum at new points with the observations."""
        return Cross.of(self.gp.kernels, self.gp.groups, self.X)

    @cached_property
    def covariance(self) -> Float[ndarray, "N N"]:
        """The covariance Σ_m K_m + τ²I of the observations, jitter included."""
        return times_lower(self.L, np.tril(self.L).T)

    # ------------------------------------------------------------------ moments
    def predict(self, X_new: Any) -> tuple[Float[ndarray, " n"], Float[ndarray, " n"]]:
        """Return mean and variance of the sum f at new points, noise not included."""
        X_new = as_matrix(X_new, self.gp.dim, "X_new")
        width = max(1, MOST_CROSS // self.N)
        blocks = [
            self._predict(X_new[start : start + width])
            for start in range(0, max(1, len(X_new)), width)
        ]
        mean, var = (np.concatenate(values) for values in zip(*blocks, strict=True))
        return mean, var

    def _predict(
        self, X_new: Float[ndarray, "n P"]
    ) -> tuple[Float[ndarray, " n"], Float[ndarray, " n"]]:
        cross = self.cross(X_new).T
        mean = self.gp.mean + cross.T @ self.alpha  # [rasmussen2006] Eq. (2.25)
        V = solve_lower(self.L, cross)
        var = self.gp.variances.sum() - np.einsum("ij,ij->j", V, V)  # Eq. (2.26)
        return mean, np.maximum(var, 0.0)

    def parts(self, Z: Any) -> list[Part]:
        """Return the marginal mean and covariance of each part at its candidates.

        Part means and the model's constant ``mean`` add up to the mean of the sum.
        """
        Z = as_candidates(Z, self.gp.groups)
        out = []
        for (kernel, Xm), Zm in zip(self.groups(), Z, strict=True):
            cross = kernel(Xm, Zm)
            V = solve_lower(self.L, cross)
            out.append(Part(cross.T @ self.alpha, kernel(Zm, Zm) - V.T @ V))
        return out

    def joint_covariance(self, Z: Any) -> Float[ndarray, "B B"]:
        """Return the covariance of all parts at all candidates, (ΣB_m, ΣB_m).

        Blocks off the diagonal are the bilateral covariances
        ``−K_i(Z_i, X) (ΣK + τ²I)⁻¹ K_j(X, Z_j)``; errata of [wycoff2025] for ``T``.
        """
        Z = as_candidates(Z, self.gp.groups)
        T = np.hstack([k(Xm, Zm) for (k, Xm), Zm in zip(self.groups(), Z, strict=True)])
        V = solve_lower(self.L, T)
        cov = -(V.T @ V)
        start = 0
        for kernel, Zm in zip(self.gp.kernels, Z, strict=True):
            block = slice(start, start + len(Zm))
            cov[block, block] += kernel(Zm, Zm)
            start += len(Zm)
        return cov

    def part_moments(
        self, m: int, Zm: Float[ndarray, "B d"]
    ) -> tuple[Float[ndarray, " B"], Float[ndarray, " B"]]:
        """Return mean and variance of part m at points of its own coordinates."""
        kernel, Xm = self.gp.kernels[m], self.X[:, self.gp.groups[m]]
        cross = kernel(Xm, Zm)
        V = solve_lower(self.L, cross)
        var = kernel.variance - np.einsum("ij,ij->j", V, V)
        return cross.T @ self.alpha, np.maximum(var, 0.0)

    def line_moments(
        self, Z: Float[ndarray, "B P"]
    ) -> tuple[Float[ndarray, "B L"], Float[ndarray, "B L"]]:
        """Return mean and variance of each part on one coordinate, many at a time.

        Part l is looked at in the coordinate of its own of the points ``Z``; parts
        are those of ``cross.lines``, in this order.
        """
        lines, variances = self.cross.lines, self.cross.variances
        mean, var = (np.empty((len(lines), len(Z))) for _ in range(2))
        for some, cross in self.cross.by_line(Z):
            flat = cross.reshape(-1, self.N)
            V = solve_lower(self.L, flat.T)
            mean[some] = (flat @ self.alpha).reshape(-1, len(Z))
            explained = np.einsum("ij,ij->j", V, V).reshape(-1, len(Z))
            var[some] = variances[some, None] - explained
        return mean.T, np.maximum(var, 0.0).T

    def line_moments_gradient(
        self, Z: Float[ndarray, "B P"]
    ) -> tuple[
        Float[ndarray, "B L"],
        Float[ndarray, "B L"],
        Float[ndarray, "B L"],
        Float[ndarray, "B L"],
    ]:
        """Return ``line_moments``, and the slopes of both in the parts' coordinates."""
        shape = len(self.cross.lines), len(Z)
        mean, var, mean_slope, var_slope = (np.empty(shape) for _ in range(4))
        for some, cross, slope in self.cross.slopes_by_line(Z):
            flat = cross.reshape(-1, self.N)
            solved = cho_solve(self.L, flat.T).T.reshape(cross.shape)
            mean[some] = cross @ self.alpha
            explained = np.einsum("lbn,lbn->lb", cross, solved)
            var[some] = self.cross.variances[some, None] - explained
            mean_slope[some] = slope @ self.alpha
            var_slope[some] = -2.0 * np.einsum("lbn,lbn->lb", slope, solved)
        return mean.T, np.maximum(var, 0.0).T, mean_slope.T, var_slope.T

    def part_moments_gradient(
        self, m: int, Zm: Float[ndarray, "B d"]
    ) -> tuple[
        Float[ndarray, " B"],
        Float[ndarray, " B"],
        Float[ndarray, "B d"],
        Float[ndarray, "B d"],
    ]:
        """Return mean, variance and their gradients in the points, for part m."""
        kernel, Xm = self.gp.kernels[m], self.X[:, self.gp.groups[m]]
        cross, slope = kernel.input_gradient(Zm, Xm)  # (B, N), (B, N, d)
        solved = cho_solve(self.L, cross.T)  # (N, B)
        var = kernel.variance - np.einsum("bn,nb->b", cross, solved)
        mean_gradient = np.einsum("bnd,n->bd", slope, self.alpha)
        var_gradient = -2.0 * np.einsum("bnd,nb->bd", slope, solved)
        return cross @ self.alpha, np.maximum(var, 0.0), mean_gradient, var_gradient

    def leave_one_out(self) -> tuple[Float[ndarray, " N"], Float[ndarray, " N"]]:
        """Return mean and variance of each y_i given all others, noise included.

        Closed form from the factor at hand; [rasmussen2006] Eqs. (5.10) and (5.12).
        """
        precision = inverse_lower(self.L).diagonal()
        return self.y - self.alpha / precision, 1.0 / precision

    # ------------------------------------------------------------------ more data
    def append(self, x: Any, y: Any) -> "Posterior":
        """Return the posterior with one or more further observations, O(N²) for each.

        Equal to conditioning from scratch up to rounding: the factor gains rows.
        """
        X_new, y_new = as_data(np.atleast_2d(x), np.atleast_1d(y), self.gp.dim)
        if self.gp.noise == 0:
            _refuse_contradictions(np.vstack([self.X, X_new]), np.r_[self.y, y_new])
        n, k = self.N, len(X_new)
        cross = self.cross(X_new).T
        corner = Cross.of(self.gp.kernels, self.gp.groups, X_new)(X_new)
        np.fill_diagonal(corner, corner.diagonal() + self.gp.noise + self.jitter)
        row = solve_lower(self.L, cross)
        extra = cholesky(
            corner - row.T @ row,
            what="covariance of the new points",
            scale=float(self.gp.variances.sum()),
        )
        L = np.zeros((n + k, n + k), order="F")
        L[:n, :n] = self.L
        L[n:, :n] = row.T
        L[n:, n:] = extra.L
        X, values = np.vstack([self.X, X_new]), np.concatenate([self.y, y_new])
        alpha = cho_solve(L, values - self.gp.mean)
        jitter = max(self.jitter, extra.jitter)
        return replace(self, X=X, y=values, L=L, alpha=alpha, jitter=jitter)

    # ------------------------------------------------------------------ draws
    def sample(
        self,
        Z: Any,
        n: int = 1,
        how: str = "joint",
        seed: Seed = None,
        workers: int = 1,
    ) -> list[Float[ndarray, "..."]]:
        """Return n draws of every part at its candidates: M arrays (n, B_m).

        Args:
            Z: One array (B_m, d_m) per group.
            n: The number of draws.
            how: ``"joint"`` (exact, by Matheron's rule; linear in the points for long
                lists of a Matérn part of one coordinate), ``"sequential"`` (exact, the
                corrected recursion of the paper), ``"naive"`` (exact, one Cholesky of
                everything) or ``"marginal"`` (parts independent: the additive
                approximation).
            seed: A number, or None for fresh randomness.
            workers: Threads over groups; the draws do not depend on it.
        """
        return draw(self, Z, n, how, seed, workers)

    def sample_path(self, seed: Seed = None, **settings: Any) -> Any:
        """Return one joint draw as a function on the whole cube, with gradients.

        See ``sumbo.sampling.paths.Path``: call it, or its ``parts``.
        """
        rng = rng_at(as_seed(seed), "sample path")
        return PATHS.get("features")(rng, self, **settings)


def draw(
    post: Any, Z: Any, n: int, how: str, seed: Seed, workers: int
) -> list[Float[ndarray, "..."]]:
    """Return the draws of the sampler called ``how``, from checked arguments.

    Raises:
        ArgumentError: If an argument has a value that cannot be used.
    """
    sampler = SAMPLERS.get(how)
    Z = as_candidates(Z, post.gp.groups)
    for name, value in (("n", n), ("workers", workers)):
        if not isinstance(value, (int, np.integer)) or value < 1:
            msg = f"{name}={value!r} is not a positive integer."
            raise ArgumentError(msg)
    rng = rng_at(as_seed(seed), f"sample {how}")
    with one_blas_thread():
        return sampler(rng, post, Z, int(n), workers=int(workers))


def _refuse_contradictions(X: Float[ndarray, "N P"], y: Float[ndarray, " N"]) -> None:
    """Check that equal rows have equal values: without noise no other function fits.

    Raises:
        ArgumentError: If two equal rows have different values.
    """
    seen: dict[bytes, int] = {}
    for i, row in enumerate(X + 0.0):  # −0.0 and 0.0 are the same point
        first = seen.setdefault(row.tobytes(), i)
        if y[first] != y[i]:
            msg = (
                f"noise=0, but rows {first} and {i} of X are equal and y differs "
                f"({y[first]:g}, {y[i]:g}). Pass a positive noise."
            )
            raise ArgumentError(msg)
