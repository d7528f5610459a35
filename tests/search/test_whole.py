"""Search of the whole cube: candidates by brute force over parts, and the descent."""

from itertools import product

import numpy as np
import pytest

import irregular
import reference
from irregular import frozen
from sumbo import Categorical, Integer, Real, Space
from sumbo.acquisition.improvement import Improvement
from sumbo.data import prepare
from sumbo.search import free_coordinates
from sumbo.search.whole import (
    SEARCH,
    _distinct,
    _spread,
    minimise_whole,
    separable_minimisers,
    whole_candidates,
)

BOX = [(1.1, 3.4), (-0.7, 0.2), (2.6, 9.1), (0.3, 0.8)]
MIXED = [
    Real("a", 0.2, 3.0),
    Categorical("b", ("u", "v", "w")),
    Integer("c", 1, 4),
    Real("d", 1e-3, 2.0, log=True),
]
CASES = {
    "reals": (BOX, ((0, 2), (1,), (3,))),
    "overlapping groups": (BOX, ((0, 2), (2, 1), (3,))),
    "a residual": (BOX, ((0, 2), (1, 3), (0, 1, 2, 3))),
    "integers and choices": (MIXED, ((0, 4), (1, 2, 3), (5,))),
    "choices with a residual": (MIXED, ((0, 1, 2, 3), (4, 5), (0, 1, 2, 3, 4, 5))),
    "one parameter": ([(2.2, 3.9)], ((0,),)),
    "levels only": ([Integer("n", 2, 7), Categorical("r", ("x", "y"))], ((0,), (1, 2))),
}
cases = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def scene(rng, bounds, groups, N=11):
    """Return data of a space, and a posterior of irregular parameters given them."""
    space = Space.of(bounds)
    data = prepare(
        U=space.snap(rng.random((N, space.dim))),
        y=rng.standard_normal(N),
        failed=np.zeros(N, dtype=bool),
        pending=np.empty((0, space.dim)),
        domain=space,
        step=N,
    )
    gp = irregular.random_gp(rng, groups, noise=0.02, shared=False)
    return data, gp.condition(data.U, data.y)


def holds(points, row):
    """Return whether a row is, bit for bit, among the points."""
    return bool((points == row).all(axis=1).any())


def seeded(number=5):
    return np.random.default_rng(number)


# ---------------------------------------------------------------------- candidates
@cases
def test_candidates_are_representable_points_of_the_cube(case, rng):
    data, post = scene(rng, *case)
    points = whole_candidates(rng, post, data, free_coordinates(data), 100)
    assert points.shape[1] == data.domain.dim
    assert points.min() >= 0
    assert points.max() <= 1
    np.testing.assert_array_equal(data.domain.snap(points), points)


@cases
@pytest.mark.parametrize("N", [1, 3, 11])
def test_candidates_hold_the_best_observations(case, N, rng):
    data, post = scene(rng, *case, N=N)
    points = whole_candidates(rng, post, data, free_coordinates(data), 100)
    for row in data.U[np.argsort(data.y)[: SEARCH.best]]:
        assert holds(points, row)


@pytest.mark.parametrize("beta", [0.0, 2.0])
def test_candidates_hold_the_minimisers_of_the_parts(beta, rng):
    data, post = scene(rng, *CASES["reals"])
    points = whole_candidates(rng, post, data, free_coordinates(data), 400)
    best = data.U[np.argsort(data.y)[: SEARCH.best]]
    anywhere = np.vstack([best, rng.random((400, 4))])
    # Their sum is about as low as the sum of the lowest values of all parts.
    values = bounds_of(post, points, beta)
    lowest = bounds_of(post, anywhere, beta).min(axis=1).sum()
    assert values.sum(axis=0).min() < lowest + 0.02 * np.ptp(values.sum(axis=0))
    assert bounds_of(post, anywhere, beta).sum(axis=0).min() > lowest


def test_candidates_cross_the_minimisers_with_the_best_observations(rng):
    data, post = scene(rng, *CASES["reals"])
    points = whole_candidates(rng, post, data, free_coordinates(data), 100)
    best = data.U[np.argsort(data.y)[: SEARCH.best]]
    from_best = (points[:, None] == best).any(axis=1)
    # Of the other numbers, only those of the minimisers occur more than once.
    repeated = (points[:, None] == points).sum(axis=1) > 1
    from_low = repeated & ~from_best
    both = from_low.any(axis=1) & from_best.any(axis=1)
    assert ((from_low | from_best)[both].all(axis=1)).sum() > 10


