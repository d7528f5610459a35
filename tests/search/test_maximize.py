"""Candidates, components, and the arg min of a sum of parts."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.sparse.csgraph import connected_components

from irregular import frozen
from sumbo import Categorical, Integer, Real, Space
from sumbo.data import prepare
from sumbo.search import Parts, by_group, components, draw_candidates, minimise_sum
from sumbo.search.components import Component

MIXED = [
    Real("a", 0.2, 3.0),
    Categorical("b", ("u", "v", "w")),
    Integer("c", 1, 4),
    Real("d", 1e-3, 2.0, log=True),
]
hows = pytest.mark.parametrize("how", ["uniform", "spread"])


def data_of(bounds, N):
    space = Space.of(bounds)
    rng = np.random.default_rng(17)
    return prepare(
        U=space.snap(rng.random((N, space.dim))),
        y=rng.standard_normal(N),
        failed=np.zeros(N, dtype=bool),
        pending=np.empty((0, space.dim)),
        domain=space,
        step=N,
    )


# ---------------------------------------------------------------------- candidates
@hows
@pytest.mark.parametrize("count", [1, 2, 3, 5, 7, 8, 33, 200])
@pytest.mark.parametrize("N", [0, 1, 2, 9])
def test_candidates_are_representable_points_of_the_cube(how, count, N, rng):
    data = data_of(MIXED, N)
    parts = components(((0, 5), (1, 2, 3), (4,)))
    Z = draw_candidates(rng, data, parts, count, how)
    for part, Zc in zip(parts, Z, strict=True):
        assert Zc.shape == (count, len(part.coordinates))
        assert Zc.min() >= 0
        assert Zc.max() <= 1
        full = np.full((count, 6), 0.5)
        full[:, part.coordinates] = Zc
        snapped = data.domain.snap(full)[:, part.coordinates]
        np.testing.assert_array_equal(snapped, Zc)


@hows
def test_candidates_depend_on_the_generator_alone(how):
    data = data_of(MIXED, 7)
    parts = components(((5, 0), (1, 2, 3), (4,)))
    once, again, other = (
        draw_candidates(np.random.default_rng(seed), data, parts, 30, how)
        for seed in (4, 4, 5)
    )
    for a, b in zip(once, again, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(once[0], other[0])


def test_candidates_of_one_coordinate_hold_both_ends_and_leave_no_gap(rng):
    data = data_of([(1.1, 3.4), (0.2, 0.9)], 5)
    Z, _ = draw_candidates(rng, data, components(((0,), (1,))), 40, "spread")
    ordered = np.sort(Z[:, 0])
    assert ordered[0] == 0.0
    assert ordered[-1] == 1.0
    assert np.diff(ordered).max() < 2 / 40 + 1e-12


def test_candidates_of_several_coordinates_hold_the_best_observations(rng):
    data = data_of([(1.1, 3.4)] * 5, 12)
    parts = components(((4, 1, 2), (0, 3)))
    Z = draw_candidates(rng, data, parts, 60, "spread")
    for part, Zc in zip(parts, Z, strict=True):
        for row in data.U[np.argsort(data.y)[:3]][:, part.coordinates]:
            assert (Zc == row).all(axis=1).any()


def test_some_candidates_lie_close_to_the_best_observations(rng):
    data = data_of([(1.1, 3.4)] * 4, 12)
    parts = components(((0, 1, 2, 3),))
    (Z,) = draw_candidates(rng, data, parts, 200, "spread")
    best = data.U[np.argsort(data.y)[:3]]
    distance = np.abs(Z[:, None] - best).max(axis=2).min(axis=1)
    assert 30 < (distance < 0.1).sum() < 90


def test_uniform_candidates_are_not_drawn_to_the_data(rng):
    data = data_of([(1.1, 3.4)] * 4, 12)
    (Z,) = draw_candidates(rng, data, components(((0, 1, 2, 3),)), 400, "uniform")
    best = data.U[np.argsort(data.y)[:3]]
    distance = np.abs(Z[:, None] - best).max(axis=2).min(axis=1)
    # The three cubes hold less than 0.5 % of the volume.
    assert (distance < 0.1).sum() < 12


# ---------------------------------------------------------------------- components
groups_of = st.lists(
    st.lists(st.integers(0, 9), min_size=1, max_size=3, unique=True).map(tuple),
    min_size=1,
    max_size=9,
).map(tuple)


@given(groups_of)
def test_components_are_those_of_the_graph_of_shared_coordinates(groups):
    shared = [[bool(set(a) & set(b)) for b in groups] for a in groups]
    count, labels = connected_components(np.array(shared), directed=False)
    parts = components(groups)
    assert len(parts) == count
    wanted = {tuple(np.flatnonzero(labels == c).tolist()) for c in range(count)}
    assert {part.groups for part in parts} == wanted
    for part in parts:
        union = {p for m in part.groups for p in groups[m]}
        assert set(part.coordinates) == union
        assert len(part.coordinates) == len(union)
        for m, columns in zip(part.groups, part.columns, strict=True):
            assert tuple(part.coordinates[c] for c in columns) == groups[m]
    firsts = [part.groups[0] for part in parts]
    assert firsts == sorted(firsts)


def test_a_group_on_its_own_keeps_the_order_of_its_coordinates():
    assert components(((3, 0), (2, 1)))[0] == Component(
        coordinates=(3, 0), groups=(0,), columns=((0, 1),)
    )


def test_candidates_of_components_are_handed_to_their_groups(rng):
    groups = ((4, 1), (0,), (1, 3), (2,))
    parts = components(groups)
    Z = [frozen(rng.random((6 + i, len(p.coordinates)))) for i, p in enumerate(parts)]
    U = {
        p: Zc[:, i]
        for part, Zc in zip(parts, Z, strict=True)
        for i, p in enumerate(part.coordinates)
    }
    for group, Zm in zip(groups, by_group(parts, Z), strict=True):
        assert Zm.flags.c_contiguous
        np.testing.assert_array_equal(Zm, np.stack([U[p] for p in group], axis=1))


# ---------------------------------------------------------------------- arg min
class Waves:
    """Random sums of cosines of the coordinates of each group, with gradients."""

    def __init__(self, rng, groups):
        self.groups = groups
        self.w = [rng.uniform(1.5, 7.5, (4, len(group))) for group in groups]
        self.phase = [rng.uniform(0, 6, 4) for _ in groups]

    def value(self, m, z):
        return np.cos(z @ self.w[m].T + self.phase[m]).sum(axis=1)

    def gradient(self, m, z):
        slope = -np.sin(z @ self.w[m].T + self.phase[m]) @ self.w[m]
        return self.value(m, z), slope

    @property
    def parts(self):
        return Parts(self.value, self.gradient)

    def total(self, U):
        parts = [self.value(m, U[:, list(g)]) for m, g in enumerate(self.groups)]
        return np.sum(parts, axis=0)

    def at(self, part, Zc):
        return sum(
            self.value(m, Zc[:, list(columns)])
            for m, columns in zip(part.groups, part.columns, strict=True)
        )


STRUCTURES = {
    "separable": ((1,), (0, 3), (2,)),
    "overlapping": ((0, 2), (2, 3), (1,)),
    "a chain": ((0, 1), (1, 2), (2, 3)),
    "one coordinate twice": ((0,), (0,), (1, 2), (3,)),
    "one group": ((2, 0, 1, 3),),
}
structures = pytest.mark.parametrize("groups", STRUCTURES.values(), ids=STRUCTURES)


def problem(rng, groups, B=7):
    waves, parts = Waves(rng, groups), components(groups)
    Z = [frozen(rng.random((B, len(part.coordinates)))) for part in parts]
    values = [frozen(waves.at(part, Zc)) for part, Zc in zip(parts, Z, strict=True)]
    return waves, parts, Z, values


def everything(parts, Z):
    """Return all points that combine candidates of the components."""
    rows = []
    for choice in product(*Z):
        u = np.empty(4)
        for part, z in zip(parts, choice, strict=True):
            u[list(part.coordinates)] = z
        rows.append(u)
    return np.array(rows)


@structures
def test_the_minimum_over_all_combinations_of_candidates_is_found(groups, rng):
    waves, parts, Z, values = problem(rng, groups)
    u = minimise_sum(parts, Z, values, 4)
    U = everything(parts, Z)
    np.testing.assert_array_equal(u, U[np.argmin(waves.total(U))])


@structures
@pytest.mark.parametrize("trial", range(5))
def test_refinement_stays_in_the_cube_and_is_never_worse(groups, trial, rng):
    waves, parts, Z, values = problem(rng, groups)
    plain = minimise_sum(parts, Z, values, 4)
    u = minimise_sum(parts, Z, values, 4, waves.parts)
    assert (u >= 0).all()
    assert (u <= 1).all()
    assert waves.total(u[None])[0] <= waves.total(plain[None])[0] + 1e-12


@structures
def test_refinement_ends_at_a_stationary_point_of_the_box(groups, rng):
    waves, parts, Z, values = problem(rng, groups, B=60)
    u = minimise_sum(parts, Z, values, 4, waves.parts)
    slope = np.zeros(4)
    for m, group in enumerate(groups):
        slope[list(group)] += waves.gradient(m, u[None, list(group)])[1][0]
    # At a bound the slope may point outwards. One coordinate is found by zooming, to
    # a thousandth of the candidates' spacing of 1/60; curvatures are below 250.
    slope[(u == 0) & (slope > 0)] = 0
    slope[(u == 1) & (slope < 0)] = 0
    assert np.abs(slope).max() < 0.02


def no_gradient(m, z):
    raise NotImplementedError


def test_zooming_finds_a_minimum_between_the_candidates(rng):
    Z = frozen(np.sort(rng.random((25, 1)), axis=0))
    where = 0.4378

    def value(m, z):
        return np.abs(z[:, 0] - where) ** 1.5

    (part,) = components(((0,),))
    values = frozen(value(0, Z))
    u = minimise_sum([part], [Z], [values], 1, Parts(value, no_gradient))
    best = int(np.argmin(values))
    gap = Z[min(best + 1, 24), 0] - Z[best - 1, 0]
    # Three grids of nine points: each keeps a quarter of the bracket.
    assert abs(u[0] - where) < gap / 8 / 4**2


def test_zooming_ends_with_the_vertex_of_a_parabola(rng):
    Z = frozen(np.sort(rng.random((25, 1)), axis=0))
    where = 0.4378

    def value(m, z):
        return np.cosh(z[:, 0] - where)

    u = minimise_sum(
        components(((0,),)), [Z], [value(0, Z)], 1, Parts(value, no_gradient)
    )
    # A smooth function is a parabola there, up to rounding: √eps is all one can see.
    assert abs(u[0] - where) < 1e-6


def test_zooming_together_is_zooming_one_by_one(rng):
    groups = ((0,), (2,), (1, 3), (0,))  # two parts on coordinate 0
    waves, parts, Z, values = problem(rng, groups)
    asked = []

    def lines(ms, z):
        asked.append(list(ms))
        return np.array(
            [waves.value(m, row[:, None]) for m, row in zip(ms, z, strict=True)]
        )

    together = waves.parts._replace(lines=lines)
    one_by_one = minimise_sum(parts, Z, values, 4, waves.parts)
    np.testing.assert_array_equal(
        minimise_sum(parts, Z, values, 4, together), one_by_one
    )
    assert asked == [[0, 3, 1]] * 4


@pytest.mark.parametrize(("slope", "end"), [(1.7, 0.0), (-1.7, 1.0)])
def test_zooming_reaches_the_ends_of_the_cube(slope, end, rng):
    Z = frozen(rng.uniform(0.1, 0.9, (9, 1)))

    def value(m, z):
        return slope * z[:, 0]

    u = minimise_sum(
        components(((0,),)), [Z], [value(0, Z)], 1, Parts(value, no_gradient)
    )
    assert u[0] == end


def test_coordinates_that_are_not_free_keep_the_value_of_a_candidate(rng):
    groups = ((0, 1), (2,), (3,))
    waves, parts, Z, values = problem(rng, groups)
    free = np.array([True, False, False, True])
    plain = minimise_sum(parts, Z, values, 4)
    u = minimise_sum(parts, Z, values, 4, waves.parts, free)
    np.testing.assert_array_equal(u[[1, 2]], plain[[1, 2]])
    assert (u[[0, 3]] != plain[[0, 3]]).all()


@pytest.mark.parametrize("groups", [((0, 1),), ((0,), (1,))])
def test_a_function_that_refinement_cannot_improve_keeps_the_candidate(groups, rng):
    # The draw at the candidates lies below the smooth function through it.
    waves, parts, Z, values = problem(rng, groups)
    low = [v - 50.0 for v in values]
    u = minimise_sum(parts, Z, low, 2, waves.parts)
    np.testing.assert_array_equal(u, minimise_sum(parts, Z, values, 2))
