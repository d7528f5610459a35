"""MAP and Adam fits: what is maximised, invariances, and the retry ladder."""

import math
from dataclasses import replace

import numpy as np
import pytest

import irregular
import reference
from sumbo import AdditiveGP
from sumbo.errors import ArgumentError, UnknownNameError
from sumbo.gp.fit import Priors

GROUPS = ((0, 2), (1,))


def toy_data(rng, N=40, groups=GROUPS, noise=4e-3, kernel="matern52"):
    """Return data drawn from a model of these groups, and the model."""
    truth = AdditiveGP(
        groups=groups,
        kernel=kernel,
        lengthscales=[0.31, 0.12, 0.72][: 1 + max(max(g) for g in groups)],
        variances=[1.4, 0.6][: len(groups)],
        noise=noise,
        mean=-0.4,
    )
    X = rng.random((N, truth.dim))
    return (
        irregular.frozen(X),
        irregular.frozen(irregular.draw_outputs(rng, truth, X)),
        truth,
    )


def log_posterior(gp, X, y, spans, priors=Priors()):  # noqa: B008 (frozen)
    """Return the density that the MAP fit maximises, from the textbook formulas.

    Outputs standardised, inputs in units of the box, mean at its best value, and
    normal densities of the logarithms of all other parameters.
    """
    scale = y.std()
    lengthscales = [
        l / spans[list(group)]
        for l, group in zip(reference.lengthscales_of(gp), gp.groups, strict=True)
    ]
    unit = AdditiveGP(
        groups=gp.groups,
        kernel=gp.kernel,
        lengthscales=lengthscales,
        variances=gp.variances / scale**2,
        noise=gp.noise / scale**2,
    )
    U, z = X / spans, (y - y.mean()) / scale
    K = reference.observed_covariance(unit, U)
    unit = replace(unit, mean=reference.generalised_least_squares_mean(K, z))
    total = reference.log_likelihood(unit, U, z)
    for l in lengthscales:
        mode = priors.lengthscale * math.sqrt(len(l))
        total += reference.log_prior(l, mode, priors.lengthscale_sd)
    mode = 1 / len(gp.groups)
    total += reference.log_prior(unit.variances, mode, priors.variance_sd)
    return total + reference.log_prior(unit.noise, priors.noise, priors.noise_sd)


def parameters(gp):
    """Return all parameters as one vector of logarithms, the mean left out."""
    return gp.hyperparameters().log()


# ---------------------------------------------------------------------- MAP
def test_fit_improves_the_log_posterior_and_is_stationary(rng):
    X, y, truth = toy_data(rng)
    start = AdditiveGP(groups=GROUPS)
    fitted = start.fit(X, y, spans=1.0)
    spans = np.ones(3)
    best = log_posterior(fitted, X, y, spans)
    assert best > log_posterior(start, X, y, spans) + 1.0
    assert best > log_posterior(truth, X, y, spans) - 1e-3

    def value(theta):
        other = fitted.with_hyperparameters(fitted.hyperparameters().from_log(theta))
        return log_posterior(other, X, y, spans)

    gradient = reference.finite_difference(value, parameters(fitted), step=1e-4)
    # ftol = 1e-7 per observation: the remaining slope is small against N = 40.
    assert np.abs(gradient).max() < 0.15


@pytest.mark.parametrize("kernel", irregular.KERNELS)
def test_fit_is_at_least_as_probable_as_the_truth(kernel, rng):
    X, y, truth = toy_data(rng, N=25, kernel=kernel)
    fitted = AdditiveGP(groups=GROUPS, kernel=kernel).fit(X, y, spans=1.0)
    spans = np.ones(3)
    assert log_posterior(fitted, X, y, spans) > log_posterior(truth, X, y, spans)
    assert fitted.kernel == kernel


def test_fit_of_overlapping_groups_improves_the_log_posterior(rng):
    groups = ((0, 1), (1,), (1, 2, 0))
    gp = irregular.random_gp(rng, groups, noise=0.01, shared=False)
    X = rng.random((30, 3))
    y = irregular.draw_outputs(rng, gp, X)
    start = AdditiveGP(groups=groups)
    fitted = start.fit(X, y, spans=1.0)
    spans = np.ones(3)
    assert log_posterior(fitted, X, y, spans) > log_posterior(start, X, y, spans)
    assert [len(l) for l in fitted.lengthscales] == [2, 1, 3]


def test_fit_finds_sensible_parameters_of_a_draw(rng):
    X, y, truth = toy_data(rng, N=150, noise=0.02)
    fitted = AdditiveGP(groups=GROUPS).fit(X, y)
    # Within a factor of 3 (e^1.1): a posterior mode of one draw is no exact recovery.
    assert np.abs(parameters(fitted) - parameters(truth)).max() < 1.1
    assert abs(math.log(fitted.noise / truth.noise)) < 0.7
    assert fitted.lengthscales[1] < fitted.lengthscales[0] < fitted.lengthscales[2]


