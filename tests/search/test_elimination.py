"""Variable elimination and messages, against the enumeration of all levels."""

from itertools import combinations, pairwise, product

import numpy as np
import pytest

from irregular import frozen
from sumbo.search import levels as module
from sumbo.search.elimination import (
    LevelTable,
    minimise_terms,
    plan_elimination,
    tables_of,
    total_at,
)
from sumbo.search.levels import GridCost, minimise_levels
from sumbo.search.messages import minimise_by_messages

# Scopes of the terms, and the width of a best order of elimination.
GRAPHS = {
    "a chain": ([(0, 1), (1, 2), (2, 3), (3, 4)], 1),
    "a chain out of order": ([(3, 1), (4, 0), (1, 4), (0, 2)], 1),
    "a star": ([(2, 0), (2, 1), (3, 2), (2, 4)], 1),
    "two trees and a node": ([(0, 3), (4, 1)], 1),
    "no pairs": ([(3,), (0,)], 0),
    "a cycle": ([(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)], 2),
    "a cycle of triples": ([(k, (k + 1) % 5, (k + 2) % 5) for k in range(5)], 4),
    "triples that share one": ([(0, 3, 1), (4, 2, 1)], 2),
    "all pairs": (list(combinations(range(5), 2)), 4),
    "one term over all": ([(4, 2, 0, 1, 3), (1, 3)], 4),
    "equal scopes": ([(0, 2), (2, 0), (0, 2), (1, 4, 3), (3, 1, 4)], 2),
}
graphs = pytest.mark.parametrize("scopes", [g for g, _ in GRAPHS.values()], ids=GRAPHS)


def terms_of(rng, scopes, sizes):
    """Return random terms of the scopes, and one of every variable."""
    singles = [((i,), 1.0) for i in range(len(sizes))]
    return [
        LevelTable(
            scope, frozen(scale * rng.standard_normal([sizes[i] for i in scope]))
        )
        for scope, scale in [*singles, *((scope, 2.3) for scope in scopes)]
    ]


def least(terms, sizes):
    return min(product(*map(range, sizes)), key=lambda levels: total_at(terms, levels))


@graphs
@pytest.mark.parametrize("trial", range(6))
def test_elimination_finds_the_minimum_over_all_levels(scopes, trial, rng):
    sizes = rng.integers(1, 5, size=5).tolist()
    terms = terms_of(rng, scopes, sizes)
    assert tuple(minimise_terms(terms, sizes)) == least(terms, sizes)


@pytest.mark.parametrize(("scopes", "width"), GRAPHS.values(), ids=GRAPHS)
def test_the_plan_counts_the_cells_of_tables_of_the_least_width(scopes, width):
    sizes = [3, 3, 3, 3, 3]
    plan = plan_elimination(scopes, sizes)
    assert sorted(plan.order) == [0, 1, 2, 3, 4]
    assert plan.width == width
    assert plan.largest == 3 ** (width + 1)
    near = {i: {j for scope in scopes if i in scope for j in scope} for i in range(5)}
    cells = 0
    for i in plan.order:
        clique = {i, *near.pop(i)}
        cells += 3 ** len(clique)
        near = {
            j: (others | clique if j in clique else others) - {i}
            for j, others in near.items()
        }
    assert plan.cells == cells


@graphs
@pytest.mark.parametrize("trial", range(4))
def test_messages_bracket_the_minimum_over_all_levels(scopes, trial, rng):
    sizes = rng.integers(1, 5, size=5).tolist()
    terms = terms_of(rng, scopes, sizes)
    best = total_at(terms, least(terms, sizes))
    found = minimise_by_messages(terms, sizes)
    assert found.value == pytest.approx(total_at(terms, found.levels), abs=1e-12)
    assert found.bound - 1e-9 <= best <= found.value + 1e-9
    # The levels are at least those that no single change improves.
    for i in range(5):
        for l in range(sizes[i]):
            other = [*found.levels[:i], l, *found.levels[i + 1 :]]
            assert total_at(terms, other) >= found.value - 1e-9


