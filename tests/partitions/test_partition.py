"""Partitions and their proposals: probabilities by going through every choice."""

from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest
from scipy import stats

from partition_cases import all_partitions
from sumbo.errors import ArgumentError
from sumbo.partitions.partition import (
    canonical,
    count_merged,
    exchange,
    group_with,
    has_residual,
    log_split_or_merge,
    singletons,
    split_or_merge,
    with_residual,
)


def enumerated_proposals(old, max_size):
    """Return {new: probability} by going through every random choice, in fractions."""
    splittable = [g for g in old if len(g) > 1]
    pairs = [
        (g, h)
        for i, g in enumerate(old)
        for h in old[i + 1 :]
        if len(g + h) <= max_size
    ]
    coin = Fraction(1, 2) if splittable and pairs else Fraction(1)
    out = {}

    def add(new, p):
        new = canonical(new)
        out[new] = out.get(new, Fraction(0)) + p

    for g in splittable:
        rest = [h for h in old if h != g]
        seeds = list(permutations(g, 2))
        for i, j in seeds:
            others = [k for k in g if k not in (i, j)]
            for sides in product((0, 1), repeat=len(others)):
                halves = ([i], [j])
                for k, side in zip(others, sides, strict=True):
                    halves[side].append(k)
                p = coin / len(splittable) / len(seeds) / 2 ** len(others)
                add((*rest, tuple(halves[0]), tuple(halves[1])), p)
    for g, h in pairs:
        add((*(x for x in old if x not in (g, h)), g + h), coin / len(pairs))
    return out


# ---------------------------------------------------------------------- partitions
def test_there_are_fifteen_partitions_of_four_parameters_and_52_of_five():
    assert len(set(all_partitions(4, 4))) == 15
    assert len(set(all_partitions(5, 5))) == 52


def test_a_canonical_partition_has_sorted_groups_in_order_of_their_first_member():
    assert canonical(((4, 1), (3,), (2, 0))) == ((0, 2), (1, 4), (3,))


def test_singletons_and_the_group_of_a_parameter():
    assert singletons(3) == ((0,), (1,), (2,))
    assert group_with(((0, 3), (1,), (2, 4)), 4) == (2, 4)


def test_a_residual_part_is_added_to_all_but_one_group():
    assert with_residual(((0, 3), (1,), (2,))) == ((0, 3), (1,), (2,), (0, 1, 2, 3))
    assert with_residual(((0, 1, 2),)) == ((0, 1, 2),)
    assert with_residual(((0,),)) == ((0,),)


@pytest.mark.parametrize("partition", all_partitions(4, 4))
def test_a_residual_part_is_recognised(partition):
    assert not has_residual(partition)
    assert has_residual(with_residual(partition)) == (len(partition) > 1)


def test_members_of_a_residual_part_are_not_counted_as_merged():
    assert count_merged(((0, 3), (1,), (2, 4, 5))) == 3
    assert count_merged(((0, 1), (2,), (0, 1, 2))) == 1
    assert count_merged(((0, 1, 2),)) == 2
    assert count_merged(((0,),)) == 0


# ---------------------------------------------------------------------- exchanges
class Pairs(np.random.Generator):
    """A generator whose choice of two parameters is given."""

    def __init__(self, pair=None):
        super().__init__(np.random.PCG64(0))
        self.pair = pair

    def choice(self, a, size, replace):
        assert size == 2
        assert not replace
        assert self.pair is None or max(self.pair) < a
        return np.array(self.pair)


def exchanges(partition, K):
    """Return how many of the equally likely pairs lead to each new partition."""
    out: dict = {}
    for pair in permutations(range(K), 2):
        new, log_ratio = exchange(Pairs(pair), partition)
        assert log_ratio == 0.0
        out[new] = out.get(new, 0) + 1
    return out


def test_an_exchange_is_as_likely_as_its_reverse():
    states = all_partitions(5, 5)
    there = {partition: exchanges(partition, 5) for partition in states}
    changed = 0
    for old, found in there.items():
        assert sum(found.values()) == 20
        for new, count in found.items():
            assert sorted(map(len, new)) == sorted(map(len, old))
            assert there[new][old] == count
            changed += new != old
    assert changed > 100


def test_every_partition_with_the_same_sizes_is_reached_by_exchanges():
    seen = {((0, 1), (2, 3), (4,))}
    todo = list(seen)
    while todo:
        new = set(exchanges(todo.pop(), 5)) - seen
        seen |= new
        todo += new
    assert len(seen) == 15  # 5!/(2! 2! 1!) / 2


def test_exchanges_draw_every_pair(rng):
    # Nine other partitions lie one exchange from this one, each with probability 1/15.
    # One of them is never drawn with probability 9 (14/15)^300 = 1e-8.
    start = ((0, 1, 2), (3, 4, 5))
    wanted = set(exchanges(start, 6))
    assert {exchange(rng, start)[0] for _ in range(300)} == wanted


# ---------------------------------------------------------------------- splits, merges
@pytest.mark.parametrize(("K", "max_size"), [(4, 4), (4, 2), (5, 3), (5, 5)])
def test_proposal_probabilities_equal_the_enumeration_of_all_choices(K, max_size):
    states = all_partitions(K, max_size)
    for old in states:
        exact = enumerated_proposals(old, max_size)
        assert sum(exact.values()) == 1
        for new in states:
            q = np.exp(log_split_or_merge(old, new, max_size))
            assert q == pytest.approx(float(exact.get(new, 0)), rel=1e-12, abs=0)


@pytest.mark.parametrize(("K", "max_size"), [(4, 4), (4, 2), (5, 3)])
def test_proposals_return_the_ratio_of_their_probabilities(K, max_size, rng):
    for old in all_partitions(K, max_size):
        forward = enumerated_proposals(old, max_size)
        for _ in range(4):
            new, log_ratio = split_or_merge(rng, old, max_size)
            back = enumerated_proposals(new, max_size)[old]
            exact = np.log(float(back / forward[new]))
            assert log_ratio == pytest.approx(exact, abs=1e-12)


@pytest.mark.statistical
def test_proposals_are_drawn_with_their_probabilities(rng):
    # Chi-square; a false alarm in 1e-5 of runs.
    old, max_size, n = ((0, 3), (1,), (2, 4, 5)), 4, 6000
    exact = enumerated_proposals(old, max_size)
    counts = dict.fromkeys(exact, 0)
    for _ in range(n):
        counts[split_or_merge(rng, old, max_size)[0]] += 1
    expected = [n * float(p) for p in exact.values()]
    assert stats.chisquare(list(counts.values()), expected).pvalue > 1e-5


def test_a_single_parameter_can_neither_be_split_nor_merged(rng):
    assert split_or_merge(rng, ((0,),), 5) == (((0,),), 0.0)
    assert exchange(rng, ((0,),)) == (((0,),), 0.0)


def test_a_partition_with_too_large_a_group_is_refused(rng):
    with pytest.raises(ArgumentError, match="max_size=2"):
        split_or_merge(rng, ((0, 1, 2),), 2)
