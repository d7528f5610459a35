"""The log probability of feasibility against SciPy's normal distribution."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import norm

from sumbo import AdditiveGP
from sumbo.acquisition.feasibility import LogFeasibility, log_within
from sumbo.data import prepare
from sumbo.space import Space
from sumbo.surrogate import OutcomeModel, Surrogate


@pytest.mark.parametrize(
    ("lower", "upper"), [(-np.inf, 0.7), (-1.3, np.inf), (-0.4, 0.9), (2.1, 2.2)]
)
def test_the_probability_is_that_of_the_normal_distribution(lower, upper):
    rng = np.random.default_rng(4)
    mean, sd = rng.normal(scale=2.0, size=30), rng.uniform(0.2, 3.0, size=30)
    value, _, _ = log_within(mean, sd, lower, upper)
    exact = norm.cdf(upper, mean, sd) - norm.cdf(lower, mean, sd)
    np.testing.assert_allclose(np.exp(value), exact, rtol=1e-7, atol=1e-14)


@pytest.mark.parametrize("limits", [(-np.inf, 0.7), (-1.3, np.inf), (-0.4, 0.9)])
def test_far_tails_have_a_finite_value_and_slope(limits):
    mean = np.array([-400.0, 60.0, 4000.0])
    for part in log_within(mean, np.array([0.5, 0.01, 2.0]), *limits):
        assert np.isfinite(part).all()
    value, slope, _ = log_within(np.array([90.0]), np.array([1.5]), *limits)
    # log Φ(−z) ≈ −z²/2, whose slope in the mean is −z/sd.
    if limits[1] < np.inf:
        z = (90.0 - limits[1]) / 1.5
        np.testing.assert_allclose(value, -0.5 * z**2, rtol=0.01)
        np.testing.assert_allclose(slope, -z / 1.5, rtol=0.01)


def models(limits):
    rng = np.random.default_rng(7)
    U = rng.random((14, 3))
    out = []
    for k, (lower, upper) in enumerate(limits):
        y = np.sin((3 + k) * U[:, 0]) + U[:, 1] * U[:, 2] - 0.6
        data = prepare(
            U=U,
            y=y,
            failed=np.zeros(14, dtype=bool),
            pending=np.empty((0, 3)),
            domain=Space.of([(0, 1)] * 3),
            step=14,
            kind="none",
        )
        gps = [
            AdditiveGP(groups=groups, lengthscales=0.5, noise=1e-3)
            for groups in (((0,), (1, 2)), ((0, 1, 2),))
        ]
        surrogate = Surrogate(
            posteriors=tuple(gp.condition(U, y) for gp in gps),
            weights=np.array([0.3, 0.7]),
            data=data,
        )
        out.append(OutcomeModel(surrogate=surrogate, lower=lower, upper=upper))
    return tuple(out)


def test_outcomes_multiply_and_structures_are_averaged():
    each = models([(-0.2, 0.4), (-np.inf, 0.3)])
    Z = np.random.default_rng(8).random((9, 3))
    expected = np.ones(9)
    for model in each:
        chance = np.zeros(9)
        for w, post in zip((0.3, 0.7), model.surrogate.posteriors, strict=True):
            mean, var = post.predict(Z)
            sd = np.sqrt(var)
            chance += w * (
                norm.cdf(model.upper, mean, sd) - norm.cdf(model.lower, mean, sd)
            )
        expected *= chance
    found = LogFeasibility(models=each).value(Z)
    np.testing.assert_allclose(found, -np.log(expected), rtol=1e-6)


def test_the_gradient_is_that_of_the_value():
    function = LogFeasibility(models=models([(-0.2, 0.4), (-np.inf, 0.3)]))
    Z = np.random.default_rng(9).uniform(0.1, 0.9, (5, 3))
    value, gradient = function.gradient(Z)
    np.testing.assert_allclose(value, function.value(Z), rtol=1e-10)
    for z, slope in zip(Z, gradient, strict=True):
        numeric = approx_fprime(z, lambda u: function.value(u[None])[0], 1e-6)
        np.testing.assert_allclose(slope, numeric, rtol=1e-3, atol=1e-4)
