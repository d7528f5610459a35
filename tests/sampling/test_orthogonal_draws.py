"""Draws of orthogonal parts: the laws of all samplers, and integrals that are zero.

The law of a draw is checked at a false-alarm rate of 1e-6 per case.
"""

import numpy as np
import pytest

import sumbo
from draws import law_p_value
from sumbo.sampling import Grid, joint
from sumbo.sampling.expansion import Draw, expand_joint, expand_marginal
from sumbo.sampling.features import features_of
from sumbo.sampling.growth import fresh_factors
from sumbo.sampling.kronecker import GridFactor, part_factor
from sumbo.sampling.markov import draw_markov
from sumbo.space import Space

SPACE = Space.of([(0, 1), sumbo.Integer("levels", 1, 4), (0, 1)])
GROUPS = ((0,), (1,), (2,), (0, 2, 1))
MATERN = ("matern12", "matern32", "matern52")


def setting(rng, kernel="matern52", N=9):
    X = SPACE.snap(rng.random((N, 3)))
    gp = sumbo.AdditiveGP(
        groups=GROUPS,
        kernel=kernel,
        lengthscales=[rng.uniform(0.2, 0.8, len(group)) for group in GROUPS],
        variances=rng.uniform(0.4, 2.1, 4),
        noise=0.04,
        mean=1.3,
        constant=0.7,
        orthogonal=True,
        measure=SPACE,
    )
    return gp.condition(X, 1.9 + X[:, 0] * X[:, 2] - 0.3 * X[:, 1])


def exact(post, Z):
    mean = np.concatenate(post.part_means(Z))
    return mean, post.joint_covariance(Z)


def candidates(rng, B=4):
    U = rng.random((B, 3))
    return [U[:, list(group)] for group in GROUPS]


# ---------------------------------------------------------------------- linear prior
@pytest.mark.parametrize("kernel", MATERN)
@pytest.mark.parametrize("lengthscale", [0.06, 0.4, 5.0])
def test_linear_prior_draws_have_the_law_of_the_kernel(kernel, lengthscale, rng):
    # Points outside of the interval, at its ends, equal ones and close ones.
    A = np.array([[-0.2], [0.0], [3e-5], [0.11], [0.11], [0.35], [0.9], [1.0], [1.3]])
    gp = sumbo.AdditiveGP(
        groups=[(0,), (1,)],
        kernel=kernel,
        lengthscales=[lengthscale, 0.6 * lengthscale],
        variances=[1.7, 0.8],
        orthogonal=True,
        measure=[(0, 1), (-0.5, 2.0)],
    )
    draws = draw_markov(rng, gp.kernels, [A, A[2:]], 8_000)
    for part, one, points in zip(draws, gp.kernels, (A, A[2:]), strict=True):
        cov = one(points, points)
        assert law_p_value(part.T, 0.0, cov, floor=1e-9 * one.variance) > 1e-6


@pytest.mark.parametrize("kernel", MATERN)
def test_a_linear_draw_integrates_to_zero(kernel, rng):
    gp = sumbo.AdditiveGP(groups=[(0,)], kernel=kernel, orthogonal=True)
    nodes = (np.arange(4000)[:, None] + 0.5) / 4000
    (f,) = draw_markov(rng, gp.kernels, [nodes], 20)
    # What a midpoint rule misses of such paths is of the order of its step.
    assert np.abs(f.mean(axis=0)).max() < {"matern12": 3e-3}.get(kernel, 1e-5)
    assert f.std(axis=0).min() > 0.05


def test_linear_draws_at_levels_sum_to_zero(rng):
    gp = sumbo.AdditiveGP(
        groups=[(0,)], orthogonal=True, measure=Space.of([sumbo.Integer("k", 0, 4)])
    )
    (measure,) = gp.measure
    (f,) = draw_markov(rng, gp.kernels, [measure.atoms], 5)
    np.testing.assert_allclose(measure.weights @ f, 0.0, atol=1e-10)


# ---------------------------------------------------------------------- posterior
@pytest.mark.parametrize("how", ["naive", "joint", "linear", "sequential", "marginal"])
@pytest.mark.parametrize("kernel", ["matern32", "rbf"])
def test_every_sampler_has_the_exact_law(how, kernel, rng, monkeypatch):
    post, Z = setting(rng, kernel), candidates(rng)
    if how == "linear":
        monkeypatch.setattr(joint, "is_linear_cheaper", lambda points, n: True)
        how = "joint"
    draws = np.hstack(post.sample(Z, n=6_000, how=how, seed=3))
    mean, cov = exact(post, Z)
    if how == "marginal":
        cov = cov * np.kron(np.eye(4), np.ones((4, 4)))
    assert law_p_value(draws, mean, cov, floor=1e-6) > 1e-6


def test_the_constant_goes_with_the_parts(rng):
    post, U = setting(rng), rng.random((4, 3))
    Z = [U[:, list(group)] for group in GROUPS]
    constant, parts = post.sample_with_constant(Z, n=6_000, seed=5)
    for a, b in zip(parts, post.sample(Z, n=6_000, seed=5), strict=True):
        np.testing.assert_array_equal(a, b)
    total = constant[:, None] + np.sum(parts, axis=0)
    cov = post.predict_covariance(U)
    assert law_p_value(total, post.predict_mean(U), cov, floor=1e-6) > 1e-6
    mean, var = post.constant()
    law = law_p_value(constant[:, None], np.array([mean]), np.array([[var]]))
    assert law > 1e-6


def test_draws_of_the_sum_have_the_exact_law(rng):
    post, U = setting(rng), rng.random((5, 3))
    cov = post.predict_covariance(U)
    draws = post.sample_sum(U, n=6_000, seed=5)
    assert law_p_value(draws, post.predict_mean(U), cov, floor=1e-6) > 1e-6


