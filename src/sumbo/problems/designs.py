"""A draw from an additive Gaussian process, with a list of designs to choose from."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sumbo.errors import require_positive_integer
from sumbo.kernels import GroupKernel, as_kernel
from sumbo.linalg import cholesky
from sumbo.problems.base import Problem, problem
from sumbo.rng import Seed, as_seed, rng_at
from sumbo.typing import Float, ndarray

COORDINATES = 20
LENGTHSCALE = 0.3
# Where a part is drawn, the designs aside; between these places it is smooth.
GRID = np.linspace(0.0, 1.0, 33)
# Points per search for the minimum of a part: over the box, then twice around it.
FINE = 2001

DESCRIPTION = "a draw from an additive process, and designs to choose from"


@dataclass(frozen=True, kw_only=True, eq=False)
class ListedSum(Problem):
    """A sum of smooth functions of one coordinate; ``designs`` is the list."""

    designs: Float[ndarray, "K P"]
    places: Float[ndarray, "P A"]
    weights: Float[ndarray, "P A"]

    def evaluate(self, X: Float[ndarray, "n P"]) -> Float[ndarray, " n"]:
        """Return the sums; a point costs about a millisecond."""
        return self.components(X).sum(axis=1)

    def components(self, X: Float[ndarray, "n P"]) -> Float[ndarray, "n P"]:
        """Return the terms of the sum."""
        return np.stack([self.part(p, X[:, p]) for p in range(self.dim)], axis=1)

    def part(self, p: int, z: Float[ndarray, " n"]) -> Float[ndarray, " n"]:
        """Return the term of one coordinate."""
        k = _kernel(self.dim)(z[:, None], self.places[p][:, None])
        # Not k @ w, whose rounding depends on how many points there are: the weights
        # are large and cancel.
        return np.einsum("na,a->n", k, self.weights[p])


@problem(
    "designs",
    dim=COORDINATES,
    cost="1 ms",
    cite="wycoff2025",
    description=DESCRIPTION,
)
def designs(*, seed: Seed = 0, count: int = 20) -> ListedSum:
    """Return a draw from a process with twenty parts, and ``count`` random designs.

    Each part has a Matérn-5/2 kernel with length-scale 0.3 and variance 1/20. It is
    drawn exactly at the designs and at 33 places, and interpolated by its conditional
    mean. The minimum is that over the box; the list is ``designs``, to be used with
    ``Optimizer.choose``.

    Raises:
        ArgumentError: If ``count`` is not a positive integer.
    """
    require_positive_integer("count", count)
    seed, P = as_seed(seed), COORDINATES
    listed = rng_at(seed, "problems/designs list").random((count, P))
    places, weights, kernel = [], [], _kernel(P)
    for p in range(P):
        z = np.concatenate([GRID, listed[:, p]])
        K = kernel(z[:, None], z[:, None]) + 1e-10 * np.eye(len(z)) / P
        L = cholesky(K, what="prior covariance of a part", scale=1.0 / P)[0]
        xi = rng_at(seed, "problems/designs", p).standard_normal(len(z))
        places.append(z)
        weights.append(np.linalg.solve(L.T, xi))  # K⁻¹ (L ξ)
    facts: dict[str, Any] = {
        "name": "designs",
        "bounds": np.tile([0.0, 1.0], (P, 1)),
        "parameters": tuple(f"x{p}" for p in range(P)),
        "description": DESCRIPTION,
        "cite": "wycoff2025",
        "designs": listed,
        "places": np.array(places),
        "weights": np.array(weights),
    }
    x = _minimizer(ListedSum(**facts))
    minimum = float(ListedSum(**facts).evaluate(x[None])[0])
    return ListedSum(**facts, minimum=minimum, minimizer=x)


def _minimizer(p: ListedSum) -> Float[ndarray, " P"]:
    """Return where each term is least, to rounding."""
    out = np.empty(p.dim)
    for i in range(p.dim):
        low, high = 0.0, 1.0
        for _ in range(3):
            z = np.linspace(low, high, FINE)
            out[i] = z[p.part(i, z).argmin()]
            low, high = np.clip(out[i] + np.array([-1.5, 1.5]) * (z[1] - z[0]), 0, 1)
    return out


def _kernel(P: int) -> GroupKernel:
    return GroupKernel(
        kernel=as_kernel("matern52"),
        lengthscales=np.array([LENGTHSCALE]),
        variance=1.0 / P,
    )
