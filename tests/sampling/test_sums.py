"""Draws of the sum at whole points, of the minimum, and the inflation of variance.

The oracle of the sum is the textbook posterior of f, ``reference.posterior_of_sum``.
False-alarm rates are stated; see ``draws.law_p_value``.
"""

import numpy as np
import pytest

import irregular
import reference
from draws import law_p_value
from sumbo import AdditiveGP
from sumbo.errors import ArgumentError
from sumbo.rng import rng_at
from sumbo.sampling import sums
from sumbo.space import Integer, Real, Space


def rows_of(rng, s, count):
    """Points of the cube; one is a repeat and one was observed."""
    X = rng.random((count, s.gp.dim))
    X[1] = X[0]
    X[2] = s.X[3]
    return X


@pytest.mark.parametrize("kernel", ["matern32", "rbf"])
def test_draws_of_the_sum_have_the_exact_law(kernel, rng):
    # False alarm: 1e-6 for each case.
    s = irregular.random_setting(rng, M=4, N=13, kernel=kernel, noise=1e-2)
    X = rows_of(rng, s, 7)
    draws = s.post.sample_sum(X, n=8_000, seed=3)
    exact = reference.posterior_of_sum(s.gp, s.X, s.y, X)
    assert law_p_value(draws, *exact, floor=1e-6 * s.scale) > 1e-6
    # The repeated row gets the value of the first one.
    np.testing.assert_allclose(draws[:, 1], draws[:, 0], atol=1e-4)


def test_draws_of_the_sum_reject_the_law_of_independent_parts(rng):
    s = irregular.random_setting(rng, M=4, N=13, kernel="matern52", noise=1e-2)
    X = rows_of(rng, s, 7)
    draws = sums.sample_sum_marginal(rng_at(4, "marginal"), s.post, X, 8_000)
    exact = reference.posterior_of_sum(s.gp, s.X, s.y, X)
    assert law_p_value(draws, *exact, floor=1e-6 * s.scale) < 1e-12


def test_marginal_sums_have_the_variances_of_the_parts(rng):
    # False alarm: 1e-6. The exact law is the sum of the blocks of the parts.
    s = irregular.random_setting(rng, M=4, N=13, kernel="matern52", noise=1e-2)
    X = rows_of(rng, s, 6)
    draws = sums.sample_sum_marginal(rng_at(5, "marginal"), s.post, X, 8_000)
    parts = s.post.parts([X[:, list(group)] for group in s.gp.groups])
    mean = s.gp.mean + sum(part.mean for part in parts)
    cov = sum(part.cov for part in parts)
    assert law_p_value(draws, mean, cov, floor=1e-6 * s.scale) > 1e-6


@pytest.mark.parametrize("kernel", ["matern12", "matern52", "rbf"])
def test_long_lists_have_the_exact_mean_and_covariance(kernel, rng, monkeypatch):
    # All parts are treated as too long for a dense factor, so lines are Markov
    # processes or quadrature, and others random frequencies. Their draws are no
    # exact normal ones, so only means and second moments are looked at: z-scores by
    # the central limit theorem; false alarm below 1e-5 over all 77 + 11 numbers.
    monkeypatch.setattr(sums, "MOST_DENSE", 5)
    monkeypatch.setattr(sums, "is_linear_cheaper", lambda points, n: True)
    gp = AdditiveGP(
        groups=[(0,), (1,), (1, 2, 3)],
        kernel=kernel,
        lengthscales=[[0.37], [0.52], [0.61, 0.83, 0.44]],
        variances=[0.9, 0.6, 1.1],
        noise=3e-2,
        mean=0.7,
    )
    X, Z = rng.random((17, 4)), rng.random((11, 4))
    y = irregular.draw_outputs(rng, gp, X)
    n = 2_000
    draws = gp.condition(X, y).sample_sum(Z, n=n, seed=8)
    mean, cov = reference.posterior_of_sum(gp, X, y, Z)
    deviation = draws - mean
    z = deviation.mean(axis=0) / np.sqrt(cov.diagonal() / n)
    assert np.abs(z).max() < 5.5
    products = deviation[:, :, None] * deviation[:, None, :]
    error = products.mean(axis=0) - cov
    z = error / np.sqrt(products.var(axis=0) / n)
    assert np.abs(z).max() < 5.5


def test_memory_of_long_lists_is_linear(rng):
    # 30 000 rows: their covariance would take 3.2 GB.
    gp = AdditiveGP(groups=[(0,), (1,), (0, 1, 2)], lengthscales=None, noise=1e-2)
    X = rng.random((23, 3))
    post = gp.condition(X, irregular.draw_outputs(rng, gp, X))
    draws = post.sample_sum(rng.random((20_000, 3)), n=2, seed=1)
    assert draws.shape == (2, 20_000)
    assert np.isfinite(draws).all()