def test_fit_reports_the_likelihood_of_what_it_returns(rng):
    X, y, _ = toy_data(rng)
    fitted = AdditiveGP(groups=GROUPS).fit(X, 37.0 * y + 5.0)
    expected = reference.log_likelihood(fitted, X, 37.0 * y + 5.0)
    assert fitted.info is not None
    assert fitted.info.log_likelihood == pytest.approx(expected, rel=1e-7)
    assert fitted.info.how == "map"
    assert fitted.info.evaluations >= fitted.info.starts
    assert fitted.info.events == ()


def test_fitted_mean_is_that_of_generalised_least_squares(rng):
    X, y, _ = toy_data(rng)
    fitted = AdditiveGP(groups=GROUPS).fit(X, y)
    K = reference.observed_covariance(fitted, X)
    expected = reference.generalised_least_squares_mean(K, y)
    assert fitted.mean == pytest.approx(expected, rel=1e-6)


def test_fit_is_deterministic_in_the_seed(rng):
    X, y, _ = toy_data(rng)
    first = AdditiveGP(groups=GROUPS).fit(X, y, seed=5)
    again = AdditiveGP(groups=GROUPS).fit(X, y, seed=5)
    np.testing.assert_array_equal(parameters(first), parameters(again))
    assert first.mean == again.mean
    assert first.info == again.info


def test_another_seed_tries_other_starts(rng):
    X, y, _ = toy_data(rng)
    infos = [
        AdditiveGP(groups=GROUPS).fit(X, y, seed=seed, starts=4).info
        for seed in range(4)
    ]
    assert len({info.evaluations for info in infos if info}) > 1


def test_a_drawn_start_that_leads_higher_is_followed_to_the_end():
    X, y, truth = toy_data(np.random.default_rng(3))  # the density has two maxima
    best = truth.fit(X, y, starts=4, spans=1.0).info
    far = replace(truth, lengthscales=[90.0] * 3, noise=5.0)  # near a lower maximum
    alone = far.fit(X, y, starts=1, spans=1.0).info
    found = [far.fit(X, y, starts=2, spans=1.0, seed=s).info for s in range(6)]
    assert alone.log_posterior < best.log_posterior - 1
    higher = [i for i in found if i.log_posterior > alone.log_posterior + 0.1]
    assert len(higher) >= 3
    reached = max(info.log_posterior for info in higher)
    # After 15 iterations, a start is at least 1e-3 away from the maximum.
    arrived = [i for i in higher if i.log_posterior > reached - 1e-4]
    assert len(arrived) >= 3


def test_a_drawn_start_that_leads_no_higher_is_given_up(rng):
    X, y, truth = toy_data(rng)
    best = truth.fit(X, y, starts=4, spans=1.0)
    one, two = (best.fit(X, y, starts=s, steps=60, spans=1.0).info for s in (1, 2))
    assert one.evaluations < 5  # it starts at the maximum
    assert two.log_posterior == pytest.approx(one.log_posterior, abs=1e-6)
    # 15 iterations take some evaluations more, all 60 take twice as many.
    assert 15 <= two.evaluations - one.evaluations < 35


def test_more_starts_never_make_it_worse(rng):
    X, y, _ = toy_data(rng, N=12)
    one, five = (
        AdditiveGP(groups=GROUPS).fit(X, y, starts=starts, spans=1.0)
        for starts in (1, 5)
    )
    spans = np.ones(3)
    assert log_posterior(five, X, y, spans) >= log_posterior(one, X, y, spans)
    assert one.info is not None
    assert five.info is not None
    assert five.info.evaluations > one.info.evaluations


@pytest.mark.parametrize("a", [1e-7, 3e-3, 250.0, 4e8])
def test_fit_follows_affine_changes_of_the_outputs(a, rng):
    X, y, _ = toy_data(rng)
    b = 17.0 * a
    start = AdditiveGP(groups=GROUPS, variances=0.5, noise=0.01)
    moved = AdditiveGP(groups=GROUPS, variances=0.5 * a**2, noise=0.01 * a**2)
    first, other = start.fit(X, y), moved.fit(X, a * y + b)
    np.testing.assert_allclose(other.lengthscales, first.lengthscales, rtol=1e-2)
    np.testing.assert_allclose(other.variances, first.variances * a**2, rtol=1e-2)
    assert other.noise == pytest.approx(first.noise * a**2, rel=2e-2)
    assert other.mean == pytest.approx(a * first.mean + b, rel=1e-2)


@pytest.mark.parametrize("a", [1e-90, 1e-13, 1e-4, 1e5, 1e90])
def test_fit_from_the_default_start_serves_any_scale_of_outputs(a, rng):
    X, y, _ = toy_data(rng)
    first = AdditiveGP(groups=GROUPS).fit(X, y)
    other = AdditiveGP(groups=GROUPS).fit(X, a * y)
    rescaled = replace(
        other, variances=other.variances / a**2, noise=other.noise / a**2
    )
    spans = np.ptp(X, axis=0)
    assert log_posterior(rescaled, X, y, spans) == pytest.approx(
        log_posterior(first, X, y, spans), abs=0.1
    )


