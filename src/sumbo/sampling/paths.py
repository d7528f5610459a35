"""Function-valued joint draws: evaluate one draw anywhere, with gradients.

A feature expansion stands for the prior, and Matheron's rule adds the exact update by
the data; [wilson2020] Eq. (13). The distribution of the prior draw becomes exact as the
number of features grows; with quadrature features it is exact up to rounding. The
update is always exact.
"""

from dataclasses import dataclass

import numpy as np

from sumbo.errors import ArgumentError
from sumbo.gp import DRAWS, Posterior
from sumbo.gp.arrays import as_matrix
from sumbo.kernels import GroupKernel
from sumbo.linalg import one_blas_thread
from sumbo.sampling.features import CentredFeatures, Features, features_of
from sumbo.sampling.joint import draw_constant, moved_constant, update
from sumbo.typing import Float, Groups, ndarray


@dataclass(frozen=True, kw_only=True, eq=False)
class PathPart:
    """One part of a draw: f(z) = φ(z)·w + k(z, X) v."""

    kernel: GroupKernel
    X: Float[ndarray, "N d"]
    features: Features | CentredFeatures
    w: Float[ndarray, " G"]
    v: Float[ndarray, " N"]

    def __call__(self, Z: Float[ndarray, "B d"]) -> Float[ndarray, " B"]:
        """Return the values at points of the part's own coordinates."""
        Z = as_matrix(Z, self.X.shape[1], "Z")
        return self.features(Z) @ self.w + self.kernel(Z, self.X) @ self.v

    def gradient(self, Z: Float[ndarray, "B d"]) -> Float[ndarray, "B d"]:
        """Return the gradients at points of the part's own coordinates."""
        Z = as_matrix(Z, self.X.shape[1], "Z")
        _, slope = self.kernel.input_gradient(Z, self.X)
        return self.features.gradient(Z, self.w) + np.einsum("bnd,n->bd", slope, self.v)


@dataclass(frozen=True, kw_only=True, eq=False)
class Path:
    """One joint draw of all parts as functions; calling it gives their sum.

    ``mean`` is the constant, a draw of it where it is random.
    """

    groups: Groups
    parts: tuple[PathPart, ...]
    mean: float

    def __call__(self, X: Float[ndarray, "n P"]) -> Float[ndarray, " n"]:
        """Return the draw of f = c + Σ_m f_m at points of the cube."""
        X = as_matrix(X, self._dim(), "X")
        out = np.full(len(X), self.mean)
        for part, group in zip(self.parts, self.groups, strict=True):
            out += part(X[:, group])
        return out

    def gradient(self, X: Float[ndarray, "n P"]) -> Float[ndarray, "n P"]:
        """Return the gradient of the draw at points of the cube."""
        X = as_matrix(X, self._dim(), "X")
        out = np.zeros_like(X)
        for part, group in zip(self.parts, self.groups, strict=True):
            out[:, group] += part.gradient(X[:, group])
        return out

    def _dim(self) -> int:
        return 1 + max(p for group in self.groups for p in group)


@DRAWS.register("path")
def sample_path(
    rng: np.random.Generator, post: Posterior, features: int = 1024
) -> Path:
    """Return one joint draw of all parts as a function on the whole cube.

    ``features`` is the number of random features per part; squared-exponential parts
    of one or two coordinates use quadrature instead, which needs no such number.

    Raises:
        ArgumentError: If ``features`` is not a positive integer.
    """
    if not isinstance(features, int) or features < 1:
        msg = f"features={features!r} is not a positive integer."
        raise ArgumentError(msg)
    groups = list(post.groups())
    maps = [
        features_of(rng, kernel, features, max(1.0, float(np.ptp(Xm, axis=0).max())))
        for kernel, Xm in groups
    ]
    ws = [rng.standard_normal(2 * len(phi.weights)) for phi in maps]
    with one_blas_thread():
        f_X = [
            (phi(Xm) @ w)[:, None]
            for (_, Xm), phi, w in zip(groups, maps, ws, strict=True)
        ]
        before = draw_constant(rng, post, f_X[0])
        v = update(rng, post, f_X, [], before)
        constant = float(moved_constant(post, before, v)[0])
        v = v[:, 0]
    parts = tuple(
        PathPart(kernel=kernel, X=Xm, features=phi, w=w, v=v)
        for (kernel, Xm), phi, w in zip(groups, maps, ws, strict=True)
    )
    return Path(groups=post.gp.groups, parts=parts, mean=constant)
