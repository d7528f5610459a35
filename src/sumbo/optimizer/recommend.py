"""The point that the model recommends, where the best value may be luck."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Shaped

from sumbo.optimizer.predict import in_users_units
from sumbo.surrogate import Surrogate
from sumbo.typing import Float, ndarray


class Recommendation(NamedTuple):
    """The observed point with the best posterior mean.

    Attributes:
        x: The point.
        mean: The expected value of the objective there, noise aside.
        sd: Its standard deviation: how well the value is known. NaN if the method has
            no model; the point is then the best observed one.
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
        surrogate.transform, surrogate.weights, means[:, [best]], sds[:, None]
    )
    return Choice(int(rows[best]), float(mean[0]), float(sd[0]))
