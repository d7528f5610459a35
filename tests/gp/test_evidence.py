"""The log marginal likelihood and its gradient."""

from dataclasses import replace

import numpy as np
import pytest

import irregular
import reference
import sklearn_kernels
from sumbo import AdditiveGP
from sumbo.errors import ArgumentError, TooLargeError
from sumbo.gp import evidence as evidence_module
from sumbo.kernels import as_kernel

every_kernel = pytest.mark.parametrize("kernel", irregular.KERNELS)


def setting(rng, kernel="matern52", *, shared, groups=((0, 2), (1,), (2, 3, 1))):
    gp = irregular.random_gp(rng, groups, kernel, noise=0.07, shared=shared)
    X = rng.beta(0.8, 1.3, (11, gp.dim))
    return gp, irregular.frozen(X), irregular.frozen(irregular.draw_outputs(rng, gp, X))


@every_kernel
@pytest.mark.parametrize("shared", [True, False])
def test_value_equals_the_dense_normal_density(kernel, shared, rng):
    gp, X, y = setting(rng, kernel, shared=shared)
    expected = reference.log_likelihood(gp, X, y)
    assert gp.log_marginal_likelihood(X, y) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("trial", range(6))
def test_value_equals_the_dense_density_at_random_settings(trial, rng):
    s = irregular.random_setting(rng, noise=10.0 ** rng.uniform(-4, 0))
    expected = reference.log_likelihood(s.gp, s.X, s.y)
    assert s.gp.log_marginal_likelihood(s.X, s.y) == pytest.approx(expected, rel=1e-8)


@every_kernel
@pytest.mark.parametrize("shared", [True, False])
def test_gradient_equals_finite_differences(kernel, shared, rng):
    gp, X, y = setting(rng, kernel, shared=shared)
    layout = gp.hyperparameters()

    def value(theta):
        other = gp.with_hyperparameters(layout.from_log(theta))
        return reference.log_likelihood(other, X, y)

    expected = reference.finite_difference(value, layout.log(), step=1e-5)
    _, gradient = gp.log_marginal_likelihood_and_gradient(X, y)
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-6)


def test_gradient_equals_the_trace_formula(rng):
    gp, X, y = setting(rng, "rbf", shared=False)
    expected = reference.log_likelihood_gradient(
        "rbf", gp.groups, X, y - gp.mean, gp.hyperparameters().log()
    )
    _, gradient = gp.log_marginal_likelihood_and_gradient(X, y)
    np.testing.assert_allclose(gradient, expected, rtol=1e-9, atol=1e-10)


@pytest.mark.reference
@every_kernel
def test_value_and_gradient_equal_scikit_learns(kernel, rng):
    gp, X, y = setting(rng, kernel, shared=False)
    value, gradient = sklearn_kernels.log_likelihood_and_gradient(gp, X, y)
    ours, our_gradient = gp.log_marginal_likelihood_and_gradient(X, y)
    assert ours == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(our_gradient[:-1], gradient, rtol=1e-8, atol=1e-8)


def test_gradient_of_a_shared_lengthscale_is_the_sum_over_its_groups(rng):
    gp, X, y = setting(rng, shared=True, groups=((0, 1), (1,)))
    own = replace(gp, lengthscales=tuple(reference.lengthscales_of(gp)))
    shared_gradient = gp.log_marginal_likelihood_and_gradient(X, y)[1]
    own_gradient = own.log_marginal_likelihood_and_gradient(X, y)[1]
    np.testing.assert_allclose(shared_gradient[0], own_gradient[0], rtol=1e-10)
    np.testing.assert_allclose(
        shared_gradient[1], own_gradient[1] + own_gradient[2], rtol=1e-10
    )


def test_permuting_rows_changes_nothing(rng):
    gp, X, y = setting(rng, shared=True)
    order = rng.permutation(len(X))
    value, gradient = gp.log_marginal_likelihood_and_gradient(X, y)
    other, other_gradient = gp.log_marginal_likelihood_and_gradient(X[order], y[order])
    assert other == pytest.approx(value, rel=1e-11)
    np.testing.assert_allclose(other_gradient, gradient, rtol=1e-8, atol=1e-9)


def test_profiled_mean_is_that_of_generalised_least_squares(rng):
    gp, X, y = setting(rng, shared=True)
    value = gp.evidence(X).evaluate(gp.hyperparameters(), y, profile_mean=True)
    K = reference.observed_covariance(gp, X)
    expected = reference.generalised_least_squares_mean(K, y)
    assert value.mean == pytest.approx(expected, rel=1e-9)
    at_that_mean = replace(gp, mean=expected)
    assert value.log_likelihood == pytest.approx(
        reference.log_likelihood(at_that_mean, X, y), rel=1e-10
    )


