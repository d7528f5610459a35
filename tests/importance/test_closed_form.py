"""Sobol shares of orthogonal models: closed forms, draws and functions with shares."""

import numpy as np
import pytest
from scipy.stats import qmc

import sumbo
from ishigami import ishigami, ishigami_shares
from sumbo.importance import importance_of
from sumbo.importance.closed import expected_variances
from sumbo.importance.shares import variance_draws
from sumbo.integrations.sklearn import AdditiveGPRegressor
from sumbo.space import Space
from sumbo.space.measure import measures_of


def posterior(f, space, groups, N, fit=True, noise=0.0, seed=5, **settings):
    """Return the orthogonal model of N values of f, fitted if wanted."""
    space = Space.of(space)
    rng = np.random.default_rng(seed)
    X = space.snap(qmc.Sobol(space.dim, rng=rng).random(N))
    y = f(X) + noise * rng.standard_normal(N)
    gp = sumbo.AdditiveGP(groups=groups, orthogonal=True, measure=space, **settings)
    if fit:
        gp = gp.fit(X, y, starts=1, spans=1.0)
    return gp.condition(X, y), measures_of(space), space.names


def g_function(a):
    """Return Sobol's g-function of the coefficients a, and its shares."""
    each = 1.0 / (3.0 * (1.0 + a) ** 2)
    whole = np.prod(1.0 + each) - 1.0

    def f(U):
        return np.prod((np.abs(4.0 * U - 2.0) + a) / (1.0 + a), axis=1)

    others = np.prod(1.0 + each) / (1.0 + each)
    return f, each / whole, each * others / whole


@pytest.mark.parametrize("groups", [((0,), (1,), (2,), (0, 2)), ((1,), (0, 1, 2))])
def test_closed_forms_are_the_averages_of_draws(groups, rng):
    space = [(0, 1), sumbo.Integer("k", 1, 3), (0, 1)]
    post, measures, _ = posterior(ishigami, space, groups, 16, fit=False, noise=0.1)
    found = expected_variances(post, measures)
    n = 1_000
    draws = variance_draws(rng, post, measures, n)
    # Five standard errors of the average, and 2 % for the quasi-random points.
    for name in ("first", "total", "whole"):
        each = getattr(draws, name)
        error = 5 * each.std(axis=0) / np.sqrt(n) + 0.02 * draws.whole.mean()
        assert (np.abs(getattr(found, name) - each.mean(axis=0)) < error).all()


def test_the_share_of_the_mean_is_its_variance(rng):
    # With so many exact values nothing is left of the posterior variance.
    post, measures, _ = posterior(
        lambda U: np.sin(4 * U[:, 0]) + U[:, 1] ** 2, [(0, 1)] * 2, ((0,), (1,)), 64
    )
    t = (np.arange(20_000)[:, None] + 0.5) / 20_000
    by_hand = [post.part_mean(m, t).var() for m in range(2)]
    np.testing.assert_allclose(
        expected_variances(post, measures).first, by_hand, rtol=1e-3
    )


@pytest.mark.slow
@pytest.mark.parametrize("interaction", [(0, 2), (0, 1, 2)])
def test_shares_of_ishigami(interaction):
    groups = ((0,), (1,), (2,), interaction)
    post, measures, names = posterior(ishigami, [(0, 1)] * 3, groups, 128)
    found = importance_of([post], measures, names, n=60)
    first, total = ishigami_shares()
    np.testing.assert_allclose(found.first, first, atol=0.01)
    np.testing.assert_allclose(found.total, total, atol=0.01)
    assert (found.lower <= found.total).all()
    assert (found.total <= found.upper).all()


def test_shares_of_the_g_function():
    f, first, total = g_function(np.array([0.2, 1.1, 4.7]))
    groups = ((0,), (1,), (2,), (0, 1, 2))
    post, measures, names = posterior(f, [(0, 1)] * 3, groups, 128, kernel="matern32")
    found = importance_of([post], measures, names, n=20)
    np.testing.assert_allclose(found.first, first, atol=0.03)
    np.testing.assert_allclose(found.total, total, atol=0.03)


