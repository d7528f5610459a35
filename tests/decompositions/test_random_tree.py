"""Random forests of pairs: how many edges, their distribution, and where fits start."""

from collections import Counter
from itertools import combinations, permutations

import numpy as np
import pytest
from scipy.stats import chisquare

from searches import MIXED, data_of
from sumbo import AdditiveGP
from sumbo.decompositions import resolve
from sumbo.decompositions.random_tree import RandomTree
from sumbo.errors import ArgumentError
from sumbo.partitions.forest import random_forest
from sumbo.structure import expand


def merged(edges, K):
    """Return how many trees the edges leave; one fewer for each without a cycle."""
    label = {k: {k} for k in range(K)}
    for i, j in edges:
        whole = label[i] | label[j]
        for k in whole:
            label[k] = whole
    return len({frozenset(tree) for tree in label.values()})


@pytest.mark.parametrize(
    ("K", "wanted"),
    [(1, 0), (2, 1), (4, 1), (9, 1), (10, 2), (14, 2), (15, 3), (35, 7)],
)
def test_a_fifth_of_the_parameters_is_the_number_of_edges(K, wanted, rng):
    data = data_of(rng, [0] * K, 5)
    groups = resolve("random_tree").propose(rng, None, data, None).groups
    edges = [group for group in groups if len(group) == 2]
    assert len(edges) == wanted
    assert merged(edges, K) == K - wanted
    apart = set(range(K)) - {k for edge in edges for k in edge}
    assert sorted(g for g in groups if len(g) == 1) == [(k,) for k in sorted(apart)]


def test_no_more_edges_than_a_tree_has(rng):
    data = data_of(rng, [0] * 6, 5)
    groups = RandomTree(edges=2.7).propose(rng, None, data, None).groups
    assert len(groups) == 5
    assert merged(groups, 6) == 1
    with pytest.raises(ArgumentError, match=r"edges=-0\.2"):
        RandomTree(edges=-0.2)


@pytest.mark.statistical
@pytest.mark.parametrize("edges", [1, 2, 3])
def test_forests_are_those_of_edges_in_random_order(edges, rng):
    # All orders of the pairs of four nodes, cycles left out: 720 equally likely ways.
    # Chi-square tests at 1e-5 each; every draw is independent.
    expected: Counter = Counter()
    for order in permutations(combinations(range(4), 2)):
        kept: tuple = ()
        for edge in order:
            if len(kept) < edges and merged((*kept, edge), 4) == 3 - len(kept):
                kept = (*kept, edge)
        expected[tuple(sorted(kept))] += 1
    draws = Counter(random_forest(rng, 4, edges) for _ in range(4000))
    assert set(draws) <= set(expected)
    found = [draws[forest] for forest in expected]
    share = np.array(list(expected.values())) * 4000 / 720
    assert chisquare(found, share).pvalue > 1e-5


def test_forests_change_and_keep_what_is_known_of_each_parameter(rng):
    data = data_of(rng, [0, 1, 1, 2, 3, 4, 5, 6], 40, [*MIXED, *[(-1.2, 3.4)] * 4])
    blocks = data.domain.blocks
    source = RandomTree(edges=0.6)
    first = source.propose(rng, None, data, None)
    assert first.start is None
    length = rng.uniform(0.2, 2.1, data.domain.dim)
    groups = expand(first.groups, blocks)
    last = AdditiveGP(
        groups=groups,
        lengthscales=[length[list(g)] * np.sqrt(len(g)) for g in groups],
        variances=rng.uniform(0.1, 0.9, len(groups)),
        noise=3e-3,
    )
    seen = set()
    for _ in range(6):
        found = source.propose(rng, None, data, last)
        seen.add(found.groups)
        assert found.start.groups == expand(found.groups, blocks)
        assert found.start.noise == 3e-3
        for group, own in zip(
            found.start.groups, found.start.lengthscales, strict=True
        ):
            wanted = length[list(group)] * np.sqrt(len(group))
            np.testing.assert_allclose(own, wanted, rtol=1e-12)
        before, after = sum(last.variances), sum(found.start.variances)
        assert after == pytest.approx(before, rel=1e-12)
    assert len(seen) > 1
