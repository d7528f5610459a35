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
from sumbo.search.candidates import draw_candidates
from sumbo.search.components import Component
from sumbo.search.local import minimise_multistart
from sumbo.typing import Float, Group, Int, ndarray

# Variances below this are rounding; the bound has no slope there.
SMALLEST_VARIANCE = 1e-5
# Of the gradients of bounds of order 1; the consensus is much coarser.
TOLERANCE = 1e-4


@dataclass(frozen=True, kw_only=True, eq=False)
class Factor:
    """One part of one model, which stands for ``count`` equal ones.

    Equal factors come from models that occur several times. They do the same in every
    round, so one of them is computed for all. ``neighbours`` is |N_i|.
    """

    post: Posterior
    m: int
    group: Group
    count: int
    neighbours: int
    beta: float

    def share(self, x: Float[ndarray, " d"]) -> float:
        """Return the message σ²(x)/|N|²."""
        _, var = self.post.part_moments(self.m, x[None])
        return max(float(var[0]), SMALLEST_VARIANCE) / self.neighbours**2

    def bound(
        self, X: Float[ndarray, "b d"], message: float = 0.0, pull: Pull | None = None
    ) -> tuple[Float[ndarray, " b"], Float[ndarray, "b d"]]:
        """Return the bound, plus the pull of the consensus, and its gradient."""
        mean, var, slope, var_slope = self.post.part_moments_gradient(self.m, X)
        var_slope = var_slope * (var > SMALLEST_VARIANCE)[:, None]
        spread = self.spread(var, message)
        scale = 2.0 * self.neighbours**2 * spread[:, None]
        value, gradient = (
            mean - self.beta * spread,
            slope - self.beta / scale * var_slope,
        )
        if pull is None:
            return value, gradient
        more, more_slope = pull(X)
        return value + more, gradient + more_slope

    def spread(self, var: Float[ndarray, " b"], message: float) -> Float[ndarray, " b"]:
        """Return √(σ²/|N|² + S)."""
        share = np.maximum(var, SMALLEST_VARIANCE) / self.neighbours**2
        return np.sqrt(share + message)


def pool(
    posts: list[Posterior],
    counts: list[int],
    beta: float,
    *,
    repeats_are_neighbours: bool = False,
) -> tuple[list[Factor], Float[ndarray, "F F"]]:
    """Return the factors of all models, and how many of each write to each.

    A model that occurs ``counts`` times weighs so much in the consensus. Its copies
    are neighbours of each other only on request.
    """
    rows = [
        (post, m, group, count)
        for post, count in zip(posts, counts, strict=True)
        for m, group in enumerate(post.gp.groups)
    ]
    overlaps = np.array(
        [[float(bool(set(a) & set(b))) for _, _, b, _ in rows] for _, _, a, _ in rows]
    )
    if repeats_are_neighbours:
        overlaps *= np.array([count for *_, count in rows], dtype=float)
    factors = [
        Factor(post=post, m=m, group=group, count=count, neighbours=int(n), beta=beta)
        for (post, m, group, count), n in zip(rows, overlaps.sum(axis=1), strict=True)
    ]
    return factors, overlaps - np.eye(len(rows))  # none writes to itself


def minimise_pooled(
    rng: np.random.Generator,
    factors: list[Factor],
    overlaps: Float[ndarray, "F F"],
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
    Z = draw_candidates(rng, data, [_component(f.group) for f in factors], candidates)
    moments = [f.post.part_moments(f.m, Zi) for f, Zi in zip(factors, Z, strict=True)]

    def minimise(
        i: int, x: ndarray | None, message: float, pull: Pull | None
    ) -> ndarray:
        factor = factors[i]
        mean, var = moments[i]
        values = mean - factor.beta * factor.spread(var, message)
        if pull is None or x is None:
            begin = Z[i][choose_starts(rng, values, starts)]
        else:
            begin = np.stack([x, Z[i][int(np.argmin(values + pull(Z[i])[0]))]])
        return minimise_multistart(
            lambda X: factor.bound(X, message, pull), begin, tolerance=TOLERANCE
        )[0]

    def sweep(copies: list | None, pulls: list[Pull] | None) -> list:
        if copies is None or pulls is None:
            return [minimise(i, None, 0.0, None) for i in range(len(factors))]
        shares = [f.share(x) for f, x in zip(factors, copies, strict=True)]
        messages = (overlaps @ np.array(shares)).tolist()
        rows = enumerate(zip(copies, messages, pulls, strict=True))
        return [minimise(i, x, message, pull) for i, (x, message, pull) in rows]

    return minimise_consensus(
        sweep,
        tuple(factor.group for factor in factors),
        data.domain.dim,
        [factor.count for factor in factors],
        rounds=rounds,
        precision=precision,
        penalty=penalty,
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
