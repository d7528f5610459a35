"""The prior of one part at its candidates and at the data, factorized in blocks.

With ``A = [Z, X]`` the lower Cholesky factor of ``K(A, A)`` is

    [ L_Z   0  ]        L_Z = chol K(Z, Z),   R = K(X, Z) L_Z⁻ᵀ,
    [ R    L_X ]        L_X = chol(K(X, X) − R Rᵀ).

Candidates come first, so that a new observation is a new last row and everything
else stands. Kept apart, the blocks need fewer flops than one big factorization needs
passes over memory, and ``K(Z, X) v`` is a product with blocks at hand.
"""

from dataclasses import dataclass, replace

import numpy as np

from sumbo.errors import NotPositiveDefiniteError
from sumbo.kernels import GroupKernel
from sumbo.linalg import factor_in_place, solve_lower, solve_upper, times_lower
from sumbo.typing import Float, ndarray

# Relative to the variance. Gram matrices of many close points are singular in floats,
# by about n·eps·λ_max; the first rung covers n = 1 000.
LADDER = (1e-10, 1e-9, 1e-8, 1e-7, 1e-6)


@dataclass(frozen=True, kw_only=True, eq=False)
class PartFactor:
    """The factor of one part's prior covariance at ``[Z, X]``.

    Strict upper triangles hold rubbish; products and solves read the lower ones.
    """

    kernel: GroupKernel
    Z: Float[ndarray, "B d"]
    X: Float[ndarray, "N d"]
    K_ZX: Float[ndarray, "B N"]
    L_Z: Float[ndarray, "B B"]
    R: Float[ndarray, "N B"]
    L_X: Float[ndarray, "N N"]
    jitter: float

    @classmethod
    def of(
        cls, kernel: GroupKernel, Z: Float[ndarray, "B d"], X: Float[ndarray, "N d"]
    ) -> "PartFactor":
        """Return the factor, in O((B + N)³).

        Raises:
            NotPositiveDefiniteError: If the last rung of the jitter ladder fails.
        """
        K_ZX = np.asfortranarray(kernel(Z, X))
        for rung in LADDER:
            jitter = rung * kernel.variance
            L_Z = _gram(kernel, Z, jitter)
            if not factor_in_place(L_Z):
                continue
            R = solve_lower(L_Z, K_ZX).T
            L_X = _gram(kernel, X, jitter)
            L_X -= R @ R.T
            # Data that coincide with candidates leave nothing but rounding here.
            np.fill_diagonal(L_X, np.maximum(L_X.diagonal(), jitter))
            if factor_in_place(L_X):
                return cls(
                    kernel=kernel,
                    Z=Z,
                    X=X,
                    K_ZX=K_ZX,
                    L_Z=L_Z,
                    R=R,
                    L_X=L_X,
                    jitter=jitter,
                )
        msg = (
            f"the prior covariance of {len(Z)} candidates and {len(X)} observations is "
            f"not positive definite, even with {LADDER[-1]:g} of the variance added. "
            "Space the candidates further apart."
        )
        raise NotPositiveDefiniteError(msg)

    def appended(self, x: Float[ndarray, "1 d"]) -> "PartFactor":
        """Return the factor with one more observation, in O((B + N)²)."""
        k_Z = self.kernel(self.Z, x)
        r = solve_lower(self.L_Z, k_Z)[:, 0]
        s = solve_lower(self.L_X, self.kernel(self.X, x)[:, 0] - self.R @ r)
        left = self.kernel.variance + self.jitter - r @ r - s @ s
        N = len(self.X)
        L_X = np.zeros((N + 1, N + 1), order="F")
        L_X[:N, :N] = self.L_X
        L_X[N, :N] = s
        L_X[N, N] = np.sqrt(max(left, self.jitter))
        return replace(
            self,
            X=np.vstack([self.X, x]),
            K_ZX=np.hstack([self.K_ZX, k_Z]),
            R=np.vstack([self.R, r]),
            L_X=L_X,
        )

    def draw(
        self, xi: Float[ndarray, "A n"]
    ) -> tuple[Float[ndarray, "B n"], Float[ndarray, "N n"]]:
        """Return prior draws at the candidates and at the data, from white noise."""
        B = len(self.Z)
        f_Z = times_lower(self.L_Z, xi[:B])
        f_X = self.R @ xi[:B] + times_lower(self.L_X, xi[B:])
        return f_Z, f_X

    def coefficients(self, xi: Float[ndarray, "A n"]) -> Float[ndarray, "A n"]:
        """Return K(A, A)⁻¹ f of the draw made from ``xi``, which is L⁻ᵀ ξ."""
        B = len(self.Z)
        c_X = solve_upper(self.L_X, xi[B:])
        c_Z = solve_upper(self.L_Z, xi[:B] - self.R.T @ c_X)
        return np.vstack([c_Z, c_X])


def _gram(
    kernel: GroupKernel, A: Float[ndarray, "n d"], jitter: float
) -> Float[ndarray, "n n"]:
    K = np.zeros((len(A), len(A)), order="F")
    kernel.add_lower(A, K)
    np.fill_diagonal(K, K.diagonal() + jitter)
    return K
