"""The prior of one part at its candidates and at the data, factorized.

With ``A = [Z, X]`` and ``x`` the observations told since, the lower Cholesky factor of
``K([A, x], [A, x])`` is

    [ L   0 ]        L = chol K(A, A),   R = K(x, A) L⁻ᵀ,
    [ R   S ]        S = chol(K(x, x) − R Rᵀ).

Candidates come first and new observations last, so that nothing changes when data
are added. ``L`` is made by one factorization of one triangle of kernel values.
"""

from dataclasses import dataclass

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

    Strict upper triangles hold arbitrary numbers; only the lower ones are read.
    """

    kernel: GroupKernel
    Z: Float[ndarray, "B d"]
    X: Float[ndarray, "N d"]
    K_ZX: Float[ndarray, "B N"]
    L: Float[ndarray, "A A"]
    R: Float[ndarray, "n A"]
    S: Float[ndarray, "n n"]
    jitter: float

    @classmethod
    def of(
        cls, kernel: GroupKernel, Z: Float[ndarray, "B d"], X: Float[ndarray, "N d"]
    ) -> "PartFactor":
        """Return the factor, in O((B + N)³).

        Raises:
            NotPositiveDefiniteError: If the last rung of the jitter ladder fails.
        """
        A, B = np.concatenate([Z, X]), len(Z)
        for rung in LADDER:
            jitter = rung * kernel.variance
            L = kernel.lower(A)
            K_ZX = L[B:, :B].T.copy()
            np.fill_diagonal(L, L.diagonal() + jitter)
            if factor_in_place(L):
                return cls(
                    kernel=kernel,
                    Z=Z,
                    X=X,
                    K_ZX=K_ZX,
                    L=L,
                    R=np.empty((0, len(A))),
                    S=np.empty((0, 0), order="F"),
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
        B, head = len(self.Z), len(self.L)
        k = self.kernel(np.concatenate([self.Z, self.X]), x)
        r = solve_lower(self.L, k[:head])[:, 0]
        s = k[head:, 0] - self.R @ r
        if len(s):  # LAPACK takes no empty systems
            s = solve_lower(self.S, s)
        left = float(self.kernel.diagonal(x)[0]) + self.jitter - r @ r - s @ s
        n = len(s)
        S = np.zeros((n + 1, n + 1), order="F")
        S[:n, :n] = self.S
        S[n, :n] = s
        # Only rounding is left here if the same point was observed before.
        S[n, n] = np.sqrt(max(left, self.jitter))
        return PartFactor(
            kernel=self.kernel,
            Z=self.Z,
            X=np.concatenate([self.X, x]),
            K_ZX=np.concatenate([self.K_ZX, k[:B]], axis=1),
            L=self.L,
            R=np.concatenate([self.R, r[None]]),
            S=S,
            jitter=self.jitter,
        )

    def draw(
        self, xi: Float[ndarray, "A n"]
    ) -> tuple[Float[ndarray, "B n"], Float[ndarray, "N n"]]:
        """Return prior draws at the candidates and at the data, from white noise."""
        B, head = len(self.Z), len(self.L)
        f = times_lower(self.L, xi[:head])
        if len(self.S):
            new = self.R @ xi[:head] + times_lower(self.S, xi[head:])
            return f[:B], np.concatenate([f[B:], new])
        return f[:B], f[B:]

    def coefficients(self, xi: Float[ndarray, "A n"]) -> Float[ndarray, "A n"]:
        """Return K(A, A)⁻¹ f of the draw made from ``xi``, which is L⁻ᵀ ξ."""
        head = len(self.L)
        if not len(self.S):
            return solve_upper(self.L, xi)
        c_new = solve_upper(self.S, xi[head:])
        c = solve_upper(self.L, xi[:head] - self.R.T @ c_new)
        return np.concatenate([c, c_new])
