"""Partitions of the parameters, and Metropolis-Hastings proposals between them.

``split_or_merge`` splits a group or merges two, as [gardner2017]; where both are
possible a fair coin decides. With c = ½ where it does and 1 where it does not:

* split: a uniform choice among the groups of two or more, two distinct seeds, one for
  each side, a fair coin for every other member. For sides of a and s − a members,
  ``q = c / #splittable · 2a(s − a) / (s(s − 1)) · 2^−(s−2)``;
* merge: a uniform choice among the pairs that fit ``max_size``, ``q = c / #pairs``.
"""

import math
from itertools import combinations

import numpy as np

from sumbo.errors import ArgumentError
from sumbo.typing import Group, Groups


def canonical(groups: Groups) -> Groups:
    """Return the partition with sorted groups in order of their first member."""
    return tuple(sorted(tuple(sorted(group)) for group in groups))


def singletons(K: int) -> Groups:
    """Return the partition of K parameters into groups of one."""
    return tuple((k,) for k in range(K))


def group_with(partition: Groups, k: int) -> Group:
    """Return the group that holds parameter k."""
    return next(group for group in partition if k in group)


def with_residual(partition: Groups) -> Groups:
    """Return the groups and, last, a residual part over all parameters.

    A partition into one group has such a part already.
    """
    everything = tuple(sorted(k for group in partition for k in group))
    return partition if len(partition) == 1 else (*partition, everything)


def has_residual(groups: Groups) -> bool:
    """Return whether the last of several groups is a residual part."""
    return len(groups) > 1 and len(groups[-1]) == len({k for g in groups for k in g})


def count_merged(groups: Groups) -> int:
    """Return how many parameters are not the first of their group.

    A residual part does not count.
    """
    groups = groups[:-1] if has_residual(groups) else groups
    return sum(len(group) - 1 for group in groups)


# ---------------------------------------------------------------------- proposals
def exchange(rng: np.random.Generator, partition: Groups) -> tuple[Groups, float]:
    """Return the partition with two parameters exchanged, and 0.

    Groups that are right except for two members are far from the right ones for moves
    of one parameter, which would pass through worse groups. The two parameters are a
    uniform choice, so that the proposal is symmetric.
    """
    K = sum(len(group) for group in partition)
    if len(partition) in (1, K):  # every exchange gives the same partition
        return partition, 0.0
    a, b = (int(k) for k in rng.choice(K, size=2, replace=False))
    swapped = {a: b, b: a}
    groups = (tuple(swapped.get(k, k) for k in group) for group in partition)
    return canonical(tuple(groups)), 0.0


def split_or_merge(
    rng: np.random.Generator, partition: Groups, max_size: int
) -> tuple[Groups, float]:
    """Return a canonical partition split or merged once, and the log ratio of q.

    The partition itself is returned if nothing can be split or merged.

    Raises:
        ArgumentError: If a group of the partition is too large.
    """
    if max(len(group) for group in partition) > max_size:
        msg = f"partition={partition} has a group of more than max_size={max_size}"
        raise ArgumentError(f"{msg} members. Split it, or raise max_size.")
    splittable, pairs = _splits_and_merges(partition, max_size)
    if not splittable and not pairs:
        return partition, 0.0
    coin = rng.random() < 0.5
    if splittable and (coin or not pairs):
        group = splittable[int(rng.integers(len(splittable)))]
        new = _replaced(partition, (group,), _cut(rng, group))
    else:
        pair = pairs[int(rng.integers(len(pairs)))]
        new = _replaced(partition, pair, (pair[0] + pair[1],))
    back = log_split_or_merge(new, partition, max_size)
    return new, back - log_split_or_merge(partition, new, max_size)


def log_split_or_merge(old: Groups, new: Groups, max_size: int) -> float:
    """Return log q(new | old), that ``split_or_merge`` turns old into new.

    It is −inf where no single split or merge does.
    """
    splittable, pairs = _splits_and_merges(old, max_size)
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


def _splits_and_merges(
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