def additive(weights):
    """Return an additive function of ten parameters, and its shares."""

    def f(U):
        return np.cos(2.3 * U + 0.4) @ weights + 4.0

    share = weights**2 / (weights**2).sum()
    return f, share


WEIGHTS = np.array([2.0, -1.7, 1.3, 1.0, 0.8, 0.6, 0.4, 0.2, 0.1, 0.0])


def test_shares_of_an_additive_function_of_ten_parameters():
    f, share = additive(WEIGHTS)
    groups = tuple((p,) for p in range(10))
    post, measures, names = posterior(f, [(0, 1)] * 10, groups, 64)
    found = importance_of([post], measures, names)
    np.testing.assert_allclose(found.total, share, atol=5e-3)
    assert found.total.sum() == pytest.approx(1.0)


@pytest.mark.statistical
def test_intervals_cover_the_shares():
    # Functions drawn from the model itself, with noise, so that the posterior is right:
    # of 60 × 4 intervals of 90 % a binomial number covers. They depend on each other
    # within a function; with 60 independent ones in the worst case, fewer than 70 % or
    # all of 240 (mean 216) have a probability below 1e-5.
    groups = ((0,), (1,), (2,), (3,))
    rng = np.random.default_rng(11)
    gp = sumbo.AdditiveGP(
        groups=groups,
        orthogonal=True,
        lengthscales=[0.3, 0.5, 0.4, 0.8],
        variances=[1.0, 0.5, 0.3, 1.0],
        noise=0.05,
    )
    measures = measures_of(Space.of([(0, 1)] * 4))
    nodes = measures[0].rule()[0]
    covered = []
    for i in range(60):
        X = rng.random((24, 4))
        prior = sumbo.AdditiveGP(
            groups=groups,
            orthogonal=True,
            lengthscales=gp.lengthscales,
            variances=gp.variances,
            noise=1e9,
        ).condition(X[:1], np.zeros(1))
        Z = [np.concatenate([nodes, X[:, [p]]]) for p in range(4)]
        parts = [f[0] for f in prior.sample(Z, n=1, seed=i)]
        truth = np.array([f[: len(nodes)].var() for f in parts])
        y = sum(f[len(nodes) :] for f in parts) + 0.05**0.5 * rng.standard_normal(24)
        found = importance_of(
            [gp.condition(X, y)], measures, "abcd", n=400, level=0.9, seed=i
        )
        share = truth / truth.sum()
        covered += list((found.lower <= share) & (share <= found.upper))
    assert 0.7 < np.mean(covered) < 1.0


def test_a_regressor_with_orthogonal_parts(rng):
    X = rng.random((50, 3)) * [40.0, 3e-4, 7.0] - 2.0
    U = (X + 2.0) / [40.0, 3e-4, 7.0]
    y = 500.0 + 90 * (np.sin(4 * U[:, 0]) + U[:, 1] ** 2)
    model = AdditiveGPRegressor(orthogonal=True, n_restarts_optimizer=0).fit(X, y)
    table = model.importance()
    np.testing.assert_allclose(
        model.feature_importances_, table.total / table.total.sum()
    )
    assert table.total[2] < 0.01
    parts = model.predict_parts(X).sum(axis=1)
    constant = model.posterior_.constant()[0]
    np.testing.assert_allclose(parts + constant, model.predict(X))
    draws = model.sample_y(X[:4], n_samples=3000, random_state=1)
    mean, sd = model.predict(X[:4], return_std=True)
    # Five standard errors: false alarms below 1e-5.
    np.testing.assert_array_less(
        np.abs(draws.mean(axis=1) - mean), 5 * sd / np.sqrt(3000) + 1e-6
    )