@pytest.mark.parametrize("expand", [expand_joint, expand_marginal])
def test_an_expansion_is_the_draw_and_has_its_gradient(expand, rng):
    post, Z = setting(rng), candidates(rng)
    draws = expand(rng, post, fresh_factors(post, Z), 2)
    one = Draw(draws, 1)
    for m, Zm in enumerate(Z):
        np.testing.assert_allclose(one.value(m, Zm), draws[m].values[1], atol=1e-5)
        z, h = rng.random((1, Zm.shape[1])), 1e-5
        _, gradient = one.gradient(m, z)
        for j, step in enumerate(h * np.eye(Zm.shape[1])):
            slope = (one.value(m, z + step) - one.value(m, z - step)) / (2 * h)
            np.testing.assert_allclose(gradient[:, j], slope, atol=1e-4)
    z = rng.random((3, 6))
    value, slope = one.line_gradients([0, 1, 2], z)
    np.testing.assert_allclose(one.lines([0, 1, 2], z), value)
    for m in range(3):
        by_part = one.gradient(m, z[m][:, None])
        np.testing.assert_allclose(value[m], by_part[0], atol=1e-9)
        np.testing.assert_allclose(slope[m], by_part[1][:, 0], atol=1e-7)


def test_an_expansion_integrates_to_zero(rng):
    post, Z = setting(rng, "rbf"), candidates(rng)
    draws = expand_joint(rng, post, fresh_factors(post, Z), 3)
    nodes, weights = np.polynomial.legendre.leggauss(120)
    for m in (0, 2):
        values = draws[m].at(1, 0.5 * (nodes[:, None] + 1.0))
        # The coefficients are large where points are close.
        assert abs(weights @ values) < 1e-10 * np.abs(draws[m].coefficients).sum()
        assert abs(weights @ values) < 1e-5


# ---------------------------------------------------------------------- functions
@pytest.mark.parametrize("groups", [((0,),), ((0, 1),), ((0,), (1,), (0, 1))])
def test_features_have_the_kernel_as_their_expectation(groups, rng):
    gp = sumbo.AdditiveGP(groups=groups, kernel="rbf", orthogonal=True)
    kernel = gp.kernels[-1]
    d = len(kernel.lengthscales)
    A, h = rng.random((5, d)), 1e-6
    phi = features_of(rng, kernel, 40_000)
    # Five standard deviations of an average of 40 000 bounded products.
    np.testing.assert_allclose(
        phi(A) @ phi(A).T, kernel(A, A), atol=0.05 * kernel.variance
    )
    w = rng.standard_normal(2 * len(phi.weights))
    slopes = [(phi(A + s) @ w - phi(A - s) @ w) / (2 * h) for s in h * np.eye(d)]
    np.testing.assert_allclose(phi.gradient(A, w), np.transpose(slopes), atol=1e-4)


def test_a_path_has_parts_that_integrate_to_zero_and_a_drawn_constant(rng):
    post = setting(rng, "rbf")
    paths = [post.sample_path(seed=i, features=200) for i in range(3)]
    nodes, weights = np.polynomial.legendre.leggauss(120)
    for path in paths:
        for m in (0, 2):
            values = path.parts[m](0.5 * (nodes[:, None] + 1.0))
            assert abs(weights @ values) < 1e-10
    assert len({path.mean for path in paths}) == 3
    U, h = rng.random((2, 3)), 1e-6
    by_hand = [(paths[0](U + s) - paths[0](U - s)) / (2 * h) for s in h * np.eye(3)]
    np.testing.assert_allclose(paths[0].gradient(U), np.transpose(by_hand), atol=1e-5)


def test_the_minimum_includes_the_constant(rng):
    post = setting(rng)
    found = post.minimum(n=8, seed=2, domain=SPACE)
    mean = post.predict_mean(SPACE.snap(rng.random((400, 3))))
    assert found.values.mean() < mean.min() + 0.1
    assert found.values.mean() > mean.min() - 3.0


# ---------------------------------------------------------------------- grids
def test_pure_interactions_are_drawn_axis_by_axis_on_a_grid(rng):
    gp = sumbo.AdditiveGP(
        groups=[(0,), (1,), (1, 0)], kernel="matern32", orthogonal=True, noise=0.01
    )
    axes = tuple(np.sort(rng.random(n)) for n in (17, 16))
    X = rng.random((7, 2))
    kernel, whole = gp.kernels[2], Grid(axes)
    factor = part_factor(kernel, np.asarray(whole), X)
    assert isinstance(factor, GridFactor)
    xi = rng.standard_normal((len(whole) + 7, 6_000))
    f_Z, f_X = factor.draw(xi)
    rows = np.array([3, 80, 200])
    points = np.vstack([np.asarray(whole)[rows], X])
    draws = np.vstack([f_Z[rows], f_X]).T
    cov = kernel(points, points) + factor.jitter * np.diag([0] * 3 + [1] * 7)
    assert law_p_value(draws, 0.0, cov, floor=1e-7) > 1e-6
    v = rng.standard_normal((7, 2))
    np.testing.assert_allclose(
        factor.K_ZX @ v, kernel(np.asarray(whole), X) @ v, atol=1e-10
    )


def test_sums_of_products_are_drawn_with_a_dense_factor(rng):
    gp = sumbo.AdditiveGP(groups=[(0, 1)], kernel="rbf", orthogonal=True)
    axes = tuple(np.sort(rng.random(n)) for n in (17, 16))
    factor = part_factor(gp.kernels[0], np.asarray(Grid(axes)), rng.random((4, 2)))
    assert not isinstance(factor, GridFactor)