@pytest.mark.parametrize("k", range(4))
def test_one_parameter_alone_is_changed_at_a_best_observation(k, rng):
    data, post = scene(rng, *CASES["integers and choices"])
    points = whole_candidates(rng, post, data, free_coordinates(data), 100)
    best = data.U[np.argsort(data.y)[: SEARCH.best]]
    other = np.ones(data.domain.dim, dtype=bool)
    other[list(data.domain.blocks[k])] = False
    same = (points[:, None] == best) | ~other
    assert (same.all(axis=2) & (points[:, None] != best).any(axis=2)).any()


def test_candidates_reach_all_over_the_cube(rng):
    data, post = scene(rng, *CASES["reals"])
    points = whole_candidates(rng, post, data, free_coordinates(data), 100)
    quarters = np.floor(4 * np.minimum(points, 0.999))
    assert all(set(column) == {0, 1, 2, 3} for column in quarters.T)


@cases
def test_candidates_depend_on_the_generator_alone(case, rng):
    data, post = scene(rng, *case)
    free = free_coordinates(data)
    once, again, other = (
        whole_candidates(seeded(number), post, data, free, 100) for number in (4, 4, 5)
    )
    np.testing.assert_array_equal(once, again)
    assert not np.array_equal(once, other)


# ---------------------------------------------------------------------- parts
def bounds_of(post, points, beta):
    """Return the bound μ − βσ of every part at whole points."""
    moments = [
        post.part_moments(m, points[:, list(group)])
        for m, group in enumerate(post.gp.groups)
    ]
    return np.array([mean - beta * np.sqrt(var) for mean, var in moments])


@pytest.mark.parametrize(
    "name", ["reals", "a residual", "integers and choices", "choices with a residual"]
)
def test_minimisers_of_the_parts_are_those_of_brute_force(name, rng):
    bounds, groups = CASES[name]
    data, post = scene(rng, bounds, groups)
    joined = separable_minimisers(rng, post, data, 1500)
    assert joined.shape == (len(SEARCH.betas), data.domain.dim)
    best = data.U[np.argsort(data.y)[: SEARCH.best]]
    U = np.vstack([joined, best, data.domain.snap(rng.random((60, data.domain.dim)))])
    for m, group in enumerate(groups):
        if len(group) == data.domain.dim:
            continue  # a residual part has no say
        Z = [best[:1, list(g)] for g in groups]
        Z[m] = U[:, list(group)]
        mean, cov = reference.posterior_of_parts(post.gp, data.U, data.y, Z)
        own = slice(m, m + len(U))  # one row for each of the parts before
        sd = np.sqrt(cov.diagonal()[own])
        for row, beta in enumerate(SEARCH.betas):
            bound = mean[own] - beta * sd
            assert bound[row] <= bound.min() + 0.02 * np.ptp(bound)


def test_bounds_run_from_exploitation_to_exploration(rng):
    data, post = scene(rng, *CASES["reals"])
    joined = separable_minimisers(seeded(), post, data, 100)
    mean, _ = post.predict(joined)
    spread = sum(
        np.sqrt(post.part_moments(m, joined[:, group])[1])
        for m, group in enumerate(post.gp.groups)
    )
    assert (np.diff(mean) >= -1e-12).all()
    assert (np.diff(spread) >= -1e-12).all()
    assert mean[-1] > mean[0]


def test_a_single_group_on_all_coordinates_has_its_say(rng):
    data, post = scene(rng, BOX, ((2, 0, 3, 1),))
    joined = separable_minimisers(rng, post, data, 1500)
    best = data.U[np.argsort(data.y)[: SEARCH.best]]
    mean, _ = post.predict(np.vstack([joined[:1], best, rng.random((60, 4))]))
    assert np.argmin(mean) == 0


# ---------------------------------------------------------------------- descent
def waves(X):
    """Return a function with many local minima, and its gradient."""
    total = X.sum(axis=1, keepdims=True)
    value = (np.sin(9.3 * X + 0.4) + 0.7 * X).sum(axis=1) + 0.4 * total[:, 0] ** 2
    return value, 9.3 * np.cos(9.3 * X + 0.4) + 0.7 + 0.8 * total