def test_fit_follows_changes_of_the_units_of_the_inputs(rng):
    X, y, _ = toy_data(rng)
    units = np.array([1000.0, 0.02, 7.3])
    first = AdditiveGP(groups=GROUPS, lengthscales=[0.3, 0.4, 0.5]).fit(
        X, y, spans=[1.1, 0.9, 1.3]
    )
    other = AdditiveGP(groups=GROUPS, lengthscales=[0.3, 0.4, 0.5] * units).fit(
        X * units + 3.0, y, spans=[1.1, 0.9, 1.3] * units
    )
    np.testing.assert_allclose(
        other.lengthscales, first.lengthscales * units, rtol=1e-2
    )
    np.testing.assert_allclose(other.variances, first.variances, rtol=1e-2)


def test_without_spans_the_range_of_the_data_is_the_unit(rng):
    X, y, _ = toy_data(rng)
    spans = np.ptp(X, axis=0)
    first = AdditiveGP(groups=GROUPS).fit(X, y)
    other = AdditiveGP(groups=GROUPS).fit(X, y, spans=spans)
    np.testing.assert_allclose(parameters(first), parameters(other), rtol=1e-6)


def test_priors_pull_the_parameters(rng):
    X, y, _ = toy_data(rng, N=15)
    short = Priors(lengthscale=0.05, lengthscale_sd=0.1)
    fitted = AdditiveGP(groups=((0,), (1,), (2,))).fit(X, y, spans=1.0, priors=short)
    assert (np.abs(np.log(fitted.lengthscales / 0.05)) < 0.4).all()


def test_lengthscale_prior_grows_with_the_root_of_the_group_size(rng):
    # Outputs say nothing (one observation), so the mode of the prior is the answer.
    gp = AdditiveGP(groups=((0,), (1, 2, 3)))
    fitted = gp.fit(rng.random((1, 4)), [2.7], spans=1.0)
    mode = Priors().lengthscale * np.sqrt([1, 3, 3, 3])
    np.testing.assert_allclose(fitted.lengthscales, mode, rtol=1e-2)


# ---------------------------------------------------------------------- odd data
def test_fit_of_one_observation_returns_its_value_as_the_mean(rng):
    fitted = AdditiveGP(groups=GROUPS).fit(rng.random((1, 3)), [3.25])
    assert fitted.mean == pytest.approx(3.25)
    assert np.isfinite(parameters(fitted)).all()


@pytest.mark.parametrize("value", [0.0, 3.7, -2e9])
def test_fit_of_constant_outputs_is_finite_and_predicts_the_constant(value, rng):
    X = rng.random((9, 3))
    fitted = AdditiveGP(groups=GROUPS).fit(X, np.full(9, value))
    assert np.isfinite(parameters(fitted)).all()
    mean, var = fitted.condition(X, np.full(9, value)).predict(rng.random((4, 3)))
    np.testing.assert_allclose(mean, value, rtol=1e-9, atol=1e-9)
    assert np.isfinite(var).all()


def test_fit_survives_duplicated_and_constant_columns(rng):
    X, y, _ = toy_data(rng, N=14)
    X = np.vstack([X, X[:5], X[:1]])
    X[:, 1] = 0.37
    y = np.append(y, np.append(y[:5] + 0.01, 9.0))
    fitted = AdditiveGP(groups=GROUPS).fit(X, y)
    assert np.isfinite(parameters(fitted)).all()
    assert fitted.info is not None
    assert np.isfinite(fitted.info.log_likelihood)


def test_fit_does_not_change_the_model_it_starts_from(rng):
    X, y, _ = toy_data(rng, N=12)
    gp = AdditiveGP(groups=GROUPS)
    before = parameters(gp)
    fitted = gp.fit(X, y)
    np.testing.assert_array_equal(parameters(gp), before)
    assert gp.info is None
    assert fitted is not gp


@pytest.mark.parametrize("spans", [0.0, -1.0, [1.0, 2.0], np.nan, [[1.0, 1.0, 1.0]]])
def test_bad_spans_are_refused(spans, rng):
    X, y, _ = toy_data(rng, N=6)
    with pytest.raises(ArgumentError, match=r"spans=.*one positive number, or one per"):
        AdditiveGP(groups=GROUPS).fit(X, y, spans=spans)


def test_an_unknown_fit_names_the_known_ones(rng):
    X, y, _ = toy_data(rng, N=6)
    with pytest.raises(UnknownNameError, match=r"how='mop' is unknown.*'map'"):
        AdditiveGP(groups=GROUPS).fit(X, y, how="mop")
