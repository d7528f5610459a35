"""Where groups come from: the random measure against its exact law, and the others.

The law is enumerated here in rational arithmetic. Statistical checks are false alarms
with probability 1e-6 each.
"""

from collections import Counter
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import stats

from sumbo import Categorical, Integer, Optimizer, Real, Space
from sumbo.data import prepare
from sumbo.decompositions import DECOMPOSITIONS, resolve
from sumbo.decompositions.random import (
    partition_counts,
    random_below,
    random_integer_partition,
    random_partition,
)
from sumbo.errors import ArgumentError, UnknownNameError
from sumbo.structure import expand

ALARM = 1e-6
# Expected number of groups, all singletons, largest group 1 to 5, size 1 to 5 of the
# group of a given coordinate, two given coordinates together: at most 5 in a group.
TABLE = {
    2: (1.5, 0.5, (0.5, 0.5), (0.5, 0.5), 0.5),
    5: (
        2.8571,
        0.1429,
        (0.1429, 0.2857, 0.2857, 0.1429, 0.1429),
        (0.3429, 0.2286, 0.1714, 0.1143, 0.1429),
        0.3714,
    ),
    7: (
        3.9571,
        0.07857,
        (0.0786, 0.2357, 0.3071, 0.2286, 0.1500),
        (0.3255, 0.2408, 0.1959, 0.1306, 0.1071),
        0.2422,
    ),
    10: (
        5.4306,
        0.03115,
        (0.0312, 0.1796, 0.2857, 0.2969, 0.2065),
        (0.2950, 0.2470, 0.1899, 0.1526, 0.1155),
        0.1718,
    ),
    14: (
        7.4716,
        0.01057,
        (0.0106, 0.1027, 0.2550, 0.3354, 0.2963),
        (0.2848, 0.2404, 0.1938, 0.1580, 0.1230),
        0.1226,
    ),
}
every_dimension = pytest.mark.parametrize("d", sorted(TABLE))


# ---------------------------------------------------------------------- the exact law
@cache
def integer_partitions(n, limit):
    """Return all partitions of n into parts of at most ``limit``, largest first."""
    if n == 0:
        return [()]
    return [
        (k, *rest)
        for k in range(min(n, limit), 0, -1)
        for rest in integer_partitions(n - k, k)
    ]


@cache
def size_law(d, cap) -> dict[tuple[int, ...], Fraction]:
    """Return the probability of every multiset of group sizes.

    Uniform integer partition of d; parts above the cap are dropped and what they held
    is partitioned again; a draw of which nothing is left is repeated.
    """
    if d == 0:
        return {(): Fraction(1)}
    kept = Counter(
        tuple(k for k in partition if k <= cap)
        for partition in integer_partitions(d, d)
    )
    kept.pop((), None)
    total = sum(kept.values())
    law: Any = Counter()
    for parts, count in kept.items():
        for rest, p in size_law(d - sum(parts), cap).items():
            law[tuple(sorted(parts + rest, reverse=True))] += Fraction(count, total) * p
    return dict(law)


def mean_over(law, of):
    return sum(p * of(sizes) for sizes, p in law.items())


def summary(d, cap):
    """Return the columns of the table from the enumerated law."""
    law = size_law(d, cap)
    top = range(1, min(cap, d) + 1)
    pairs = d * (d - 1)
    return (
        mean_over(law, len),
        law[(1,) * d],
        [mean_over(law, lambda s, k=k: s[0] == k) for k in top],
        [mean_over(law, lambda s, k=k: Fraction(k * s.count(k), d)) for k in top],
        mean_over(law, lambda s: Fraction(sum(k * (k - 1) for k in s), pairs)),
    )


@every_dimension
def test_the_enumerated_law_has_the_published_moments(d):
    for mine, published in zip(summary(d, 5), TABLE[d], strict=True):
        exact = np.array(mine, dtype=float)
        np.testing.assert_allclose(exact, published, rtol=0, atol=6e-5)


