"""A random walk over partitions: Metropolis–Hastings with splits and merges.

The target is given by a score, log p up to a constant. A step splits a group or
merges two, as [gardner2017]; where both are possible a fair coin decides. With c = ½
where it does and 1 where it does not:

* split: a uniform choice among the groups of two or more, two distinct seeds, one for
  each side, a fair coin for every other member. For sides of a and s − a members,
  ``q = c / #splittable · 2a(s − a) / (s(s − 1)) · 2^−(s−2)``;
* merge: a uniform choice among the pairs that fit ``max_size``, ``q = c / #pairs``.
"""

import math
from collections.abc import Callable
from itertools import combinations
from typing import NamedTuple

import numpy as np

from sumbo.errors import ArgumentError
from sumbo.typing import Group, Groups


class Visit(NamedTuple):
    """A state of the chain with its score, and whether the step to it was accepted."""

    partition: Groups
    score: float
    accepted: bool


def canonical(groups: Groups) -> Groups:
    """Return the partition with sorted groups in order of their first member."""
    return tuple(sorted(tuple(sorted(group)) for group in groups))


def walk(
    rng: np.random.Generator,
    start: Groups,
    score: Callable[[Groups], float],
    steps: int,
    max_size: int,
) -> list[Visit]:
    """Return the start and the states after each of ``steps`` Metropolis steps.

    Args:
        rng: The source of randomness.
        start: A partition into groups of at most ``max_size``.
        score: log p of a canonical partition, up to a constant; called once for the
            start and once for every proposal.
        steps: The number of steps.
        max_size: The most members of a group.

    Raises:
        ArgumentError: If a group of the start is too large.
    """
    now = canonical(start)
    if max(len(group) for group in now) > max_size:
        msg = f"start={now} has a group of more than max_size={max_size} members."
        raise ArgumentError(f"{msg} Split it, or raise max_size.")
    visits = [Visit(now, score(now), accepted=True)]
    for _ in range(steps):
        last = visits[-1]
        new = propose(rng, last.partition, max_size)
        if new == last.partition:  # nothing to split, nothing to merge
            visits.append(last._replace(accepted=False))
            continue
        value = score(new)
        log_ratio = value - last.score
        log_ratio += log_proposal(new, last.partition, max_size)
        log_ratio -= log_proposal(last.partition, new, max_size)
        # A NaN score compares false, so such a proposal is never taken.
        accepted = bool(math.log1p(-rng.random()) < log_ratio)
        visits.append(
            Visit(new, value, accepted=True)
            if accepted
            else last._replace(accepted=False)
        )
    return visits


def propose(rng: np.random.Generator, partition: Groups, max_size: int) -> Groups:
    """Return a neighbour of the partition; itself if it has none."""
    splittable, pairs = _moves(partition, max_size)
    if not splittable and not pairs:
        return partition
    coin = rng.random() < 0.5
    if splittable and (coin or not pairs):
        group = splittable[int(rng.integers(len(splittable)))]
        return _replaced(partition, (group,), _cut(rng, group))
    pair = pairs[int(rng.integers(len(pairs)))]
    return _replaced(partition, pair, (pair[0] + pair[1],))


def log_proposal(old: Groups, new: Groups, max_size: int) -> float:
    """Return log q(new | old), the probability that ``propose`` turns old into new.

    It is −inf where no single split or merge does.
    """
    splittable, pairs = _moves(old, max_size)
    gone = tuple(group for group in old if group not in new)
    come = tuple(group for group in new if group not in old)
    coin = math.log(0.5) if splittable and pairs else 0.0
    joined = tuple(sorted(member for group in come for member in group))
    if joined != tuple(sorted(member for group in gone for member in group)):
        return -math.inf
    if len(gone) == 1 and len(come) == 2:
        a, s = len(come[0]), len(gone[0])
        log_cut = math.log(2 * a * (s - a) / (s * (s - 1))) - (s - 2) * math.log(2)
        return coin - math.log(len(splittable)) + log_cut
    if len(gone) == 2 and len(come) == 1 and len(joined) <= max_size:
        return coin - math.log(len(pairs))
    return -math.inf


def _moves(
    partition: Groups, max_size: int
) -> tuple[list[Group], list[tuple[Group, Group]]]:
    """Return the groups that can be split and the pairs that can be merged."""
    splittable = [group for group in partition if len(group) >= 2]
    pairs = [
        pair
        for pair in combinations(partition, 2)
        if len(pair[0]) + len(pair[1]) <= max_size
    ]
    return splittable, pairs


def _cut(rng: np.random.Generator, group: Group) -> tuple[Group, Group]:
    order = [group[int(i)] for i in rng.permutation(len(group))]
    left, right = [order[0]], [order[1]]
    for member, coin in zip(order[2:], rng.random(len(group) - 2) < 0.5, strict=True):
        (left if coin else right).append(member)
    return tuple(left), tuple(right)


def _replaced(
    partition: Groups, gone: tuple[Group, ...], come: tuple[Group, ...]
) -> Groups:
    return canonical((*(group for group in partition if group not in gone), *come))
