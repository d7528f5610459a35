"""``IterativePosterior``: the posterior of many observations, without an N × N matrix.

Matérn parts of one coordinate multiply in linear time and are exact; any other part is
replaced by its projection on inducing points, and the variance it loses at the data is
counted as noise there. All solves are by preconditioned conjugate gradients.

| symbol | shape | meaning |
|---|---|---|
| X, y | (N, P), (N,) | observations |
| D | (N,) | τ² plus the variance that inducing points lose at the data |
| Phi | (N, R) | features of all parts that have inducing points |
| alpha | (N,) | (Σ_m K_m + diag(D))⁻¹ (y − c) |
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sumbo.errors import ArgumentError, TooLargeError
from sumbo.gp.arrays import as_candidates, as_matrix
from sumbo.gp.posterior import LIMIT, draw
from sumbo.gp.solvers.conjugate import Woodbury, solve_by_cg
from sumbo.gp.solvers.inducing import Inducing
from sumbo.gp.solvers.semiseparable import MarkovProduct, multiply_markov
from sumbo.gp.solvers.statespace import is_markov
from sumbo.linalg import one_blas_thread
from sumbo.rng import Seed, rng_at
from sumbo.typing import Float, ndarray

if TYPE_CHECKING:
    from sumbo.gp.model import AdditiveGP

# Steps of conjugate gradients; a good preconditioner needs about ten.
MOST_STEPS = 1000
# Points whose variances are solved for at a time.
COLUMNS = 8
# Doubles per observation and Matérn part: sorted gaps and decays in two directions,
# states of one product, spline weights. 42 were measured.
PER_PART = 48


@dataclass(frozen=True, kw_only=True, eq=False)
class IterativePosterior:
    """The distribution of all parts given very many observations of their sum.

    ``predict`` and joint draws only; condition on fewer points for anything else.
    """

    gp: "AdditiveGP"
    X: Float[ndarray, "N P"]
    y: Float[ndarray, " N"]
    lines: tuple[int, ...]
    inducing: Mapping[int, Inducing]
    cuts: Mapping[int, slice]
    Phi: Float[ndarray, "N R"]
    D: Float[ndarray, " N"]
    tolerance: float

    @classmethod
    def from_data(
        cls,
        gp: Any,
        X: Float[ndarray, "N P"],
        y: Float[ndarray, " N"],
        *,
        inducing: int = 256,
        tolerance: float = 1e-6,
        seed: int = 0,
    ) -> "IterativePosterior":
        """Return the posterior of ``gp`` given checked data, in O(N·M) per step.

        Args:
            gp: The model; its noise is positive.
            X: Observed points.
            y: Observed values.
            inducing: Points, at random from the data, that stand for a part which is
                not a Matérn part of one coordinate.
            tolerance: Residual of every solve, relative to its right-hand side.
            seed: Of the inducing points.

        Raises:
            ArgumentError: If the noise is zero, or a setting is not positive.
        """
        if gp.noise == 0:
            msg = "noise=0 has no iterative posterior. Pass a small noise, like 1e-6."
            raise ArgumentError(msg)
        for name, value in (("inducing", inducing), ("tolerance", tolerance)):
            if not value > 0:
                msg = f"{name}={value!r} is not positive."
                raise ArgumentError(msg)
        lines = tuple(m for m, kernel in enumerate(gp.kernels) if is_markov(kernel))
        others = [m for m in range(len(gp.kernels)) if m not in set(lines)]
        _require_memory(len(X), len(lines), len(others), inducing)
        rng = rng_at(seed, "inducing points")
        parts, cuts, features = {}, {}, [np.empty((len(X), 0))]
        D, end = np.full(len(X), float(gp.noise)), 0
        for m in others:
            Xm = X[:, gp.groups[m]]
            parts[m] = Inducing.of(rng, gp.kernels[m], Xm, int(inducing))
            features.append(parts[m](Xm))
            lost = gp.kernels[m].variance - np.sum(features[-1] ** 2, axis=1)
            D += np.maximum(lost, 0.0)
            cuts[m] = slice(end, end + features[-1].shape[1])
            end = cuts[m].stop
        return cls(
            gp=gp,
            X=X,
            y=y,
            lines=lines,
            inducing=parts,
            cuts=cuts,
            Phi=np.hstack(features),
            D=D,
            tolerance=float(tolerance),
        )

    @property
    def N(self) -> int:
        """The number of observations."""
        return len(self.X)

    # ------------------------------------------------------------------ solves
    @cached_property
    def _square(self) -> MarkovProduct | None:
        if not self.lines:
            return None
        return MarkovProduct.square(*self._line_arrays())

    @cached_property
    def _preconditioner(self) -> Woodbury:
        return Woodbury.of(*self._line_arrays(), self.Phi, self.D)

    def _line_arrays(self) -> tuple[list, list]:
        kernels = self.gp.kernels
        X = [self.X[:, self.gp.groups[m]] for m in self.lines]
        return [kernels[m] for m in self.lines], X

    def apply(self, v: Float[ndarray, "N k"]) -> Float[ndarray, "N k"]:
        """Return (Σ_m K_m + diag(D)) v."""
        out = self.D[:, None] * v + self.Phi @ (self.Phi.T @ v)
        if self._square is not None:
            out += self._square.total(v)
        return out

    def solve(
        self, b: Float[ndarray, "N k"], tolerance: float | None = None
    ) -> Float[ndarray, "N k"]:
        """Return (Σ_m K_m + diag(D))⁻¹ b, to the posterior's tolerance or another."""
        goal = self.tolerance if tolerance is None else tolerance
        return solve_by_cg(self.apply, self._preconditioner, b, goal, MOST_STEPS).x

    @cached_property
    def alpha(self) -> Float[ndarray, " N"]:
        """(Σ_m K_m + diag(D))⁻¹ (y − c)."""
        with one_blas_thread():
            return self.solve((self.y - self.gp.mean)[:, None])[:, 0]

    # ------------------------------------------------------------------ moments
    def predict(self, X_new: Any) -> tuple[Float[ndarray, " n"], Float[ndarray, " n"]]:
        """Return mean and variance of the sum f at new points, noise not included.

        Means take linear time together; every variance takes a solve of its own, so
        ask for few points, or take the variance of draws.
        """
        X_new = as_matrix(X_new, self.gp.dim, "X_new")
        var = np.empty(len(X_new))
        with one_blas_thread():
            mean = np.sum(self.part_means(self._project(X_new)), axis=0)
            for start in range(0, len(X_new), COLUMNS):
                rows = slice(start, start + COLUMNS)
                cross, prior = self._cross(X_new[rows])
                # A small difference of large numbers: two digits more are solved for.
                solved = self.solve(cross, 0.01 * self.tolerance)
                var[rows] = prior - np.einsum("ij,ij->j", cross, solved)
        return self.gp.mean + mean, np.maximum(var, 0.0)

    def part_means(self, Z: Any) -> list[Float[ndarray, " B"]]:
        """Return the mean of each part at its candidates, in linear time."""
        Z = as_candidates(Z, self.gp.groups)
        return [part[:, 0] for part in self.moves(Z, self.alpha[:, None])]

    def moves(
        self, Z: list[Float[ndarray, "..."]], v: Float[ndarray, "N k"]
    ) -> list[Float[ndarray, "..."]]:
        """Return K_m(Z_m, X) v for every part, (B_m, k)."""
        kernels, X = self._line_arrays()
        found = multiply_markov(kernels, [Z[m] for m in self.lines], X, v)
        out = dict(zip(self.lines, found, strict=True))
        for m, part in self.inducing.items():
            out[m] = part(Z[m]) @ (self.Phi[:, self.cuts[m]].T @ v)
        return [out[m] for m in range(len(Z))]

    def _project(self, X: Float[ndarray, "n P"]) -> list[Float[ndarray, "..."]]:
        return [X[:, group] for group in self.gp.groups]

    def _cross(
        self, X_new: Float[ndarray, "n P"]
    ) -> tuple[Float[ndarray, "N n"], Float[ndarray, " n"]]:
        """Return the covariances with the data, and the prior variances."""
        kernels = self.gp.kernels
        cross = np.zeros((self.N, len(X_new)))
        prior = np.zeros(len(X_new))
        for m, Zm in enumerate(self._project(X_new)):
            if m in self.inducing:
                phi = self.inducing[m](Zm)
                cross += self.Phi[:, self.cuts[m]] @ phi.T
                prior += np.sum(phi**2, axis=1)
            else:
                cross += kernels[m](self.X[:, self.gp.groups[m]], Zm)
                prior += kernels[m].variance
        return cross, prior

    # ------------------------------------------------------------------ draws
    def sample(
        self,
        Z: Any,
        n: int = 1,
        how: str = "joint",
        seed: Seed = None,
        workers: int = 1,
    ) -> list[Float[ndarray, "..."]]:
        """Return n joint draws of every part at its candidates: M arrays (n, B_m).

        As ``Posterior.sample``, with ``how="joint"`` only.

        Raises:
            ArgumentError: If an argument has a value that cannot be used.
        """
        if how != "joint":
            msg = (
                f"how={how!r} needs the exact posterior. Sample with how='joint', or "
                "condition on fewer points."
            )
            raise ArgumentError(msg)
        return draw(self, Z, n, how, seed, workers)


def _require_memory(N: int, lines: int, others: int, inducing: int) -> None:
    """Check that the arrays of the solves fit the memory limit.

    Raises:
        TooLargeError: If they do not.
    """
    need = 8 * N * (PER_PART * lines + 2 * others * inducing)
    if need > LIMIT:
        msg = (
            f"an iterative posterior of N={N} points with {lines} Matérn parts of one "
            f"coordinate and {others} parts of {inducing} inducing points needs "
            f"{need / 2**30:.1f} GiB (limit {LIMIT / 2**30:.0f}). Pass fewer points, "
            "or fewer inducing points."
        )
        raise TooLargeError(msg)
