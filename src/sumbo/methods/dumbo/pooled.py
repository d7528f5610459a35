"""The lower bound of several additive models at once, minimised by message passing.

The factors (parts) of all models are pooled. N_i are the factors that share a
coordinate with factor i, itself included. Its bound is

    φ_i(x_i) = μ_i(x_i) − β √(σ_i²(x_i)/|N_i|² + S_i),
    S_i = Σ_{j ∈ N_i∖{i}} σ_j²(x_j)/|N_j|²,

where S_i are messages: the variances of the others at their last copies. Factors agree
on one point by consensus ADMM; [bardou2023] Alg. 1.
"""

from dataclasses import dataclass

import numpy as np

from sumbo.data import Data
from sumbo.gp import Posterior
from sumbo.methods.dumbo.admm import Consensus, Pull, minimise_consensus
from sumbo.methods.dumbo.together import PooledBounds, Pulls
from sumbo.search.candidates import draw_candidates
from sumbo.search.components import Component
from sumbo.typing import Float, Group, Groups, Int, ndarray

# Of the gradients of bounds of order 1; the consensus is much coarser.
TOLERANCE = 1e-4


@dataclass(frozen=True, kw_only=True, eq=False)
class FactorPool:
    """The factors of all models.

    Attributes:
        groups: The coordinates of each factor.
        counts: For how many equal factors each stands. Equal factors come from models
            that occur several times; they do the same in every round.
        overlaps: How many of each write to each.
        bounds: Their bounds; ``bounds.neighbours`` are |N_i|.
    """

    groups: Groups
    counts: list[int]
    overlaps: Float[ndarray, "F F"]
    bounds: PooledBounds


def pool(
    posts: list[Posterior],
    counts: list[int],
    beta: float,
    *,
    repeats_are_neighbours: bool = False,
) -> FactorPool:
    """Return the factors of all models.

    A model that occurs ``counts`` times weighs so much in the consensus. Its copies
    are neighbours of each other only on request.
    """
    groups = tuple(group for post in posts for group in post.gp.groups)
    times = [
        count for post, count in zip(posts, counts, strict=True) for _ in post.gp.groups
    ]
    overlaps = np.array(
        [[float(bool(set(a) & set(b))) for b in groups] for a in groups]
    )
    if repeats_are_neighbours:
        overlaps *= np.array(times, dtype=float)
    return FactorPool(
        groups=groups,
        counts=times,
        overlaps=overlaps - np.eye(len(groups)),  # none writes to itself
        bounds=PooledBounds.of(posts, overlaps.sum(axis=1), beta),
    )


def minimise_pooled(
    rng: np.random.Generator,
    pool: FactorPool,
    data: Data,
    *,
    candidates: int = 512,
    starts: int = 20,
    rounds: int = 10,
    precision: float = 0.05,
    penalty: float = 1.0,
) -> Consensus:
    """Return the point on which the bounds of all factors agree.

    In the first round every factor starts from ``starts`` of its candidates, later
    from its last copy and from the best candidate. See ``minimise_consensus`` for
    the rest.
    """
    bounds = pool.bounds
    Z = draw_candidates(rng, data, [_component(g) for g in pool.groups], candidates)
    where = zip(bounds.post, bounds.part, Z, strict=True)
    moments = [bounds.posts[i].part_moments(m, Zi) for i, m, Zi in where]

    def values(i: int, messages: Float[ndarray, " F"]) -> Float[ndarray, " b"]:
        mean, var = moments[i]
        which = np.full(len(mean), i)
        return mean - bounds.beta * bounds.spread(var, which, messages)

    def sweep(copies: list | None, pulls: list[Pull] | None) -> list:
        if copies is None or pulls is None:
            messages = np.zeros(len(pool.groups))
            begin = [
                Zi[choose_starts(rng, values(i, messages), starts)]
                for i, Zi in enumerate(Z)
            ]
            return bounds.minimise(begin, messages, None, TOLERANCE)
        messages = pool.overlaps @ bounds.shares(copies)
        begin = []
        for i, (x, pull) in enumerate(zip(copies, pulls, strict=True)):
            best = int(np.argmin(values(i, messages) + pull(Z[i])[0]))
            begin.append(np.stack([x, Z[i][best]]))
        return bounds.minimise(begin, messages, _together(bounds, pulls), TOLERANCE)

    return minimise_consensus(
        sweep,
        pool.groups,
        data.domain.dim,
        pool.counts,
        rounds=rounds,
        precision=precision,
        penalty=penalty,
    )


def _together(bounds: PooledBounds, pulls: list[Pull]) -> Pulls:
    which = np.arange(len(pulls))
    anchors = bounds.padded([pull.anchor for pull in pulls], which)
    multipliers = bounds.padded([pull.multiplier for pull in pulls], which)
    penalty = pulls[0].penalty  # the same for all
    return Pulls(
        anchors=anchors[:, :-1], multipliers=multipliers[:, :-1], penalty=penalty
    )


def choose_starts(
    rng: np.random.Generator, values: Float[ndarray, " B"], count: int
) -> Int[ndarray, " b"]:
    """Return the place of the lowest value, and others drawn by exp(−z-score)."""
    spread = float(values.std())
    score = (values.mean() - values) / (spread if spread > 0 else 1.0)
    # The largest of score plus Gumbel noise: a weighted draw without replacement.
    order = np.argsort(-(score + rng.gumbel(size=len(values))), kind="stable")
    best = int(np.argmin(values))
    return np.append(best, order[order != best])[:count]


def _component(group: Group) -> Component:
    columns = (tuple(range(len(group))),)
    return Component(coordinates=group, groups=(0,), columns=columns)
