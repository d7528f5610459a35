"""The projected solver: every part seen through inducing points, for many observations.

Part m becomes φ_m(a)·w_m with r_m features, see ``solvers.inducing``. The variance that
this loses at an observation is counted as noise there: the independent conditionals of
[snelson2006]. With all features side by side,

    A = Φ Φᵀ + D,   S = I + Φᵀ D⁻¹ Φ = C Cᵀ,   w | y ~ N(S⁻¹ Φᵀ D⁻¹ (y − c), S⁻¹).

At a new point u the prior variance is the exact one, so that far from all inducing
points the model knows what it does not know:

    mean = φ(u)·E w,   variance = k(u, u) − φ(u)·φ(u) + |C⁻¹ φ(u)|².

| symbol | shape | meaning |
|---|---|---|
| X | (N, P) | observed points |
| D | (N,) | noise plus the variance that is lost at the data |
| Phi | (N, R) | features of all parts, and one of the random constant |
| S, C | (R, R) | precision of the weights, and its Cholesky factor |
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from sumbo.errors import ArgumentError, TooLargeError
from sumbo.gp.solvers.base import LIMIT, MomentPullback, PartFeatures, Pointwise
from sumbo.gp.solvers.inducing import Inducing, along_line, count_along
from sumbo.kernels import GroupKernel
from sumbo.linalg import blas, cholesky, lapack, solve_lower, solve_upper
from sumbo.typing import Float, Int, ndarray

if TYPE_CHECKING:
    from sumbo.gp.model import AdditiveGP

# Observations at which parts on several coordinates have inducing points: of the part
# on most coordinates, and for each coordinate of a smaller one.
MOST_ANCHORS = 600
ANCHORS_PER_COORDINATE = 100
# Inducing points of all parts on one coordinate together.
MOST_ON_LINES = 1200


@dataclass(frozen=True, kw_only=True, eq=False)
class Projected(Pointwise):
    """A⁻¹ and moments through R features: O(N·R²) once, then O(R²) for each point.

    Attributes:
        parts: The features of each part; ``cuts`` are their columns of ``Phi``.
        known: Known noise variances, which the noise of the model adds to.
    """

    gp: "AdditiveGP"
    X: Float[ndarray, "N P"]
    parts: tuple[Inducing, ...]
    cuts: tuple[slice, ...]
    Phi: Float[ndarray, "N R"]
    D: Float[ndarray, " N"]
    S: Float[ndarray, "R R"]
    C: Float[ndarray, "R R"]
    jitter: float = 0.0
    known: Float[ndarray, " N"] | None = None
    # E w of the last α: a search evaluates the same mean again and again.
    _last: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        gp: Any,
        X: Float[ndarray, "N P"],
        *,
        known: Float[ndarray, " N"] | None = None,
        anchors: Int[ndarray, " a"] | None = None,
    ) -> "Projected":
        """Return the solver of ``gp`` for checked points, in O(N·R²).

        Args:
            gp: The model; its noise is positive.
            X: Observed points.
            known: Known noise variances, which the noise of the model adds to.
            anchors: Numbers of the observations at which parts on several coordinates
                have inducing points, the most important ones first; None for evenly
                spaced ones.

        Raises:
            ArgumentError: If the noise is zero.
        """
        if gp.noise == 0:
            msg = "noise=0 has no projected posterior. Pass a small noise, like 1e-6."
            raise ArgumentError(msg)
        parts = _parts(gp, X, _evenly_spaced(len(X)) if anchors is None else anchors)
        ends = np.cumsum([0, *(len(part.G) for part in parts)]).tolist()
        cuts = tuple(slice(a, b) for a, b in pairwise(ends))
        _require_memory(len(X), ends[-1])
        Phi = _features(gp, parts, cuts, X)
        D = _lost(gp, parts, cuts, X, Phi) + gp.noise
        if known is not None:
            D += known
        B = np.asfortranarray(Phi / np.sqrt(D)[:, None])
        S = blas.dsyrk(1.0, B, trans=1, lower=1)
        np.fill_diagonal(S, S.diagonal() + 1.0)
        return cls(
            gp=gp,
            X=X,
            parts=parts,
            cuts=cuts,
            Phi=Phi,
            D=D,
            S=S,
            C=cholesky(S, what="precision of the features").L,
            known=known,
        )

    def append(
        self, X_new: Float[ndarray, "k P"], known: Float[ndarray, " k"] | None = None
    ) -> "Projected":
        """Return the solver with further points, in O(R³): inducing points stay."""
        gp = self.gp
        phi = _features(gp, self.parts, self.cuts, X_new)
        D = _lost(gp, self.parts, self.cuts, X_new, phi) + gp.noise
        if known is not None:
            D += known
        if known is not None or self.known is not None:
            old = np.zeros(len(self.X)) if self.known is None else self.known
            new = np.zeros(len(X_new)) if known is None else known
            known = np.concatenate([old, new])
        B = np.asfortranarray(phi / np.sqrt(D)[:, None])
        S = blas.dsyrk(1.0, B, beta=1.0, c=self.S, trans=1, lower=1)
        return replace(
            self,
            X=np.vstack([self.X, X_new]),
            Phi=np.vstack([self.Phi, phi]),
            D=np.concatenate([self.D, D]),
            S=S,
            C=cholesky(S, what="precision of the features").L,
            known=known,
            _last={},
        )

    @property
    def noise(self) -> Float[ndarray, " N"]:
        """The noise of the model, what is known, and what inducing points lose."""
        return self.D

    @property
    def features(self) -> Mapping[int, PartFeatures]:
        """The features of all parts."""
        return {
            m: PartFeatures(part, self.Phi[:, cut])
            for m, (part, cut) in enumerate(zip(self.parts, self.cuts, strict=True))
        }

    # ------------------------------------------------------------------ solves
    def solve(self, b: Float[ndarray, "N *k"]) -> Float[ndarray, "N *k"]:
        """Return A⁻¹ b by Woodbury's identity."""
        D = self.D if b.ndim == 1 else self.D[:, None]
        inside = solve_lower(self.C, self.Phi.T @ (b / D))
        return (b - self.Phi @ solve_upper(self.C, inside)) / D

    def products(
        self,
        parts: Sequence[int],
        Z: Sequence[Float[ndarray, "..."]],
        v: Float[ndarray, "N k"],
    ) -> list[Float[ndarray, "..."]]:
        """Return K_m(Z_i, X) v for the i-th of some parts, arrays (B_i, k)."""
        return [
            self.parts[m](Zi) @ (self.Phi[:, self.cuts[m]].T @ v)
            for m, Zi in zip(parts, Z, strict=True)
        ]

    def weights(self, alpha: Float[ndarray, " N"]) -> Float[ndarray, " R"]:
        """Return E w, which is Φᵀ α."""
        if self._last.get("alpha") is not alpha:
            self._last.update(alpha=alpha, weights=self.Phi.T @ alpha)
        return self._last["weights"]

    def draw_weights(
        self, alpha: Float[ndarray, " N"], xi: Float[ndarray, "R n"]
    ) -> Float[ndarray, "R n"]:
        """Return draws of w given the data, from white noise."""
        return self.weights(alpha)[:, None] + solve_upper(self.C, xi)

    # ------------------------------------------------------------------ the sum
    def sum_mean(
        self, U: Float[ndarray, "b P"], alpha: Float[ndarray, " N"]
    ) -> Float[ndarray, " b"]:
        """Return the mean of Σ_m f_m at points."""
        return _features(self.gp, self.parts, self.cuts, U) @ self.weights(alpha)

    def sum_moments(
        self, U: Float[ndarray, "b P"], alpha: Float[ndarray, " N"]
    ) -> tuple[Float[ndarray, " b"], Float[ndarray, " b"]]:
        """Return mean and variance of Σ_m f_m."""
        phi = _features(self.gp, self.parts, self.cuts, U)
        V = solve_lower(self.C, phi.T)
        var = _prior(self.gp, U) - np.einsum("br,br->b", phi, phi)
        var += np.einsum("rb,rb->b", V, V)
        return phi @ self.weights(alpha), np.maximum(var, 0.0)

    def sum_moments_pullback(
        self, U: Float[ndarray, "b P"], alpha: Float[ndarray, " N"]
    ) -> tuple[Float[ndarray, " b"], Float[ndarray, " b"], MomentPullback]:
        """Return ``sum_moments``, and what gives gradients of functions of the two."""
        phi = np.empty((len(U), self.Phi.shape[1]))
        slopes = []
        for part, cut, group in self._each():
            k, slope = part.kernel.input_gradient(U[:, group], part.G)
            phi[:, cut] = solve_lower(part.L, k.T).T
            slopes.append(slope)
        phi[:, self.cuts[-1].stop :] = np.sqrt(self.gp.constant)
        V = solve_lower(self.C, phi.T)
        weights = self.weights(alpha)
        var = _prior(self.gp, U) - np.einsum("br,br->b", phi, phi)
        var += np.einsum("rb,rb->b", V, V)
        left = solve_upper(self.C, V).T - phi  # half of ∂var/∂φ
        pull = partial(self._pull, U, slopes, weights, left)
        return phi @ weights, np.maximum(var, 0.0), pull

    def _pull(
        self,
        U: Float[ndarray, "b P"],
        slopes: Sequence[Float[ndarray, "..."]],
        weights: Float[ndarray, " R"],
        left: Float[ndarray, "b R"],
        by_mean: Float[ndarray, " b"],
        by_var: Float[ndarray, " b"],
    ) -> Float[ndarray, "b P"]:
        by_phi = by_mean[:, None] * weights + 2.0 * by_var[:, None] * left
        out = np.zeros(U.shape)
        for (part, cut, group), slope in zip(self._each(), slopes, strict=True):
            by_k = solve_upper(part.L, by_phi[:, cut].T)
            change = np.einsum("brd,rb->bd", slope, by_k)
            change += by_var[:, None] * part.kernel.diagonal_gradient(U[:, group])
            out[:, group] += change
        return out

    # ------------------------------------------------------------------ the parts
    def part_moments(
        self, m: int, Zm: Float[ndarray, "B d"], alpha: Float[ndarray, " N"]
    ) -> tuple[Float[ndarray, " B"], Float[ndarray, " B"]]:
        """Return mean and variance of part m at points of its own coordinates."""
        part, cut = self.parts[m], self.cuts[m]
        phi = part(Zm)
        W = self._inverse[cut.start :, cut]
        V = phi @ W.T
        var = part.kernel.diagonal(Zm) - np.einsum("br,br->b", phi, phi)
        var += np.einsum("br,br->b", V, V)
        return phi @ self.weights(alpha)[cut], np.maximum(var, 0.0)

    def line_moments(
        self, Z: Float[ndarray, "B P"], alpha: Float[ndarray, " N"]
    ) -> tuple[Float[ndarray, "B L"], Float[ndarray, "B L"]]:
        """Return mean and variance of each part on one coordinate."""
        lines = [m for m, group in enumerate(self.gp.groups) if len(group) == 1]
        mean, var = (np.empty((len(Z), len(lines))) for _ in range(2))
        for i, m in enumerate(lines):
            Zm = Z[:, list(self.gp.groups[m])]
            mean[:, i], var[:, i] = self.part_moments(m, Zm, alpha)
        return mean, var

    @cached_property
    def _inverse(self) -> Float[ndarray, "R R"]:
        """C⁻¹, of which the columns of a part are read."""
        inverse, _ = lapack.dtrtri(self.C, lower=1)
        return np.tril(inverse)

    def _each(self) -> list[tuple[Inducing, slice, list[int]]]:
        groups = [list(group) for group in self.gp.groups]
        return list(zip(self.parts, self.cuts, groups, strict=True))


