"""``Posterior``: an additive GP conditioned on data.

| symbol | shape | meaning |
|---|---|---|
| X, y | (N, P), (N,) | observations |
| L | (N, N) | Cholesky factor of Σ_m K_m + τ²I |
| alpha | (N,) | (Σ_m K_m + τ²I)⁻¹ (y − c) |
| Z | M arrays (B_m, d_m) | candidate points of each part |
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sumbo.gp.anova import require_inside
from sumbo.gp.arrays import (
    as_candidates,
    as_data,
    as_matrix,
    as_variances,
    require_no_contradictions,
)
from sumbo.gp.cross import Cross
from sumbo.gp.draws import Draws
from sumbo.gp.results import Part
from sumbo.gp.solvers import Solver
from sumbo.gp.solvers.base import MomentPullback
from sumbo.kernels import GroupKernel
from sumbo.linalg import inverse_lower, solve_lower
from sumbo.typing import Float, Int, ndarray
from sumbo.values import aligned, as_floats, without_labels

if TYPE_CHECKING:
    from sumbo.gp.model import AdditiveGP

# Share of the prior variance up to which a variance is rounding.
ROUNDING = 1e-12


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Posterior(Draws):
    """The distribution of all parts given observations of their sum.

    With the ``Dense`` solver, the default, everything is exact and available. With the
    ``Iterative`` one, of ``condition(…, how="iterative")``, only means, variances of
    the sum and joint draws are available: ``predict``, ``predict_mean``,
    ``sum_moments``, ``part_mean``, ``part_means``, ``fitted``, ``solve`` and
    ``sample``. The ``Projected`` one has also ``sum_moments_pullback``,
    ``part_moments``, ``line_moments`` and ``append``. Anything else raises an
    ``ArgumentError``; condition on fewer points for it.

    Examples:
        >>> import numpy as np
        >>> import sumbo
        >>> X = np.array([[0.2, 0.7], [0.6, 0.1], [0.9, 0.4]])
        >>> gp = sumbo.AdditiveGP(groups=[(0,), (1,)], noise=1e-4)
        >>> post = gp.condition(X, [1.3, 0.2, 0.8])
        >>> mean, variance = post.predict(X)
        >>> mean.round(1).tolist()
        [1.3, 0.2, 0.8]
    """

    gp: "AdditiveGP"
    X: Float[ndarray, "N P"]
    y: Float[ndarray, " N"]
    solver: Solver
    # Whether larger values are better: plots then mark the largest.
    maximised: bool = False

    @property
    def N(self) -> int:
        """The number of observations."""
        return len(self.X)

    @cached_property
    def alpha(self) -> Float[ndarray, " N"]:
        """(Σ_m K_m + τ²I)⁻¹ (y − c)."""
        return self.solver.solve(self.y - self.gp.mean)

    @property
    def jitter(self) -> float:
        """What was added to the noise because of rounding."""
        return self.solver.jitter

    def fitted(self) -> Float[ndarray, " N"]:
        """Return the mean of the sum at the observed points, in O(N)."""
        # (K + diag(noise)) α = y − c, so K α + c is y less what noise explains.
        return self.y - self.solver.noise * self.alpha

    def solve(self, b: Float[ndarray, "N *k"]) -> Float[ndarray, "N *k"]:
        """Return (Σ_m K_m + τ²I)⁻¹ b."""
        return self.solver.solve(b)

    def groups(self) -> Iterator[tuple[GroupKernel, Float[ndarray, "N d"]]]:
        """Yield each part's kernel and the observed points in its coordinates."""
        for kernel, group in zip(self.gp.kernels, self.gp.groups, strict=True):
            yield kernel, self.X[:, group]

    def __repr__(self) -> str:
        """Return one line: the arrays of a run would fill the screen."""
        count, dim = len(self.gp.groups), self.gp.dim
        what = f"{count} parts of {dim} coordinates, kernel {self.gp.kernel!r}"
        return f"Posterior({self.N} observations, {what}, noise {self.gp.noise:.3g})"

    def negated(self) -> "Posterior":
        """Return the posterior of −f given −y, of which the largest values are best.

        The covariances stay as they are; whoever maximises sees values in their sign.
        """
        gp = replace(self.gp, mean=-self.gp.mean)
        return replace(self, gp=gp, y=-self.y, maximised=not self.maximised)

    @property
    def lines(self) -> Int[ndarray, " L"]:
        """The coordinate of each part on one coordinate."""
        single = [group[0] for group in self.gp.groups if len(group) == 1]
        return np.array(single, dtype=int)

    # ------------------------------------------------------------------ exact only
    @property
    def L(self) -> Float[ndarray, "N N"]:
        """The Cholesky factor of the covariance of the observations."""
        return self._exact("L").L

    @property
    def cross(self) -> Cross:
        """Covariances of the sum at new points with the observations."""
        return self._exact("cross").cross

    @property
    def covariance(self) -> Float[ndarray, "N N"]:
        """The covariance Σ_m K_m + τ²I of the observations, jitter included."""
        return self._exact("covariance").covariance

    # ------------------------------------------------------------------ the sum
    def predict(self, X_new: Any) -> tuple[Float[ndarray, " n"], Float[ndarray, " n"]]:
        """Return mean and variance of the sum f at new points, noise not included.

        An iterative posterior solves a system for every variance: ask it for few
        points, or take the variance of draws.

        Examples:
            >>> import numpy as np
            >>> import sumbo
            >>> X = np.array([[0.2, 0.7], [0.6, 0.1], [0.9, 0.4]])
            >>> gp = sumbo.AdditiveGP(groups=[(0,), (1,)], noise=1e-4)
            >>> post = gp.condition(X, [1.3, 0.2, 0.8])
            >>> mean, variance = post.predict([[0.2, 0.7], [0.5, 0.9]])
            >>> bool(variance[0] < variance[1])  # the first point was observed
            True
        """
        X_new = as_matrix(X_new, self.gp.dim, "X_new")
        mean, var = self.sum_moments(X_new)
        return self.gp.mean + mean, var

    def predict_mean(self, X_new: Any) -> Float[ndarray, " n"]:
        """Return the mean of the sum f at new points: ``predict`` without variances."""
        X_new = as_matrix(X_new, self.gp.dim, "X_new")
        return self.gp.mean + self.solver.sum_mean(X_new, self.alpha)

    def predict_covariance(self, X_new: Any) -> Float[ndarray, "n n"]:
        """Return the covariance of the sum f at new points, noise not included."""
        X_new = as_matrix(X_new, self.gp.dim, "X_new")
        exact = self._exact("predict_covariance")
        V = solve_lower(exact.L, exact.cross(X_new).T)
        cov = -(V.T @ V)  # [rasmussen2006] Eq. (2.26)
        for kernel, group in zip(self.gp.kernels, self.gp.groups, strict=True):
            cov += kernel(X_new[:, group], X_new[:, group])
        return cov + self.gp.constant

    def sum_moments(
        self, U: Float[ndarray, "b P"]
    ) -> tuple[Float[ndarray, " b"], Float[ndarray, " b"]]:
        """Return mean and variance of Σ_m f_m at points, which are not checked.

        The constant ``gp.mean`` is not included, as in ``part_moments``.
        """
        return self.solver.sum_moments(U, self.alpha)

    def sum_moments_pullback(
        self, U: Float[ndarray, "b P"]
    ) -> tuple[Float[ndarray, " b"], Float[ndarray, " b"], MomentPullback]:
        """Return ``sum_moments``, and what gives gradients of functions of the two.

        With g a function of mean and variance at each point,
        ``pullback(∂g/∂mean, ∂g/∂var)`` is the gradient of g in the points, (b, P). It
        takes one pass over the kernels.
        """
        solver = self._pointwise("sum_moments_pullback")
        return solver.sum_moments_pullback(U, self.alpha)

    # ------------------------------------------------------------------ the parts
    def part_mean(self, m: int, Zm: Float[ndarray, "B d"]) -> Float[ndarray, " B"]:
        """Return the mean of part m at points of its own coordinates."""
        return self.solver.products([m], [Zm], self.alpha[:, None])[0][:, 0]

    def part_means(self, Z: Any) -> list[Float[ndarray, " B"]]:
        """Return the mean of each part at its candidates.

        They and the ``constant`` add up to the mean of the sum.
        """
        Z = as_candidates(Z, self.gp.groups)
        found = self.solver.products(range(len(Z)), Z, self.alpha[:, None])
        return [mean[:, 0] for mean in found]

    def constant(self) -> tuple[float, float]:
        """Return mean and variance of the constant.

        It is random with ``orthogonal=True``: the average of f over its measure. Part
        means and the mean of the constant then add up to the mean of the sum.
        Otherwise it is ``gp.mean``, and its variance is 0.
        """
        v = self.gp.constant
        if not v:
            return self.gp.mean, 0.0
        ones = np.ones(self.N)
        mean = self.gp.mean + v * float(self.alpha.sum())
        return mean, max(v - v**2 * float(ones @ self.solve(ones)), 0.0)

    def parts(self, Z: Any) -> list[Part]:
        """Return the marginal mean and covariance of each part at its candidates.

        Part means and the ``constant`` add up to the mean of the sum.
        """
        Z, L = as_candidates(Z, self.gp.groups), self._exact("parts").L
        out = []
        for (kernel, Xm), Zm in zip(self.groups(), Z, strict=True):
            cross = kernel(Xm, Zm)
            V = solve_lower(L, cross)
            out.append(Part(cross.T @ self.alpha, kernel(Zm, Zm) - V.T @ V))
        return out

    def joint_covariance(self, Z: Any) -> Float[ndarray, "B B"]:
        """Return the covariance of all parts at all candidates, (ΣB_m, ΣB_m).

        Blocks off the diagonal are the bilateral covariances
        ``−K_i(Z_i, X) (ΣK + τ²I)⁻¹ K_j(X, Z_j)``; errata of [wycoff2025] for ``T``.
        """
        Z, L = as_candidates(Z, self.gp.groups), self._exact("joint_covariance").L
        T = np.hstack([k(Xm, Zm) for (k, Xm), Zm in zip(self.groups(), Z, strict=True)])
        V = solve_lower(L, T)
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
        return self._pointwise("part_moments").part_moments(m, Zm, self.alpha)

    def line_moments(
        self, Z: Float[ndarray, "B P"]
    ) -> tuple[Float[ndarray, "B L"], Float[ndarray, "B L"]]:
        """Return mean and variance of each line, evaluated together.

        A line is a part on one coordinate; it depends on this coordinate of the points
        ``Z`` only. The order of the lines is that of ``lines``.
        """
        return self._pointwise("line_moments").line_moments(Z, self.alpha)

    def line_moments_gradient(
        self, Z: Float[ndarray, "B P"]
    ) -> tuple[
        Float[ndarray, "B L"],
        Float[ndarray, "B L"],
        Float[ndarray, "B L"],
        Float[ndarray, "B L"],
    ]:
        """Return ``line_moments``, and the slopes of both in the lines' coordinates."""
        exact = self._exact("line_moments_gradient")
        return exact.line_moments_gradient(Z, self.alpha)

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
        solved = self._exact("part_moments_gradient").solve(cross.T)  # (N, B)
        var = kernel.diagonal(Zm) - np.einsum("bn,nb->b", cross, solved)
        mean_gradient = np.einsum("bnd,n->bd", slope, self.alpha)
        var_gradient = kernel.diagonal_gradient(Zm)
        var_gradient -= 2.0 * np.einsum("bnd,nb->bd", slope, solved)
        return cross @ self.alpha, np.maximum(var, 0.0), mean_gradient, var_gradient

    def leave_one_out(self) -> tuple[Float[ndarray, " N"], Float[ndarray, " N"]]:
        """Return mean and variance of each y_i given all others, noise included.

        Closed form from the factor at hand; [rasmussen2006] Eqs. (5.10) and (5.12).
        """
        precision = inverse_lower(self._exact("leave_one_out").L).diagonal()
        return self.y - self.alpha / precision, 1.0 / precision

    def log_marginal_likelihood(self) -> float:
        """Return log p(y | X) of the observations; [rasmussen2006] Eq. (5.8)."""
        log_det = self._exact("log_marginal_likelihood").log_determinant()
        misfit = (self.y - self.gp.mean) @ self.alpha
        return -0.5 * float(misfit + log_det + self.N * np.log(2.0 * np.pi))

    # ------------------------------------------------------------------ more data
    def append(self, x: Any, y: Any, *, noise: Any = None) -> "Posterior":
        """Return the posterior with one or more further observations, O(N²) for each.

        Equal to conditioning from scratch up to rounding: the factor gains rows.
        ``noise`` are their known variances, see ``AdditiveGP.condition``.
        """
        y_new = np.atleast_1d(as_floats(aligned(x, y), "y"))
        X_new = np.atleast_2d(as_floats(without_labels(x, "x"), "x"))
        X_new, y_new = as_data(X_new, y_new, self.gp.dim)
        if self.gp.orthogonal:
            require_inside(X_new, self.gp.measure)
        X, values = np.vstack([self.X, X_new]), np.concatenate([self.y, y_new])
        known = as_variances(noise, X_new)
        solver = self._pointwise("append").append(X_new, known)
        if self.gp.noise == 0:
            require_no_contradictions(X, values, solver.known)
        return replace(self, X=X, y=values, solver=solver)

    def inflation(self, X: Any) -> Float[ndarray, " b"]:
        """Return Σ_m σ_m² / σ² at whole points: what independent draws would add.

        σ_m² are the variances of the parts, σ² that of their sum, which may be zero.

        Examples:
            >>> import numpy as np
            >>> import sumbo
            >>> X = np.array([[0.2, 0.7], [0.6, 0.1], [0.9, 0.4]])
            >>> gp = sumbo.AdditiveGP(groups=[(0,), (1,)], noise=1e-4)
            >>> post = gp.condition(X, [1.3, 0.2, 0.8])
            >>> bool(post.inflation(X).min() > 10)  # independent draws vary too much
            True
        """
        self._exact("inflation")
        X = as_matrix(X, self.gp.dim, "X")
        _, var = self.sum_moments(X)
        each = [
            self.part_moments(m, X[:, list(group)])[1]
            for m, group in enumerate(self.gp.groups)
        ]
        total = np.sum(each, axis=0)
        known = ROUNDING * self.gp.variances.sum()
        ratio = np.full(len(X), np.inf)
        ratio[total <= known] = 1.0
        return np.divide(total, var, out=ratio, where=var > known)
