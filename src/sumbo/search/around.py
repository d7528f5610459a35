"""Minimise a function around the best point, in coordinates of its neighbourhood."""

from dataclasses import dataclass

import numpy as np

from sumbo.search.whole import Function, minimise_whole
from sumbo.typing import Float, ndarray


@dataclass(frozen=True, kw_only=True)
class SearchAround:
    """Where the search around a point starts.

    Attributes:
        points: Points around the centre. The best of them are starts of descents.
        smallest_step: Smallest standard deviation of a step away from the centre, in
            the coordinates of the neighbourhood, as a power of ten.
        largest_step: Largest standard deviation of such a step, as a power of ten.
        best: How many of the best observations are starts as well.
    """

    points: int = 128
    smallest_step: float = -2.0
    largest_step: float = 0.3
    best: int = 5


AROUND = SearchAround()


def search_around(
    rng: np.random.Generator,
    function: Function,
    A: Float[ndarray, "P P"],
    best: Float[ndarray, "k P"],
    *,
    starts: int,
) -> Float[ndarray, " P"]:
    """Return the lowest point found of a function, all of its parameters continuous.

    Args:
        rng: The source of randomness.
        function: The function of a point of the cube.
        A: The map to coordinates of the neighbourhood, in which steps are drawn.
        best: Observations from the best to the worst.
        starts: Descents.
    """
    n, P = AROUND.points, best.shape[1]
    lengths = 10.0 ** rng.uniform(
        AROUND.smallest_step, AROUND.largest_step, size=(n, 1)
    )
    steps = np.linalg.solve(A, (lengths * rng.standard_normal((n, P))).T).T
    points = np.vstack([best[: AROUND.best], np.clip(best[0] + steps, 0.0, 1.0)])
    free = np.ones(P, dtype=bool)
    return minimise_whole(
        function.gradient, function.value(points), points, free, starts=starts
    )
