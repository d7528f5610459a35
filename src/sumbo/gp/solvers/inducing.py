"""A part seen through r of its points: k(a, b) ≈ φ(a)·φ(b), φ(a) = L_G⁻¹ k(G, a).

This is the projection of the part on the span of k(·, g_1), …, k(·, g_r), where
L_G L_Gᵀ = K(G, G); the subset of regressors of [rasmussen2006] Sec. 8.3.1. What is
lost at a point is the variance k(a, a) − |φ(a)|².
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sumbo.gp.solvers.statespace import states_of
from sumbo.kernels.group import GroupKernel
from sumbo.linalg import cholesky, solve_lower
from sumbo.typing import Float, ndarray

# Inducing points per length-scale along a coordinate, by the number of states (0 for a
# smooth kernel). With 12 a Matérn-5/2 part loses 1e-6 of its variance between two of
# them, a Matérn-3/2 part with 24 loses 2e-5.
PER_LENGTHSCALE = {0: 8, 1: 40, 2: 24, 3: 12}
FEWEST_ON_LINE, MOST_ON_LINE = 12, 64


@dataclass(frozen=True, eq=False)
class Inducing:
    """The features of one part by its inducing points ``G``."""

    kernel: GroupKernel
    G: Float[ndarray, "r d"]
    L: Float[ndarray, "r r"]

    @classmethod
    def of(
        cls,
        rng: np.random.Generator,
        kernel: GroupKernel,
        X: Float[ndarray, "N d"],
        count: int,
    ) -> "Inducing":
        """Return features by at most ``count`` distinct points of ``X``, at random."""
        G = np.unique(X, axis=0)
        if len(G) > count:
            G = G[np.sort(rng.choice(len(G), size=count, replace=False))]
        return cls.at(kernel, G)

    @classmethod
    def at(cls, kernel: GroupKernel, G: Float[ndarray, "r d"]) -> "Inducing":
        """Return features by these points."""
        L, _ = cholesky(kernel(G, G), what="covariance of the inducing points")
        return cls(kernel, G, L)

    def __call__(self, A: Float[ndarray, "n d"]) -> Float[ndarray, "n r"]:
        """Return the features of each point."""
        return solve_lower(self.L, self.kernel(self.G, A)).T


def count_along(kernels: Sequence[GroupKernel], most: int) -> list[int]:
    """Return how many inducing points parts on one coordinate have, ``most`` in all."""
    wanted = np.array(
        [PER_LENGTHSCALE[states_of(k.kernel)] / k.lengthscales[0] for k in kernels]
    )
    wanted = np.clip(np.ceil(wanted), FEWEST_ON_LINE, MOST_ON_LINE)
    if wanted.sum() > most:
        wanted = np.maximum(np.floor(wanted * most / wanted.sum()), 4.0)
    return wanted.astype(int).tolist()


def along_line(
    x: Float[ndarray, " N"], anchors: Float[ndarray, " a"], count: int
) -> Float[ndarray, "r 1"]:
    """Return inducing points along a coordinate.

    Half of them are evenly spaced, the others are quantiles of the anchors, which are
    dense where it matters. Where the data have few values, these are the points.
    """
    levels = np.unique(x)
    if len(levels) <= count:
        return levels[:, None]
    even = np.linspace(levels[0], levels[-1], count - count // 2)
    dense = np.quantile(anchors, (np.arange(count // 2) + 0.5) / max(count // 2, 1))
    G = np.unique(np.concatenate([even, dense]))
    # Points that nearly coincide add nothing but rounding.
    apart = np.concatenate([[True], np.diff(G) > 1e-4 * (levels[-1] - levels[0])])
    return G[apart][:, None]
