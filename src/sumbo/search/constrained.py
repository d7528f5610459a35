"""Draws of an objective and of its outcomes, minimised together.

Objective and outcomes are drawn at the same candidates, points of the whole cube. The
next point has the least drawn objective among the candidates whose drawn outcomes are
within their limits, or the least total violation if there is none; [eriksson2021].
"""

import numpy as np

from sumbo.data import Data
from sumbo.gp import Posterior
from sumbo.rng import Streams
from sumbo.sampling.expansion import Drawing
from sumbo.search.candidates import free_coordinates
from sumbo.search.draws import CandidateSettings
from sumbo.search.whole import whole_candidates
from sumbo.surrogate import Surrogate
from sumbo.surrogate.base import beyond
from sumbo.typing import Float, ndarray


def minimise_constrained_draws(
    streams: Streams,
    draw: Drawing,
    surrogate: Surrogate,
    q: int,
    settings: CandidateSettings,
) -> Float[ndarray, "q P"]:
    """Return the best candidates of q draws of the objective and all outcomes."""
    data = surrogate.data
    U = joint_candidates(streams.candidates, surrogate.posterior, data, settings)
    rng, threads = streams.normals, settings.threads
    values = _drawn(rng, draw, surrogate.posterior, U, q, threads)
    violation = np.zeros((q, len(U)))
    for model in surrogate.outcomes:
        post = model.surrogate.posterior
        drawn = post.gp.mean + _drawn(rng, draw, post, U, q, threads)
        violation += beyond(drawn, model.lower, model.upper)
    return U[[best_row(v, f) for v, f in zip(violation, values, strict=True)]]


def joint_candidates(
    rng: np.random.Generator, post: Posterior, data: Data, settings: CandidateSettings
) -> Float[ndarray, "n P"]:
    """Return feasible points of the whole cube: even ones, and some near the best."""
    free, region = free_coordinates(data), data.domain.region
    near = whole_candidates(rng, post, data, free, settings.candidates)
    if region is not None:
        even = region.draw(rng, settings.candidates)
    else:
        even = data.domain.snap(rng.random((settings.candidates, data.domain.dim)))
    return np.vstack([near, even])


def best_row(violation: Float[ndarray, " n"], value: Float[ndarray, " n"]) -> int:
    """Return the row of least violation, the one of least value among equals."""
    return int(np.lexsort((value, violation))[0])


def _drawn(
    rng: np.random.Generator,
    draw: Drawing,
    post: Posterior,
    U: Float[ndarray, "n P"],
    q: int,
    threads: int,
) -> Float[ndarray, "q n"]:
    """Return draws of the sum of all parts, without the mean."""
    if post.gp.constant:  # which is random
        return draw.total(rng, post, U, q) - post.gp.mean
    each = [np.ascontiguousarray(U[:, group]) for group in post.gp.groups]
    return np.sum(draw.sample(rng, post, each, q, threads), axis=0)
