"""The paper's fit: Adam on the likelihood, as printed."""

import numpy as np
import pytest

import irregular
import reference
from sumbo import AdditiveGP
from sumbo.errors import ArgumentError


def parameters(gp):
    """Return all parameters as one vector of logarithms, the mean left out."""
    return gp.hyperparameters().log()


def plain_adam(gp, X, y, steps, step_size):
    """Return log-parameters after Adam's steps; [kingma2014] Alg. 1, ascending."""
    theta = parameters(gp)
    m = np.zeros(len(theta))
    v = np.zeros(len(theta))
    for t in range(1, steps + 1):
        g = reference.log_likelihood_gradient(
            gp.kernel, gp.groups, X, y - gp.mean, theta
        )
        m = 0.9 * m + (1 - 0.9) * g
        v = 0.999 * v + (1 - 0.999) * g**2
        theta = theta + step_size * (m / (1 - 0.9**t)) / (
            np.sqrt(v / (1 - 0.999**t)) + 1e-8
        )
    return theta


def adam_start(rng):
    gp = irregular.random_gp(rng, ((0, 2), (1,)), noise=0.05, shared=False)
    X = rng.random((9, 3))
    return gp, irregular.frozen(X), irregular.frozen(irregular.draw_outputs(rng, gp, X))


# Interpolated gradients are wrong by 1e-4 of their size at most, mostly by far less;
# all steps together move a logarithm by 0.1.
CLOSE = 1e-6


@pytest.mark.parametrize("steps", [1, 2, 3, 150, 1000])
def test_adam_equals_a_plain_loop_over_the_textbook_gradient(steps, rng):
    gp, X, y = adam_start(rng)
    fitted = gp.fit(X, y, how="adam", steps=steps)
    expected = plain_adam(gp, X, y, steps, 1e-4)
    np.testing.assert_allclose(parameters(fitted), expected, rtol=0, atol=CLOSE)
    assert fitted.mean == gp.mean


def test_adam_that_oscillates_around_a_maximum_equals_a_plain_loop(rng):
    gp, X, y = adam_start(rng)
    gp = gp.fit(X, y, how="adam", steps=3000, step_size=3e-3)
    fitted = gp.fit(X, y, how="adam", steps=400)
    expected = plain_adam(gp, X, y, 400, 1e-4)
    np.testing.assert_allclose(parameters(fitted), expected, rtol=0, atol=CLOSE)


def test_adam_with_coarse_steps_equals_a_plain_loop(rng):
    gp, X, y = adam_start(rng)
    fitted = gp.fit(X, y, how="adam", steps=60, step_size=0.05)
    expected = plain_adam(gp, X, y, 60, 0.05)
    # 500 times the step, so 500 times the distance.
    np.testing.assert_allclose(parameters(fitted), expected, rtol=0, atol=500 * CLOSE)


def test_adam_as_printed_computes_few_of_its_gradients(rng):
    gp, X, y = adam_start(rng)
    fitted = gp.fit(X, y, how="adam")
    assert fitted.info is not None
    assert fitted.info.evaluations < 200


def test_adam_as_printed_moves_no_logarithm_by_more_than_about_a_tenth(rng):
    gp, X, y = adam_start(rng)
    fitted = gp.fit(X, y, how="adam")
    moved = np.abs(parameters(fitted) - parameters(gp))
    assert fitted.info is not None
    assert fitted.info.how == "adam"
    assert 0.01 < moved.max() <= 0.11


def test_adam_climbs_the_likelihood(rng):
    gp, X, y = adam_start(rng)
    fitted = gp.fit(X, y, how="adam", steps=200)
    before = reference.log_likelihood(gp, X, y)
    assert reference.log_likelihood(fitted, X, y) > before


def test_adam_with_a_larger_step_moves_further(rng):
    gp, X, y = adam_start(rng)
    short = gp.fit(X, y, how="adam", steps=60)
    long = gp.fit(X, y, how="adam", steps=60, step_size=1e-2)
    start = parameters(gp)
    ratio = np.abs(parameters(long) - start) / np.abs(parameters(short) - start)
    assert ratio.min() > 10


def test_adam_refuses_zero_noise(rng):
    _, X, y = adam_start(rng)
    gp = AdditiveGP(groups=((0, 2), (1,)), noise=0.0)
    with pytest.raises(ArgumentError, match="noise=0 cannot be fitted by Adam"):
        gp.fit(X, y, how="adam")
