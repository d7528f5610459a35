"""What lies ahead: where the optimum may be, and what the run would try next."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumbo.errors import SumboError
from sumbo.report.lines import encoded
from sumbo.report.units import Band, Units, moments
from sumbo.rng import rng_at
from sumbo.surrogate import Surrogate
from sumbo.typing import Float, Int, ndarray

DRAWS = 120
# The probability of the intervals of where the optimum lies.
WHERE = 0.9
# Values beyond which a report does not wait for a refit.
MANY = 200


@dataclass(frozen=True, kw_only=True, eq=False)
class Optimum:
    """Joint draws of the optimum and of its place, in the user's units.

    Attributes:
        values: The optimum of each draw.
        points: Where it lies, as plain numbers.
        gain: The expected improvement from the recommended point to the optimum.
    """

    values: Float[ndarray, " n"]
    points: Float[ndarray, "n K"]
    gain: float

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return an equal-tailed credible interval of the optimum."""
        tail = 0.5 * (1.0 - level)
        low, high = np.quantile(self.values, [tail, 1.0 - tail])
        return float(low), float(high)


@dataclass(frozen=True, kw_only=True, eq=False)
class Next:
    """The point that the run would ask next, as plain numbers, with its prediction.

    Attributes:
        x: The point.
        band: Its predicted value; None without a model.
        exact: Whether the run would ask this very point. Otherwise it is the choice of
            the model as it stands, which may be refitted first.
    """

    x: Float[ndarray, " K"]
    band: Band | None
    exact: bool


def optimum_of(
    opt: Any, surrogate: Surrogate, units: Units, here: float, n: int = DRAWS
) -> Optimum:
    """Return joint draws of the optimum; ``here`` is the recommended point's mean.

    Draws are divided among the plausible structures. Limits of outcomes are ignored.
    """
    counts = apportioned(surrogate.weights, n)
    seeds = rng_at(opt.seed, "report", len(opt.y)).integers(2**31, size=len(counts))
    values, points = [], []
    for post, count, seed in zip(surrogate.posteriors, counts, seeds, strict=True):
        if count:
            drawn = post.minimum(int(count), seed=int(seed), domain=opt.space)
            values.append(units.values(drawn.values))
            points.append(drawn.points)
    found = np.concatenate(values)
    numbers = opt.space.numbers(opt.space.decode(np.vstack(points)))
    gain = float(units.sign * (here - found.mean()))
    return Optimum(values=found, points=numbers, gain=max(0.0, gain))


def apportioned(weights: Float[ndarray, " S"], n: int) -> Int[ndarray, " S"]:
    """Return how many of n draws each structure has: largest remainders."""
    exact = n * weights / weights.sum()
    counts = np.floor(exact).astype(int)
    rest = np.argsort(counts - exact, kind="stable")[: n - int(counts.sum())]
    counts[rest] += 1
    return counts


def next_of(opt: Any, surrogate: Surrogate | None, units: Units | None) -> Next | None:
    """Return what the run would ask next; the run itself does not change.

    Randomness has an address, so that the run will ask this very point, unless there
    are so many values that a refit is left out. None where nothing is left to ask.
    """
    exact = len(opt.y) <= MANY
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            x = opt.peek(refit=exact)
        except SumboError:
            return None
    numbers = opt.space.numbers(x[None])
    if surrogate is None or units is None:
        return Next(x=numbers[0], band=None, exact=exact)
    U = encoded(opt.space, numbers)
    band = units.band(*moments(surrogate, U))
    return Next(x=numbers[0], band=band, exact=exact)