def _parts(
    gp: "AdditiveGP", X: Float[ndarray, "N P"], anchors: Int[ndarray, " a"]
) -> tuple[Inducing, ...]:
    """Return the features of each part."""
    counts = count_along([k for k in gp.kernels if _is_line(k)], MOST_ON_LINES)
    left = iter(counts)
    out = []
    for kernel, group in zip(gp.kernels, gp.groups, strict=True):
        Xm = X[:, group]
        if _is_line(kernel):
            G = along_line(Xm[:, 0], Xm[anchors, 0], next(left))
        else:
            whole = len(group) == gp.dim or len(group) * ANCHORS_PER_COORDINATE > (
                MOST_ANCHORS
            )
            most = MOST_ANCHORS if whole else ANCHORS_PER_COORDINATE * len(group)
            G = np.unique(Xm[anchors[:most]], axis=0)
        out.append(Inducing.at(kernel, G))
    return tuple(out)


def _is_line(kernel: GroupKernel) -> bool:
    return len(kernel.lengthscales) == 1


def _evenly_spaced(N: int) -> Int[ndarray, " a"]:
    return np.unique(np.linspace(0, N - 1, min(N, MOST_ANCHORS)).round().astype(int))


def _features(
    gp: "AdditiveGP",
    parts: Sequence[Inducing],
    cuts: Sequence[slice],
    U: Float[ndarray, "b P"],
) -> Float[ndarray, "b R"]:
    """Return the features of all parts at points, and that of the constant."""
    R = cuts[-1].stop + (gp.constant > 0)
    phi = np.empty((len(U), R))
    for part, cut, group in zip(parts, cuts, gp.groups, strict=True):
        phi[:, cut] = part(U[:, list(group)])
    phi[:, cuts[-1].stop :] = np.sqrt(gp.constant)
    return phi


