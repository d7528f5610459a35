"""A part seen through r of its points: k(a, b) ≈ φ(a)·φ(b), φ(a) = L_G⁻¹ k(G, a).

This is the projection of the part on the span of k(·, g_1), …, k(·, g_r), where
L_G L_Gᵀ = K(G, G); the subset of regressors of [rasmussen2006] Sec. 8.3.1. What is
lost at a point is the variance k(a, a) − |φ(a)|².
"""

from dataclasses import dataclass

import numpy as np

from sumbo.kernels.group import GroupKernel
from sumbo.linalg import cholesky, solve_lower
from sumbo.typing import Float, ndarray


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
        L, _ = cholesky(kernel(G, G), what="covariance of the inducing points")
        return cls(kernel, G, L)

    def __call__(self, A: Float[ndarray, "n d"]) -> Float[ndarray, "n r"]:
        """Return the features of each point."""
        return solve_lower(self.L, self.kernel(self.G, A)).T
