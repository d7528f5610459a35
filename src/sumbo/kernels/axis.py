"""The kernel of one parameter without its average: k̃(a, b) = k(a, b) − u(a) u(b)/c.

With μ the distribution of the parameter, u(a) = ∫ k(a, t) dμ(t) and c = ∫ u dμ. A
function drawn with k̃ has the integral 0 over μ: k̃ is the covariance of f less its
regression on ∫ f dμ, and of f given ∫ f dμ = 0; [lu2022] Sec. 3.2.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sumbo.kernels.base import Kernel
from sumbo.kernels.group import squared_distances
from sumbo.kernels.integrals import Primitives, primitives_of
from sumbo.space.measure import Measure
from sumbo.typing import Float, ndarray

# Nodes of the rule for kernels whose integrals are not known in closed form. Their
# functions are orthogonal with respect to this rule.
NODES = 64


@dataclass(frozen=True, kw_only=True, eq=False)
class CentredAxis:
    """k̃ of one parameter, with variance 1; points are rows of its coordinates.

    Attributes:
        kernel: The kernel k.
        lengthscales: One per coordinate of the parameter.
        measure: The distribution of the parameter.
    """

    kernel: Kernel
    lengthscales: Float[ndarray, " d"]
    measure: Measure

    @cached_property
    def atoms(self) -> Float[ndarray, "G d"] | None:
        """Where integrals are sums; None where they have a closed form."""
        return None if self._closed else self._rule[0]

    @property
    def rule_weights(self) -> Float[ndarray, " G"]:
        """The weights of the ``atoms``."""
        return self._rule[1]

    @cached_property
    def _closed(self) -> Primitives | None:
        """The closed form of integrals, if they have one."""
        return None if self.measure.atoms is not None else primitives_of(self.kernel)

    @cached_property
    def _rule(self) -> tuple[Float[ndarray, "G d"], Float[ndarray, " G"]]:
        """Places and weights of the sums that stand for integrals."""
        if self.measure.atoms is not None:
            return self.measure.atoms, self.measure.weights
        nodes, weights = np.polynomial.legendre.leggauss(NODES)
        low, high = self.measure.low, self.measure.high
        return (low + (high - low) * 0.5 * (nodes + 1.0))[:, None], 0.5 * weights

    @property
    def _scale(self) -> float:
        """The length-scale in units of the interval."""
        return float(self.lengthscales[0]) / (self.measure.high - self.measure.low)

    def _ends(
        self, A: Float[ndarray, "n d"]
    ) -> tuple[Float[ndarray, " n"], Float[ndarray, " n"]]:
        """Return the distances from both ends, in units of the length-scale."""
        x, l = A[:, 0], self.lengthscales[0]
        return (x - self.measure.low) / l, (self.measure.high - x) / l

    def _k(self, a: Float[ndarray, " n"]) -> Float[ndarray, " n"]:
        return self.kernel.correlation(a * a)

    # ------------------------------------------------------------------ u and c
    @cached_property
    def c(self) -> float:
        """∬ k dμ dμ."""
        if self._closed:
            l = self._scale
            return float(2.0 * l**2 * self._closed.H(np.array([1.0 / l]))[0])
        nodes, weights = self._rule
        return float(weights @ self.u(nodes))

    def u(self, A: Float[ndarray, "n d"]) -> Float[ndarray, " n"]:
        """Return ∫ k(a, t) dμ(t) for each row a."""
        if self._closed:
            ends = np.stack(self._ends(A))
            both = np.sign(ends) * self._closed.F(np.abs(ends))
            return self._scale * both.sum(axis=0)
        nodes, weights = self._rule
        return self.plain(A, nodes) @ weights

    def u_gradient(self, A: Float[ndarray, "n d"]) -> Float[ndarray, "n d"]:
        """Return the gradient of u at each row."""
        if self._closed:
            left, right = self._ends(A)
            span = self.measure.high - self.measure.low
            return ((self._k(left) - self._k(right)) / span)[:, None]
        nodes, weights = self._rule
        return np.einsum("ngd,g->nd", self._plain_gradient(A, nodes)[1], weights)

    def u_slopes(self, A: Float[ndarray, "n d"]) -> Float[ndarray, "d n"]:
        """Return ∂u/∂log ℓ_j at each row, for each length-scale."""
        if self._closed:
            left, right = self._ends(A)
            moved = left * self._k(left) + right * self._k(right)
            return (self.u(A) - self._scale * moved)[None]
        nodes, weights = self._rule
        return np.stack([slope @ weights for slope in self._plain_slopes(A, nodes)])

    @cached_property
    def c_slopes(self) -> Float[ndarray, " d"]:
        """∂c/∂log ℓ_j."""
        if self._closed:
            l = self._scale
            reach = float(self._closed.F(np.array([1.0 / l]))[0])
            return np.array([2.0 * self.c - 2.0 * l * reach])
        nodes, weights = self._rule
        return self.u_slopes(nodes) @ weights

    # ------------------------------------------------------------------ k̃
    def __call__(
        self, A: Float[ndarray, "n d"], B: Float[ndarray, "m d"]
    ) -> Float[ndarray, "n m"]:
        """Return k̃ between two sets of points."""
        out = self.plain(A, B)
        out -= np.outer(self.u(A) / self.c, self.u(B))
        return out

    def diagonal(self, A: Float[ndarray, "n d"]) -> Float[ndarray, " n"]:
        """Return k̃(a, a) for each row."""
        return np.maximum(1.0 - self.u(A) ** 2 / self.c, 0.0)

    def diagonal_gradient(self, A: Float[ndarray, "n d"]) -> Float[ndarray, "n d"]:
        """Return the gradient of k̃(a, a) in a."""
        return (-2.0 / self.c) * self.u(A)[:, None] * self.u_gradient(A)

    def input_gradient(
        self, A: Float[ndarray, "n d"], B: Float[ndarray, "m d"]
    ) -> tuple[Float[ndarray, "n m"], Float[ndarray, "n m d"]]:
        """Return k̃ and its gradient in the points of ``A``."""
        k, gradient = self._plain_gradient(A, B)
        u = self.u(B) / self.c
        k -= np.outer(self.u(A), u)
        gradient -= self.u_gradient(A)[:, None, :] * u[None, :, None]
        return k, gradient

    def length_slopes(
        self, A: Float[ndarray, "n d"]
    ) -> tuple[Float[ndarray, "n n"], list[Float[ndarray, "n n"]]]:
        """Return k̃ of all pairs and its derivatives in the logarithms of ℓ_j."""
        k, slopes = self.plain(A, A), self._plain_slopes(A, A)
        u, c = self.u(A), self.c
        k -= np.outer(u, u / c)
        for slope, du, dc in zip(slopes, self.u_slopes(A), self.c_slopes, strict=True):
            half = np.outer(du - u * (0.5 * dc / c), u / c)
            np.subtract(slope, half + half.T, out=slope)
        return k, slopes

    # ------------------------------------------------------------------ k
    def plain(
        self, A: Float[ndarray, "n d"], B: Float[ndarray, "m d"]
    ) -> Float[ndarray, "n m"]:
        """Return k between two sets of points."""
        return self.kernel.correlation(squared_distances(A, B, self.lengthscales))

    def _plain_gradient(
        self, A: Float[ndarray, "n d"], B: Float[ndarray, "m d"]
    ) -> tuple[Float[ndarray, "n m"], Float[ndarray, "n m d"]]:
        s = squared_distances(A, B, self.lengthscales)
        k, w = self.kernel.correlation_and_weight(s)
        scaled = (A[:, None, :] - B[None, :, :]) / self.lengthscales**2
        return np.array(k), -w[:, :, None] * scaled

    def _plain_slopes(
        self, A: Float[ndarray, "n d"], B: Float[ndarray, "m d"]
    ) -> list[Float[ndarray, "n m"]]:
        s = squared_distances(A, B, self.lengthscales)
        _, w = self.kernel.correlation_and_weight(s)
        scaled = [
            (A[:, j, None] - B[None, :, j]) / l for j, l in enumerate(self.lengthscales)
        ]
        return [w * d**2 for d in scaled]