def test_gradient_with_profiled_mean_equals_finite_differences(rng):
    gp, X, y = setting(rng, shared=False)
    layout = gp.hyperparameters()

    def value(theta):
        other = gp.with_hyperparameters(layout.from_log(theta))
        K = reference.observed_covariance(other, X)
        mean = reference.generalised_least_squares_mean(K, y)
        return reference.log_likelihood(replace(other, mean=mean), X, y)

    expected = reference.finite_difference(value, layout.log(), step=1e-5)
    out = gp.evidence(X).evaluate(layout, y, profile_mean=True)
    np.testing.assert_allclose(out.gradient, expected, rtol=1e-6, atol=1e-6)


def test_rescaled_evidence_measures_lengths_in_the_given_units(rng):
    gp, X, y = setting(rng, shared=True)
    spans = np.array([3.7, 0.2, 11.0, 1.0])
    theta = gp.hyperparameters()
    stretched = replace(theta, lengthscales=theta.lengthscales / spans)
    value = gp.evidence(X).rescaled(spans).evaluate(stretched, y)
    expected = reference.log_likelihood(gp, X, y)
    assert value.log_likelihood == pytest.approx(expected, rel=1e-10)


def test_one_evidence_serves_many_outputs_and_parameters(rng):
    gp, X, y = setting(rng, shared=True)
    evidence = gp.evidence(X)
    for shift in (0.0, 1.3):
        other = replace(gp, mean=gp.mean + shift, noise=gp.noise * (1 + shift))
        value = evidence.evaluate(other.hyperparameters(), y + 2 * shift)
        expected = reference.log_likelihood(other, X, y + 2 * shift)
        assert value.log_likelihood == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("chunk", [1, 7, 66, 1000])
def test_pairs_are_worked_on_in_chunks_of_any_length(chunk, rng, monkeypatch):
    gp, X, y = setting(rng, shared=True)
    whole = gp.evidence(X).evaluate(gp.hyperparameters(), y)
    monkeypatch.setattr(evidence_module, "CHUNK", chunk)
    value = gp.evidence(X).evaluate(gp.hyperparameters(), y)
    assert value.log_likelihood == pytest.approx(whole.log_likelihood, rel=1e-12)
    np.testing.assert_allclose(value.gradient, whole.gradient, rtol=1e-9, atol=1e-11)


def test_a_single_observation_has_a_density(rng):
    gp, X, y = setting(rng, shared=True)
    variance = gp.variances.sum() + gp.noise
    expected = -0.5 * ((y[0] - gp.mean) ** 2 / variance + np.log(2 * np.pi * variance))
    assert gp.log_marginal_likelihood(X[:1], y[:1]) == pytest.approx(expected)


def test_duplicated_rows_have_a_density_and_a_finite_gradient(rng):
    gp, X, y = setting(rng, "matern12", shared=True)
    X, y = np.vstack([X, X[:4]]), np.append(y, y[:4] + 0.1)
    value, gradient = gp.log_marginal_likelihood_and_gradient(X, y)
    assert value == pytest.approx(reference.log_likelihood(gp, X, y), rel=1e-9)
    assert np.isfinite(gradient).all()


def test_zero_noise_is_refused_because_it_has_no_logarithm(rng):
    gp = AdditiveGP(groups=[(0,)], noise=0.0)
    with pytest.raises(ArgumentError, match=r"noise=0 has no logarithm.*such as 1e-8"):
        gp.log_marginal_likelihood(rng.random((3, 1)), rng.random(3))


def test_a_fit_that_would_not_fit_into_memory_is_refused(rng, monkeypatch):
    monkeypatch.setattr(evidence_module, "LIMIT", 10_000)
    gp = AdditiveGP(groups=[(0,), (1,)])
    with pytest.raises(TooLargeError, match=r"N=40 points with 2 groups.*subset"):
        gp.evidence(rng.random((40, 2)))
    assert gp.evidence(rng.random((4, 2))).N == 4


def test_evidence_takes_any_kernel_object(rng):
    gp, X, y = setting(rng, "matern32", shared=True)
    own = evidence_module.Evidence.of(
        np.array(X), as_kernel("matern32"), gp.groups, gp.evidence(X).ties
    )
    value = own.evaluate(gp.hyperparameters(), y)
    assert value.log_likelihood == pytest.approx(reference.log_likelihood(gp, X, y))
