"""Orthogonal parts: integrals are zero, and everything else is that of a dense GP."""

import numpy as np
import pytest

import sumbo
from sumbo.errors import ArgumentError
from sumbo.gp.whitened import Whitened
from sumbo.space import Space

KERNELS = ("rbf", "matern12", "matern32", "matern52")
SPACE = Space.of(
    [
        (0, 1),
        sumbo.Integer("levels", 1, 4, log=True),
        sumbo.Categorical("kind", ["a", "b", "c"]),
        (2, 5),
    ]
)
# Unit-cube coordinates: 0, then 1, then the one-hot 2, 3, 4, then 5.
STRUCTURES = {
    "lines": ((0,), (1,), (4, 2, 3), (5,)),
    "overlapping": ((5, 0), (2, 1, 3, 4), (5, 1)),
    "residual": ((0,), (5,), (1,), (2, 3, 4), (0, 1, 2, 3, 4, 5)),
}


def problem(rng, structure="residual", kernel="matern52", N=17, **changes):
    """Return a model with uneven parameters, and data in the unit cube."""
    groups = STRUCTURES[structure]
    X = SPACE.snap(rng.random((N, SPACE.dim)))
    y = np.sin(4 * X[:, 0]) + X[:, 1] * X[:, 5] - 0.7 * X[:, 3] + 2.3
    settings = {
        "kernel": kernel,
        "lengthscales": [rng.uniform(0.2, 0.9, len(group)) for group in groups],
        "variances": rng.uniform(0.4, 2.1, len(groups)),
        "noise": 0.013,
        "mean": 1.9,
        "constant": 0.6,
        **changes,
    }
    gp = sumbo.AdditiveGP(groups=groups, orthogonal=True, measure=SPACE, **settings)
    return gp, X, y


def dense(gp, A, B):
    """Return the covariance of the sum, part by part."""
    K = np.full((len(A), len(B)), gp.constant)
    for kernel, group in zip(gp.kernels, gp.groups, strict=True):
        K += kernel(A[:, list(group)], B[:, list(group)])
    return K


def slopes(f, x, h=1e-5):
    return np.array([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(len(x))])


def piecewise_rule(knots, n=24):
    """Return a Gauss rule on [0, 1] that is exact between the kinks of a kernel."""
    knots = np.unique(np.concatenate([[0.0, 1.0], knots]))
    nodes, weights = np.polynomial.legendre.leggauss(n)
    width = np.diff(knots)[:, None]
    return (
        (knots[:-1, None] + 0.5 * width * (nodes + 1.0)).ravel(),
        (0.5 * width * weights).ravel(),
    )


# ---------------------------------------------------------------------- integrals
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_mean_of_a_line_integrates_to_zero(kernel, rng):
    gp, X, y = problem(rng, "residual", kernel)
    post = gp.condition(X, y)
    for m, p in ((0, 0), (1, 5)):
        nodes, weights = piecewise_rule(X[:, p])
        mean = post.part_mean(m, nodes[:, None])
        assert abs(weights @ mean) < 1e-10
        assert np.abs(mean).max() > 1e-3


@pytest.mark.parametrize("kernel", KERNELS)
def test_interactions_integrate_to_zero_in_each_coordinate(kernel, rng):
    groups = ((0,), (1,), (2,), (1, 0), (0, 2), (0, 1, 2))
    gp = sumbo.AdditiveGP(
        groups=groups[:4] + groups[4:], kernel=kernel, orthogonal=True
    )
    X = rng.random((15, 3))
    post = gp.condition(X, np.cos(5 * X[:, 0] * X[:, 1]) + X[:, 2])
    path = post.sample_path(seed=3, features=64)
    for m in (3, 4):
        group = groups[m]
        for j in range(2):
            nodes, weights = piecewise_rule(X[:, group[j]], n=60)
            Z = np.full((len(nodes), 2), 0.37)
            Z[:, j] = nodes
            assert abs(weights @ post.part_mean(m, Z)) < 1e-10
            if kernel != "matern12":  # whose frequencies the rule does not resolve
                assert abs(weights @ path.parts[m](Z)) < 1e-10


def test_the_mean_of_a_levels_part_sums_to_zero(rng):
    gp, X, y = problem(rng, "lines")
    post = gp.condition(X, y)
    for m, k in ((1, 1), (2, 2)):
        measure = gp.measure[k]
        columns = [measure.coordinates.index(p) for p in gp.groups[m]]
        mean = post.part_mean(m, measure.atoms[:, columns])
        assert abs(measure.weights @ mean) < 1e-12
        Z = [np.zeros((1, len(group))) for group in gp.groups]
        Z[m] = measure.atoms[:, columns]
        draws = post.sample(Z, n=6, seed=1)[m]
        # A dense factor adds a jitter of 1e-10 of the variance.
        np.testing.assert_allclose(draws @ measure.weights, 0.0, atol=1e-3)


