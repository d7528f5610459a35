"""Expected improvement of the sum: by quadrature, series, and finite differences."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

import irregular
import reference
from irregular import frozen
from sumbo.acquisition.improvement import Averaged, Improvement, log_h

GROUPS = {
    "a partition": ((3,), (0, 2), (1, 4)),
    "overlaps": ((3, 1), (0, 2, 3), (1, 4)),
    "a residual": ((0, 3), (1,), (2, 4), (0, 1, 2, 3, 4)),
    "one group": ((2, 0, 1, 4, 3),),
}
structures = pytest.mark.parametrize("groups", GROUPS.values(), ids=GROUPS)


# ---------------------------------------------------------------------- log h
def log_h_by_quadrature(z):
    """Return log ∫ t φ(t − z) dt over t > 0, φ(z) or the peak taken out."""
    top = max(z, 0.0)  # the largest exponent of the integrand, or nearly so

    def integrand(t):
        return t * math.exp(-0.5 * (t - z) ** 2 + 0.5 * (top - z) ** 2)

    # All but 1e-30 of it lies within 12 of the peak; far left, the decay is exp(z t).
    end = top + min(12.0, 80.0 / max(-z, 1.0) if z < -8 else 12.0)
    value, _ = integrate.quad(integrand, 0.0, end, epsabs=0, epsrel=1e-13, limit=200)
    return math.log(value) - 0.5 * (top - z) ** 2 - 0.5 * math.log(2 * math.pi)


def log_h_by_series(z):
    """Return log of φ(z)/z² · Σ_k (−1)^k (2k+1)!! z^−2k, for z far below zero."""
    term = total = 1.0
    for k in range(1, 12):
        term *= -(2 * k + 1) / z**2
        total += term
    return (
        -0.5 * z**2 - 0.5 * math.log(2 * math.pi) - 2 * math.log(-z) + math.log(total)
    )


def test_log_h_is_the_integral_of_improvements():
    z = np.array([-26.3, -9.7, -5.21, -2.4, -1.03, -0.97, -0.31, 0.44, 1.9, 6.3, 31.7])
    exact = [log_h_by_quadrature(each) for each in z]
    np.testing.assert_allclose(log_h(frozen(z)), exact, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("z", [-30.0, -77.3, -1e3, -9.9e4, -1.01e5, -1e6, -3.7e9])
def test_log_h_has_the_asymptotic_series(z):
    # Rounding of z²/2, and of 1 − (1 − 1/z²) where that is computed.
    got, exact = log_h(np.array([z]))[0], log_h_by_series(z)
    atol = 1e-12 + 4 * np.spacing(0.5 * z * z) + (1e-15 * z * z if z > -1e5 else 0.0)
    assert got == pytest.approx(exact, rel=0, abs=atol)


@pytest.mark.parametrize("edge", [-1.0, -1e5])
def test_log_h_is_continuous_where_its_formula_changes(edge):
    z = np.array([np.nextafter(edge, -np.inf), edge, np.nextafter(edge, 0.0)])
    slope = abs(edge) + 2.0
    room = slope * np.spacing(abs(edge)) + 4 * np.spacing(0.5 * edge**2) + 1e-14
    # 1 − (1 − 1/z²) has a relative rounding error of ε z².
    assert np.abs(np.diff(log_h(z))).max() <= room + 4e-16 * edge**2


def test_log_h_increases_and_stays_finite_over_all_magnitudes():
    z = np.concatenate([-np.geomspace(1e8, 1e-3, 4001), np.geomspace(1e-3, 1e8, 4001)])
    values = log_h(z)
    assert np.isfinite(values).all()
    assert (np.diff(values) > 0).all()


def test_log_h_takes_no_points():
    assert log_h(np.empty(0)).shape == (0,)


# ---------------------------------------------------------------------- value
def setting(rng, groups, noise=0.013, kernel="matern52", N=14):
    gp = irregular.random_gp(rng, groups, kernel, noise, shared=False)
    X = rng.beta(0.8, 1.3, (N, gp.dim))
    y = irregular.draw_outputs(rng, gp, X)
    return gp, frozen(X), frozen(y), gp.condition(X, y)


@structures
def test_value_is_the_improvement_under_the_dense_posterior_of_the_sum(groups, rng):
    gp, X, y, post = setting(rng, groups)
    best = float(np.quantile(y, 0.2))
    U = frozen(rng.random((9, gp.dim)))
    mean, cov = reference.posterior_of_sum(gp, X, y, U)
    sd = np.sqrt(cov.diagonal())
    exact = []
    for m, s in zip(mean, sd, strict=True):
        law = stats.norm(m, s)
        # E max(best − f, 0) = ∫ P(f < t) dt over t < best, by parts.
        value, _ = integrate.quad(
            law.cdf, min(m, best) - 12 * s, best, epsabs=0, epsrel=1e-10, limit=300
        )
        exact.append(-math.log(value))
    np.testing.assert_allclose(
        Improvement(post=post, best=best).value(U), exact, rtol=1e-7, atol=1e-7
    )


def test_value_agrees_with_draws_of_the_parts(rng):
    # Joint draws by the dense covariance of all parts, summed; a false alarm is six
    # standard errors, 2e-9.
    gp, X, y, post = setting(rng, GROUPS["overlaps"])
    best = float(np.median(y))
    for u in rng.random((3, gp.dim)):
        Z = [u[None, list(group)] for group in gp.groups]
        mean, cov = reference.posterior_of_parts(gp, X, y, Z)
        parts = rng.multivariate_normal(mean, cov, size=40_000)
        gain = np.maximum(best - gp.mean - parts.sum(axis=1), 0.0)
        error = gain.std() / math.sqrt(len(gain))
        ei = math.exp(-Improvement(post=post, best=best).value(u[None])[0])
        assert abs(ei - gain.mean()) < 6 * error


def test_covariances_between_parts_are_counted(rng):
    gp, X, y, post = setting(rng, GROUPS["a partition"])
    U = rng.random((6, gp.dim))
    best = float(y.min())
    separate = 0.0
    for m, group in enumerate(gp.groups):
        separate = separate + post.part_moments(m, U[:, group])[1]
    mean, cov = reference.posterior_of_sum(gp, X, y, U)
    # The data pin the sum, not the parts: their variances add up to far more.
    assert (separate > 1.1 * cov.diagonal()).any()
    sd = np.sqrt(separate)
    wrong = -np.log(sd) - log_h((best - mean) / sd)
    assert np.abs(Improvement(post=post, best=best).value(U) - wrong).max() > 0.1


def test_value_is_lower_where_more_improvement_is_expected(rng):
    gp, _, y, post = setting(rng, GROUPS["a residual"])
    U = rng.random((20, gp.dim))
    low = Improvement(post=post, best=float(y.min())).value(U)
    high = Improvement(post=post, best=float(y.min()) + 0.3).value(U)
    assert (high < low).all()


# ---------------------------------------------------------------------- gradient
def check_gradient(target, U):
    """Check value and gradient at points, by finite differences of the value."""
    values, gradient = target.gradient(U)
    np.testing.assert_allclose(values, target.value(U), rtol=1e-9)
    for u, slope in zip(U, gradient, strict=True):
        wanted = reference.finite_difference(
            lambda x: target.value(x[None])[0], u, step=1e-5
        )
        scale = np.abs(wanted).max()
        np.testing.assert_allclose(slope, wanted, rtol=2e-5, atol=2e-6 * scale)


@structures
@pytest.mark.parametrize("kernel", ["matern32", "matern52", "rbf"])
@pytest.mark.parametrize("below", [0.0, 3.0, 50.0])
def test_gradient_is_the_finite_difference(groups, kernel, below, rng):
    gp, _, y, post = setting(rng, groups, kernel=kernel)
    # From near the best value to where EI itself is zero in floats.
    target = Improvement(post=post, best=float(y.min()) - below)
    U = frozen(rng.uniform(0.03, 0.96, (5, gp.dim)))
    check_gradient(target, U)


def test_gradient_of_no_improvement_left_in_floats_is_not_zero(rng):
    gp, _, y, post = setting(rng, GROUPS["a partition"])
    target = Improvement(post=post, best=float(y.min()) - 300.0)
    values, gradient = target.gradient(rng.random((4, gp.dim)))
    assert (np.exp(-values) == 0).all()
    assert np.isfinite(values).all()
    assert np.isfinite(gradient).all()
    assert (np.abs(gradient).max(axis=1) > 1.0).all()


def test_points_of_no_variance_have_finite_values_and_slopes(rng):
    # Noise of 1e-14 leaves less variance at the data than rounding does.
    _, X, y, post = setting(rng, GROUPS["a partition"], noise=1e-14)
    values, gradient = Improvement(post=post, best=float(y.min())).gradient(X)
    assert np.isfinite(values).all()
    assert np.isfinite(gradient).all()


# ---------------------------------------------------------------------- several models
def averaged(rng, below):
    """Return two models of the same data, and expected improvement over both."""
    gp, X, y, one = setting(rng, GROUPS["a partition"])
    other = irregular.random_gp(rng, GROUPS["one group"], "matern52", 0.02)
    other = other.condition(X, y)
    models = tuple(
        Improvement(post=post, best=float(y.min()) - shift)
        for post, shift in ((one, below), (other, below + 0.2))
    )
    return gp, models, Averaged(weights=frozen(np.array([0.3, 0.7])), models=models)


def test_improvement_is_averaged_over_models(rng):
    gp, models, both = averaged(rng, 0.1)
    U = frozen(rng.random((9, gp.dim)))
    one, other = (np.exp(-model.value(U)) for model in models)
    np.testing.assert_allclose(
        both.value(U), -np.log(0.3 * one + 0.7 * other), rtol=1e-12
    )


@pytest.mark.parametrize("below", [0.0, 50.0])
def test_the_gradient_of_the_average_is_the_finite_difference(below, rng):
    gp, _, both = averaged(rng, below)
    U = frozen(rng.uniform(0.03, 0.96, (5, gp.dim)))
    check_gradient(both, U)


def test_points_and_posterior_are_left_unchanged(rng):
    gp, _, y, post = setting(rng, GROUPS["overlaps"])
    before = post.alpha.copy(), post.L.copy()
    U = frozen(rng.random((3, gp.dim)))
    Improvement(post=post, best=float(y.min())).gradient(U)
    np.testing.assert_array_equal(post.alpha, before[0])
    np.testing.assert_array_equal(post.L, before[1])
