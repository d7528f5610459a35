"""Draws between their candidates: smooth functions through the drawn values.

A draw is made at the candidates and at the data, ``A_m = [Z_m, X_m]``. Between them its
conditional mean is a kernel expansion ``f_m(z) = k_m(z, A_m) c_m``, whose coefficients
cost one triangular solve with the factor that made the draw. It equals the draw at
the candidates, and with its gradient the best candidate can be refined locally.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sumbo.gp import Posterior
from sumbo.gp.centre import Centre
from sumbo.gp.lines import LineKernels
from sumbo.gp.solvers import Projected
from sumbo.gp.solvers.inducing import Inducing
from sumbo.kernels import GroupKernel
from sumbo.linalg import cholesky, solve_upper
from sumbo.sampling.factors import LADDER, PartFactor
from sumbo.sampling.joint import (
    draw_constant,
    moved_constant,
    sample_joint,
    update,
    update_alone,
)
from sumbo.sampling.marginal import sample_marginal_paired
from sumbo.sampling.sums import sample_sum, sample_sum_marginal
from sumbo.typing import Float, ndarray


class Expansion(ABC):
    """n draws of one part: values at its candidates, and functions through them.

    Attributes:
        values: The draws at the candidates.
        constant: The draws of the random constant that go with them, less its mean.
    """

    values: Float[ndarray, "n B"]
    constant: Float[ndarray, " n"] | None

    @property
    @abstractmethod
    def kernel(self) -> GroupKernel:
        """The kernel of the part."""

    @cached_property
    @abstractmethod
    def A(self) -> Float[ndarray, "A d"]:
        """The points at which the draws are expanded."""

    @cached_property
    @abstractmethod
    def coefficients(self) -> Float[ndarray, "A n"]:
        """The coefficients c."""

    def at(self, i: int, z: Float[ndarray, "b d"]) -> Float[ndarray, " b"]:
        """Return draw i at points of the part's coordinates."""
        return self.kernel(z, self.A) @ self.coefficients[:, i]

    def gradient(
        self, i: int, z: Float[ndarray, "b d"]
    ) -> tuple[Float[ndarray, " b"], Float[ndarray, "b d"]]:
        """Return draw i and its gradient at points of the part's coordinates."""
        k, slope = self.kernel.input_gradient(z, self.A)
        c = self.coefficients[:, i]
        return k @ c, np.einsum("bad,a->bd", slope, c)


@dataclass(frozen=True, kw_only=True, eq=False)
class FactorExpansion(Expansion):
    """Draws through the candidates and the data, from the factor that made them.

    Attributes:
        factor: The factor that made the prior draws, from the white noise ``xi``.
        xi: The white noise.
        v: The update of the draws, see ``sampling.joint``.
    """

    factor: PartFactor
    xi: Float[ndarray, "A n"]
    v: Float[ndarray, "N n"]
    values: Float[ndarray, "n B"]
    constant: Float[ndarray, " n"] | None = None

    @property
    def kernel(self) -> GroupKernel:
        """The kernel of the part."""
        return self.factor.kernel

    @cached_property
    def A(self) -> Float[ndarray, "A d"]:
        """The candidates and the data."""
        return np.concatenate([self.factor.Z, self.factor.X])

    @cached_property
    def coefficients(self) -> Float[ndarray, "A n"]:
        """The coefficients c; solved for when a draw is first evaluated elsewhere."""
        c = self.factor.coefficients(self.xi)
        c[len(self.factor.Z) :] += self.v
        return c