def test_the_enumerated_law_has_the_published_patterns_of_ten():
    law = size_law(10, 5)
    assert len(law) == 30
    assert sum(law.values()) == 1
    assert law[3, 2, 1, 1, 1, 1, 1] == Fraction(24229, 582610)
    assert law[3, 2, 2, 1, 1, 1] == Fraction(72203, 1747830)
    assert law[2, 2, 2, 1, 1, 1, 1] == Fraction(138787, 3495660)


# ---------------------------------------------------------------------- the sampler
def sizes_of(groups):
    return tuple(sorted((len(group) for group in groups), reverse=True))


def chi_square(counts, law, n):
    """Return the p-value of counts against a law, rare cells pooled."""
    assert set(counts) <= set(law), f"impossible: {set(counts) - set(law)}"
    cells = sorted(law, key=lambda cell: -law[cell])
    common = [cell for cell in cells if n * law[cell] >= 10]
    seen = [counts[cell] for cell in common]
    wanted = [float(n * law[cell]) for cell in common]
    if len(common) < len(cells):
        seen.append(n - sum(seen))
        wanted.append(n - sum(wanted))
    return stats.chisquare(seen, wanted).pvalue


@pytest.mark.parametrize("n", [2, 3, 5, 8, 11])
def test_integer_partitions_are_uniform(n, rng):
    everything = integer_partitions(n, n)
    law = {partition: Fraction(1, len(everything)) for partition in everything}
    counts = Counter(
        tuple(random_integer_partition(rng, n, partition_counts(n)))
        for _ in range(2000)
    )
    assert chi_square(counts, law, 2000) > ALARM


def test_the_seven_patterns_of_five_parameters_are_equally_likely(rng):
    counts = Counter(sizes_of(random_partition(rng, 5, 5)) for _ in range(2800))
    assert len(counts) == 7
    assert stats.chisquare(list(counts.values())).pvalue > ALARM


@pytest.mark.parametrize(
    ("d", "cap"), [(4, 2), (5, 3), (7, 5), (10, 5), (10, 2), (14, 5)]
)
def test_group_sizes_follow_the_exact_law(d, cap, rng):
    n = 2000
    counts = Counter(sizes_of(random_partition(rng, d, cap)) for _ in range(n))
    assert chi_square(counts, size_law(d, cap), n) > ALARM


def test_the_table_of_ten_parameters_is_drawn(rng):
    n = 3000
    drawn = [random_partition(rng, 10, 5) for _ in range(n)]
    groups, alone, largest, own, together = summary(10, 5)
    rows = [
        ([len(g) == 10 for g in drawn], alone),
        *[([sizes_of(g)[0] == k + 1 for g in drawn], p) for k, p in enumerate(largest)],
        *[
            ([len(_group_of(7, g)) == k + 1 for g in drawn], p)
            for k, p in enumerate(own)
        ],
        ([2 in _group_of(9, g) for g in drawn], together),
    ]
    for hits, p in rows:
        # Bonferroni over the twelve rows.
        pvalue = stats.binomtest(int(np.sum(hits)), n, float(p)).pvalue
        assert pvalue > ALARM / len(rows)
    counts = np.array([len(g) for g in drawn])
    error = (counts.mean() - float(groups)) / (counts.std() / np.sqrt(n))
    assert abs(error) < 4.9  # false alarm 1e-6


def _group_of(p, groups):
    return next(group for group in groups if p in group)


def test_which_parameters_share_a_group_is_uniform_given_the_sizes(rng):
    # 15 partitions of a set of four: 1 + 4 + 3 + 6 + 1, sizes equally likely.
    n = 4000
    counts = Counter(tuple(sorted(random_partition(rng, 4, 5))) for _ in range(n))
    assert len(counts) == 15
    kinds = Counter(sizes_of(groups) for groups in counts)
    law = {g: Fraction(1, 5 * kinds[sizes_of(g)]) for g in counts}
    assert chi_square(counts, law, n) > ALARM


