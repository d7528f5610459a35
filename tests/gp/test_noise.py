"""Known noise variances: posteriors, evidence, fits and draws against formulas."""

from dataclasses import replace

import numpy as np
import pytest

from sumbo.errors import ArgumentError
from sumbo.gp import AdditiveGP
from sumbo.gp.fit import NOISY
from sumbo.rng import rng_at

GROUPS = ((0,), (1, 2))
N = 14


@pytest.fixture
def gp():
    return AdditiveGP(
        groups=GROUPS,
        lengthscales=[0.31, 0.47, 0.83],
        variances=[1.3, 0.6],
        noise=2.3e-3,
        mean=0.37,
    )


def data(seed=3):
    rng = rng_at(seed, "noise test")
    X = rng.random((N, 3))
    y = np.sin(4 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(N)
    return X, y, rng.uniform(0.02, 0.4, N) ** 2


def gram(gp, A, B):
    return sum(
        k(A[:, list(g)], B[:, list(g)])
        for k, g in zip(gp.kernels, gp.groups, strict=True)
    )


def test_the_posterior_is_that_of_the_textbook(gp):
    X, y, noise = data()
    Z = rng_at(5, "noise test").random((6, 3))
    A = gram(gp, X, X) + np.diag(noise + gp.noise)
    K = gram(gp, Z, X)
    mean, var = gp.condition(X, y, noise=noise).predict(Z)
    np.testing.assert_allclose(
        mean, gp.mean + K @ np.linalg.solve(A, y - gp.mean), rtol=1e-10
    )
    expected = np.diag(gram(gp, Z, Z) - K @ np.linalg.solve(A, K.T))
    np.testing.assert_allclose(var, expected, rtol=1e-9)


def test_no_noise_known_is_noise_zero_known(gp):
    X, y, _ = data()
    Z = X[:3] + 0.01
    here, there = gp.condition(X, y), gp.condition(X, y, noise=np.zeros(N))
    np.testing.assert_array_equal(here.predict(Z), there.predict(Z))


def test_the_iterative_posterior_is_the_exact_one(gp):
    X, y, noise = data()
    lines = AdditiveGP(
        groups=((0,), (1,), (2,)), lengthscales=[0.31, 0.47, 0.83], noise=2.3e-3
    )
    Z = rng_at(5, "noise test").random((6, 3))
    exact = lines.condition(X, y, noise=noise).predict(Z)
    found = lines.condition(X, y, noise=noise, how="iterative", tolerance=1e-10)
    np.testing.assert_allclose(found.predict(Z), exact, rtol=1e-6)


def test_repeated_values_are_worth_their_mean(gp):
    X, y, noise = data()
    Z = rng_at(5, "noise test").random((6, 3))
    # Point 0 five times with noise σ² each is its mean value with noise σ² / 5.
    again = np.array([0.9, -0.4, 0.2, 1.7])
    many = gp.condition(
        np.vstack([X, np.tile(X[0], (4, 1))]),
        np.concatenate([y, again]),
        noise=np.concatenate([noise, np.full(4, noise[0])]),
    )
    y_mean, noise_mean = y.copy(), noise.copy()
    y_mean[0] = np.mean([y[0], *again])
    noise_mean[0] = (noise[0] + gp.noise) / 5 - gp.noise
    # The model's own noise is averaged too; known noise must not get below zero.
    assert noise_mean[0] >= 0
    once = gp.condition(X, y_mean, noise=noise_mean)
    np.testing.assert_allclose(many.predict(Z), once.predict(Z), rtol=1e-9)


def test_a_precise_value_counts_more_than_a_noisy_one(gp):
    x = data()[0][:1]
    for k in (0, 1):
        noise = np.full(2, 0.9)
        noise[k] = 1e-6
        post = gp.condition(np.vstack([x, x]), [1.9, -2.3], noise=noise)
        assert abs(post.predict(x)[0][0] - [1.9, -2.3][k]) < 0.05


def test_appended_rows_are_those_of_one_posterior(gp):
    X, y, noise = data()
    Z = X[:4] + 0.013
    whole = gp.condition(X, y, noise=noise)
    grown = gp.condition(X[:9], y[:9], noise=noise[:9]).append(
        X[9:], y[9:], noise=noise[9:]
    )
    np.testing.assert_allclose(grown.predict(Z), whole.predict(Z), rtol=1e-9)
    np.testing.assert_allclose(grown.fitted(), whole.predict(X)[0], rtol=1e-7)
    mixed = gp.condition(X[:9], y[:9]).append(X[9:], y[9:], noise=noise[9:])
    part = np.concatenate([np.zeros(9), noise[9:]])
    expected = gp.condition(X, y, noise=part).predict(Z)
    np.testing.assert_allclose(mixed.predict(Z), expected, rtol=1e-9)


def test_the_evidence_is_that_of_the_textbook(gp):
    X, y, noise = data()
    A = gram(gp, X, X) + np.diag(noise + gp.noise)
    _, log_det = np.linalg.slogdet(A)
    r = y - gp.mean
    expected = -0.5 * (r @ np.linalg.solve(A, r) + log_det + N * np.log(2 * np.pi))
    found = gp.log_marginal_likelihood(X, y, noise=noise)
    assert found == pytest.approx(expected, rel=1e-10)
    post = gp.condition(X, y, noise=noise)
    assert post.log_marginal_likelihood() == pytest.approx(expected, rel=1e-10)


def test_the_gradient_of_the_evidence_is_that_of_differences(gp):
    X, y, noise = data()
    theta = gp.hyperparameters().log()
    _, gradient = gp.log_marginal_likelihood_and_gradient(X, y, noise=noise)

    def value(t):
        other = gp.with_hyperparameters(gp.hyperparameters().from_log(t))
        return other.log_marginal_likelihood(X, y, noise=noise)

    for k in range(len(theta)):
        step = np.zeros(len(theta))
        step[k] = 1e-5
        slope = (value(theta + step) - value(theta - step)) / 2e-5
        assert gradient[k] == pytest.approx(slope, rel=1e-5, abs=1e-6)


def test_a_fit_does_not_depend_on_the_units(gp):
    X, y, noise = data()
    here = gp.fit(X, y, noise=noise, starts=1)
    there = gp.fit(X, 1e3 * y, noise=1e6 * noise, starts=1)
    assert here.info is not None
    assert there.info is not None
    shift = -N * np.log(1e3)
    assert there.info.log_posterior == pytest.approx(
        here.info.log_posterior + shift, abs=1e-3
    )
    assert there.log_marginal_likelihood(X, 1e3 * y, noise=1e6 * noise) == (
        pytest.approx(there.info.log_likelihood, abs=1e-6)
    )


def test_noise_that_is_known_is_not_estimated_once_more():
    rng = rng_at(8, "noise test")
    X = rng.random((60, 3))
    y = np.sin(3 * X[:, 0]) + X[:, 1] - X[:, 2] + 0.3 * rng.standard_normal(60)
    gp = AdditiveGP(groups=((0,), (1,), (2,)))
    told = gp.fit(X, y, noise=np.full(60, 0.09), spans=1.0)
    untold = gp.fit(X, y, spans=1.0, priors=NOISY)
    assert told.noise < 0.02 < 0.05 < untold.noise


@pytest.mark.parametrize("how", ["joint", "sequential", "naive"])
@pytest.mark.statistical
def test_draws_have_the_moments_of_the_posterior(gp, how):
    X, y, noise = data()
    post = gp.condition(X, y, noise=noise)
    Z = [X[:2][:, list(g)] + 0.03 for g in GROUPS]
    draws = np.concatenate(post.sample(Z, n=4000, how=how, seed=1), axis=1)
    cov = post.joint_covariance(Z)
    z = (draws.mean(axis=0) - np.concatenate(post.part_means(Z))) / np.sqrt(
        np.diag(cov) / 4000
    )
    assert np.abs(z).max() < 5.0  # 4 values: 2e-6
    ratio = np.var(draws, axis=0) / np.diag(cov)
    assert np.abs(ratio - 1).max() < 5.0 * np.sqrt(2 / 4000)


def test_without_noise_of_the_model_equal_points_may_differ_where_noise_is_known(gp):
    X = data()[0]
    exact = replace(gp, noise=0.0)
    twice, values = np.vstack([X[:2], X[:1]]), [0.3, 0.9, 1.1]
    post = exact.condition(twice, values, noise=[0.2, 0.0, 0.2])
    assert np.isfinite(post.predict(X)[0]).all()
    with pytest.raises(ArgumentError, match="rows 0 and 2"):
        exact.condition(twice, values, noise=[0.0, 0.2, 0.0])


WRONG = {
    "too few": ([0.1, 0.2], "shape"),
    "negative": ([0.1] * (N - 1) + [-0.3], "variances, 0 or more"),
    "infinite": ([0.1] * (N - 1) + [np.inf], "noise holds inf"),
    "missing": ([0.1] * (N - 1) + [np.nan], "noise holds nan"),
    "words": ("much", "noise"),
}


@pytest.mark.parametrize(("noise", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_noise_is_explained(gp, noise, message):
    X, y, _ = data()
    for use in (gp.condition, gp.fit, gp.log_marginal_likelihood):
        with pytest.raises(ArgumentError, match=message):
            use(X, y, noise=noise)


def test_the_bridge_to_botorch_refuses_noise_that_it_cannot_hand_over(gp):
    pytest.importorskip("botorch")
    from sumbo.integrations.botorch import to_botorch

    X, y, noise = data()
    with pytest.raises(ArgumentError, match="known noise"):
        to_botorch(gp.condition(X, y, noise=noise))