def test_an_iterative_posterior_draws_the_sum(rng):
    s = irregular.random_setting(rng, M=3, N=25, kernel="matern52", noise=0.1)
    post = s.gp.condition(s.X, s.y, how="iterative")
    X = rows_of(rng, s, 6)
    draws = post.sample_sum(X, n=4_000, seed=2)
    mean, cov = reference.posterior_of_sum(s.gp, s.X, s.y, X)
    # Features stand for some parts: equal to a few percent of the prior.
    assert np.abs(draws.mean(axis=0) - mean).max() < 0.15 * np.sqrt(s.scale)
    assert np.abs(np.cov(draws.T) - cov).max() < 0.1 * s.scale


def test_the_same_seed_draws_the_same_sums(rng):
    s = irregular.random_setting(rng, M=3)
    X = rng.random((5, s.gp.dim))
    one, again, other = (s.post.sample_sum(X, n=3, seed=k) for k in (6, 6, 7))
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize(
    ("X", "n", "named"),
    [
        (np.empty((0, 2)), 1, "X has no rows"),
        (np.full((3, 2), np.nan), 1, "nan"),
        (np.full((3, 3), 0.4), 1, "shape"),
        (np.full((3, 2), 0.4), 0, "n=0"),
    ],
)
def test_what_cannot_be_drawn_is_refused(X, n, named):
    post = AdditiveGP(groups=[(0,), (1,)]).condition([[0.3, 0.6]], [1.7])
    with pytest.raises(ArgumentError, match=named):
        post.sample_sum(X, n=n)


# ---------------------------------------------------------------------- inflation
def test_inflation_is_the_ratio_of_the_variances(rng):
    s = irregular.random_setting(rng, M=5, kernel="matern32", noise=1e-3)
    X = rows_of(rng, s, 9)
    parts = s.post.parts([X[:, list(group)] for group in s.gp.groups])
    above = sum(part.cov.diagonal() for part in parts)
    below = reference.posterior_of_sum(s.gp, s.X, s.y, X)[1].diagonal()
    np.testing.assert_allclose(s.post.inflation(X), above / below, rtol=1e-5)


def test_inflation_is_one_for_one_part_and_infinite_at_a_known_sum():
    X, y = [[0.31, 0.62], [0.77, 0.18]], [1.7, -0.4]
    one = AdditiveGP(groups=[(0, 1)], noise=1e-2).condition(X, y)
    np.testing.assert_allclose(one.inflation([[0.5, 0.4], X[0]]), 1.0)
    two = AdditiveGP(groups=[(0,), (1,)], noise=0.0).condition(X, y)
    assert two.inflation([X[0]])[0] == np.inf


# ---------------------------------------------------------------------- minimum
def test_draws_of_the_minimum_agree_with_draws_on_a_grid(rng):
    # One line and one pair; the minimum over a fine grid of naive joint draws is the
    # oracle. Kolmogorov-Smirnov, false alarm 1e-6; the grid's own error is about 1e-4.
    from scipy import stats

    gp = AdditiveGP(
        groups=[(0,), (1,)], lengthscales=[0.31, 0.47], variances=[0.8, 1.3], noise=0.05
    )
    X = rng.random((9, 2))
    post = gp.condition(X, irregular.draw_outputs(rng, gp, X))
    grid = np.linspace(0.0, 1.0, 101)[:, None]
    parts = post.sample([grid, grid], n=700, how="naive", seed=3)
    exact = gp.mean + sum(part.min(axis=1) for part in parts)
    found = post.minimum(n=250, seed=5)
    assert found.values.shape == (250,)
    assert found.points.shape == (250, 2)
    assert ((found.points >= 0) & (found.points <= 1)).all()
    assert stats.ks_2samp(found.values, exact).pvalue > 1e-6
    low, high = found.interval(0.9)
    np.testing.assert_allclose([low, high], np.quantile(found.values, [0.05, 0.95]))


def test_the_minimum_lies_in_the_domain(rng):
    space = Space.of([Integer("n", 2, 6), Real("x", 1.3, 4.1)])
    gp = AdditiveGP(groups=[(0,), (1,)], noise=1e-2)
    U = space.encode([[3, 2.2], [5, 3.7], [2, 1.9]])
    found = gp.condition(U, [0.4, -1.1, 2.3]).minimum(n=7, seed=2, domain=space)
    np.testing.assert_array_equal(space.snap(found.points), found.points)


def test_a_level_outside_the_unit_interval_is_refused():
    post = AdditiveGP(groups=[(0,)]).condition([[0.3], [0.8]], [1.7, 0.2])
    with pytest.raises(ArgumentError, match=r"level=1\.5"):
        post.minimum(n=3, seed=1).interval(1.5)
