"""A model of the neighbourhood of the best point, in coordinates of its own.

The model of the whole cube has length-scales that suit the whole cube. Around the best
point a function often is simpler, and steeper in directions that are no axes, as in a
narrow valley. So a second model is fitted to the observations near the best one, in
coordinates in which the best observations have the same spread in every direction, as
in the CMA evolution strategy [hansen2016]. It depends on the data alone: nothing has to
be remembered.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from sumbo.data import Data
from sumbo.gp import AdditiveGP, Posterior
from sumbo.gp.fit import PRIOR_LENGTHSCALE
from sumbo.surrogate.base import Surrogate
from sumbo.typing import Float, ndarray


@dataclass(frozen=True, kw_only=True)
class NeighbourhoodRule:
    """From when on there is a model of the neighbourhood, and what it is fitted to.

    Attributes:
        after: Observations per parameter from which there is one.
        every: For every so many points it competes with the model of the whole cube.
        best: Best observations, per parameter, whose spread gives the coordinates.
        fewest_best: The least number of them.
        ridge: Share of the mean variance of the best observations that is added in
            every direction, so that no direction is lost.
        near: Observations, per parameter, that the model is fitted to: those nearest to
            the best one in the new coordinates.
        most: The largest number of them.
        width: Side of the neighbourhood in the new coordinates, in standard deviations
            of the best observations. The prior of the length-scales refers to it.
        steps: Iterations of the fit.
    """

    after: float = 4.0
    every: int = 2
    best: float = 3.0
    fewest_best: int = 20
    ridge: float = 1e-4
    near: float = 12.0
    most: int = 400
    width: float = 4.0
    steps: int = 60


RULE = NeighbourhoodRule()
# Variance, in units of the cube, that is added where all best points are one.
SMALLEST = 1e-12


@dataclass(frozen=True, kw_only=True, eq=False)
class Neighbourhood:
    """A Gaussian process on the coordinates v = A (u − centre).

    Attributes:
        centre: The best point.
        A: The linear map; in its coordinates the best observations have unit variance.
        post: The posterior on these coordinates.
    """

    centre: Float[ndarray, " P"]
    A: Float[ndarray, "P P"]
    post: Posterior

    def map(self, U: Float[ndarray, "b P"]) -> Float[ndarray, "b P"]:
        """Return points in the coordinates of the model."""
        return (U - self.centre) @ self.A.T

    def fantasised(self, U: Float[ndarray, "n P"]) -> "Neighbourhood":
        """Return the model with its own mean observed at ``U``."""
        if len(U) == 0:
            return self
        V = self.map(U)
        return replace(self, post=self.post.append(V, self.post.predict(V)[0]))


def neighbourhood(surrogate: Surrogate) -> Neighbourhood | None:
    """Return the model of the neighbourhood of the best point, fitted anew.

    None with fewer than ``after`` observations per parameter, and where all values near
    the best point are equal. All parameters must be continuous.
    """
    data = surrogate.data
    N, P = data.U.shape
    if RULE.after * P > N:
        return None
    count = min(N, max(RULE.fewest_best, round(RULE.best * P)))
    centre, A = _coordinates(data.U[data.order[:count]])
    V = (data.U - centre) @ A.T
    near = np.argsort(np.abs(V).max(axis=1), kind="stable")
    rows = np.sort(near[: min(RULE.most, round(RULE.near * P))])
    known = data.rows(rows)
    if np.ptp(known.y) == 0:
        return None
    start = RULE.width * PRIOR_LENGTHSCALE * math.sqrt(P)
    gp = AdditiveGP(groups=[tuple(range(P))], lengthscales=[np.full(P, start)])
    gp = gp.fit(
        V[rows],
        known.y,
        noise=known.noise,
        spans=RULE.width,
        starts=1,
        steps=RULE.steps,
    )
    post = gp.condition(V[rows], known.y, noise=known.noise)
    return Neighbourhood(centre=centre, A=A, post=post)


def is_due(data: Data, i: int = 0) -> bool:
    """Return whether the i-th next point is one for the neighbourhood."""
    return (data.step + i) % RULE.every == RULE.every - 1


def _coordinates(
    best: Float[ndarray, "k P"],
) -> tuple[Float[ndarray, " P"], Float[ndarray, "P P"]]:
    """Return the best point, and the map to coordinates of equal spread.

    The covariance is that around the best point. Its weights fall with the logarithm of
    the rank.
    """
    k, P = best.shape
    weights = math.log(k + 0.5) - np.log(np.arange(1, k + 1))
    D = (best - best[0]) * np.sqrt(weights / weights.sum())[:, None]
    C = D.T @ D
    C += (RULE.ridge * np.trace(C) / P + SMALLEST) * np.eye(P)
    variances, axes = np.linalg.eigh(C)
    return best[0], (axes / np.sqrt(variances)).T