def test_a_group_alone_holds_main_effects_and_interactions(rng):
    X = rng.random((60, 2))
    y = 3.0 * X[:, 0] + 2.0 * (X[:, 0] - 0.5) * (X[:, 1] - 0.5)
    whole = sumbo.AdditiveGP(groups=[(0, 1)], orthogonal=True).fit(X, y, starts=1)
    error = y - whole.condition(X, y).predict_mean(X)
    assert error.std() < 0.05 * y.std()


# ---------------------------------------------------------------------- dense algebra
@pytest.mark.parametrize(
    ("kernel", "structure"),
    [
        *((kernel, "lines") for kernel in KERNELS),
        ("matern32", "overlapping"),
        ("rbf", "residual"),
    ],
)
def test_the_evidence_and_its_gradient_are_those_of_the_dense_covariance(
    kernel, structure, rng
):
    gp, X, y = problem(rng, structure, kernel)
    value, gradient = gp.log_marginal_likelihood_and_gradient(X, y)
    K = dense(gp, X, X) + gp.noise * np.eye(len(X))
    r = y - gp.mean
    by_hand = -0.5 * (
        r @ np.linalg.solve(K, r) + np.linalg.slogdet(2 * np.pi * K).logabsdet
    )
    assert value == pytest.approx(by_hand, rel=1e-9)
    assert gp.condition(X, y).log_marginal_likelihood() == pytest.approx(by_hand)
    theta = gp.hyperparameters()

    def at(log):
        moved = gp.with_hyperparameters(theta.from_log(log))
        return moved.log_marginal_likelihood(X, y)

    np.testing.assert_allclose(gradient, slopes(at, theta.log()), atol=2e-6)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_moments_and_their_gradients_are_those_of_the_dense_posterior(structure, rng):
    gp, X, y = problem(rng, structure)
    post = gp.condition(X, y)
    U = rng.random((4, SPACE.dim))
    K = dense(gp, X, X) + gp.noise * np.eye(len(X))
    k = dense(gp, U, X)
    mean, var = post.predict(U)
    np.testing.assert_allclose(mean, gp.mean + k @ np.linalg.solve(K, y - gp.mean))
    cov = dense(gp, U, U) - k @ np.linalg.solve(K, k.T)
    np.testing.assert_allclose(var, cov.diagonal(), atol=1e-9)
    np.testing.assert_allclose(post.predict_covariance(U), cov, atol=1e-9)
    _, _, pullback = post.sum_moments_pullback(U)
    a, b = rng.standard_normal((2, len(U)))

    def weighted(u, i):
        mean, var = post.sum_moments(u[None])
        return a[i] * mean[0] + b[i] * var[0]

    for i, row in enumerate(pullback(a, b)):
        np.testing.assert_allclose(
            row, slopes(lambda u, i=i: weighted(u, i), U[i]), atol=1e-6
        )


@pytest.mark.parametrize("structure", STRUCTURES)
def test_parts_add_up_and_have_their_gradients(structure, rng):
    gp, X, y = problem(rng, structure)
    post = gp.condition(X, y)
    U = rng.random((3, SPACE.dim))
    Z = [U[:, list(group)] for group in gp.groups]
    total = np.sum(post.part_means(Z), axis=0) + post.constant()[0]
    np.testing.assert_allclose(total, post.predict_mean(U))
    cov = post.joint_covariance(Z)
    ones = np.ones(len(X))
    constant = gp.constant - gp.constant**2 * ones @ post.solve(ones)
    assert post.constant()[1] == pytest.approx(constant)
    start = 0
    for m, Zm in enumerate(Z):
        block = cov[start : start + 3, start : start + 3]
        start += 3
        mean, var, by_mean, by_var = post.part_moments_gradient(m, Zm)
        np.testing.assert_allclose(var, block.diagonal(), atol=1e-10)
        np.testing.assert_allclose(post.part_moments(m, Zm)[1], var, atol=1e-10)
        for i, z in enumerate(Zm):
            for which, found in enumerate((by_mean, by_var)):
                by_hand = slopes(
                    lambda z, m=m, w=which: post.part_moments(m, z[None])[w][0], z
                )
                np.testing.assert_allclose(found[i], by_hand, atol=1e-6)
    np.testing.assert_allclose(mean, post.part_mean(m, Zm))


