"""Moments of all parts at the rows of a list, while observations come in.

With A = L Lᵀ the covariance of the observations X, row n of L⁻¹ K_m(X, z) is

    w_n(z) = K_m(z, X) v_n,   v_n = L⁻ᵀ e_n,   σ_m²(z) = k_m(z, z) − Σ_n w_n(z)²,

so one more observation costs a product with each K_m instead of a triangular solve.
"""

from dataclasses import dataclass, replace

import numpy as np

from sumbo.gp import AdditiveGP, Posterior
from sumbo.linalg import solve_upper
from sumbo.sampling.sums import Places, times_part
from sumbo.typing import Float, ndarray


@dataclass(frozen=True, kw_only=True, eq=False)
class ListedParts:
    """Moments of the parts of a model at the places that a list has.

    Attributes:
        gp: The model.
        U: The rows of the list.
        X: The observations.
        places: The distinct places of each part, and which one each row has.
        variances: The variance of each part at its places.
        mean: The mean of the sum of all parts at each row.
    """

    gp: AdditiveGP
    U: Float[ndarray, "B P"]
    X: Float[ndarray, "N P"]
    places: tuple[Places, ...]
    variances: tuple[Float[ndarray, " _"], ...]
    mean: Float[ndarray, " B"]

    @classmethod
    def of(cls, post: Posterior, U: Float[ndarray, "B P"]) -> "ListedParts":
        """Return what holds for a posterior, in O(B·N²) for each part."""
        places = tuple(Places.of(U[:, list(group)]) for group in post.gp.groups)
        mean, variances = np.zeros(len(U)), []
        for m, each in enumerate(places):
            own, var = post.part_moments(m, each.A)
            mean += own[each.which]
            variances.append(var)
        return cls(
            gp=post.gp,
            U=U,
            X=post.X,
            places=places,
            variances=tuple(variances),
            mean=mean,
        )

    def is_before(self, post: Posterior) -> bool:
        """Return whether a posterior has these observations first."""
        n = len(self.X)
        return n <= post.N and np.array_equal(self.X, post.X[:n])

    def given(self, post: Posterior) -> "ListedParts":
        """Return what holds for a posterior with these observations and more."""
        fresh = solve_upper(post.L, np.eye(post.N)[:, len(self.X) :])
        weights = np.column_stack([post.alpha, fresh])
        mean, variances = np.zeros(len(self.U)), []
        for m, (each, var) in enumerate(zip(self.places, self.variances, strict=True)):
            products = times_part(post, m, each.A, weights)
            mean += products[:, 0][each.which]
            explained = (products[:, 1:] ** 2).sum(axis=1)
            variances.append(np.maximum(var - explained, 0.0))
        return replace(self, X=post.X, variances=tuple(variances), mean=mean)

    def deviations(self) -> Float[ndarray, " B"]:
        """Return Σ_m σ_m at each row."""
        out = np.zeros(len(self.U))
        for each, var in zip(self.places, self.variances, strict=True):
            out += np.sqrt(var)[each.which]
        return out
