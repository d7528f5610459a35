"""Regions: what is feasible, uniform draws, and points moved into the region."""

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize
from scipy.stats import beta, kstest

from sumbo import Categorical, Feasible, Integer, Real, Simplex, Space
from sumbo.errors import ArgumentError


def region_of(bounds, *constraints):
    return Space.of(bounds).constrained(constraints).region


def drawn(region, n, seed=0):
    return region.space.decode(region.draw(np.random.default_rng(seed), n))


def test_a_space_without_constraints_has_no_region():
    assert Space.of([(0.2, 1.3)]).region is None
    assert Space.of([(0.2, 1.3)]).constrained(["x0 - x0 <= 3"]).region is None


def test_feasible_points_are_those_of_the_users_numbers():
    box = [(-1.3, 2.1), Real("rate", 1e-3, 0.7, log=True), Integer("k", 2, 9)]
    region = region_of(box, "x0 + 3*rate - 0.2*k <= 0.4", "k >= 3")
    rng = np.random.default_rng(1)
    U = region.space.snap(rng.random((400, 3)))
    X = region.space.decode(U)
    expected = (X[:, 0] + 3 * X[:, 1] - 0.2 * X[:, 2] <= 0.4) & (X[:, 2] >= 3)
    assert 50 < expected.sum() < 350
    np.testing.assert_array_equal(region.feasible(U), expected)


