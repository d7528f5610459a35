"""Every part on inducing points: the projected posterior against dense formulas."""

import numpy as np
import pytest

import irregular
import reference
from draws import law_p_value
from sumbo import AdditiveGP
from sumbo.errors import ArgumentError, TooLargeError
from sumbo.gp.solvers import projected
from sumbo.gp.solvers.inducing import Inducing, along_line
from sumbo.kernels import GroupKernel, as_kernel
from sumbo.sampling.expansion import Draw, expand_projected

MIXED = ((0,), (1, 2), (3,), (0, 1, 2, 3))
ANCHORS = np.arange(3, 60, 4)


def scene(rng, kernel="matern32", noise=0.03, N=70):
    gp = irregular.random_gp(rng, MIXED, kernel, noise, shared=False)
    X = rng.beta(0.8, 1.3, (N, gp.dim))
    return gp, irregular.frozen(X), irregular.frozen(irregular.draw_outputs(rng, gp, X))


def projected_posterior(gp, X, y, anchors=ANCHORS):
    return gp.condition(X, y, how="projected", anchors=anchors)


def all_points(gp, X, y):
    """Return a projected posterior whose inducing points are the data, and its twin."""
    return projected_posterior(gp, X, y, np.arange(len(X))), gp.condition(X, y)


@pytest.mark.parametrize("kernel", ["matern32", "matern52"])
def test_moments_are_those_of_the_projected_parts(kernel, rng):
    gp, X, y = scene(rng, kernel)
    post = projected_posterior(gp, X, y)
    X_new = rng.random((7, gp.dim))
    points = {m: part.G for m, part in enumerate(post.solver.parts)}
    assert all(len(G) < len(X) for G in points.values())
    mean, var = reference.posterior_of_projections(gp, X, y, X_new, points)
    found_mean, found_var = post.predict(X_new)
    np.testing.assert_allclose(found_mean, mean, rtol=0, atol=1e-7)
    lost = sum(
        kernel.variance - (part(X_new[:, list(group)]) ** 2).sum(axis=1)
        for kernel, part, group in zip(
            gp.kernels, post.solver.parts, gp.groups, strict=True
        )
    )
    # The variance that the features do not see is that of the prior.
    np.testing.assert_allclose(found_var, var + lost, rtol=0, atol=1e-7)