@pytest.mark.parametrize("trial", range(5))
def test_messages_are_exact_on_forests(trial, rng):
    # The linear relaxation of a forest has no gap.
    sizes = [4, 3, 5, 2, 4, 3]
    terms = terms_of(rng, [(1, 0), (2, 1), (1, 3), (4, 5)], sizes)
    found = minimise_by_messages(terms, sizes)
    best = total_at(terms, least(terms, sizes))
    assert found.value == pytest.approx(best, abs=1e-9)
    assert found.bound == pytest.approx(best, abs=0.05)


def test_large_tables_are_left_to_messages_and_the_gap_is_told(rng, monkeypatch):
    sizes = [4, 3, 4, 2, 3]
    scopes, width = GRAPHS["all pairs"]
    terms = terms_of(rng, scopes, sizes)
    best = total_at(terms, least(terms, sizes))
    chosen, cost = minimise_levels(terms, sizes)
    assert total_at(terms, chosen) == pytest.approx(best, abs=1e-12)
    assert cost == GridCost(width=width, cells=cost.cells, gap=0.0)
    monkeypatch.setattr(module, "LARGEST_TABLE", 4 * 3 * 4 * 2 * 3 - 1)
    chosen, cost = minimise_levels(terms, sizes)
    assert cost.gap > 0
    assert best >= total_at(terms, chosen) - cost.gap - 1e-12
    assert cost.cells == sum(term.table.size for term in terms)


def test_costs_of_several_searches_are_combined():
    one, two = GridCost(width=3, cells=70, gap=0.2), GridCost(width=1, cells=9)
    assert GridCost.of([one, two]) == GridCost(width=3, cells=79, gap=0.2)
    assert GridCost.of([]) is None


def test_elimination_of_a_hundred_variables_beats_every_single_change(rng):
    sizes = [7] * 100
    scopes = [(int(rng.integers(k)), k) for k in range(1, 100)]
    terms = terms_of(rng, scopes, sizes)
    levels = minimise_terms(terms, sizes)
    value = total_at(terms, levels)
    for k, l in product(range(100), range(7)):
        other = [*levels[:k], l, *levels[k + 1 :]]
        assert total_at(terms, other) >= value - 1e-9


def test_a_chain_of_many_variables_is_the_shortest_path(rng):
    # An oracle of its own: dynamic programming from left to right.
    sizes = rng.integers(3, 9, size=60).tolist()
    terms = terms_of(rng, list(pairwise(range(60))), sizes)
    single, pair = terms[:60], terms[60:]
    cost = single[0].table
    for own, step in zip(single[1:], pair, strict=True):
        cost = (cost[:, None] + step.table).min(axis=0) + own.table
    found = total_at(terms, minimise_terms(terms, sizes))
    assert found == pytest.approx(cost.min(), abs=1e-9)


def test_tables_hold_the_parts_at_all_combinations_of_levels(rng):
    # Nodes of one and of two coordinates; a part names its coordinates in any order.
    nodes = ((2,), (0, 3), (1,))
    sizes = dict(zip(nodes, (3, 4, 2), strict=True))
    levels = [frozen(rng.random((sizes[c], len(c)))) for c in nodes]
    terms = [(7, (3, 2, 0)), (2, (1,)), (5, (1, 2)), (9, (2, 1)), (4, (2,))]
    slopes = {m: rng.standard_normal(len(c)) for m, c in terms}

    def value(m, z):
        return np.sin(3.1 * z @ slopes[m]) + 0.1 * m

    tables = tables_of(value, terms, nodes, levels)
    for a, b, c in product(range(3), range(4), range(2)):
        x = np.empty(4)
        for node, rows, l in zip(nodes, levels, (a, b, c), strict=True):
            x[list(node)] = rows[l]
        wanted = sum(value(m, x[None, list(g)])[0] for m, g in terms)
        assert total_at(tables, (a, b, c)) == pytest.approx(wanted, rel=1e-12)
    assert [table.scope for table in tables] == [(0, 1), (2,), (0, 2), (0, 2), (0,)]