def test_shares_of_a_simplex_follow_the_dirichlet_distribution():
    X = drawn(region_of([Simplex("mix", 4)]), 1000)
    np.testing.assert_allclose(X.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    # Each share of a uniform point has the distribution Beta(1, 3). False alarms:
    # 1e-4 for each share if draws are independent.
    for share in X.T:
        assert kstest(share, beta(1, 3).cdf).pvalue > 1e-4


def test_levels_under_an_equation_are_equally_probable():
    bounds = [Integer("i", 0, 9), Integer("j", 0, 9), Real("a", 0.0, 2.0)]
    X = drawn(region_of(bounds, "i + j == 7", "a + i <= 5"), 3000)
    assert (X[:, 0] + X[:, 1] == 7).all()
    # For i ≤ 3 all of a is allowed, for i = 4 half of it, and beyond nothing.
    share = np.bincount(X[:, 0].astype(int), minlength=5) / len(X)
    np.testing.assert_allclose(share[:5], np.array([2, 2, 2, 2, 1]) / 9, atol=0.03)


def test_logarithmic_parameters_stay_uniform_in_their_logarithm():
    bounds = [Real("a", 1e-4, 1.0, log=True), Real("b", 0.0, 1.0)]
    region = region_of(bounds, "a + b <= 0.012")
    X = drawn(region, 2000)
    # b is uniform below 0.012 − a, which leaves a the density (0.012 − a)/a.
    grid = np.linspace(np.log(1e-4), np.log(0.012), 4001)
    density = 0.012 - np.exp(grid)
    cdf = np.cumsum(density) / density.sum()
    at = np.interp(np.log(X[:, 0]), grid, cdf)
    assert kstest(at, "uniform").statistic < 0.06


@pytest.mark.parametrize(
    ("constraints", "point"),
    [
        (["x0 + x1 <= 0"], [0.0, 0.0]),
        (["x0 + x1 <= 0.3", "x0 >= 0.1", "x1 >= 0.2"], [0.1, 0.2]),
        (["x0 == 0.4", "x1 - x0 == 0.1"], [0.4, 0.5]),
    ],
)
def test_a_region_without_interior_is_searched_within_its_equations(constraints, point):
    X = drawn(region_of([(0, 1)] * 3, *constraints), 40)
    np.testing.assert_allclose(X[:, :2], [point] * 40, atol=1e-9)
    assert np.ptp(X[:, 2]) > 0.5


def test_tests_and_equations_hold_together():
    disc = Feasible(lambda x: bool(np.hypot(x[0] - 0.4, x[1] - 0.3) < 0.2))
    X = drawn(region_of([Simplex("s", 3)], disc), 200)
    assert (np.hypot(X[:, 0] - 0.4, X[:, 1] - 0.3) < 0.2).all()
    np.testing.assert_allclose(X.sum(axis=1), 1.0, atol=1e-12)
    assert len(np.unique(X, axis=0)) > 150


def test_a_test_may_use_choices():
    bounds = [(0, 1), Categorical("rule", ("sum", "max"))]
    test = Feasible(lambda x: x[1] == "sum" or x[0] < 0.1)
    X = drawn(region_of(bounds, test), 300)
    assert (X[X[:, 1] == "max", 0] < 0.1).all()
    assert {"sum", "max"} == set(X[:, 1])


def test_the_nearest_point_is_close_to_the_projection():
    region = region_of([(0, 1)] * 5, "x0 + x1 + x2 <= 0.8", "x3 - x4 == 0.1")
    rng = np.random.default_rng(5)
    U = rng.random((20, 5))
    moved = region.nearest(U)
    assert region.feasible(moved).all()
    both = [
        LinearConstraint([[1, 1, 1, 0, 0]], -np.inf, 0.8),
        LinearConstraint([[0, 0, 0, 1, -1]], 0.1, 0.1),
    ]
    for u, v in zip(U, moved, strict=True):
        exact = minimize(
            lambda z, u=u: ((z - u) ** 2).sum(),
            v,
            bounds=[(0, 1)] * 5,
            constraints=both,
            method="SLSQP",
        ).x
        assert np.linalg.norm(v - u) < 1.3 * np.linalg.norm(exact - u) + 1e-6


def test_feasible_points_do_not_move():
    region = region_of([(0, 1), Integer("k", 1, 6)], "x0 + k <= 4")
    U = region.draw(np.random.default_rng(2), 30)
    np.testing.assert_array_equal(region.nearest(U), U)


def test_a_part_has_the_constraints_of_its_coordinates():
    region = region_of([(0, 1)] * 5, "x1 + x3 <= 0.2", "x0 + x2 == 0.7")
    assert region.coupled == ((1, 3), (0, 2))
    part = region.part((1, 3))
    assert part.feasible(np.array([[0.1, 0.05], [0.1, 0.15]])).tolist() == [True, False]
    assert region.part((4,)) is None
    assert region.part((0, 1, 2, 3, 4)) is region


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        (["x0 + x1 <= 1", "x0 + x1 >= 1.5"], "contradict"),
        (["x0 + x1 == 3"], "is met by no point within the bounds"),
        ([Feasible(lambda x: False)], "none of"),
        ([Feasible(lambda x: 0.3)], "no boolean"),
        ([Feasible(lambda x: x[7] > 0)], "failed at"),
        (["x0 * x1 <= 1"], "not linear"),
        ([3.5], "no text"),
        ({"a": 1}, "no list"),
    ],
)
def test_what_cannot_be_met_is_an_error_at_the_start(constraints, message):
    with pytest.raises(ArgumentError, match=message):
        Space.of([(0, 1)] * 2).constrained(constraints).region.require_points()


def test_a_choice_is_no_number():
    space = Space.of([(0, 1), Categorical("rule", ("sum", "max"))])
    with pytest.raises(ArgumentError, match="uses the choice 'rule'"):
        space.constrained(["x0 + rule <= 1"])


def test_constraints_survive_json_and_tests_are_asked_for():
    test = Feasible(test_a_choice_is_no_number)
    space = Space.of([Simplex("s", 2), (0, 1)]).constrained(["s0 <= 0.7", test])
    again = Space.from_json(space.to_json(), [test])
    assert again == space
    assert space.difference(again) == ""
    with pytest.raises(ArgumentError, match="Functions are not saved"):
        Space.from_json(space.to_json())
    other = Space.of([Simplex("s", 2), (0, 1)]).constrained(["s0 <= 0.6"])
    assert "constraints" in space.difference(other)