def test_inducing_points_at_all_data_lose_nothing_of_wide_parts(rng):
    groups = ((0, 1), (1, 2, 3))
    gp = irregular.random_gp(rng, groups, "matern52", 0.02, shared=False)
    X = rng.random((50, 4))
    y = irregular.draw_outputs(rng, gp, X)
    near, exact = all_points(gp, X, y)
    X_new = rng.random((6, 4))
    for found, expected in zip(near.predict(X_new), exact.predict(X_new), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
    np.testing.assert_allclose(near.fitted(), exact.fitted(), rtol=0, atol=1e-6)
    for found, expected in zip(
        near.part_moments(1, X_new[:, 1:]), exact.part_moments(1, X_new[:, 1:]),
        strict=True,
    ):  # fmt: skip
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


def test_lines_are_nearly_exact(rng):
    groups = tuple((p,) for p in range(5))
    gp = AdditiveGP(groups=groups, lengthscales=rng.uniform(0.2, 0.6, 5), noise=1e-3)
    X = rng.random((300, 5))
    y = irregular.draw_outputs(rng, gp, X)
    near, exact = gp.condition(X, y, how="projected"), gp.condition(X, y)
    Z = rng.random((9, 5))
    mean, var = exact.line_moments(Z)
    found_mean, found_var = near.line_moments(Z)
    assert np.abs((found_mean - mean) / np.sqrt(var)).max() < 0.01
    np.testing.assert_allclose(found_var, var, rtol=0.01)
    np.testing.assert_array_equal(near.lines, exact.cross.lines)


def test_the_gradient_of_moments_is_their_difference_quotient(rng):
    gp, X, y = scene(rng)
    post = projected_posterior(gp, X, y)
    U, step = rng.uniform(0.1, 0.9, (4, gp.dim)), 1e-6
    by_mean, by_var = rng.standard_normal((2, 4))
    _, _, pullback = post.sum_moments_pullback(U)
    slopes = pullback(by_mean, by_var)
    for p in range(gp.dim):
        e = step * np.eye(gp.dim)[p]
        upper, lower = post.sum_moments(U + e), post.sum_moments(U - e)
        change = by_mean * (upper[0] - lower[0]) + by_var * (upper[1] - lower[1])
        np.testing.assert_allclose(slopes[:, p], change / (2 * step), atol=1e-5)


@pytest.mark.parametrize("known", [False, True])
def test_appended_points_are_conditioned_on(known, rng):
    gp, X, y = scene(rng, N=100)
    noise = rng.uniform(0.01, 0.2, len(X)) if known else None
    # The inducing points of lines depend on the data: the first rows fix their range.
    X = np.clip(X, 0.02, 0.97)
    X[0], X[1] = 0.02, 0.97
    first = 90
    rows = slice(None) if noise is None else slice(first)
    post = gp.condition(
        X[:first], y[:first], noise=None if noise is None else noise[rows],
        how="projected", anchors=ANCHORS,
    )  # fmt: skip
    late = None if noise is None else noise[first:]
    grown = post.append(X[first:], y[first:], noise=late)
    whole = gp.condition(X, y, noise=noise, how="projected", anchors=ANCHORS)
    X_new = rng.random((5, gp.dim))
    for found, expected in zip(grown.predict(X_new), whole.predict(X_new), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(grown.solver.noise, whole.solver.noise, atol=1e-12)


def test_a_random_constant_is_one_feature_more(rng):
    gp = AdditiveGP(
        groups=[(0,), (1, 2)], lengthscales=[0.4, 0.5, 0.6], orthogonal=True,
        constant=3.0, noise=0.01,
    )  # fmt: skip
    X = rng.random((60, 3))
    y = 7.0 + np.sin(3 * X).sum(axis=1)
    near, exact = all_points(gp, X, y)
    U = rng.random((4, 3))
    for found, expected in zip(near.predict(U), exact.predict(U), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-3)


@pytest.mark.parametrize("expanded", [False, True])
def test_draws_follow_the_projected_posterior(expanded, rng):
    gp, X, y = scene(rng)
    post = projected_posterior(gp, X, y)
    Z = [rng.random((2, len(group))) for group in gp.groups]
    if expanded:
        found = expand_projected(rng, post, post.solver, Z, 4000)
        draws = [one.values for one in found]
        value = Draw(found, 2).value(1, Z[1])
        np.testing.assert_allclose(value, draws[1][2], rtol=0, atol=1e-7)
    else:
        draws = post.sample(Z, n=4000, seed=3)
    phi = np.zeros((8, post.solver.Phi.shape[1]))
    for m, (part, cut) in enumerate(
        zip(post.solver.parts, post.solver.cuts, strict=True)
    ):
        phi[2 * m : 2 * m + 2, cut] = part(Z[m])
    S = np.tril(post.solver.S)
    S = S + np.tril(S, -1).T
    cov = phi @ np.linalg.solve(S, phi.T)
    for m in (1, 3) if expanded else ():  # what features lose at the candidates
        some, cut = slice(2 * m, 2 * m + 2), post.solver.cuts[m]
        cov[some, some] += gp.kernels[m](Z[m], Z[m]) - phi[some, cut] @ phi[some, cut].T
    mean = phi @ post.solver.weights(post.alpha)
    # A false alarm in 1e-6 of runs, and the seed is fixed.
    assert law_p_value(np.hstack(draws), mean, cov, floor=1e-9) > 1e-6


def test_few_levels_of_a_coordinate_are_all_inducing_points(rng):
    levels = np.array([0.125, 0.375, 0.625, 0.875])
    x = rng.choice(levels, 300)
    np.testing.assert_array_equal(along_line(x, x[:30], 12)[:, 0], levels)
    kernel = GroupKernel(
        kernel=as_kernel("matern32"), lengthscales=np.array([0.3]), variance=1.7
    )
    part = Inducing.at(kernel, levels[:, None])
    kept = (part(x[:, None]) ** 2).sum(axis=1)
    np.testing.assert_allclose(kept, 1.7, rtol=1e-9)


def test_no_noise_and_too_many_points_are_refused(rng, monkeypatch):
    gp, X, y = scene(rng)
    quiet = AdditiveGP(groups=MIXED, noise=0.0)
    with pytest.raises(ArgumentError, match="noise=0 has no projected posterior"):
        quiet.condition(X, y, how="projected")
    monkeypatch.setattr(projected, "LIMIT", 1000)
    with pytest.raises(TooLargeError, match="N=70 points"):
        gp.condition(X, y, how="projected")


def test_what_needs_the_exact_posterior_says_so(rng):
    gp, X, y = scene(rng)
    with pytest.raises(ArgumentError, match="joint_covariance needs the exact"):
        projected_posterior(gp, X, y).joint_covariance(
            [rng.random((2, len(group))) for group in gp.groups]
        )
