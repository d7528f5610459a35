"""The posterior: moments against dense formulas and scikit-learn, limits, updates."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

import irregular
import reference
import sklearn_kernels
from sumbo import AdditiveGP
from sumbo.errors import ArgumentError

every_kernel = pytest.mark.parametrize("kernel", irregular.KERNELS)
seeds = st.integers(0, 2**32 - 1)


def hypothesis_setting(seed, **settings):
    return irregular.random_setting(np.random.default_rng([seed, 3]), **settings)


def new_points(rng, s, n=7):
    return irregular.frozen(rng.uniform(-0.1, 1.2, (n, s.gp.dim)))


# ---------------------------------------------------------------------- moments
@pytest.mark.parametrize("trial", range(8))
def test_joint_covariance_equals_the_dense_computation(trial, rng):
    s = irregular.random_setting(rng)
    _, cov = s.exact
    np.testing.assert_allclose(
        s.post.joint_covariance(s.Z), cov, rtol=0, atol=1e-8 * s.scale
    )


@pytest.mark.parametrize("trial", range(8))
def test_parts_equal_the_dense_computation(trial, rng):
    s = irregular.random_setting(rng, noise=10.0 ** rng.uniform(-4, 0))
    mean, cov = s.exact
    start = 0
    for part, Zm in zip(s.post.parts(s.Z), s.Z, strict=True):
        block = slice(start, start + len(Zm))
        np.testing.assert_allclose(part.mean, mean[block], rtol=0, atol=1e-8)
        np.testing.assert_allclose(
            part.cov, cov[block, block], rtol=0, atol=1e-8 * s.scale
        )
        start += len(Zm)


@pytest.mark.parametrize("trial", range(8))
def test_prediction_of_the_sum_equals_the_dense_computation(trial, rng):
    s = irregular.random_setting(rng, noise=10.0 ** rng.uniform(-4, 0))
    X_new = new_points(rng, s)
    mean, cov = reference.posterior_of_sum(s.gp, s.X, s.y, X_new)
    ours, var = s.post.predict(X_new)
    np.testing.assert_allclose(ours, mean, rtol=0, atol=1e-8)
    np.testing.assert_allclose(var, cov.diagonal(), rtol=0, atol=1e-8 * s.scale)


@pytest.mark.reference
@every_kernel
@pytest.mark.parametrize("M", [1, 3, 6])
def test_prediction_equals_scikit_learns_with_a_sum_of_kernels(kernel, M, rng):
    s = irregular.random_setting(rng, M=M, kernel=kernel, noise=3e-3)
    X_new = new_points(rng, s)
    theirs, their_cov = sklearn_kernels.fitted(s.gp, s.X, s.y).predict(
        X_new, return_cov=True
    )
    ours, var = s.post.predict(X_new)
    np.testing.assert_allclose(ours - s.gp.mean, theirs, rtol=0, atol=1e-8)
    np.testing.assert_allclose(var, their_cov.diagonal(), rtol=0, atol=1e-8)


@pytest.mark.reference
@every_kernel
def test_joint_covariance_adds_up_to_scikit_learns_covariance_of_the_sum(kernel, rng):
    s = irregular.random_setting(rng, M=5, kernel=kernel, noise=3e-3)
    X_new = new_points(rng, s)
    _, expected = sklearn_kernels.fitted(s.gp, s.X, s.y).predict(X_new, return_cov=True)
    blocks = s.post.joint_covariance(reference.project(s.gp, X_new))
    total = blocks.reshape(5, len(X_new), 5, len(X_new)).sum(axis=(0, 2))
    np.testing.assert_allclose(total, expected, rtol=0, atol=1e-8)


def test_parts_are_the_diagonal_blocks_of_the_joint_covariance(rng):
    s = irregular.random_setting(rng, M=4)
    joint = s.post.joint_covariance(s.Z)
    start = 0
    for part in s.post.parts(s.Z):
        block = slice(start, start + len(part.mean))
        np.testing.assert_allclose(part.cov, joint[block, block], rtol=0, atol=1e-12)
        start += len(part.mean)


@pytest.mark.parametrize("m", [0, 1, 2])
def test_moments_of_one_part_equal_the_parts(m, rng):
    s = irregular.random_setting(rng, M=3)
    mean, var = s.post.part_moments(m, s.Z[m])
    part = s.post.parts(s.Z)[m]
    np.testing.assert_allclose(mean, part.mean, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(var, part.cov.diagonal(), rtol=1e-8, atol=1e-12)


@every_kernel
def test_moments_of_lines_equal_those_of_their_parts(kernel, rng):
    groups = ((3,), (0, 2), (1,), (3,), (4,))
    gp = irregular.random_gp(rng, groups, kernel, noise=0.02)
    X = rng.random((9, 5))
    post = gp.condition(X, irregular.draw_outputs(rng, gp, X))
    Z = rng.random((7, 5))
    mean, var = post.line_moments(Z)
    assert mean.shape == var.shape == (7, 4)
    for i, m in enumerate([0, 2, 3, 4]):
        expected = post.part_moments(m, Z[:, list(groups[m])])
        np.testing.assert_allclose(mean[:, i], expected[0], rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(var[:, i], expected[1], rtol=1e-7, atol=1e-11)


@every_kernel
def test_slopes_of_lines_equal_those_of_their_parts(kernel, rng):
    groups = ((3,), (0, 2), (1,), (3,), (4,))
    gp = irregular.random_gp(rng, groups, kernel, noise=0.02)
    X = rng.random((9, 5))
    post = gp.condition(X, irregular.draw_outputs(rng, gp, X))
    Z = rng.random((7, 5))
    found = post.line_moments_gradient(Z)
    for i, m in enumerate([0, 2, 3, 4]):
        expected = post.part_moments_gradient(m, Z[:, list(groups[m])])
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a[:, i], b.ravel(), rtol=1e-7, atol=1e-10)


@every_kernel
@pytest.mark.parametrize("m", [0, 1])
def test_gradient_of_part_moments_equals_finite_differences(kernel, m, rng):
    gp = irregular.random_gp(rng, ((0, 2), (1, 3, 2)), kernel, noise=0.02)
    X = rng.random((8, 4))
    y = irregular.draw_outputs(rng, gp, X)
    post = gp.condition(X, y)
    Zm = rng.uniform(0.05, 0.95, (5, len(gp.groups[m])))
    mean, var, mean_slope, var_slope = post.part_moments_gradient(m, Zm)
    expected_mean, expected_var = post.part_moments(m, Zm)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(var, expected_var, rtol=1e-8, atol=1e-12)

    def dense_moments(z):
        Z = [np.full((1, len(group)), 0.4) for group in gp.groups]
        Z[m] = z[None]
        mean, cov = reference.posterior_of_parts(gp, X, y, Z)
        return np.array([mean[m], cov[m, m]])

    for i, z in enumerate(Zm):
        slope = reference.finite_difference(dense_moments, z, step=1e-6)
        np.testing.assert_allclose(mean_slope[i], slope[0], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(var_slope[i], slope[1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("trial", range(4))
def test_moments_of_the_sum_are_the_prediction_without_the_constant(trial, rng):
    s = irregular.random_setting(rng)
    assert s.gp.mean != 0
    U = new_points(rng, s)
    mean, var = s.post.sum_moments(U)
    expected, cov = reference.posterior_of_sum(s.gp, s.X, s.y, U)
    np.testing.assert_allclose(mean + s.gp.mean, expected, rtol=0, atol=1e-8)
    np.testing.assert_allclose(var, cov.diagonal(), rtol=0, atol=1e-8 * s.scale)


# "matern12" has a kink where coordinates coincide, which random points do not.
@every_kernel
def test_pullback_of_the_moments_equals_finite_differences(kernel, rng):
    gp = irregular.random_gp(rng, ((0, 2), (1,), (3, 1), (2,)), kernel, noise=0.02)
    X = irregular.frozen(rng.random((9, 4)))
    y = irregular.draw_outputs(rng, gp, X)
    post = gp.condition(X, y)
    U = irregular.frozen(rng.uniform(0.05, 0.95, (5, 4)))
    mean, var, pullback = post.sum_moments_pullback(U)
    expected = post.sum_moments(U)
    np.testing.assert_allclose(mean, expected[0], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(var, expected[1], rtol=1e-8, atol=1e-12)
    by_mean, by_var = irregular.frozen(rng.uniform(-1.7, 2.3, (2, 5)))
    gradient = pullback(by_mean, by_var)
    assert gradient.shape == U.shape

    def weighted(u, i):
        mean, cov = reference.posterior_of_sum(gp, X, y, u[None])
        return by_mean[i] * mean[0] + by_var[i] * cov[0, 0]

    for i, u in enumerate(U):
        slope = reference.finite_difference(lambda u, i=i: weighted(u, i), u)
        np.testing.assert_allclose(gradient[i], slope, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("trial", range(4))
def test_mean_and_covariance_of_the_sum_can_be_predicted_alone(trial, rng):
    s = irregular.random_setting(rng)
    X_new = new_points(rng, s)
    mean, cov = reference.posterior_of_sum(s.gp, s.X, s.y, X_new)
    np.testing.assert_allclose(s.post.predict_mean(X_new), mean, rtol=0, atol=1e-8)
    np.testing.assert_allclose(
        s.post.predict_covariance(X_new), cov, rtol=0, atol=1e-8 * s.scale
    )


@pytest.mark.parametrize("trial", range(4))
def test_means_of_parts_can_be_asked_for_alone(trial, rng):
    s = irregular.random_setting(rng)
    expected = [part.mean for part in s.post.parts(s.Z)]
    means = s.post.part_means(s.Z)
    for m, (mean, wanted) in enumerate(zip(means, expected, strict=True)):
        np.testing.assert_allclose(mean, wanted, rtol=0, atol=1e-10)
        np.testing.assert_array_equal(s.post.part_mean(m, s.Z[m]), mean)


def test_the_likelihood_of_the_observations_is_that_of_the_model(rng):
    s = irregular.random_setting(rng, noise=0.03)
    expected = reference.log_likelihood(s.gp, s.X, s.y)
    assert s.post.log_marginal_likelihood() == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("trial", range(4))
def test_leave_one_out_equals_deleting_each_row(trial, rng):
    s = irregular.random_setting(rng, noise=10.0 ** rng.uniform(-4, 0))
    mean, var = s.post.leave_one_out()
    expected_mean, expected_var = reference.leave_one_out(s.gp, s.X, s.y)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(var, expected_var, rtol=1e-7, atol=1e-9)


# ---------------------------------------------------------------------- properties
@given(seed=seeds)
def test_joint_covariance_is_symmetric_and_positive_semidefinite(seed):
    s = hypothesis_setting(seed)
    cov = s.post.joint_covariance(s.Z)
    np.testing.assert_allclose(cov, cov.T, rtol=0, atol=1e-13 * s.scale)
    assert np.linalg.eigvalsh(cov).min() > -1e-9 * s.scale


@given(seed=seeds)
def test_part_means_and_the_constant_add_up_to_the_mean(seed):
    s = hypothesis_setting(seed, noise=1e-3)
    X_new = new_points(np.random.default_rng([seed, 4]), s)
    parts = s.post.parts(reference.project(s.gp, X_new))
    total = s.gp.mean + sum(part.mean for part in parts)
    np.testing.assert_allclose(total, s.post.predict(X_new)[0], rtol=1e-9, atol=1e-9)


@given(seed=seeds)
def test_permuting_rows_changes_nothing(seed):
    s = hypothesis_setting(seed, noise=1e-3)
    rng = np.random.default_rng([seed, 5])
    X_new, order = new_points(rng, s), rng.permutation(len(s.X))
    other = s.gp.condition(s.X[order], s.y[order])
    for a, b in zip(s.post.predict(X_new), other.predict(X_new), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(
        s.post.joint_covariance(s.Z), other.joint_covariance(s.Z), rtol=0, atol=1e-9
    )


@given(seed=seeds)
def test_permuting_groups_permutes_the_parts(seed):
    s = hypothesis_setting(seed, noise=1e-3)
    order = np.random.default_rng([seed, 6]).permutation(len(s.gp.groups))
    lengthscales = reference.lengthscales_of(s.gp)
    other = replace(
        s.gp,
        groups=tuple(s.gp.groups[m] for m in order),
        lengthscales=[lengthscales[m] for m in order],
        variances=s.gp.variances[order],
    ).condition(s.X, s.y)
    ours = s.post.parts(s.Z)
    theirs = other.parts([s.Z[m] for m in order])
    for m, part in zip(order, theirs, strict=True):
        np.testing.assert_allclose(part.mean, ours[m].mean, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(part.cov, ours[m].cov, rtol=0, atol=1e-9)


@given(seed=seeds, scale=st.sampled_from([1e-140, 3e-7, -1.7, 2.5e9, 1e140]))
def test_scaling_the_outputs_scales_the_posterior(seed, scale):
    # All variances scaled by a², the outputs and the mean by a.
    s = hypothesis_setting(seed, noise=1e-2)
    X_new = new_points(np.random.default_rng([seed, 7]), s)
    gp = replace(
        s.gp,
        variances=s.gp.variances * scale**2,
        noise=s.gp.noise * scale**2,
        mean=s.gp.mean * scale,
    )
    mean, var = s.post.predict(X_new)
    other_mean, other_var = gp.condition(s.X, s.y * scale).predict(X_new)
    np.testing.assert_allclose(other_mean / scale, mean, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(other_var / scale**2, var, rtol=1e-6, atol=1e-9)


@given(seed=seeds, scale=st.sampled_from([1e-140, 2.5e9, 1e140]))
def test_variances_do_not_depend_on_the_outputs_and_means_are_linear(seed, scale):
    s = hypothesis_setting(seed, noise=1e-2)
    gp = replace(s.gp, mean=0.0)
    X_new = new_points(np.random.default_rng([seed, 8]), s)
    mean, var = gp.condition(s.X, s.y).predict(X_new)
    other_mean, other_var = gp.condition(s.X, s.y * scale).predict(X_new)
    np.testing.assert_allclose(other_mean / scale, mean, rtol=1e-8, atol=1e-9)
    np.testing.assert_array_equal(other_var, var)


@given(seed=seeds)
def test_more_data_never_raise_the_variance(seed):
    s = hypothesis_setting(seed, noise=1e-2)
    X_new = new_points(np.random.default_rng([seed, 9]), s)
    fewer = s.gp.condition(s.X[:-1], s.y[:-1]).predict(X_new)[1]
    assert (s.post.predict(X_new)[1] <= fewer + 1e-9).all()


# ---------------------------------------------------------------------- limits
@every_kernel
def test_one_group_is_the_ordinary_gaussian_process(kernel, rng):
    l, variance, noise = np.array([0.4, 0.7, 0.3]), 1.9, 0.02
    X, y, X_new = rng.random((9, 3)), rng.standard_normal(9), rng.random((4, 3))
    K = reference.gram(kernel, l, variance, X, X) + noise * np.eye(9)
    k = reference.gram(kernel, l, variance, X_new, X)
    gp = AdditiveGP(
        groups=[(0, 1, 2)],
        kernel=kernel,
        lengthscales=l,
        variances=variance,
        noise=noise,
    )
    mean, var = gp.condition(X, y).predict(X_new)
    np.testing.assert_allclose(mean, k @ np.linalg.solve(K, y), rtol=1e-9)
    expected = variance - (k * np.linalg.solve(K, k.T).T).sum(axis=1)
    np.testing.assert_allclose(var, expected, rtol=1e-8, atol=1e-10)


@every_kernel
def test_without_noise_the_mean_interpolates(kernel, rng):
    s = irregular.random_setting(rng, M=4, kernel=kernel, N=7, noise=0.05)
    for noise, tolerance in ((1e-8, 1e-4), (0.0, 1e-5)):
        mean, var = replace(s.gp, noise=noise).condition(s.X, s.y).predict(s.X)
        np.testing.assert_allclose(mean, s.y, rtol=0, atol=tolerance)
        np.testing.assert_allclose(var, 0.0, atol=tolerance)


def test_with_huge_noise_the_posterior_is_the_prior(rng):
    s = irregular.random_setting(rng, M=4)
    post = replace(s.gp, noise=1e12).condition(s.X, s.y)
    mean, var = post.predict(s.X)
    np.testing.assert_allclose(mean, s.gp.mean, atol=1e-8)
    np.testing.assert_allclose(var, s.gp.variances.sum(), rtol=1e-9)


@every_kernel
def test_far_from_the_data_the_posterior_is_the_prior(kernel, rng):
    s = irregular.random_setting(rng, M=4, kernel=kernel)
    mean, var = s.post.predict(np.full((1, s.gp.dim), 1e4))
    np.testing.assert_allclose(mean, s.gp.mean, rtol=1e-12)
    np.testing.assert_allclose(var, s.gp.variances.sum(), rtol=1e-12)


def test_a_single_observation_gives_the_two_point_formula(rng):
    s = irregular.random_setting(rng, M=3, N=1, noise=0.3)
    x_new = new_points(rng, s, n=1)
    k = sum(
        K[0, 0]
        for K in reference.part_grams(
            s.gp, reference.project(s.gp, x_new), reference.project(s.gp, s.X)
        )
    )
    total = s.gp.variances.sum()
    mean, var = s.post.predict(x_new)
    expected = s.gp.mean + k / (total + 0.3) * (s.y[0] - s.gp.mean)
    assert mean[0] == pytest.approx(expected, rel=1e-10)
    assert var[0] == pytest.approx(total - k**2 / (total + 0.3), rel=1e-10)
    loo_mean, loo_var = s.post.leave_one_out()
    assert loo_mean[0] == pytest.approx(s.gp.mean)
    assert loo_var[0] == pytest.approx(total + 0.3)


def test_one_coordinate_one_group_one_candidate(rng):
    gp = AdditiveGP(groups=[(0,)], lengthscales=[0.4], noise=0.01)
    X, y = rng.random((5, 1)), rng.standard_normal(5)
    post, z = gp.condition(X, y), np.array([[0.37]])
    mean, cov = reference.posterior_of_parts(gp, X, y, [z])
    part = post.parts([z])[0]
    np.testing.assert_allclose(part.mean, mean, rtol=1e-9)
    np.testing.assert_allclose(part.cov, cov, rtol=1e-8)
    np.testing.assert_allclose(post.joint_covariance([z]), cov, rtol=1e-8)


# ---------------------------------------------------------------------- bad input
@pytest.fixture
def post(rng):
    gp = AdditiveGP(groups=[(0,), (2, 1)], noise=0.02)
    return gp.condition(rng.random((5, 3)), rng.standard_normal(5))


BAD_CANDIDATES = [
    ([[[0.1]]], "Z has 1 candidate sets for 2 groups. Pass one each."),
    ([[[0.1]], [[0.1, 0.2]], [[0.3]]], "Z has 3 candidate sets for 2 groups"),
    ([np.empty((0, 1)), [[0.1, 0.2]]], "Z[0] has no rows. Pass at least one candidate"),
    ([[[0.1]], np.empty((0, 2))], "Z[1] has no rows"),
    ([[[0.1]], [[0.1]]], "Z[1] (group (2, 1)) has shape (1, 1)"),
    ([[0.1], [[0.1, 0.2]]], "Z[0] (group (0,)) has shape (1,)"),
    ([[[np.nan]], [[0.1, 0.2]]], "Z[0] (group (0,)) holds nan at [0, 0]"),
    ([[[0.1]], [[0.1, np.inf]]], "Z[1] (group (2, 1)) holds inf at [0, 1]"),
    ([[["a"]], [[0.1, 0.2]]], "Z[0] (group (0,)) is not an array of numbers"),
    (np.full((4, 3), 0.2), "Z is a ndarray. Pass a list with one array per group."),
    (None, "Z is a NoneType. Pass a list with one array per group."),
    ({0: [[0.1]], 1: [[0.1, 0.2]]}, "Z is a dict. Pass a list"),
    ([], "Z has 0 candidate sets for 2 groups"),
]


@pytest.mark.parametrize(("Z", "message"), BAD_CANDIDATES)
@pytest.mark.parametrize("use", ["parts", "joint_covariance", "sample"])
def test_bad_candidates_name_the_group_and_the_remedy(use, Z, message, post):
    with pytest.raises(ArgumentError) as caught:
        getattr(post, use)(Z)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("X_new", "message"),
    [
        ([0.1, 0.2, 0.3], "X_new has shape (3,); the model has 3 coordinates"),
        ([[0.1, 0.2]], "X_new has shape (1, 2)"),
        ([[0.1, np.nan, 0.3]], "X_new holds nan at [0, 1]"),
        ([["a", "b", "c"]], "X_new is not an array of numbers"),
    ],
)
def test_bad_points_are_refused(X_new, message, post):
    with pytest.raises(ArgumentError) as caught:
        post.predict(X_new)
    assert message in str(caught.value)


def test_no_new_points_give_no_predictions(post):
    mean, var = post.predict(np.empty((0, 3)))
    assert mean.shape == var.shape == (0,)


@given(seed=seeds, noise=st.sampled_from([0.0, 1e-12, 1e-6, 1.0]))
def test_no_moment_is_nan_where_candidates_coincide_with_data(seed, noise):
    s = hypothesis_setting(seed, noise=noise)
    Z = irregular.with_coincidences(s)
    post = s.post
    assert np.isfinite(post.joint_covariance(Z)).all()
    for m, part in enumerate(post.parts(Z)):
        assert np.isfinite(part.mean).all()
        assert np.isfinite(part.cov).all()
        mean, var = post.part_moments(m, Z[m])
        assert np.isfinite(mean).all()
        assert (var >= 0).all()
    assert np.isfinite(post.leave_one_out()).all()
    mean, var = post.predict(s.X)
    assert np.isfinite(mean).all()
    assert (var >= 0).all()


def test_a_posterior_is_shown_in_one_line(rng):
    s = irregular.random_setting(rng)
    text = repr(s.post)
    assert "\n" not in text
    assert text.startswith(f"Posterior({s.post.N} observations, ")
    assert repr(s.gp.kernel) in text
    assert len(text) < 120
