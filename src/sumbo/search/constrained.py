"""Draws of an objective and of its outcomes, minimised together.

Objective and outcomes are drawn at the same candidates, points of the whole cube. The
next point has the least drawn objective among the candidates whose drawn outcomes are
within their limits, or the least total violation if there is none; [eriksson2021].
Between candidates draws are smooth functions, so the best ones start local descents.
"""

import numpy as np

from sumbo.data import Data
from sumbo.gp import Posterior
from sumbo.rng import Streams
from sumbo.sampling.expansion import Draw, Drawing
from sumbo.sampling.growth import fresh_factors
from sumbo.search.candidates import free_coordinates
from sumbo.search.draws import CandidateSettings
from sumbo.search.limited import Limited, best_row, minimise_limited
from sumbo.search.local import RowFunction
from sumbo.search.separable import Parts, sum_and_gradient
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
    """Return the minimisers of q draws of the objective and all outcomes."""
    data, models = surrogate.data, surrogate.outcomes
    U = joint_candidates(streams.candidates, surrogate.posterior, data, settings)
    posts = [surrogate.posterior, *(m.surrogate.posterior for m in models)]
    rng, threads = streams.normals, settings.threads
    # A random constant is no function of a part: then candidates decide alone.
    if not settings.refine or any(post.gp.constant for post in posts):
        drawn = [_drawn(rng, draw, post, U, q, threads) for post in posts]
        functions: list[list[RowFunction]] = []
    else:
        expanded = [_expanded(rng, draw, post, U, q, threads) for post in posts]
        drawn = [values for values, _ in expanded]
        functions = [found for _, found in expanded]
    # Limits of what is drawn, the mean aside.
    limits = [
        (m.lower - post.gp.mean, m.upper - post.gp.mean)
        for m, post in zip(models, posts[1:], strict=True)
    ]
    free, out = free_coordinates(data), np.empty((q, data.domain.dim))
    for i in range(q):
        broken = [
            beyond(f[i], *limit) for f, limit in zip(drawn[1:], limits, strict=True)
        ]
        violation = np.sum(broken, axis=0)
        if not functions:
            out[i] = U[best_row(violation, drawn[0][i])]
            continue
        limited = [
            Limited(function=each[i], lower=lower, upper=upper)
            for each, (lower, upper) in zip(functions[1:], limits, strict=True)
        ]
        out[i] = minimise_limited(
            functions[0][i],
            limited,
            violation,
            drawn[0][i],
            U,
            free,
            data.domain.region,
        )
    return out


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


def _expanded(
    rng: np.random.Generator,
    draw: Drawing,
    post: Posterior,
    U: Float[ndarray, "n P"],
    q: int,
    threads: int,
) -> tuple[Float[ndarray, "q n"], list[RowFunction]]:
    """Return draws of the sum of all parts, without the mean, and as functions."""
    draws = draw.expand(rng, post, fresh_factors(post, _columns(post, U), threads), q)
    values = np.sum([one.values for one in draws], axis=0)
    ones = [Draw(draws, i) for i in range(q)]
    functions = [
        sum_and_gradient(
            post.gp.groups,
            Parts(one.value, one.gradient, one.lines, one.line_gradients),
        )
        for one in ones
    ]
    return values, functions


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
    return np.sum(draw.sample(rng, post, _columns(post, U), q, threads), axis=0)


def _columns(post: Posterior, U: Float[ndarray, "n P"]) -> list[Float[ndarray, "n d"]]:
    return [np.ascontiguousarray(U[:, group]) for group in post.gp.groups]
