"""Candidates that cover the whole box of each part, observed coordinates included."""

import numpy as np

from sumbo.data import Data
from sumbo.search.candidates import draw_candidates
from sumbo.search.components import Component
from sumbo.typing import Float, ndarray


def covering_candidates(
    rng: np.random.Generator, data: Data, parts: list[Component], count: int
) -> list[Float[ndarray, "..."]]:
    """Return ``count`` even candidates of each component, and those observed.

    None gather around the best observations, so that the lowest of values drawn at
    the candidates stands for the lowest over the box. On one coordinate they are a
    jittered grid with both ends, on several independent and uniform. Under constraints
    all are feasible.
    """
    out = []
    for part in parts:
        how = "spread" if len(part.coordinates) == 1 else "uniform"
        drawn = draw_candidates(rng, data, [part], count, how)[0]
        observed = data.U[:, list(part.coordinates)]
        if part.region is not None:
            observed = observed[part.region.feasible(observed)]
        out.append(np.vstack([drawn, observed]))
    return out
