"""The arg min of overlapping parts: recombined candidates, then descent."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from irregular import frozen
from sumbo.search import Parts, components, minimise_sum, overlapping, search_sum
from sumbo.search.components import Component
from sumbo.search.overlapping import atoms, blocks, improve, join

P = 6
EVERYTHING = tuple(range(P))
STRUCTURES = {
    "singletons and a residual": (*((k,) for k in range(P)), EVERYTHING),
    "a chain": tuple((k, k + 1) for k in range(P - 1)),
    "a chain out of order": ((4, 1), (1, 0), (5, 4), (0, 3), (3, 2)),
    "pairs and a residual": ((0, 3), (1, 4), (2, 5), EVERYTHING),
    "a cycle of pairs": tuple((k, (k + 1) % P) for k in range(P)),
    "triples": ((0, 1, 2), (2, 3, 4), (4, 5, 0)),
    "a part on some of two residuals": ((2, 5), EVERYTHING, EVERYTHING),
}
structures = pytest.mark.parametrize("groups", STRUCTURES.values(), ids=STRUCTURES)
FREE = np.ones(P, dtype=bool)


class Bowls:
    """Waves on bowls around points of their own; parts covering all are weak."""

    def __init__(self, rng, groups):
        self.groups = groups
        self.rows = [
            (
                rng.uniform(3.0, 7.0, len(g)),
                rng.uniform(0.15, 0.9, len(g)),
                rng.uniform(0.0, 6.0),
                0.2 if len(g) == P else 1.0,
            )
            for g in groups
        ]

    def value(self, m, z):
        return self.gradient(m, z)[0]

    def gradient(self, m, z):
        w, c, phase, size = self.rows[m]
        angle = z @ w + phase
        value = size * (np.sin(angle) + ((z - c) ** 2).sum(axis=1))
        return value, size * (np.cos(angle)[:, None] * w + 2 * (z - c))

    @property
    def parts(self):
        return Parts(self.value, self.gradient)

    def total(self, U):
        return sum(self.value(m, U[:, list(g)]) for m, g in enumerate(self.groups))


def scene(rng, groups, B=40):
    f = Bowls(rng, groups)
    (part,) = components(groups)
    Z = frozen(rng.uniform(0.03, 0.97, (B, P)))
    return f, part, Z, frozen(f.total(Z))


def from_many_starts(rng, f):
    """Return the lowest of coarse-to-fine random searches, an independent oracle."""
    U = rng.random((2000, P))
    low = U[np.argsort(f.total(U))[:20]]
    for scale in 0.3 * 0.7 ** np.arange(24):
        steps = rng.standard_normal((40, *low.shape)) * (
            rng.random((40, *low.shape)) < 0.4
        )
        tried = np.clip(low + scale * steps, 0.0, 1.0)
        tried[0] = low
        values = f.total(tried.reshape(-1, P)).reshape(40, -1)
        low = tried[values.argmin(axis=0), np.arange(len(low))]
    return f.total(low).min()


@structures
def test_the_minimum_of_a_random_search_is_found(groups, rng):
    f, part, Z, values = scene(rng, groups)
    u = minimise_sum([part], [Z], [values], P, f.parts, FREE)
    assert f.total(u[None])[0] <= from_many_starts(rng, f) + 0.02


@structures
@pytest.mark.parametrize("trial", range(4))
def test_the_result_is_in_the_cube_and_never_above_the_best_candidate(
    groups, trial, rng
):
    f, part, Z, values = scene(rng, groups, B=5)
    free = rng.random(P) < 0.6
    u = minimise_sum([part], [Z], [values], P, f.parts, free)
    assert (u >= 0).all()
    assert (u <= 1).all()
    assert f.total(u[None])[0] <= values.min()
    for p in np.flatnonzero(~free):
        assert u[p] in Z[:, p]


@structures
def test_the_best_candidate_stands_if_all_functions_lie_above_it(groups, rng):
    f, part, Z, values = scene(rng, groups)
    u = minimise_sum([part], [Z], [values - 50.0], P, f.parts, FREE)
    np.testing.assert_array_equal(u, Z[np.argmin(values)])


@structures
def test_candidates_and_values_may_be_combined_where_nothing_is_free(groups, rng):
    f, part, Z, values = scene(rng, groups, B=3)
    held = np.zeros(P, dtype=bool)
    u = minimise_sum([part], [Z], [values], P, f.parts, held)
    assert all(u[p] in Z[:, p] for p in range(P))
    # Every choice of candidates' values, one per set of columns that go together.
    rows = []
    for choice in product(range(3), repeat=len(atoms(part.columns))):
        x = np.empty(P)
        for atom, b in zip(atoms(part.columns), choice, strict=True):
            x[list(atom)] = Z[b, list(atom)]
        rows.append(x)
    least = f.total(np.array(rows)).min()
    found = f.total(u[None])[0]
    assert least - 1e-12 <= found <= values.min()
    if all(len(g) < P for g in groups):  # elimination is exact
        assert found == pytest.approx(least, abs=1e-12)


def test_one_hot_columns_are_only_changed_together(rng):
    # Columns 1 to 3 code a choice, in a pair with column 0, in another with 4.
    groups = ((0, 1, 2, 3), (1, 2, 3, 4), (4, 5), (0, 5))
    f, part, _, _ = scene(rng, groups)
    Z = rng.random((30, P))
    Z[:, 1:4] = np.eye(3)[rng.integers(3, size=30)]
    free = np.array([True, False, False, False, True, True])
    u = minimise_sum([part], [Z], [f.total(Z)], P, f.parts, free)
    assert sorted(u[1:4]) == [0.0, 0.0, 1.0]
    assert (1, 2, 3) in [block for block, _ in blocks(part, Z, free)]


def test_atoms_are_the_columns_that_the_same_groups_hold():
    groups = ((0, 1, 2), (2, 3), (3, 2, 4), (0, 1, 2, 3, 4))
    assert atoms(groups) == ((0, 1), (2,), (3,), (4,))


@pytest.mark.parametrize(
    "name", ["a chain", "a chain out of order", "a cycle of pairs", "triples"]
)
def test_the_join_is_the_minimum_over_candidates_values(name, rng):
    groups = STRUCTURES[name]
    f, part, Z, values = scene(rng, groups, B=4)
    z = join(part, Z, Z[np.argmin(values)], f.parts, ~FREE).point
    grid = np.array(list(product(*(Z[:, p] for p in range(P)))))
    assert f.total(z[None])[0] == pytest.approx(f.total(grid).min(), abs=1e-12)


@pytest.mark.parametrize(
    ("name", "width"), [("a chain", 1), ("a cycle of pairs", 2), ("triples", 2)]
)
def test_the_cost_of_the_join_is_told(name, width, rng):
    f, part, Z, values = scene(rng, STRUCTURES[name])
    u, cost = search_sum([part], [Z], [values], P, f.parts, FREE)
    assert (cost.width, cost.gap) == (width, 0.0)
    assert f.total(u[None])[0] < values.min()
    # Separate components cost nothing: they have no tables.
    apart = components(((0, 1), (2,), (3, 4, 5)))
    Zs = [rng.random((9, len(c.coordinates))) for c in apart]
    g = Bowls(rng, ((0, 1), (2,), (3, 4, 5)))
    at = [g.value(m, Zc) for m, Zc in enumerate(Zs)]
    assert search_sum(apart, Zs, at, P, g.parts, FREE)[1] is None


def test_parts_whose_tables_are_too_large_take_their_own_minimum(rng, monkeypatch):
    f, part, Z, values = scene(rng, STRUCTURES["triples"])
    small = replace(overlapping.SEARCH, most_rows=100)
    monkeypatch.setattr(overlapping, "SEARCH", small)
    joined = join(part, Z, Z[np.argmin(values)], f.parts, FREE)
    assert joined.cost is None
    spread = [f.value(m, Z[:, list(part.columns[m])]).std() for m in range(3)]
    first = part.columns[int(np.argmax(spread))]
    own = f.value(int(np.argmax(spread)), Z[:, list(first)])
    best = Z[np.argmin(own)]
    np.testing.assert_array_equal(joined.point[list(first)], best[list(first)])
    u = minimise_sum([part], [Z], [f.total(Z)], P, f.parts, FREE)
    assert f.total(u[None])[0] < f.total(Z).min()


def test_the_join_reaches_the_ends_that_no_candidate_holds(rng):
    def value(m, z):
        return z.sum(axis=1) * (1.4 if m else -0.3)

    (part,) = components(((0, 1), (1, 2)))
    Z = frozen(rng.uniform(0.2, 0.8, (9, 3)))
    z = join(part, Z, Z[4], Parts(value, value), np.ones(3, dtype=bool)).point
    np.testing.assert_array_equal(z, [1.0, 0.0, 0.0])


def test_a_coarse_table_serves_many_pairs(rng):
    rows = []

    def value(m, z):
        rows.append(len(z))
        return ((z - 0.37) ** 2).sum(axis=1)

    (part,) = components(tuple((k, k + 1) for k in range(40)))
    Z = frozen(rng.random((70, 41)))
    join(part, Z, Z[0], Parts(value, value), np.ones(41, dtype=bool))
    # The best candidate's own value is one more level.
    assert max(rows) == (overlapping.SEARCH.fewest_levels + 1) ** 2


def test_parts_on_one_coordinate_are_joined_together(rng):
    # Two parts on coordinate 0, a pair, and one more on each of its ends.
    groups = ((0,), (1, 2), (0,), (2,), (0, 1, 2))
    f, part, Z, _ = scene(rng, groups)
    asked = []

    def lines(ms, z):
        asked.append(list(ms))
        rows = zip(ms, z, strict=True)
        return np.array([f.value(m, row[:, None]) for m, row in rows])

    # Candidates share values of coordinate 2, which has fewer levels then.
    Z = np.column_stack([Z[:, :2], np.round(5 * Z[:, 2]) / 5])
    moving = np.ones(3, dtype=bool)
    together = join(part, Z, Z[0], f.parts._replace(lines=lines), moving).point
    apart = join(part, Z, Z[0], f.parts, moving).point
    np.testing.assert_array_equal(together, apart)
    assert asked == [[0, 2, 3]]


def test_blocks_leave_a_point_that_no_single_value_improves(rng):
    f, part, Z, _ = scene(rng, STRUCTURES["a cycle of pairs"])
    tried = blocks(part, Z, FREE)
    once = improve(part, Z[:3], tried, f.parts, rounds=2)
    for _ in range(20):
        once = improve(part, once, tried, f.parts, rounds=2)
    least = f.total(once)
    assert (least < f.total(Z[:3])).all()
    for (p,), levels in tried:
        for level in levels:
            other = once.copy()
            other[:, p] = level
            assert (f.total(other) >= least - 1e-12).all()


def test_blocks_evaluate_only_parts_that_they_touch(rng):
    f, part, Z, _ = scene(rng, STRUCTURES["a cycle of pairs"])
    asked = []

    def value(m, z):
        asked.append(m)
        return f.value(m, z)

    only = [item for item in blocks(part, Z, FREE) if item[0] == (3,)]
    improve(part, Z[:1], only, Parts(value, f.gradient), rounds=2)
    assert {part.columns[part.groups.index(m)] for m in asked} == {(2, 3), (3, 4)}


@pytest.mark.parametrize("groups", [((0,), (0,)), ((0, 1), (0, 1)), ((0,), (1, 2))])
def test_components_that_cannot_be_recombined_are_refined(groups, rng):
    f = Bowls(rng, groups)
    parts = components(groups)
    dim = 1 + max(max(g) for g in groups)
    Z = [rng.random((9, len(part.coordinates))) for part in parts]
    values = [
        sum(f.value(m, Zc) for m in part.groups)
        for part, Zc in zip(parts, Z, strict=True)
    ]
    u = minimise_sum(parts, Z, values, dim, f.parts)
    plain = minimise_sum(parts, Z, values, dim)
    assert f.total(u[None])[0] < f.total(plain[None])[0]


def test_a_one_hot_code_that_groups_split_is_not_recombined(rng):
    f = Bowls(rng, ((0,), (1,), (2,)))
    part = Component(
        coordinates=(0, 1, 2), groups=(0, 1, 2), columns=((0,), (1,), (2,))
    )
    Z, held = np.eye(3), np.zeros(3, dtype=bool)
    u = minimise_sum([part], [Z], [f.total(Z)], 3, f.parts, held)
    np.testing.assert_array_equal(u, Z[np.argmin(f.total(Z))])