def test_lines_are_evaluated_together(rng):
    gp, X, y = problem(rng, "lines")
    post = gp.condition(X, y)
    U = rng.random((5, SPACE.dim))
    found = post.line_moments_gradient(U)
    for row, m in enumerate((0, 1, 3)):
        alone = post.part_moments_gradient(m, U[:, list(gp.groups[m])])
        for a, b in zip(found, alone, strict=True):
            np.testing.assert_allclose(a[:, row], b.reshape(5), atol=1e-10)
    for a, b in zip(post.line_moments(U), found, strict=False):
        np.testing.assert_allclose(a, b, atol=1e-10)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_appended_points_give_the_posterior_of_all(structure, rng):
    gp, X, y = problem(rng, structure)
    U = rng.random((6, SPACE.dim))
    grown = gp.condition(X[:11], y[:11]).append(X[11:13], y[11:13])
    grown = grown.append(X[13:], y[13:])
    for a, b in zip(grown.predict(U), gp.condition(X, y).predict(U), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)
    W = Whitened.of(gp, X[:9], np.full(9, gp.noise), U)
    for x in X[9:]:
        W = W.append(x, gp.noise)
    for a, b in zip(W.moments(y), gp.condition(X, y).predict(U), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)


@pytest.mark.parametrize("kernel", ["matern12", "matern32", "matern52"])
def test_the_iterative_solver_gives_the_same_posterior(kernel, rng):
    gp = sumbo.AdditiveGP(
        groups=[(0,), (1,), (2,)], kernel=kernel, orthogonal=True, noise=0.02
    )
    X = rng.random((40, 3))
    y = np.sin(5 * X[:, 0]) + X[:, 1] ** 2 + 7.0
    exact = gp.condition(X, y)
    other = gp.condition(X, y, how="iterative", tolerance=1e-9)
    U = rng.random((6, 3))
    for a, b in zip(exact.predict(U), other.predict(U), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)
    np.testing.assert_allclose(exact.constant(), other.constant(), atol=1e-6)


# ---------------------------------------------------------------------- fits
def test_a_fit_does_not_depend_on_units(rng):
    X = rng.random((30, 2))
    y = np.sin(4 * X[:, 0]) + 0.5 * X[:, 1]
    groups, spans = [(0,), (1,)], np.array([40.0, 0.02])
    low = np.array([-7.0, 3.0])
    unit = sumbo.AdditiveGP(groups=groups, orthogonal=True)
    unit = unit.fit(X, y, spans=1.0, starts=1)
    box = sumbo.AdditiveGP(
        groups=groups,
        orthogonal=True,
        measure=list(zip(low, low + spans, strict=True)),
        lengthscales=unit.hyperparameters().lengthscales * 0 + 0.3 * spans,
        variances=0.5 * 9.0e4,
        noise=0.01 * 9.0e4,
    ).fit(low + X * spans, 300.0 * y - 5.0, spans=spans, starts=1)
    np.testing.assert_allclose(box.lengthscales / spans, unit.lengthscales, rtol=0.02)
    np.testing.assert_allclose(box.variances / 9.0e4, unit.variances, rtol=0.1)
    assert box.constant == pytest.approx(9.0e4 * y.var())


def test_known_noise_is_added(rng):
    gp, X, y = problem(rng, "overlapping")
    known = rng.uniform(0.0, 0.3, len(y))
    K = dense(gp, X, X) + np.diag(gp.noise + known)
    r = y - gp.mean
    by_hand = -0.5 * (
        r @ np.linalg.solve(K, r) + np.linalg.slogdet(2 * np.pi * K).logabsdet
    )
    assert gp.log_marginal_likelihood(X, y, noise=known) == pytest.approx(by_hand)


# ---------------------------------------------------------------------- errors
def test_what_cannot_be_used_is_named(rng):
    X = rng.random((5, 2))
    gp = sumbo.AdditiveGP(groups=[(0,), (1,)], orthogonal=True)
    with pytest.raises(ArgumentError, match=r"outside|uniform on \[0, 1\]"):
        gp.condition(3.0 * X + 1.0, X[:, 0])
    with pytest.raises(ArgumentError, match="uniform on"):
        gp.condition(X, X[:, 0]).append(X[:1] + 4.0, 0.1)
    with pytest.raises(ArgumentError, match="orthogonal='yes'"):
        sumbo.AdditiveGP(groups=[(0,)], orthogonal="yes")
    with pytest.raises(ArgumentError, match=r"constant=2\.0 needs orthogonal=True"):
        sumbo.AdditiveGP(groups=[(0,)], constant=2.0)
    with pytest.raises(ArgumentError, match=r"measure=.* needs orthogonal=True"):
        sumbo.AdditiveGP(groups=[(0,)], measure=[(0, 1)])
    with pytest.raises(ArgumentError, match=r"measure\[0\]=\(2, 1\) is no interval"):
        sumbo.AdditiveGP(groups=[(0,)], orthogonal=True, measure=[(2, 1)])
    with pytest.raises(ArgumentError, match=r"measure\[0\]=3 is no pair"):
        sumbo.AdditiveGP(groups=[(0,)], orthogonal=True, measure=[3])
    with pytest.raises(ArgumentError, match=r"covers the coordinates \[0, 1\]"):
        sumbo.AdditiveGP(groups=[(0,)], orthogonal=True, measure=[(0, 1), (0, 2)])
