"""Function-valued draws: features against kernels, laws over many paths, gradients."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import irregular
import reference
from draws import law_p_value
from sumbo import AdditiveGP
from sumbo.errors import ArgumentError
from sumbo.kernels import GroupKernel, as_kernel
from sumbo.sampling.features import features_of, nodes_needed, quadrature_features

every_kernel = pytest.mark.parametrize("kernel", irregular.KERNELS)
every_dimension = pytest.mark.parametrize("d", [1, 2, 3])


def group_kernel(name, lengthscales, variance=1.7):
    return GroupKernel(
        kernel=as_kernel(name), lengthscales=np.array(lengthscales), variance=variance
    )


def kernel_of(features, A, B):
    return features(A) @ features(B).T


# ---------------------------------------------------------------------- features
@every_kernel
@every_dimension
def test_random_features_give_the_kernel_in_the_limit(kernel, d, rng):
    # A product of features is a mean of F bounded terms; false alarm: 1e-6.
    kernel = group_kernel(kernel, rng.uniform(0.04, 0.06, d))
    features = features_of(rng, kernel, 40_000)
    F = len(features.weights)
    A, B = rng.uniform(0.0, 0.15, (5, d)), rng.uniform(0.0, 0.15, (4, d))
    error = kernel_of(features, A, B) - kernel(A, B)
    if not (kernel.kernel.name == "rbf" and d == 1):
        assert F == 20_000
    z = stats.norm.isf(1e-6 / 2 / error.size)
    assert np.abs(error).max() < z * kernel.variance / np.sqrt(F)


@pytest.mark.parametrize("side", [1.0, 2.7])
@pytest.mark.parametrize("l", [0.05, 0.11, 0.4, 1.3, 30.0])
def test_quadrature_features_equal_the_kernel_in_one_dimension(l, side, rng):
    features = quadrature_features(
        np.array([l]), nodes_needed(np.array([l]), side), variance=2.3
    )
    z = np.append(rng.uniform(0.0, side, 60), [0.0, side])[:, None]
    exact = reference.gram("rbf", np.array([l]), 2.3, z, z)
    np.testing.assert_allclose(kernel_of(features, z, z), exact, rtol=0, atol=2.3e-8)


@pytest.mark.parametrize("l", [(0.2, 0.35), (0.13, 1.9), (0.7, 4.0)])
def test_quadrature_features_equal_the_kernel_in_two_dimensions(l, rng):
    l = np.array(l)
    features = quadrature_features(l, nodes_needed(l, 1.0), variance=0.6)
    corners = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    z = np.vstack([rng.random((50, 2)), corners])
    exact = reference.gram("rbf", l, 0.6, z, z)
    np.testing.assert_allclose(kernel_of(features, z, z), exact, rtol=0, atol=0.6e-8)


def test_a_grid_of_positive_nodes_alone_is_another_kernel_in_two_dimensions(rng):
    l = np.array([0.4, 0.6])
    signed = quadrature_features(l, nodes_needed(l, 1.0))
    assert (signed.frequencies[:, 1] < 0).any()
    positive = (signed.frequencies > 0).all(axis=1)
    half = replace(
        signed,
        frequencies=signed.frequencies[positive],
        weights=2 * signed.weights[positive],
    )
    z = rng.random((20, 2))
    error = kernel_of(half, z, z) - reference.gram("rbf", l, 1.0, z, z)
    assert np.abs(error).max() > 0.1


@pytest.mark.parametrize("n", [4, 11])
def test_too_few_nodes_are_another_kernel_and_the_rule_asks_for_more(n):
    l = np.array([0.08])
    assert nodes_needed(l, 1.0)[0] > 2 * n
    z = np.linspace(0.0, 1.0, 80)[:, None]
    features = quadrature_features(l, [2 * n])
    error = kernel_of(features, z, z) - reference.gram("rbf", l, 1.0, z, z)
    assert np.abs(error).max() > 0.1


def test_quadrature_is_used_where_it_is_exact_and_cheap(rng):
    z1, z2 = rng.random((20, 1)), rng.random((20, 2))
    for kernel, z in (
        (group_kernel("rbf", [0.3]), z1),
        (group_kernel("rbf", [0.3, 0.5]), z2),
    ):
        features = features_of(rng, kernel, 10)
        assert len(features.weights) != 5
        np.testing.assert_allclose(kernel_of(features, z, z), kernel(z, z), atol=1e-7)
    for kernel in (
        group_kernel("matern52", [0.3]),
        group_kernel("rbf", [0.3, 0.5, 0.4]),
        group_kernel("rbf", [0.01, 0.01]),  # a grid of millions
    ):
        assert len(features_of(rng, kernel, 10).weights) == 5


@every_dimension
def test_gradient_of_features_equals_finite_differences(d, rng):
    features = features_of(rng, group_kernel("matern32", np.full(d, 0.4)), 30)
    w = rng.standard_normal(30)
    z = rng.random((1, d))
    expected = reference.finite_difference(lambda x: features(x[None]) @ w, z[0])
    np.testing.assert_allclose(features.gradient(z, w), expected, rtol=1e-6, atol=1e-7)


# ---------------------------------------------------------------------- the law
def implied_covariance(path, s):
    """Return the covariance of the parts at Z, given the features of one path.

    The path is linear in its weights and in its noise; see ``sampling.paths``.
    """
    parts = reference.project(s.gp, s.X)
    K_ZX = reference.part_grams(s.gp, s.Z, parts)
    at_Z = [part.features(Zm) for part, Zm in zip(path.parts, s.Z, strict=True)]
    at_X = np.hstack([p.features(Xm) for p, Xm in zip(path.parts, parts, strict=True)])
    prior = np.zeros((sum(map(len, at_Z)), at_X.shape[1]))
    row = column = 0
    for phi in at_Z:
        prior[row : row + len(phi), column : column + phi.shape[1]] = phi
        row, column = row + len(phi), column + phi.shape[1]
    gain = np.vstack(K_ZX) @ np.linalg.inv(reference.observed_covariance(s.gp, s.X))
    weights = prior - gain @ at_X
    return weights @ weights.T + s.gp.noise * gain @ gain.T


def values(path, Z):
    return np.concatenate([part(Zm) for part, Zm in zip(path.parts, Z, strict=True)])


def test_with_quadrature_features_the_law_of_a_path_is_exact(rng):
    s = small_setting(rng, "rbf", ((0,), (2, 1), (1,)))
    _, cov = s.exact
    implied = implied_covariance(s.post.sample_path(seed=3), s)
    np.testing.assert_allclose(implied, cov, rtol=0, atol=1e-6 * s.scale)


@pytest.mark.parametrize("kernel", ["matern12", "matern32", "matern52"])
def test_with_many_random_features_the_law_of_a_path_is_exact(kernel, rng):
    s = small_setting(rng, kernel, ((0,), (2, 1, 0)))
    _, cov = s.exact

    def error(features):
        paths = [s.post.sample_path(seed=i, features=features) for i in range(4)]
        return np.mean([np.abs(implied_covariance(p, s) - cov).max() for p in paths])

    # 256 times the features: a 16th of the error, here less than a quarter is asked.
    assert error(16_384) < error(64) / 4
    assert error(16_384) < 0.05 * s.scale


def small_setting(rng, kernel, groups, noise=0.05):
    gp = irregular.random_gp(rng, groups, kernel, noise)
    X = rng.random((6, gp.dim))
    y = irregular.draw_outputs(rng, gp, X)
    Z = [irregular.frozen(rng.random((k + 1, len(g)))) for k, g in enumerate(groups)]
    return irregular.Setting(gp=gp, X=irregular.frozen(X), y=irregular.frozen(y), Z=Z)


def test_paths_have_the_exact_joint_law(rng):
    # Quadrature: exactly normal. False alarm: 1e-6.
    s = small_setting(rng, "rbf", ((0,), (2, 1), (1,)))
    post = s.post
    draws = np.array([values(post.sample_path(seed=i), s.Z) for i in range(400)])
    assert law_p_value(draws, *s.exact, floor=1e-6 * s.scale) > 1e-6


def test_paths_of_random_features_have_the_exact_mean_and_covariance(rng):
    # Features are drawn anew for each path, so two moments are exact at any number.
    # z-scores with estimated errors over 400 paths; false alarm: about 1e-5.
    s = small_setting(rng, "matern52", ((0, 1), (1,)))
    post = s.post
    draws = np.array(
        [values(post.sample_path(seed=i, features=64), s.Z) for i in range(400)]
    )
    mean, cov = s.exact
    deviation = draws - mean
    products = np.einsum("ni,nj->nij", deviation, deviation).reshape(len(draws), -1)
    both = np.hstack([deviation, products - cov.ravel()])
    z = both.mean(axis=0) / (both.std(axis=0) / np.sqrt(len(both)))
    assert 2 * stats.norm.sf(np.abs(z)).min() * len(z) > 1e-5


# ---------------------------------------------------------------------- behaviour
@every_kernel
def test_a_path_is_the_constant_plus_its_parts(kernel, rng):
    s = irregular.random_setting(rng, M=4, kernel=kernel, noise=1e-2)
    path = s.post.sample_path(seed=5)
    X_new = rng.random((6, s.gp.dim))
    parts = zip(path.parts, reference.project(s.gp, X_new), strict=True)
    total = s.gp.mean + sum(part(Xm) for part, Xm in parts)
    np.testing.assert_allclose(path(X_new), total, rtol=1e-10, atol=1e-10)


def test_a_path_is_a_function(rng):
    s = irregular.random_setting(rng, M=3, noise=1e-2)
    path = s.post.sample_path(seed=6)
    X_new = rng.random((7, s.gp.dim))
    rows = np.concatenate([path(x[None]) for x in X_new])
    np.testing.assert_allclose(path(X_new), rows, rtol=1e-9, atol=1e-10)
    np.testing.assert_array_equal(path(X_new), path(X_new))


@every_kernel
def test_gradient_of_a_path_equals_finite_differences(kernel, rng):
    s = irregular.random_setting(rng, M=4, kernel=kernel, noise=1e-2)
    path = s.post.sample_path(seed=7)
    X_new = rng.random((3, s.gp.dim))
    gradient = path.gradient(X_new)
    assert gradient.shape == X_new.shape
    for x, slope in zip(X_new, gradient, strict=True):
        expected = reference.finite_difference(lambda a: path(a[None])[0], x, step=1e-6)
        # Rough kernels draw frequencies from a heavy tail: slopes of thousands.
        scale = 1.0 + np.abs(expected).max()
        np.testing.assert_allclose(slope, expected, rtol=0, atol=1e-4 * scale)


@every_kernel
def test_gradient_of_a_part_equals_finite_differences(kernel, rng):
    s = irregular.random_setting(rng, M=2, kernel=kernel, noise=1e-2)
    for part, Zm in zip(s.post.sample_path(seed=8).parts, s.Z, strict=True):
        expected = reference.finite_difference(
            lambda a, part=part: part(a[None])[0], Zm[0]
        )
        scale = 1.0 + np.abs(expected).max()
        np.testing.assert_allclose(
            part.gradient(Zm[:1])[0], expected, rtol=0, atol=1e-4 * scale
        )


@every_kernel
def test_without_noise_every_path_interpolates_the_data(kernel, rng):
    s = irregular.random_setting(rng, M=3, N=6, kernel=kernel, noise=0.0)
    post = s.post
    for seed in range(3):
        path = post.sample_path(seed=seed)
        np.testing.assert_allclose(path(np.array(s.X)), s.y, rtol=0, atol=1e-5)


def test_the_same_seed_gives_the_same_path_and_another_seed_another(rng):
    s = irregular.random_setting(rng, M=3, noise=1e-2)
    X_new = rng.random((4, s.gp.dim))
    first = s.post.sample_path(seed=9)(X_new)
    np.testing.assert_array_equal(first, s.post.sample_path(seed=9)(X_new))
    assert (first != s.post.sample_path(seed=10)(X_new)).all()


def test_inputs_far_from_the_unit_cube_are_served_by_the_range_of_the_data(rng):
    # The quadrature must cover a box of side 6, not 1.
    gp = AdditiveGP(
        groups=[(0,), (1,)], kernel="rbf", lengthscales=[0.5, 1.1], noise=1e-3
    )
    X = np.vstack([rng.uniform(-2.0, 4.0, (9, 2)), [[-2.0, 4.0], [4.0, -2.0]]])
    y = irregular.draw_outputs(rng, gp, X)
    Z = [rng.uniform(-2.0, 4.0, (4, 1)) for _ in gp.groups]
    s = irregular.Setting(gp=gp, X=X, y=y, Z=Z)
    implied = implied_covariance(s.post.sample_path(seed=11), s)
    np.testing.assert_allclose(implied, s.exact[1], rtol=0, atol=1e-5)


def test_one_observation_is_enough_for_a_path(rng):
    s = irregular.random_setting(rng, M=3, N=1, noise=1e-6)
    path = s.post.sample_path(seed=12)
    np.testing.assert_allclose(path(np.array(s.X)), s.y, rtol=0, atol=0.02)
    assert np.isfinite(path(rng.random((20, s.gp.dim)))).all()


@pytest.mark.parametrize(
    ("X_new", "message"),
    [
        (np.full((2, 2), 0.4), "X has shape (2, 2); the model has 3 coordinates"),
        (np.array([[0.1, np.nan, 0.3]]), "X holds nan at [0, 1]"),
    ],
)
def test_bad_points_are_refused(X_new, message, rng):
    gp = AdditiveGP(groups=[(0,), (2, 1)], noise=0.02)
    path = gp.condition(rng.random((4, 3)), rng.random(4)).sample_path(seed=13)
    for use in (path, path.gradient):
        with pytest.raises(ArgumentError) as caught:
            use(X_new)
        assert message in str(caught.value)
