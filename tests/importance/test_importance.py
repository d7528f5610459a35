"""Sobol shares of models: against functions with known shares, and as a table."""

import numpy as np
import pytest
from scipy.stats import qmc

import sumbo
from ishigami import ishigami, ishigami_shares
from sumbo.errors import ArgumentError, SumboError
from sumbo.importance import importance_of
from sumbo.integrations.sklearn import AdditiveGPRegressor
from sumbo.space import Space
from sumbo.space.measure import measures_of


def shares_of(f, P, groups, N, kernel="matern52", **settings):
    """Return the shares of a model fitted to N quasi-random points."""
    X = qmc.Sobol(P, rng=np.random.default_rng(5)).random(N)
    gp = sumbo.AdditiveGP(groups=groups, kernel=kernel).fit(X, f(X), starts=1)
    space = Space.of([(0, 1)] * P)
    post = gp.condition(X, f(X))
    return importance_of([post], measures_of(space), space.names, **settings)


@pytest.mark.parametrize(
    "groups", [[(0, 2), (1,)], [(1,), (0,), (2,), (2, 0, 1)]], ids=["pair", "residual"]
)
def test_shares_of_ishigami(groups):
    found = shares_of(ishigami, 3, groups, 128, n=40)
    first, total = ishigami_shares()
    np.testing.assert_allclose(found.first, first, atol=0.03)
    np.testing.assert_allclose(found.total, total, atol=0.03)
    assert (found.lower <= found.total).all()
    assert (found.total <= found.upper).all()


def test_shares_of_an_additive_function_add_up_to_one():
    weights = np.array([3.1, 0.0, 1.7, 0.4])

    def f(U):
        return np.cos(2.3 * U + 0.4) @ weights

    single = np.var(np.cos(2.3 * (np.arange(4000) + 0.5) / 4000 + 0.4))
    expected = weights**2 * single / (weights**2 * single).sum()
    found = shares_of(f, 4, [(0,), (1,), (2,), (3,)], 64)
    np.testing.assert_allclose(found.total, expected, atol=2e-3)
    np.testing.assert_array_equal(found.first, found.total)
    assert found.total.sum() == pytest.approx(1.0, abs=1e-12)


def test_discrete_parameters_count_as_one_with_their_own_measure():
    # f takes 5 values of "levels" and 3 of "kind": variances by hand.
    levels = np.array([0.0, 0.3, 1.1, 0.2, 2.0])
    kinds = {"a": 0.0, "b": 1.3, "c": 0.4}
    space = [sumbo.Integer("levels", 2, 6), sumbo.Categorical("kind", list(kinds))]
    result = sumbo.minimize(
        lambda x: levels[int(x[0]) - 2] + kinds[x[1]],
        space,
        budget=15,
        n_init=15,
        groups="singletons",
        transform="none",
        seed=3,
    )
    found = result.importance(seed=1)
    a, b = np.var(levels), np.var(list(kinds.values()))
    assert found.names == ("levels", "kind")
    assert found.total[0] == pytest.approx(a / (a + b), abs=0.15)
    assert found.lower[0] < a / (a + b) < found.upper[0]


def test_a_logarithmic_integer_has_the_measure_of_its_intervals(rng):
    space = Space.of([sumbo.Integer("n", 1, 9, log=True)])
    (measure,) = measures_of(space)
    drawn = space.snap(rng.random((20_000, 1)))
    share = [np.isclose(drawn, atom).mean() for atom in measure.atoms]
    # Binomial: five standard deviations, 9 levels: false alarms < 1e-5.
    np.testing.assert_allclose(share, measure.weights, atol=5 * 0.5 / 20_000**0.5)
    assert measure.weights.sum() == pytest.approx(1.0)


def test_the_table_is_sorted_printed_and_framed():
    found = shares_of(ishigami, 3, [(0,), (1,), (2,)], 32, n=20, level=0.8)
    lines = str(found).splitlines()
    assert "80 % interval" in lines[0]
    assert len(lines) == 4
    assert repr(found) == str(found)
    frame = found.to_frame()
    assert list(frame.index) == list(found.names)
    np.testing.assert_array_equal(frame["total"], found.total)


def test_the_same_seed_gives_the_same_table():
    groups = [(0, 1), (1, 2)]
    one, two, other = (
        shares_of(ishigami, 3, groups, 32, n=9, seed=s) for s in (4, 4, 5)
    )
    np.testing.assert_array_equal(one.upper, two.upper)
    assert (one.upper != other.upper).any()


def test_a_run_has_the_importance_of_its_parameters():
    opt = sumbo.Optimizer({"p": (0, 1), "q": (2, 5)}, groups="auto", seed=1, n_init=12)
    with pytest.raises(SumboError, match="has no model of 0 values"):
        opt.importance()
    for _ in range(12):
        x = opt.ask()
        opt.tell(x, np.sin(4 * x[0]) + 0.05 * x[1])
    found = opt.importance(n=20)
    assert found.names == ("p", "q")
    assert found.total[0] > found.total[1]


def test_methods_without_a_model_have_none():
    result = sumbo.minimize(lambda x: x[0], [(0, 1)], budget=3, method="uniform")
    with pytest.raises(SumboError, match="method='uniform' has no model"):
        result.importance()


@pytest.mark.parametrize("wrong", [{"n": 0}, {"level": 1.0}, {"level": 0.0}])
def test_bad_arguments_are_named(wrong):
    with pytest.raises(ArgumentError, match=next(iter(wrong))):
        shares_of(ishigami, 3, [(0,), (1,), (2,)], 8, **wrong)


def test_a_regressor_in_other_units_has_the_same_shares(rng):
    X = rng.random((40, 3))
    y = ishigami(X)
    groups = [(0, 2), (1,)]
    one = AdditiveGPRegressor(groups, optimizer=None).fit(X, y).importance(n=10)
    scaled = X * [40.0, 3e-4, 7.0] - 2.0
    two = AdditiveGPRegressor(groups, optimizer=None).fit(scaled, 90 * y)
    np.testing.assert_allclose(two.importance(n=10).total, one.total, atol=0.03)
