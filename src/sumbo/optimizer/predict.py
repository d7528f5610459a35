"""Predictions in the user's units, where the model knows transformed values."""

from typing import NamedTuple

import numpy as np

from sumbo.data import Transform
from sumbo.surrogate import Surrogate
from sumbo.typing import Float, ndarray

# Nodes of the Gauss-Hermite rule for moments in the user's units; exact for
# standardised values, and to five digits for logarithms with a deviation of 1.
NODES = 40
# Points predicted at a time: the rule needs memory for each of its nodes.
PANEL = 4096


class Prediction(NamedTuple):
    """What the model expects of the objective at points, noise aside.

    Attributes:
        mean: The expected value at each point.
        sd: Its standard deviation: how well the value is known.
    """

    mean: Float[ndarray, " n"]
    sd: Float[ndarray, " n"]


def predicted(surrogate: Surrogate, U: Float[ndarray, "n P"]) -> Prediction:
    """Return the moments of the values to be minimised at points of the cube.

    Posteriors of several structures are averaged with their probabilities.
    """
    mean, sd = np.empty(len(U)), np.empty(len(U))
    for start in range(0, len(U), PANEL):
        some = slice(start, start + PANEL)
        moments = [post.predict(U[some]) for post in surrogate.posteriors]
        mean[some], sd[some] = in_users_units(
            surrogate.transform,
            surrogate.weights,
            np.array([m for m, _ in moments]),
            np.sqrt([v for _, v in moments]),
        )
    return Prediction(mean, sd)


def in_users_units(
    transform: Transform,
    weights: Float[ndarray, " S"],
    means: Float[ndarray, "S n"],
    sds: Float[ndarray, "S n"],
) -> tuple[Float[ndarray, " n"], Float[ndarray, " n"]]:
    """Return mean and standard deviation of y where z is a mixture of normals."""
    nodes, shares = np.polynomial.hermite_e.hermegauss(NODES)
    weights = weights / weights.sum()
    shares = np.multiply.outer(weights, shares / shares.sum())[:, None, :]
    z = means[:, :, None] + np.multiply.outer(sds, nodes)
    # Around the value at the mean, so that nothing cancels.
    center = transform.inverse(weights @ means)
    values = transform.inverse(z) - center[:, None]
    mean = np.sum(shares * values, axis=(0, 2))
    var = np.sum(shares * (values - mean[:, None]) ** 2, axis=(0, 2))
    return center + mean, np.sqrt(var)
