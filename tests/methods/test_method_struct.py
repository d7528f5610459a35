"""struct: bound, relevant region and rank matching, and the contract of a method."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import reference
from irregular import frozen, random_gp
from searches import saved
from sumbo.data import prepare
from sumbo.errors import ArgumentError
from sumbo.methods import make
from sumbo.methods.struct.method import diverse_points, part_grid
from sumbo.space import Categorical, Integer, Space

QUICK = {"sweeps": 1, "random_starts": 8, "rounds": 2, "steps": 15, "candidates": 80}


def cube(P):
    return Space.of([(0.0, 1.0)] * P)


def mixed():
    choices = Categorical("c", ("u", "v", "w"))
    return Space.of({"a": (0.3, 2.1), "n": Integer("n", 2, 6), "c": choices})


def observed(rng, space, N, y=None, pending=0):
    """Return data at irregular representable points."""
    U = space.snap(rng.beta(0.8, 1.3, (N, space.dim)))
    w = rng.uniform(1.3, 4.1, space.dim)
    values = np.sin(U * w * 2).sum(axis=1) if y is None else y
    return prepare(
        U=frozen(U),
        y=frozen(values),
        failed=np.zeros(N, dtype=bool),
        pending=space.snap(rng.random((pending, space.dim))),
        domain=space,
        step=N + pending,
    )


def propose(data, q=10, state=None, seed=17, **settings):
    rule = make("struct", **{**QUICK, **settings})
    return rule.propose(np.random.default_rng(seed), state, data, q)


@pytest.fixture
def post(rng):
    """Return a posterior of two parts, on two and on one coordinate."""
    gp = random_gp(rng, ((0, 2), (1,)), "rbf", 0.02, shared=True)
    X = rng.random((14, 3))
    return gp.condition(X, gp.mean + np.sin(5 * X).sum(axis=1))


# ---------------------------------------------------------------------- first point
def test_first_point_minimises_the_bound_of_each_part(rng):
    data = observed(rng, cube(2), 15)
    rule: Any = make("struct", None, **{**QUICK, "candidates": 400})
    data = replace(data, asks=6)
    _, learned = rule.update(np.random.default_rng(2), None, data)
    (u, *_), _, info = rule.propose(np.random.default_rng(3), learned, data, 1)
    assert info.groups is not None
    gp = rule.update(np.random.default_rng(2), learned, data)[0].posterior.gp
    for m, group in enumerate(info.groups):
        fine = np.linspace(0, 1, 401 if len(group) == 1 else 61)
        grid = np.stack(np.meshgrid(*[fine] * len(group)), axis=-1)
        grid = np.vstack([grid.reshape(-1, len(group)), u[None, list(group)]])
        # By the dense formula, part m alone: b = √(d log(2t)/5) with t = 7.
        Z = [np.zeros((1, len(g))) for g in info.groups]
        Z[m] = grid
        mean, cov = reference.posterior_of_parts(gp, data.U, data.y, Z)
        rows = slice(sum(len(z) for z in Z[:m]), sum(len(z) for z in Z[: m + 1]))
        sd = np.sqrt(np.maximum(cov.diagonal()[rows], 1e-12))
        bound = mean[rows] - np.sqrt(len(group) * np.log(14) / 5) * sd
        # Nowhere on a fine grid is the bound lower by more than the grid resolves.
        assert bound[-1] <= bound[:-1].min() + 1e-3 * np.ptp(bound)


# ---------------------------------------------------------------------- grid
def test_grid_of_numbers_is_the_product_with_both_ends(rng):
    data = observed(rng, cube(4), 5)
    grid = part_grid(rng, data, (3, 1), 4)
    wanted = {(a / 3, b / 3) for a in range(4) for b in range(4)}
    assert grid.shape == (16, 2)
    assert {tuple(np.round(row, 12)) for row in grid} == {
        tuple(np.round(row, 12)) for row in wanted
    }


def test_grid_of_integers_and_choices_has_their_values(rng):
    data = observed(rng, mixed(), 5)
    grid = part_grid(rng, data, (1, 2), 10)
    assert len(grid) == 5 * 3
    full = np.full((15, 5), 0.4)
    full[:, [1, 2, 3, 4]] = grid
    np.testing.assert_allclose(data.domain.snap(full)[:, 1:], full[:, 1:], atol=1e-12)


def test_large_grids_are_thinned(rng):
    grid = part_grid(rng, observed(rng, cube(5), 4), (0, 1, 2, 4), 9)
    assert 800 < len(grid) <= 1000
    assert len(np.unique(grid, axis=0)) == len(grid)
    assert {tuple(np.unique(column.round(9))) for column in grid.T} == {
        tuple(np.linspace(0, 1, 9).round(9))
    }


# ---------------------------------------------------------------------- diversity
def test_diverse_points_lie_in_the_relevant_region_best_first(rng, post):
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 12)] * 2), -1).reshape(-1, 2)
    Z = [grid, np.zeros((1, 1))]
    mean, cov = reference.posterior_of_parts(post.gp, post.X, post.y, Z)
    mean, sd = mean[:-1], np.sqrt(cov.diagonal()[:-1])

    def region(b):
        return mean - 2 * b * sd <= (mean + b * sd).min()

    # A width for which some points are relevant, and many are not.
    b = next(b for b in np.arange(0.11, 3.0, 0.1) if region(b).sum() > 20)
    relevant = region(b)
    assert relevant.sum() < 120
    for _ in range(10):
        chosen = diverse_points(rng, post, 0, grid, b, 7)
        rows = [int(np.flatnonzero((grid == z).all(axis=1))[0]) for z in chosen]
        assert relevant[rows].all()
        assert len(set(rows)) == 7
        assert (np.diff((mean - b * sd)[rows]) >= -1e-12).all()


def test_small_relevant_region_is_extended_by_the_next_points(rng, post):
    grid = np.linspace(0, 1, 30)[:, None]
    Z = [np.zeros((1, 2)), grid]
    mean, cov = reference.posterior_of_parts(post.gp, post.X, post.y, Z)
    optimistic = mean[1:] - 2e-3 * np.sqrt(cov.diagonal()[1:])
    chosen = diverse_points(rng, post, 1, grid, 1e-3, 6)
    wanted = grid[np.argsort(optimistic)[:6]]
    np.testing.assert_allclose(np.sort(chosen, axis=0), np.sort(wanted, axis=0))


def test_grid_smaller_than_the_batch_is_used_again(rng, post):
    grid = np.array([[0.1], [0.4], [0.95]])
    chosen = diverse_points(rng, post, 1, grid, 0.5, 8)
    values, counts = np.unique(chosen, return_counts=True)
    np.testing.assert_allclose(values, grid[:, 0])
    assert set(counts) == {2, 3}


@pytest.mark.statistical
def test_pairs_have_the_probabilities_of_the_posterior_covariance(rng, post):
    # Chi-square over the 10 pairs of 5 points: a false alarm in 1e-6 of runs.
    grid = np.array([[0.02], [0.2], [0.45], [0.5], [0.97]])
    Z = [np.zeros((1, 2)), grid]
    _, cov = reference.posterior_of_parts(post.gp, post.X, post.y, Z)
    C = cov[1:, 1:] + post.gp.noise / 2 * np.eye(5)
    pairs = [(i, j) for i in range(5) for j in range(i)]
    law = np.array([C[i, i] * C[j, j] - C[i, j] ** 2 for i, j in pairs])
    counts = np.zeros(10)
    for _ in range(600):
        chosen = diverse_points(rng, post, 1, grid, 50.0, 2)  # all are relevant
        i, j = sorted(int(np.flatnonzero(grid == z)[0]) for z in chosen[:, 0])
        counts[pairs.index((j, i))] += 1
    expected = 600 * law / law.sum()
    assert expected.min() > 5
    assert stats.chisquare(counts, expected).pvalue > 1e-6


def test_parts_are_joined_rank_by_rank(rng):
    data = observed(rng, cube(3), 15)
    U, state, _ = propose(data, 6, max_size=1)
    surrogate = make("struct", **QUICK).surrogate(state, data)
    post = surrogate.fantasised(U[:1]).posterior
    assert len(post.gp.groups) == 3
    for m, group in enumerate(post.gp.groups):
        mean, var = post.part_moments(m, U[1:, group])
        bound = mean - np.sqrt(np.log(2) / 5 * var)
        assert (np.diff(bound) >= -1e-9).all()
        assert bound[-1] - bound[0] > 1e-3


# ---------------------------------------------------------------------- contract
@pytest.mark.parametrize(
    ("P", "q", "pending"), [(4, 1, 0), (4, 10, 0), (3, 2, 5), (1, 10, 0), (2, 25, 0)]
)
def test_points_lie_in_the_cube(rng, P, q, pending):
    U, _, info = propose(observed(rng, cube(P), 14, pending=pending), q)
    assert info.groups is not None
    assert U.shape == (q, P)
    assert ((U >= 0) & (U <= 1)).all()
    assert sorted(p for g in info.groups for p in g) == list(range(P))
    assert max(len(group) for group in info.groups) <= 3


def test_points_depend_on_generator_and_state_alone(rng):
    data = observed(rng, cube(3), 12)
    first, second = propose(data, 4), propose(data, 4)
    np.testing.assert_array_equal(first[0], second[0])
    other = propose(data, 4, seed=18)[0]
    assert not np.array_equal(first[0], other)


def test_state_survives_arrays_and_json(rng):
    _, state, _ = propose(observed(rng, cube(3), 12))
    known = saved(state, make("struct"))
    more = observed(rng, cube(3), 15)
    one, other = propose(more, state=state), propose(more, state=known)
    np.testing.assert_array_equal(one[0], other[0])


@pytest.mark.parametrize("N", [2, 9])
def test_constant_values_are_survived(rng, N):
    U, _, _ = propose(observed(rng, cube(3), N, y=np.full(N, 4.7)))
    assert np.isfinite(U).all()


def test_duplicated_points_with_different_values_are_survived(rng):
    data = observed(rng, cube(3), 6)
    twice = prepare(
        U=np.vstack([data.U, data.U]),
        y=np.r_[data.y, data.y + 0.3],
        failed=np.zeros(12, dtype=bool),
        pending=data.U[:2],
        domain=cube(3),
        step=14,
    )
    assert np.isfinite(propose(twice)[0]).all()


def test_integers_and_choices_are_representable(rng):
    space = mixed()
    U, _, _ = propose(observed(rng, space, 13))
    np.testing.assert_allclose(space.snap(U), U, atol=1e-12)


def test_settings_that_cannot_be_used_are_named():
    with pytest.raises(ArgumentError, match="levels"):
        make("struct", levels=0)