@dataclass(frozen=True, kw_only=True, eq=False)
class FeatureExpansion(Expansion):
    """Draws of a part that is projected on inducing points, by the weights ``w``.

    What the features lose of a part on several coordinates is drawn at the candidates,
    from the white noise ``xi``: with them, points and candidates have the factor
    [[L, 0], [R, S]]. A part on one coordinate loses next to nothing.
    """

    part: Inducing
    w: Float[ndarray, "r n"]
    Z: Float[ndarray, "C d"]
    R: Float[ndarray, "C r"]
    S: Float[ndarray, "C C"]
    xi: Float[ndarray, "C n"]
    values: Float[ndarray, "n B"]
    constant: Float[ndarray, " n"] | None = None

    @classmethod
    def of(
        cls,
        rng: np.random.Generator,
        part: Inducing,
        w: Float[ndarray, "r n"],
        Z: Float[ndarray, "B d"],
        constant: Float[ndarray, " n"],
    ) -> "FeatureExpansion":
        """Return the draws that have these weights."""
        kernel, R = part.kernel, part(Z)
        values = R @ w
        if len(kernel.lengthscales) == 1:
            Z, R, S = Z[:0], R[:0], np.empty((0, 0))
            xi = np.empty((0, w.shape[1]))
        else:
            rest = kernel(Z, Z) - R @ R.T
            S, _ = cholesky(rest, LADDER, "rest of a part", kernel.variance)
            xi = rng.standard_normal((len(Z), w.shape[1]))
            values += S @ xi
        return cls(
            part=part, w=w, Z=Z, R=R, S=S, xi=xi, values=values.T, constant=constant
        )

    @property
    def kernel(self) -> GroupKernel:
        """The kernel of the part."""
        return self.part.kernel

    @cached_property
    def A(self) -> Float[ndarray, "A d"]:
        """The inducing points and the candidates."""
        return np.concatenate([self.part.G, self.Z])

    @cached_property
    def coefficients(self) -> Float[ndarray, "A n"]:
        """The coefficients c, which are the inverse transposed factor times [w, ξ]."""
        if not len(self.Z):
            return solve_upper(self.part.L, self.w)
        c = solve_upper(self.S, self.xi)
        return np.concatenate([solve_upper(self.part.L, self.w - self.R.T @ c), c])


@dataclass(frozen=True, eq=False)
class Draw:
    """One of the draws of all parts, as functions that a search can evaluate.

    Parts on one coordinate are evaluated together, each at a row of its own.
    """

    draws: list[Expansion]
    i: int
    # A search evaluates the same parts again and again.
    _known: dict[tuple[int, ...], "_Lines"] = field(default_factory=dict)

    def value(self, m: int, z: Float[ndarray, "b d"]) -> Float[ndarray, " b"]:
        """Return part m at points of its coordinates."""
        return self.draws[m].at(self.i, z)

    def gradient(
        self, m: int, z: Float[ndarray, "b d"]
    ) -> tuple[Float[ndarray, " b"], Float[ndarray, "b d"]]:
        """Return part m and its gradient at points of its coordinates."""
        return self.draws[m].gradient(self.i, z)

    def lines(self, ms: list[int], z: Float[ndarray, "l b"]) -> Float[ndarray, "l b"]:
        """Return several parts on one coordinate."""
        lines, weights, centre, lacking = self._lines(tuple(ms))
        out = np.empty(z.shape)
        for some, k in lines.correlations(z):
            out[some] = np.einsum("lba,la->lb", k, weights[some])
        return out - centre.at(z) * lacking if centre else out

    def line_gradients(
        self, ms: list[int], z: Float[ndarray, "l b"]
    ) -> tuple[Float[ndarray, "l b"], Float[ndarray, "l b"]]:
        """Return several parts on one coordinate, and their slopes."""
        lines, weights, centre, lacking = self._lines(tuple(ms))
        value, slope = np.empty(z.shape), np.empty(z.shape)
        for some, k, s in lines.slopes(z):
            value[some] = np.einsum("lba,la->lb", k, weights[some])
            slope[some] = np.einsum("lba,la->lb", s, weights[some])
        # As in ``gp.cross``: −∂k/∂z = w (z − a)/ℓ², and slopes are w (z − a)·rate/ℓ.
        slope *= -(lines.per_unit / lines.rate**2)[:, None]
        if centre:
            value -= centre.at(z) * lacking
            slope -= centre.slopes(z) * lacking
        return value, slope

    def _lines(self, ms: tuple[int, ...]) -> "_Lines":
        """Return where parts were drawn, and the weights of their kernels there."""
        if ms in self._known:
            return self._known[ms]
        draws = [self.draws[m] for m in ms]
        most = max(len(draw.A) for draw in draws)
        x, weights = (np.zeros((len(ms), most)) for _ in range(2))
        for row, draw in enumerate(draws):
            # Parts with fewer points repeat one, with no weight.
            n = len(draw.A)
            x[row, :n], x[row, n:] = draw.A[:, 0], draw.A[0, 0]
            weights[row, :n] = draw.kernel.variance * draw.coefficients[:, self.i]
        lengths = np.array([draw.kernel.lengthscales[0] for draw in draws])
        along = LineKernels.of(draws[0].kernel.kernel, x, lengths)
        centre, lacking = Centre.of([draw.kernel for draw in draws]), np.empty((0, 1))
        if centre:
            own = weights / np.array([draw.kernel.variance for draw in draws])[:, None]
            lacking = np.einsum("la,la->l", centre.at(x), own)[:, None]
        self._known[ms] = _Lines(along, weights, centre, lacking)
        return self._known[ms]


