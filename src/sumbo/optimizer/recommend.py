"""The point that the model recommends, where the best value may be luck."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Shaped

from sumbo.data import Transform
from sumbo.surrogate import Surrogate
from sumbo.typing import Float, ndarray

# Nodes of the Gauss-Hermite rule for moments in the user's units; exact for
# standardised values, and to five digits for logarithms with a deviation of 1.
NODES = 40


class Recommendation(NamedTuple):
    """The told point whose posterior mean is best.

    Attributes:
        x: The point.
        mean: The expected value of the objective there, noise aside.
        sd: Its standard deviation: how well the value is known. NaN if the method has
            no model; the point is then the best one told.
    """

    x: Shaped[ndarray, " K"]
    mean: float
    sd: float


class Choice(NamedTuple):
    """A row of the history with mean and standard deviation, to be minimised."""

    row: int
    mean: float
    sd: float


def recommended_row(
    surrogate: Surrogate | None,
    U: Float[ndarray, "N P"],
    y: Float[ndarray, " N"],
) -> Choice:
    """Return the row with the lowest posterior mean among those with a value.

    Posteriors of several structures are averaged with their probabilities. Means are
    compared in the units of the model.
    """
    rows = np.flatnonzero(np.isfinite(y))
    if surrogate is None:
        row = int(rows[np.argmin(y[rows])])
        return Choice(row, float(y[row]), np.nan)
    moments = [post.predict(U[rows]) for post in surrogate.posteriors]
    means = np.array([mean for mean, _ in moments])
    best = int(np.argmin(surrogate.weights @ means))
    sds = np.sqrt([var[best] for _, var in moments])
    mean, sd = in_users_units(
        surrogate.transform, surrogate.weights, means[:, best], sds
    )
    return Choice(int(rows[best]), mean, sd)


def in_users_units(
    transform: Transform,
    weights: Float[ndarray, " S"],
    means: Float[ndarray, " S"],
    sds: Float[ndarray, " S"],
) -> tuple[float, float]:
    """Return mean and standard deviation of y where z is a mixture of normals."""
    nodes, shares = np.polynomial.hermite_e.hermegauss(NODES)
    shares = np.outer(weights / weights.sum(), shares / shares.sum())
    z = means[:, None] + np.outer(sds, nodes)
    # Around the value at the mean, so that nothing cancels.
    center = float(transform.inverse(np.asarray(weights @ means / weights.sum())))
    values = transform.inverse(z) - center
    mean = float(np.sum(shares * values))
    return center + mean, float(np.sqrt(np.sum(shares * (values - mean) ** 2)))
