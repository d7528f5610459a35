"""Variable elimination on forests, against the enumeration of all levels."""

from itertools import combinations, product

import numpy as np
import pytest

from irregular import frozen
from sumbo.errors import ArgumentError
from sumbo.search.elimination import is_forest, minimise_forest, term_tables

FORESTS = {
    "a chain": [(0, 1), (1, 2), (2, 3), (3, 4)],
    "a chain out of order": [(3, 1), (4, 0), (1, 4), (0, 2)],
    "a star": [(2, 0), (2, 1), (3, 2), (2, 4)],
    "two trees and a node": [(0, 3), (4, 1)],
    "no pairs": [],
}


def terms_of(rng, edges, sizes):
    singles = [frozen(rng.standard_normal(n)) for n in sizes]
    pairs = {
        (i, j): frozen(2.3 * rng.standard_normal((sizes[i], sizes[j])))
        for i, j in edges
    }
    return singles, pairs


def total(singles, pairs, levels):
    single = sum(s[l] for s, l in zip(singles, levels, strict=True))
    return single + sum(t[levels[i], levels[j]] for (i, j), t in pairs.items())


@pytest.mark.parametrize("edges", FORESTS.values(), ids=FORESTS)
@pytest.mark.parametrize("trial", range(6))
def test_elimination_finds_the_minimum_over_all_levels(edges, trial, rng):
    sizes = rng.integers(1, 5, size=5)
    singles, pairs = terms_of(rng, edges, sizes)
    every = list(product(*(range(n) for n in sizes)))
    best = min(every, key=lambda levels: total(singles, pairs, levels))
    assert tuple(minimise_forest(singles, pairs)) == best


def test_elimination_of_a_hundred_variables_beats_every_single_change(rng):
    sizes = [7] * 100
    edges = [(int(rng.integers(k)), k) for k in range(1, 100)]
    singles, pairs = terms_of(rng, edges, sizes)
    levels = minimise_forest(singles, pairs)
    least = total(singles, pairs, levels)
    for k, l in product(range(100), range(7)):
        other = [*levels[:k], l, *levels[k + 1 :]]
        assert total(singles, pairs, other) >= least - 1e-9


def test_pairs_with_a_cycle_are_refused(rng):
    singles, pairs = terms_of(rng, [(0, 1), (1, 2), (2, 0)], [2, 3, 2])
    with pytest.raises(ArgumentError, match="cycle"):
        minimise_forest(singles, pairs)


def test_forests_are_the_graphs_that_have_as_many_trees_as_nodes_minus_edges():
    # 38 labelled forests on four nodes.
    every = list(combinations(range(4), 2))
    graphs = [
        [edge for edge, taken in zip(every, choice, strict=True) if taken]
        for choice in product((False, True), repeat=6)
    ]
    assert sum(is_forest(edges, 4) for edges in graphs) == 38
    assert not is_forest([(0, 1), (1, 0)], 2)


def test_tables_hold_the_parts_at_all_combinations_of_levels(rng):
    # Nodes of one and of two coordinates; a part names its coordinates in any order.
    nodes = ((2,), (0, 3), (1,))
    sizes = dict(zip(nodes, (3, 4, 2), strict=True))
    levels = [frozen(rng.random((sizes[c], len(c)))) for c in nodes]
    terms = [(7, (3, 2, 0)), (2, (1,)), (5, (1, 2)), (9, (2, 1)), (4, (2,))]
    slopes = {m: rng.standard_normal(len(c)) for m, c in terms}

    def value(m, z):
        return np.sin(3.1 * z @ slopes[m]) + 0.1 * m

    singles, pairs = term_tables(value, terms, nodes, levels)
    for a, b, c in product(range(3), range(4), range(2)):
        x = np.empty(4)
        for node, rows, l in zip(nodes, levels, (a, b, c), strict=True):
            x[list(node)] = rows[l]
        wanted = sum(value(m, x[None, list(g)])[0] for m, g in terms)
        assert total(singles, pairs, (a, b, c)) == pytest.approx(wanted, rel=1e-12)
    assert set(pairs) == {(0, 1), (0, 2)}