ALL_FREE = np.ones(3, dtype=bool)


@pytest.mark.parametrize("trial", range(4))
def test_the_point_found_is_never_worse_than_the_best_candidate(trial, rng):
    points = frozen(rng.random((17, 3)))
    values = frozen(waves(points)[0])
    for steps, starts in product((1, 2, 40), (1, 5, 40)):
        u = minimise_whole(waves, values, points, ALL_FREE, starts=starts, steps=steps)
        assert (u >= 0).all()
        assert (u <= 1).all()
        assert waves(u[None])[0][0] <= values.min()


def test_the_point_found_is_stationary_in_the_box(rng):
    points = frozen(rng.random((30, 3)))
    u = minimise_whole(waves, waves(points)[0], points, ALL_FREE, starts=4, steps=80)
    slope = waves(u[None])[1][0]
    projected = np.clip(u - slope, 0.0, 1.0) - u
    # A descent also ends where a step gains next to nothing.
    assert np.abs(projected).max() < 2 * SEARCH.tolerance
    assert waves(u[None])[0][0] < waves(points)[0].min() - 1e-3


def test_the_lowest_of_all_descents_is_returned():
    # A shallow basin at 0.2 whose start is lower, a deep one at 0.8.
    def basins(X):
        x = X[:, 0]
        a, b = np.exp(-40 * (x - 0.2) ** 2), 1.9 * np.exp(-40 * (x - 0.8) ** 2)
        return -a - b, (80 * ((x - 0.2) * a + (x - 0.8) * b))[:, None]

    points = np.array([[0.52], [0.63], [0.21]])
    values = basins(points)[0]
    assert np.argmin(values) == 2
    free = np.ones(1, dtype=bool)
    found = [
        minimise_whole(basins, values, points, free, starts=n)[0] for n in (1, 2, 3)
    ]
    np.testing.assert_allclose(found, [0.2, 0.8, 0.8], atol=1e-3)


def test_coordinates_that_are_not_free_keep_the_value_of_a_candidate(rng):
    points = frozen(rng.random((12, 3)))
    values = waves(points)[0]
    free = np.array([True, False, True])
    u = minimise_whole(waves, values, points, free, starts=1)
    best = points[np.argmin(values)]
    assert u[1] == best[1]
    assert (u[[0, 2]] != best[[0, 2]]).all()
    several = minimise_whole(waves, values, points, free, starts=6)
    assert several[1] in points[:, 1]


def test_without_free_coordinates_the_best_candidate_is_returned(rng):
    points = frozen(rng.random((12, 3)))
    values = waves(points)[0]
    u = minimise_whole(waves, values, points, np.zeros(3, dtype=bool), starts=4)
    np.testing.assert_array_equal(u, points[np.argmin(values)])


@cases
def test_improvement_is_maximised_at_a_representable_point(case, rng):
    data, post = scene(rng, *case)
    free = free_coordinates(data)
    target = Improvement(post=post, best=float(post.predict(data.U)[0].min()))
    points = whole_candidates(rng, post, data, free, 100)
    values = target.value(points)
    u = minimise_whole(target.gradient, values, points, free, starts=3)
    np.testing.assert_array_equal(data.domain.snap(u[None])[0], u)
    # No point of a further random search of the space lies lower by much.
    others = data.domain.snap(rng.random((2000, data.domain.dim)))
    assert target.value(u[None])[0] <= target.value(others).min() + 1e-3


def test_more_coordinates_than_sobol_points_have_are_searched(monkeypatch):
    monkeypatch.setattr("scipy.stats.qmc.Sobol.MAXDIM", 2)
    assert _spread(3).shape == (SEARCH.spread, 3)
    np.testing.assert_array_equal(_spread(3), _spread(3))


def test_wide_starts_have_other_integers_each(rng):
    levels = rng.integers(3, size=(40, 2)) / 2.0
    values = rng.normal(size=40)
    rows = _distinct(values, levels, 5)
    chosen = [tuple(levels[row]) for row in rows]
    assert len(set(chosen)) == 5
    for row, own in zip(rows, chosen, strict=True):
        same = (levels == own).all(axis=1)
        assert values[row] == values[same].min()
    assert _distinct(values, levels[:, :0], 4) == np.argsort(values)[:4].tolist()