class _Lines(NamedTuple):
    """Kernels of lines at the points of their draws, and the weights there.

    Orthogonal lines lack r(z) times ``lacking``, with r from ``centre``.
    """

    along: LineKernels
    weights: Float[ndarray, "l A"]
    centre: Centre | None
    lacking: Float[ndarray, "l 1"]


def expand_joint(
    rng: np.random.Generator, post: Posterior, factors: list[PartFactor], n: int
) -> list[Expansion]:
    """Return n exact joint draws (see ``sampling.joint``) that can be refined."""
    noises = [rng.standard_normal((len(f.Z) + post.N, n)) for f in factors]
    draws = [f.draw(xi) for f, xi in zip(factors, noises, strict=True)]
    before = draw_constant(rng, post, draws[0][1])
    jitters = [f.jitter for f in factors]
    v = update(rng, post, [f_X for _, f_X in draws], jitters, before)
    constant = moved_constant(post, before, v) - post.gp.mean
    return [
        replace(_expansion(factor, f_Z, xi, v), constant=constant)
        for factor, (f_Z, _), xi in zip(factors, draws, noises, strict=True)
    ]


def expand_projected(
    rng: np.random.Generator,
    post: Posterior,
    solver: Projected,
    Z: list[Float[ndarray, "..."]],
    n: int,
) -> list[Expansion]:
    """Return n joint draws from a projected posterior, which can be refined.

    They are draws of the weights of all features given the data, [rasmussen2006]
    Eq. (2.8), and of what the features lose at the candidates.
    """
    w = solver.draw_weights(post.alpha, rng.standard_normal((solver.Phi.shape[1], n)))
    constant = np.sqrt(post.gp.constant) * w[-1] if post.gp.constant else np.zeros(n)
    return [
        FeatureExpansion.of(rng, part, w[cut], Zm, constant)
        for part, cut, Zm in zip(solver.parts, solver.cuts, Z, strict=True)
    ]


def expand_marginal(
    rng: np.random.Generator, post: Posterior, factors: list[PartFactor], n: int
) -> list[Expansion]:
    """Return n draws like those of ``sampling.marginal``, which can be refined.

    Each part is drawn by Matheron's rule with its own simulation of all other
    parts and of the noise at the data. Each draw has the exact marginal distribution
    of its part and is independent of the other parts. The white noise of the prior
    draws is that of ``expand_joint``.
    """
    noises = [rng.standard_normal((len(f.Z) + post.N, n)) for f in factors]
    out = []
    for factor, xi in zip(factors, noises, strict=True):
        f_Z, f_X = factor.draw(xi)
        v = update_alone(rng, post, factor.kernel, factor.X, f_X)
        out.append(_expansion(factor, f_Z, xi, v))
    return out


def _expansion(
    factor: PartFactor,
    f_Z: Float[ndarray, "B n"],
    xi: Float[ndarray, "A n"],
    v: Float[ndarray, "N n"],
) -> FactorExpansion:
    values = (f_Z + factor.K_ZX @ v).T
    return FactorExpansion(factor=factor, xi=xi, v=v, values=values)


class Drawing(NamedTuple):
    """How draws of all parts are made, from a posterior.

    Attributes:
        expand: Draws that can be refined, from the factors of the parts.
        sample: Values at candidates, where no refinement follows; parts on one
            coordinate take linear time.
        total: Draws of the sum at whole points.
    """

    expand: Callable[
        [np.random.Generator, Posterior, list[PartFactor], int], list[Expansion]
    ]
    sample: Callable[..., list[Float[ndarray, "..."]]]
    total: Callable[..., Float[ndarray, "n b"]]


JOINT = Drawing(expand_joint, sample_joint, sample_sum)
MARGINAL = Drawing(expand_marginal, sample_marginal_paired, sample_sum_marginal)
