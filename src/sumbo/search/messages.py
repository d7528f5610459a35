"""A low value of a sum of tables, and a lower bound, where elimination costs too much.

Loopy min-sum of the kind that converges: block coordinate ascent in the dual of the
linear relaxation ([globerson2007]). Each term a of several variables sends messages
δ_a→i(x_i) to its variables. For all messages

    min_x Σ_a θ_a(x_a)  ≥  Σ_i min_{x_i} b_i(x_i) + Σ_a min_{x_a} (θ_a − Σ_i δ_a→i),
    b_i = θ_i + Σ_a δ_a→i,

and every update raises this bound or leaves it as it is. The levels are read from the
beliefs b_i, each variable given those before it, and improved one variable at a time;
the best ones of all rounds are kept. Message passing for overlapping groups is due to
[rolland2018] and [hoang2018]; their messages are others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sumbo.search.elimination import LevelTable, total_at
from sumbo.typing import Float, ndarray


@dataclass(frozen=True, kw_only=True)
class MessagePassing:
    """When messages end.

    Attributes:
        rounds: Most rounds over all terms.
        patience: Rounds of little progress after which they end.
        progress: Increase of the lower bound by a round that is little, as a share of
            the distance between lower bound and best value.
        sweeps: Most sweeps over the variables that improve the levels of a round.
    """

    rounds: int = 30
    patience: int = 3
    progress: float = 0.02
    sweeps: int = 5


MESSAGES = MessagePassing()


class Bounded(NamedTuple):
    """Levels of all variables, their value, and a lower bound on the least value."""

    levels: list[int]
    value: float
    bound: float


def minimise_by_messages(terms: Sequence[LevelTable], sizes: Sequence[int]) -> Bounded:
    """Return low levels, never worse than any of an earlier round, with a bound."""
    singles = [np.zeros(n) for n in sizes]
    wide = []
    for term in terms:
        if len(term.scope) == 1:
            singles[term.scope[0]] += term.table
        else:
            wide.append(term)
    sent = [[np.zeros(sizes[i]) for i in term.scope] for term in wide]
    beliefs = [single.copy() for single in singles]
    best = _decoded(terms, beliefs, sizes)
    value, bound, idle = total_at(terms, best), -np.inf, 0
    for _ in range(MESSAGES.rounds):
        before = bound
        for term, messages in zip(wide, sent, strict=True):
            _update(term, messages, beliefs)
        bound = max(bound, _lower_bound(wide, sent, beliefs))
        tried = _decoded(terms, beliefs, sizes)
        reached = total_at(terms, tried)
        if reached < value:
            best, value = tried, reached
        gap = value - bound
        idle = idle + 1 if bound - before < MESSAGES.progress * gap else 0
        if idle >= MESSAGES.patience or gap <= 1e-9 * (1.0 + abs(value)):
            break
    return Bounded(best, value, min(bound, value))


def _update(
    term: LevelTable,
    messages: list[Float[ndarray, " _"]],
    beliefs: list[Float[ndarray, " _"]],
) -> None:
    """Replace the messages of one term, and the beliefs of its variables."""
    d = len(term.scope)
    total = term.table.copy()
    rest = [beliefs[i] - old for i, old in zip(term.scope, messages, strict=True)]
    for k, others in enumerate(rest):
        total += others.reshape([-1 if a == k else 1 for a in range(d)])
    for k, i in enumerate(term.scope):
        least = total.min(axis=tuple(a for a in range(d) if a != k))
        messages[k] = least / d - rest[k]
        beliefs[i] = rest[k] + messages[k]


def _lower_bound(
    wide: Sequence[LevelTable],
    sent: Sequence[list[Float[ndarray, " _"]]],
    beliefs: Sequence[Float[ndarray, " _"]],
) -> float:
    out = sum(float(belief.min()) for belief in beliefs)
    for term, messages in zip(wide, sent, strict=True):
        left = term.table.copy()
        for k, message in enumerate(messages):
            left -= message.reshape([-1 if a == k else 1 for a in range(left.ndim)])
        out += float(left.min())
    return out


def _decoded(
    terms: Sequence[LevelTable],
    beliefs: Sequence[Float[ndarray, " _"]],
    sizes: Sequence[int],
) -> list[int]:
    """Return levels of least belief, each then least given the others."""
    levels = [int(np.argmin(belief)) for belief in beliefs]
    holding: list[list[LevelTable]] = [[] for _ in sizes]
    for term in terms:
        for i in term.scope:
            holding[i].append(term)
    for _ in range(MESSAGES.sweeps):
        before = list(levels)
        for i in range(len(sizes)):
            cost = np.zeros(sizes[i])
            for term in holding[i]:
                at = [slice(None) if j == i else levels[j] for j in term.scope]
                cost += term.table[tuple(at)]
            k = int(np.argmin(cost))
            if cost[k] < cost[levels[i]]:
                levels[i] = k
        if levels == before:
            break
    return levels