def test_groups_of_at_most_one_are_singletons(rng):
    assert sorted(random_partition(rng, 6, 1)) == [(p,) for p in range(6)]


@pytest.mark.parametrize("d", [1, 17, 100, 1000])
def test_any_number_of_parameters_is_partitioned(d, rng):
    groups = random_partition(rng, d, 5)
    assert sorted(p for group in groups for p in group) == list(range(d))
    assert max(len(group) for group in groups) <= 5
    assert all(list(group) == sorted(group) for group in groups)


@pytest.mark.parametrize(
    ("n", "limit", "count"),
    [(1, 1, 1), (10, 10, 42), (10, 5, 30), (100, 100, 190_569_292)],
)
def test_partitions_are_counted(n, limit, count):
    assert partition_counts(n)[limit][n] == count


@pytest.mark.parametrize("bound", [1, 3, 2**32 + 1, 3**80])
def test_large_random_integers_are_uniform_below_the_bound(bound, rng):
    draws = [random_below(rng, bound) for _ in range(3000)]
    assert all(0 <= value < bound for value in draws)
    if bound > 2**32:
        shares = np.array([float(Fraction(value, bound)) for value in draws])
        assert stats.kstest(shares, "uniform").pvalue > ALARM
    else:
        assert set(draws) == set(range(bound))


# ---------------------------------------------------------------------- the others
MIXED = [Real("a", 0.2, 3.0), Categorical("b", ("u", "v", "w")), Integer("c", 1, 4)]


def data_of(bounds, N=6):
    space = Space.of(bounds)
    rng = np.random.default_rng(3)
    return prepare(
        U=space.snap(rng.random((N, space.dim))),
        y=rng.standard_normal(N),
        failed=np.zeros(N, dtype=bool),
        pending=np.empty((0, space.dim)),
        domain=space,
        step=N,
    )


def test_singletons_and_one_count_parameters_not_coordinates(rng):
    data = data_of(MIXED)
    assert resolve("singletons").propose(rng, None, data, None).groups == (
        (0,),
        (1,),
        (2,),
    )
    assert resolve("one").propose(rng, None, data, None).groups == ((0, 1, 2),)


def test_groups_of_parameters_become_groups_of_coordinates():
    blocks = Space.of(MIXED).blocks
    assert expand(((2, 0), (1,)), blocks) == ((4, 0), (1, 2, 3))


def test_explicit_groups_are_kept_and_checked(rng):
    data = data_of(MIXED)
    assert resolve([(0, 2), (1,)]).propose(rng, None, data, None).groups == (
        (0, 2),
        (1,),
    )
    with pytest.raises(ArgumentError, match="missing 2"):
        resolve([(0, 1)]).propose(rng, None, data, None)


def test_an_unknown_decomposition_names_the_nearest():
    with pytest.raises(UnknownNameError, match=r"groups='randon'.*'random'"):
        resolve("randon")


def test_the_documented_decompositions_are_registered():
    assert {"singletons", "one", "random"} <= set(DECOMPOSITIONS.names())


def test_random_groups_are_redrawn_at_refits_only():
    opt = Optimizer(
        [(-1.2, 2.7 + k) for k in range(6)],
        method="ts",
        groups="random",
        seed=3,
        n_init=4,
        refit=3,
        candidates=8,
    )
    seen = []
    for _ in range(14):
        x = opt.ask()
        opt.tell(x, float(np.sin(x).sum()))
        if opt.info.groups is not None:
            seen.append((opt.info.refitted, opt.info.groups))
    assert [refitted for refitted, _ in seen] == [i % 3 == 0 for i in range(10)]
    spans = [[groups for _, groups in seen[i : i + 3]] for i in range(0, 10, 3)]
    assert all(len(set(span)) == 1 for span in spans)
    assert len({span[0] for span in spans}) > 1
