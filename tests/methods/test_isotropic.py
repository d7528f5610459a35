"""Isotropic parts: evidence against the textbook, Adam against another optimizer."""

import numpy as np
import pytest
from scipy.optimize import minimize

import reference
from irregular import frozen
from reference import finite_difference
from sumbo.methods.dumbo.isotropic import (
    HIGHEST,
    LOWEST,
    NOISE_FLOOR,
    IsotropicEvidence,
    fit_isotropic,
    isotropic_gp,
    softplus,
    start_raw,
)

GROUPS = ((0, 3), (1,), (2, 4))


def observed(rng, N=23):
    X = rng.beta(0.8, 1.3, (N, 5))
    y = np.sin(4 * X[:, 0] * X[:, 3]) + X[:, 1] + 0.2 * rng.standard_normal(N)
    return frozen(X), frozen((y - y.mean()) / y.std())


def test_likelihood_and_mean_are_those_of_the_textbook(rng):
    X, y = observed(rng)
    raw = rng.uniform(-1.4, 1.1, 7)
    value = IsotropicEvidence.of(X, y, GROUPS).evaluate(raw)
    gp = isotropic_gp(GROUPS, raw, value.mean)
    K = reference.observed_covariance(gp, X)
    assert value.mean == pytest.approx(reference.generalised_least_squares_mean(K, y))
    assert value.log_likelihood == pytest.approx(reference.log_likelihood(gp, X, y))


@pytest.mark.parametrize("kernel", ["matern52", "matern32", "rbf"])
def test_gradient_equals_finite_differences(rng, kernel):
    X, y = observed(rng)
    evidence = IsotropicEvidence.of(X, y, GROUPS, kernel)
    raw = rng.uniform(-1.4, 1.1, 7)
    numeric = finite_difference(lambda r: evidence.evaluate(r).log_likelihood, raw)
    np.testing.assert_allclose(evidence.evaluate(raw).gradient, numeric, atol=1e-6)


def test_raw_zero_is_the_logarithm_of_two():
    gp = isotropic_gp(GROUPS, np.zeros(7), 0.3)
    np.testing.assert_allclose(np.concatenate(gp.lengthscales), np.log(2))
    np.testing.assert_allclose(gp.variances, np.log(2))
    assert gp.noise == pytest.approx(NOISE_FLOOR + np.log(2))
    assert [len(l) for l in gp.lengthscales] == [2, 1, 2]


def test_fits_start_at_a_small_noise(rng):
    gp = isotropic_gp(GROUPS, start_raw(3, 0.037), 0.0)
    assert gp.noise == pytest.approx(0.037)
    np.testing.assert_allclose(gp.variances, np.log(2))
    X, y = observed(rng)
    evidence = IsotropicEvidence.of(X, y, GROUPS)
    np.testing.assert_array_equal(fit_isotropic(evidence, steps=0).raw, start_raw(3))


def test_adam_arrives_where_another_optimizer_does(rng):
    X, y = observed(rng, 31)
    evidence = IsotropicEvidence.of(X, y, GROUPS)
    fit = fit_isotropic(evidence, steps=1500)

    def negative(raw):
        value = evidence.evaluate(raw)
        return -value.log_likelihood, -value.gradient

    bounds = [(LOWEST, HIGHEST)] * 7
    other = minimize(negative, fit.raw, jac=True, method="L-BFGS-B", bounds=bounds)
    # Adam stops when 25 steps gain less than 0.01 nats.
    assert fit.log_likelihood == pytest.approx(-other.fun, abs=0.2)
    assert fit.log_likelihood > evidence.evaluate(start_raw(3)).log_likelihood + 1


def test_the_fit_is_the_best_of_its_way_and_says_so(rng):
    X, y = observed(rng)
    evidence = IsotropicEvidence.of(X, y, GROUPS)
    fit = fit_isotropic(evidence, steps=60)
    value = evidence.evaluate(fit.raw)
    assert value.log_likelihood == fit.log_likelihood
    assert value.mean == fit.mean
    longer = fit_isotropic(evidence, fit.raw, steps=40)
    assert longer.log_likelihood >= fit.log_likelihood


def test_first_adam_step_moves_every_parameter_by_the_step_size(rng):
    X, y = observed(rng)
    evidence = IsotropicEvidence.of(X, y, GROUPS)
    start = rng.uniform(-0.4, 0.6, 7)
    slope = evidence.evaluate(start).gradient
    fit = fit_isotropic(evidence, start, steps=1, step_size=0.003)
    np.testing.assert_allclose(fit.raw, start + 0.003 * np.sign(slope), atol=1e-6)


def test_no_steps_only_evaluate(rng):
    X, y = observed(rng)
    start = frozen(rng.uniform(-0.4, 0.6, 7))
    fit = fit_isotropic(IsotropicEvidence.of(X, y, GROUPS), start, steps=0)
    np.testing.assert_array_equal(fit.raw, start)
    assert fit.evaluations == 1


def test_constant_data_leave_finite_parameters(rng):
    X, _ = observed(rng)
    evidence = IsotropicEvidence.of(X, np.zeros(len(X)), GROUPS)
    raw = None
    for _ in range(6):  # warm starts go on and on in the same direction
        raw = fit_isotropic(evidence, raw).raw
    assert np.isfinite(raw).all()
    assert (raw >= LOWEST).all()
    gp = isotropic_gp(GROUPS, raw, 0.0)
    assert gp.noise >= NOISE_FLOOR
    assert np.isfinite(gp.condition(X, np.zeros(len(X))).alpha).all()


def test_softplus_neither_overflows_nor_loses_small_values():
    np.testing.assert_allclose(
        softplus(np.array([-40.0, 0.3, 900.0])),
        [np.exp(-40.0), np.log(1 + np.exp(0.3)), 900.0],
        rtol=1e-12,
    )
