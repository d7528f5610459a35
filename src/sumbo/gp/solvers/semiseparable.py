"""Products with the kernel matrices of Markov parts, in O(N + B).

A Markov part is a Matérn part of one coordinate. There ``k(a) = e^{−a} Σ_k c_k a^k``
with a = λ|s − t|, so that

    Σ_j k(s − t_j) v_j = Σ_k c_k k! (u_k from the left + u_k from the right),

where u is the state of ``statespace`` with the weights v_j coming in at the points.
All terms of the recursion are positive: nothing overflows, cancels or needs scaling,
however long or short the length-scales are. Orthogonal parts lack a product of two
vectors, which is subtracted.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sumbo.gp.centre import Centre
from sumbo.gp.solvers.statespace import Recursion, SortedPoints, in_turns
from sumbo.kernels.group import GroupKernel
from sumbo.typing import Float, ndarray

# c_k k! by the number of states: 1; 1 + a; 1 + a + a²/3.
WEIGHTS = {1: (1.0,), 2: (1.0, 1.0), 3: (1.0, 1.0, 2.0 / 3.0)}
# Points of parts that go through one product together.
MOST_POINTS = 2**19
# Doubles that the states of one product may take; more columns go in turns.
MOST_STATES = 2**24


def multiply_markov(
    kernels: Sequence[GroupKernel],
    Z: Sequence[Float[ndarray, "..."]],
    X: Sequence[Float[ndarray, "..."]],
    v: Float[ndarray, "N k"],
) -> list[Float[ndarray, "..."]]:
    """Return K_m(Z_m, X_m) v for every part, (B_m, k), a number of parts at a time."""
    out = []
    for some in in_turns([len(Zm) + len(v) for Zm in Z], MOST_POINTS):
        product = MarkovProduct.of(list(kernels[some]), list(Z[some]), list(X[some]))
        out += product.parts(v)
    return out


@dataclass(frozen=True, eq=False)
class MarkovProduct:
    """Products with K_m(Z_m, X_m) for all parts m of a model, prepared once."""

    sequence: SortedPoints
    variances: tuple[float, ...]
    left: tuple[int, ...]
    forward: Recursion
    backward: Recursion
    r: tuple[Float[ndarray, "..."], ...] = ()

    @classmethod
    def of(
        cls,
        kernels: list[GroupKernel],
        Z: list[Float[ndarray, "..."]],
        X: list[Float[ndarray, "..."]],
    ) -> "MarkovProduct":
        """Return the product from X_m (N, 1) to Z_m (B_m, 1), for each part."""
        points = [np.vstack(pair) for pair in zip(Z, X, strict=True)]
        return cls._of(kernels, points, tuple(len(Zm) for Zm in Z))

    @classmethod
    def square(
        cls, kernels: list[GroupKernel], X: list[Float[ndarray, "..."]]
    ) -> "MarkovProduct":
        """Return the product from X_m (N, 1) to itself, for each part."""
        return cls._of(kernels, X, (0,) * len(X))

    @classmethod
    def _of(
        cls,
        kernels: list[GroupKernel],
        points: list[Float[ndarray, "..."]],
        left: tuple[int, ...],
    ) -> "MarkovProduct":
        sequence = SortedPoints.of(kernels, points)
        gaps = sequence.gaps
        back = np.append(0.0, gaps[:0:-1])
        variances = tuple(float(kernel.variance) for kernel in kernels)
        # What orthogonal parts lack is r rᵀ, with r = √(v/c) u.
        centre = Centre.of(kernels)
        r = tuple(centre.along(points)) if centre else ()
        forward, backward = Recursion.of(gaps), Recursion.of(back)
        return cls(sequence, variances, left, forward, backward, r)

    def parts(self, v: Float[ndarray, "N k"]) -> list[Float[ndarray, "..."]]:
        """Return K_m(Z_m, X_m) v for every part: arrays (B_m, k)."""
        found = [list(self._each(columns)) for columns in self._panels(v)]
        return [np.vstack(columns).T for columns in zip(*found, strict=True)]

    def total(self, v: Float[ndarray, "N k"]) -> Float[ndarray, "B k"]:
        """Return Σ_m K_m(Z_m, X_m) v, for parts with equally many points."""
        rows = []
        for columns in self._panels(v):
            each = self._each(columns)
            out = next(each)
            for part in each:
                out += part
            rows.append(out)
        return np.vstack(rows).T

    def _panels(self, v: Float[ndarray, "N k"]) -> Iterator[Float[ndarray, "j N"]]:
        width = max(1, MOST_STATES // (self.sequence.p * len(self.sequence.gaps)))
        rows = np.ascontiguousarray(v.T)
        for start in range(0, len(rows), width):
            yield rows[start : start + width]

    def _each(self, v: Float[ndarray, "k N"]) -> Iterator[Float[ndarray, "k B"]]:
        k, N = v.shape
        w = np.empty((1, k, len(self.sequence.gaps)))
        for cut, index in zip(self.sequence.cuts(), self.sequence.order, strict=True):
            all_v = np.zeros((k, len(index)))
            all_v[:, -N:] = v
            w[0][:, cut] = all_v[:, index]
        weights = WEIGHTS[self.sequence.p]
        out = self.forward.run(w, weights)
        out = out + self.backward.run(w[..., ::-1], weights)[:, ::-1]
        out -= w[0]  # a point itself came in from both sides
        for m, (cut, index, variance, B) in enumerate(
            zip(
                self.sequence.cuts(),
                self.sequence.order,
                self.variances,
                self.left,
                strict=True,
            )
        ):
            part = np.empty((k, len(index)))
            part[:, index] = variance * out[:, cut]
            if self.r:
                part -= np.outer(v @ self.r[m][-N:], self.r[m])
            yield part[:, :B] if B else part