def _lost(
    gp: "AdditiveGP",
    parts: Sequence[Inducing],
    cuts: Sequence[slice],
    U: Float[ndarray, "b P"],
    phi: Float[ndarray, "b R"],
) -> Float[ndarray, " b"]:
    """Return the variance that the features of all parts lose at points."""
    lost = np.zeros(len(U))
    for part, cut, group in zip(parts, cuts, gp.groups, strict=True):
        kept = np.einsum("br,br->b", phi[:, cut], phi[:, cut])
        lost += np.maximum(part.kernel.diagonal(U[:, list(group)]) - kept, 0.0)
    return lost


def _prior(gp: "AdditiveGP", U: Float[ndarray, "b P"]) -> Float[ndarray, " b"]:
    """Return the prior variance of the sum, that of the constant included."""
    out = np.full(len(U), gp.constant)
    for kernel, group in zip(gp.kernels, gp.groups, strict=True):
        out += kernel.diagonal(U[:, list(group)])
    return out


def _require_memory(N: int, R: int) -> None:
    """Check that the arrays fit the memory limit.

    Raises:
        TooLargeError: If they do not.
    """
    need = 8 * (2 * N * R + 4 * R**2)
    if need > LIMIT:
        msg = (
            f"a projected posterior of N={N} points with {R} features needs "
            f"{need / 2**30:.1f} GiB (limit {LIMIT / 2**30:.0f}). Pass fewer points, "
            "or condition with how='iterative'."
        )
        raise TooLargeError(msg)
