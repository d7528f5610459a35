"""Minimise a sum of overlapping parts: consensus ADMM with an adaptive penalty.

Part i keeps its own copy x_i of the coordinates in its group, and copies agree in the
limit on one point z. In every round the parts minimise on their own

    f_i(x_i) + λ_i·(x_i − z_i) + (η/2)‖x_i − z_i‖²,

then z becomes the average of the copies and λ_i grows by η(x_i − z_i); [boyd2011]
Sec. 7.2. The penalty η is doubled or halved where one of the residuals, copies against
z and z against its last value, exceeds ten times the other; [boyd2011] Sec. 3.4.1.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sumbo.typing import Float, Groups, ndarray

# [boyd2011] Eq. (3.13): residuals within this factor leave the penalty alone, …
IMBALANCE = 10.0
# … others change it by this factor.
FACTOR = 2.0


class Pull(NamedTuple):
    """What draws one part towards the consensus."""

    anchor: Float[ndarray, " d"]
    multiplier: Float[ndarray, " d"]
    penalty: float

    def __call__(
        self, X: Float[ndarray, "b d"]
    ) -> tuple[Float[ndarray, " b"], Float[ndarray, "b d"]]:
        """Return λ·(x − z) + (η/2)‖x − z‖² and its gradient, for each row."""
        gap = X - self.anchor
        slope = self.multiplier + self.penalty * gap
        return np.einsum("bi,bi->b", self.multiplier + 0.5 * self.penalty * gap, gap), (
            slope
        )


class Consensus(NamedTuple):
    """The agreed point, each part's copy, and how far they were apart at the end."""

    z: Float[ndarray, " P"]
    copies: list[Float[ndarray, "..."]]
    rounds: int
    gap: float
    penalty: float


# The minimisers of all parts, given the copies of the last round and the pulls; in
# the first round there are neither.
Sweep = Callable[
    [list[Float[ndarray, "..."]] | None, list[Pull] | None],
    list[Float[ndarray, "..."]],
]


def minimise_consensus(
    sweep: Sweep,
    groups: Groups,
    dim: int,
    counts: list[int] | None = None,
    *,
    rounds: int = 10,
    precision: float = 0.05,
    penalty: float = 1.0,
) -> Consensus:
    """Return the point on which the parts agree, with each part's own copy.

    Args:
        sweep: Minimises every part on its own; see ``Sweep``.
        groups: The coordinates of each part; together they cover all.
        dim: The number of coordinates P.
        counts: How often each part occurs; equal parts behave equally, so one of them
            stands for all. Default once.
        rounds: Most rounds; the first has no pulls.
        precision: Stop when no copy is further than this from z in any coordinate.
        penalty: The first value of η.
    """
    index = [list(group) for group in groups]
    weights = np.ones(len(groups)) if counts is None else np.array(counts, dtype=float)
    multipliers = [np.zeros(len(group)) for group in groups]
    total = np.zeros(dim)
    for group, weight in zip(index, weights, strict=True):
        total[group] += weight
    copies: list | None = None
    pulls: list[Pull] | None = None
    z, gap, done = np.zeros(dim), np.inf, 0
    while done < rounds and gap >= precision:
        copies = sweep(copies, pulls)
        last, z = z, np.zeros(dim)
        for group, weight, x in zip(index, weights, copies, strict=True):
            z[group] += weight * x
        z /= total
        gaps = [x - z[group] for x, group in zip(copies, index, strict=True)]
        multipliers = [l + penalty * g for l, g in zip(multipliers, gaps, strict=True)]
        if done > 0:
            primal = np.sqrt(sum(w * g @ g for w, g in zip(weights, gaps, strict=True)))
            dual = penalty * np.linalg.norm(z - last)
            penalty = _balanced(penalty, float(primal), float(dual))
        pulls = [
            Pull(z[group], l, penalty)
            for group, l in zip(index, multipliers, strict=True)
        ]
        gap = max(float(np.abs(g).max()) for g in gaps)
        done += 1
    return Consensus(z, copies or [], done, gap, penalty)


def _balanced(penalty: float, primal: float, dual: float) -> float:
    """Return the penalty after comparing the residuals; [boyd2011] Eq. (3.13)."""
    if primal > IMBALANCE * dual:
        return penalty * FACTOR
    if dual > IMBALANCE * primal:
        return penalty / FACTOR
    return penalty
