"""The iterative solver: conjugate gradients, without an N × N matrix.

Matérn parts of one coordinate multiply in linear time and are exact; any other part is
replaced by its projection on inducing points, and the variance it loses at the data is
counted as noise there. All solves are by preconditioned conjugate gradients.

| symbol | shape | meaning |
|---|---|---|
| X | (N, P) | observed points |
| D | (N,) | τ² plus the variance that inducing points lose at the data |
| Phi | (N, R) | features of all parts that have inducing points |
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sumbo.errors import ArgumentError, TooLargeError
from sumbo.gp.solvers.base import LIMIT, PartFeatures, Solver
from sumbo.gp.solvers.conjugate import Woodbury, solve_by_cg
from sumbo.gp.solvers.inducing import Inducing
from sumbo.gp.solvers.semiseparable import MarkovProduct, multiply_markov
from sumbo.gp.solvers.statespace import is_markov
from sumbo.kernels import GroupKernel
from sumbo.linalg import one_blas_thread
from sumbo.rng import rng_at
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
class Iterative(Solver):
    """A⁻¹ by conjugate gradients, in nearly linear time, for 100 000 points and more.

    ``markov`` are the parts that are Markov processes; ``inducing`` holds the features
    of the others, and ``cuts`` their columns of ``Phi``.
    """

    gp: "AdditiveGP"
    X: Float[ndarray, "N P"]
    markov: tuple[int, ...]
    inducing: Mapping[int, Inducing]
    cuts: Mapping[int, slice]
    Phi: Float[ndarray, "N R"]
    D: Float[ndarray, " N"]
    tolerance: float
    jitter: float = 0.0

    @classmethod
    def of(
        cls,
        gp: Any,
        X: Float[ndarray, "N P"],
        *,
        known: Float[ndarray, " N"] | None = None,
        inducing: int = 256,
        tolerance: float = 1e-6,
        seed: int = 0,
    ) -> "Iterative":
        """Return the solver of ``gp`` for checked points, in O(N·M) per step.

        Args:
            gp: The model; its noise is positive.
            X: Observed points.
            known: Known noise variances, which the noise of the model adds to.
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
        markov = tuple(m for m, kernel in enumerate(gp.kernels) if is_markov(kernel))
        others = [m for m in range(len(gp.kernels)) if m not in set(markov)]
        _require_memory(len(X), len(markov), len(others), inducing)
        rng = rng_at(seed, "inducing points")
        parts, cuts, features = {}, {}, [np.empty((len(X), 0))]
        D, end = np.full(len(X), float(gp.noise)), 0
        if known is not None:
            D += known
        for m in others:
            Xm = X[:, gp.groups[m]]
            parts[m] = Inducing.of(rng, gp.kernels[m], Xm, int(inducing))
            features.append(parts[m](Xm))
            lost = gp.kernels[m].diagonal(Xm) - np.sum(features[-1] ** 2, axis=1)
            D += np.maximum(lost, 0.0)
            cuts[m] = slice(end, end + features[-1].shape[1])
            end = cuts[m].stop
        return cls(
            gp=gp,
            X=X,
            markov=markov,
            inducing=parts,
            cuts=cuts,
            Phi=np.hstack(features),
            D=D,
            tolerance=float(tolerance),
        )

    @property
    def noise(self) -> Float[ndarray, " N"]:
        """The noise of the model, and what inducing points lose."""
        return self.D

    @property
    def features(self) -> Mapping[int, PartFeatures]:
        """The features of the parts that have inducing points."""
        return {
            m: PartFeatures(part, self.Phi[:, self.cuts[m]])
            for m, part in self.inducing.items()
        }

    # ------------------------------------------------------------------ solves
    @cached_property
    def _square(self) -> MarkovProduct | None:
        if not self.markov:
            return None
        return MarkovProduct.square(*self._markov_parts(self.markov))

    @cached_property
    def preconditioner(self) -> Woodbury:
        """An approximation of A⁻¹."""
        constant = np.full((len(self.X), 1), np.sqrt(self.gp.constant))
        Phi = np.hstack([self.Phi, constant]) if self.gp.constant else self.Phi
        return Woodbury.of(*self._markov_parts(self.markov), Phi, self.D)

    def _markov_parts(
        self, parts: Sequence[int]
    ) -> tuple[list[GroupKernel], list[Float[ndarray, "..."]]]:
        X = [self.X[:, self.gp.groups[m]] for m in parts]
        return [self.gp.kernels[m] for m in parts], X

    def apply(self, v: Float[ndarray, "N k"]) -> Float[ndarray, "N k"]:
        """Return A v = (Σ_m K_m + diag(D)) v."""
        out = self.D[:, None] * v + self.Phi @ (self.Phi.T @ v)
        if self._square is not None:
            out += self._square.total(v)
        if self.gp.constant:
            out += self.gp.constant * v.sum(axis=0)
        return out

    def solve(
        self, b: Float[ndarray, "N *k"], tolerance: float | None = None
    ) -> Float[ndarray, "N *k"]:
        """Return A⁻¹ b, to the solver's tolerance or another."""
        goal = self.tolerance if tolerance is None else tolerance
        columns = b[:, None] if b.ndim == 1 else b
        with one_blas_thread():
            found = solve_by_cg(
                self.apply, self.preconditioner, columns, goal, MOST_STEPS
            )
        return found.x.reshape(b.shape)

    def products(
        self,
        parts: Sequence[int],
        Z: Sequence[Float[ndarray, "..."]],
        v: Float[ndarray, "N k"],
    ) -> list[Float[ndarray, "..."]]:
        """Return K_m(Z_i, X) v for the i-th of some parts, in linear time."""
        places = dict(zip(parts, Z, strict=True))
        markov = [m for m in parts if m not in self.inducing]
        kernels, X = self._markov_parts(markov)
        found = multiply_markov(kernels, [places[m] for m in markov], X, v)
        out = dict(zip(markov, found, strict=True))
        for m in places.keys() - out.keys():
            out[m] = self.inducing[m](places[m]) @ (self.Phi[:, self.cuts[m]].T @ v)
        return [out[m] for m in parts]

    # ------------------------------------------------------------------ the sum
    def sum_mean(
        self, U: Float[ndarray, "b P"], alpha: Float[ndarray, " N"]
    ) -> Float[ndarray, " b"]:
        """Return the mean of Σ_m f_m at points, in linear time."""
        if len(U) == 0:
            return np.empty(0)
        groups = self.gp.groups
        Z = [U[:, group] for group in groups]
        with one_blas_thread():
            means = self.products(range(len(groups)), Z, alpha[:, None])
        out = np.sum(means, axis=0)[:, 0]
        return out + self.gp.constant * alpha.sum() if self.gp.constant else out

    def sum_moments(
        self, U: Float[ndarray, "b P"], alpha: Float[ndarray, " N"]
    ) -> tuple[Float[ndarray, " b"], Float[ndarray, " b"]]:
        """Return mean and variance of Σ_m f_m; every variance takes a solve."""
        var = np.empty(len(U))
        with one_blas_thread():
            for start in range(0, len(U), COLUMNS):
                rows = slice(start, start + COLUMNS)
                cross, prior = self._cross(U[rows])
                # A small difference of large numbers: two digits more are solved for.
                solved = self.solve(cross, 0.01 * self.tolerance)
                var[rows] = prior - np.einsum("ij,ij->j", cross, solved)
        return self.sum_mean(U, alpha), np.maximum(var, 0.0)

    def _cross(
        self, U: Float[ndarray, "b P"]
    ) -> tuple[Float[ndarray, "N b"], Float[ndarray, " b"]]:
        """Return the covariances with the data, and the prior variances."""
        kernels = self.gp.kernels
        cross = np.full((len(self.X), len(U)), self.gp.constant)
        prior = np.full(len(U), self.gp.constant)
        for m, group in enumerate(self.gp.groups):
            Zm = U[:, group]
            if m in self.inducing:
                phi = self.inducing[m](Zm)
                cross += self.Phi[:, self.cuts[m]] @ phi.T
                prior += np.sum(phi**2, axis=1)
            else:
                cross += kernels[m](self.X[:, group], Zm)
                prior += kernels[m].diagonal(Zm)
        return cross, prior


def _require_memory(N: int, markov: int, others: int, inducing: int) -> None:
    """Check that the arrays of the solves fit the memory limit.

    Raises:
        TooLargeError: If they do not.
    """
    need = 8 * N * (PER_PART * markov + 2 * others * inducing)
    if need > LIMIT:
        msg = (
            f"an iterative posterior of N={N} points with {markov} Matérn parts of one "
            f"coordinate and {others} parts of {inducing} inducing points needs "
            f"{need / 2**30:.1f} GiB (limit {LIMIT / 2**30:.0f}). Pass fewer points, "
            "or fewer inducing points."
        )
        raise TooLargeError(msg)
