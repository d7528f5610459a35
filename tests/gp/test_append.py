"""More data: appended rows equal conditioning from scratch, repeated rows are safe."""

from dataclasses import replace

import numpy as np
import pytest

import irregular
import reference
from sumbo import AdditiveGP
from sumbo.errors import ArgumentError

every_kernel = pytest.mark.parametrize("kernel", irregular.KERNELS)


def new_points(rng, s, n=7):
    return irregular.frozen(rng.uniform(-0.1, 1.2, (n, s.gp.dim)))


# ---------------------------------------------------------------------- append
def assert_same_posterior(a, b, X_new, Z, tolerance=1e-9):
    scale = float(a.gp.variances.sum())
    np.testing.assert_array_equal(a.X, b.X)
    np.testing.assert_array_equal(a.y, b.y)
    for left, right in zip(a.predict(X_new), b.predict(X_new), strict=True):
        np.testing.assert_allclose(left, right, rtol=0, atol=tolerance * scale)
    np.testing.assert_allclose(
        a.joint_covariance(Z), b.joint_covariance(Z), rtol=0, atol=tolerance * scale
    )
    np.testing.assert_allclose(np.tril(a.L), np.tril(b.L), rtol=0, atol=tolerance)


@pytest.mark.parametrize("trial", range(5))
def test_appending_one_observation_equals_conditioning_from_scratch(trial, rng):
    s = irregular.random_setting(rng, N=9, noise=10.0 ** rng.uniform(-4, 0))
    post = s.gp.condition(s.X[:-1], s.y[:-1]).append(s.X[-1], s.y[-1])
    assert_same_posterior(post, s.post, new_points(rng, s), s.Z)


@pytest.mark.parametrize("k", [1, 2, 6])
def test_appending_several_observations_equals_conditioning_from_scratch(k, rng):
    s = irregular.random_setting(rng, N=9, noise=1e-3)
    post = s.gp.condition(s.X[:-k], s.y[:-k]).append(s.X[-k:], s.y[-k:])
    assert_same_posterior(post, s.post, new_points(rng, s), s.Z)


def test_chained_appends_equal_conditioning_from_scratch(rng):
    s = irregular.random_setting(rng, N=14, noise=1e-3)
    post = s.gp.condition(s.X[:1], s.y[:1])
    for i in range(1, 11):
        post = post.append(s.X[i], s.y[i])
    post = post.append(s.X[11:], s.y[11:])
    assert_same_posterior(post, s.post, new_points(rng, s), s.Z)


def test_append_leaves_the_old_posterior_as_it_was(rng):
    s = irregular.random_setting(rng, N=6, noise=1e-2)
    X_new = new_points(rng, s)
    post = s.gp.condition(s.X[:4], s.y[:4])
    before = post.predict(X_new)
    post.append(s.X[4:], s.y[4:])
    np.testing.assert_array_equal(post.predict(X_new), before)
    assert post.N == 4


def test_leave_one_out_after_append_equals_deleting_each_row(rng):
    s = irregular.random_setting(rng, N=8, noise=1e-2)
    post = s.gp.condition(s.X[:5], s.y[:5]).append(s.X[5:], s.y[5:])
    expected = reference.leave_one_out(s.gp, s.X, s.y)
    np.testing.assert_allclose(post.leave_one_out(), expected, rtol=1e-7, atol=1e-8)


def test_repeated_measurements_may_be_appended(rng):
    s = irregular.random_setting(rng, N=6, noise=1e-2)
    X, y = np.vstack([s.X, s.X[:3]]), np.append(s.y, s.y[:3] + 0.2)
    post = s.post.append(s.X[:3], s.y[:3] + 0.2)
    assert_same_posterior(post, s.gp.condition(X, y), new_points(rng, s), s.Z)


@every_kernel
def test_a_known_point_may_be_appended_without_noise(kernel, rng):
    s = irregular.random_setting(rng, M=3, N=6, kernel=kernel, noise=0.0)
    X_new = new_points(rng, s)
    post = s.post.append(s.X[2], s.y[2])
    for before, after in zip(s.post.predict(X_new), post.predict(X_new), strict=True):
        np.testing.assert_allclose(after, before, rtol=0, atol=1e-5 * s.scale)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([0.1, 0.2], 1.0, "X has shape (1, 2); the model has 3 coordinates"),
        ([0.1, 0.2, np.nan], 1.0, "X holds nan at [0, 2]"),
        ([0.1, 0.2, 0.3], np.inf, "y holds inf at [0]"),
        ([0.1, 0.2, 0.3], [1.0, 2.0], "y has shape (2,); X has 1 rows"),
        (np.empty((0, 3)), np.empty(0), "X has no rows"),
    ],
)
def test_bad_observations_are_not_appended(x, y, message, rng):
    gp = AdditiveGP(groups=[(0,), (1, 2)])
    post = gp.condition(rng.random((4, 3)), rng.standard_normal(4))
    with pytest.raises(ArgumentError) as caught:
        post.append(x, y)
    assert message in str(caught.value)


# ---------------------------------------------------------------------- duplicates
@every_kernel
def test_consistent_duplicates_without_noise_change_nothing(kernel, rng):
    s = irregular.random_setting(rng, M=3, N=6, kernel=kernel, noise=0.0)
    X, y = np.vstack([s.X, s.X[:4]]), np.append(s.y, s.y[:4])
    post, X_new = s.gp.condition(X, y), new_points(rng, s)
    assert post.jitter > 0
    for once, twice in zip(s.post.predict(X_new), post.predict(X_new), strict=True):
        np.testing.assert_allclose(twice, once, rtol=0, atol=1e-5 * s.scale)
    assert np.isfinite(post.leave_one_out()).all()


def test_contradicting_duplicates_without_noise_are_refused(rng):
    s = irregular.random_setting(rng, N=5, noise=0.0)
    X, y = np.vstack([s.X, s.X[1:2]]), np.append(s.y, s.y[1] + 1.0)
    message = r"noise=0, but rows 1 and 5 of X are equal and y differs.*positive noise"
    with pytest.raises(ArgumentError, match=message):
        s.gp.condition(X, y)
    with pytest.raises(ArgumentError, match=message):
        s.post.append(s.X[1], s.y[1] + 1.0)


def test_negative_and_positive_zero_are_the_same_point():
    gp = AdditiveGP(groups=[(0,)], noise=0.0)
    with pytest.raises(ArgumentError, match="rows 0 and 1 of X are equal"):
        gp.condition([[0.0], [-0.0], [0.7]], [1.0, 2.0, 3.0])


def test_contradicting_duplicates_with_noise_are_averaged(rng):
    gp = AdditiveGP(groups=[(0,), (1,)], lengthscales=0.4, variances=3.0, noise=1e-4)
    x = rng.random((1, 2))
    post = gp.condition(np.vstack([x, x]), [1.0, 2.0])
    mean, var = post.predict(x)
    # Two equal measurements are one of their mean with half the noise.
    expected = gp.condition(x, [1.5])
    half = replace(gp, noise=5e-5).condition(x, [1.5])
    assert mean[0] == pytest.approx(half.predict(x)[0][0], rel=1e-8)
    assert var[0] < expected.predict(x)[1][0]
