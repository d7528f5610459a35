"""The additive lower confidence bound, averaged over models, as a sum of parts.

    Σ_s w_s Σ_m μ_sm(x_m) − β σ_sm(x_m)

is a sum over the groups of all models s, each with a probability w_s. It is searched
like any other sum of parts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sumbo.gp import Posterior
from sumbo.typing import Float, Groups, ndarray

# Variances below this are rounding.
SMALLEST_VARIANCE = 1e-12


class Term(NamedTuple):
    """Part m of a model; ``line`` is its number among those on one coordinate.

    Other parts have none: −1.
    """

    model: int
    m: int
    line: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Bound:
    """The bound's parts as functions; they are numbered model after model."""

    models: Sequence[tuple[float, Posterior]]
    beta: float

    @cached_property
    def terms(self) -> list[Term]:
        """Return the parts of all models."""
        out = []
        for s, (_, post) in enumerate(self.models):
            line = 0
            for m, group in enumerate(post.gp.groups):
                alone = len(group) == 1
                out.append(Term(s, m, line if alone else -1))
                line += alone
        return out

    @property
    def groups(self) -> Groups:
        """Return the coordinates of all parts."""
        return tuple(self.models[t.model][1].gp.groups[t.m] for t in self.terms)

    def value(self, i: int, z: Float[ndarray, "b d"]) -> Float[ndarray, " b"]:
        """Return part i at points of its coordinates."""
        s, m, _ = self.terms[i]
        weight, post = self.models[s]
        mean, var = post.part_moments(m, z)
        return weight * (mean - self.beta * _sd(var))

    def gradient(
        self, i: int, z: Float[ndarray, "b d"]
    ) -> tuple[Float[ndarray, " b"], Float[ndarray, "b d"]]:
        """Return part i and its gradient at points of its coordinates."""
        s, m, _ = self.terms[i]
        weight, post = self.models[s]
        mean, var, mean_slope, var_slope = post.part_moments_gradient(m, z)
        sd = _sd(var)
        slope = mean_slope - self.beta * var_slope / (2 * sd[:, None])
        return weight * (mean - self.beta * sd), weight * slope

    def lines(self, ns: list[int], z: Float[ndarray, "l b"]) -> Float[ndarray, "l b"]:
        """Return several parts on one coordinate, evaluated together."""
        out = np.empty(z.shape)
        for weight, post, rows, own, Z in self._by_model(ns, z):
            mean, var = post.line_moments(Z)
            out[rows] = weight * (mean - self.beta * _sd(var)).T[own]
        return out

    def line_gradients(
        self, ns: list[int], z: Float[ndarray, "l b"]
    ) -> tuple[Float[ndarray, "l b"], Float[ndarray, "l b"]]:
        """Return several parts on one coordinate, and their slopes."""
        out, slopes = np.empty(z.shape), np.empty(z.shape)
        for weight, post, rows, own, Z in self._by_model(ns, z):
            mean, var, mean_slope, var_slope = post.line_moments_gradient(Z)
            sd = _sd(var)
            slope = mean_slope - self.beta * var_slope / (2 * sd)
            out[rows] = weight * (mean - self.beta * sd).T[own]
            slopes[rows] = weight * slope.T[own]
        return out, slopes

    def _by_model(
        self, ns: list[int], z: Float[ndarray, "l b"]
    ) -> Iterator[tuple[float, Posterior, list[int], list[int], ndarray]]:
        """Yield each model with its rows of z, their lines, and points through both.

        Parts of one model on one coordinate must have equal rows.
        """
        for s, (weight, post) in enumerate(self.models):
            rows = [row for row, i in enumerate(ns) if self.terms[i].model == s]
            if not rows:
                continue
            own = [self.terms[ns[row]].line for row in rows]
            Z = np.zeros((z.shape[1], post.gp.dim))
            Z[:, post.cross.lines[own]] = z[rows].T
            yield weight, post, rows, own, Z


def _sd(var: Float[ndarray, "*b"]) -> Float[ndarray, "*b"]:
    return np.sqrt(np.maximum(var, SMALLEST_VARIANCE))
