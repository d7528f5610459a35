"""Covariances of the sum with the data: part by part, and by finite differences."""

from dataclasses import replace

import numpy as np
import pytest

from irregular import frozen
from sumbo import AdditiveGP
from sumbo.gp.cross import Cross
from sumbo.kernels import KERNELS

P = 5
GROUPS = {
    "lines alone": ((3,), (0,), (2,), (1,), (4,)),
    "no line": ((3, 1), (0, 2, 4)),
    "lines and a residual": ((4,), (0, 2), (1,), (3,), (0, 1, 2, 3, 4)),
    "two parts on a line": ((2,), (0, 1), (3,), (4,), (2,), (2, 0)),
}
structures = pytest.mark.parametrize("groups", GROUPS.values(), ids=GROUPS)


def model(groups, kernel="matern52"):
    lengthscales = [
        np.linspace(0.21, 0.67, len(group)) + 0.03 * group[0] for group in groups
    ]
    variances = np.linspace(0.4, 1.7, len(groups))
    return AdditiveGP(
        groups=groups, kernel=kernel, lengthscales=lengthscales, variances=variances
    )


def part_by_part(gp, U, X):
    return sum(
        kernel(U[:, group], X[:, group])
        for kernel, group in zip(gp.kernels, gp.groups, strict=True)
    )


@structures
@pytest.mark.parametrize("kernel", KERNELS.names())
@pytest.mark.parametrize(("b", "N"), [(0, 5), (1, 1), (3, 17), (200, 131)])
def test_covariances_are_the_sum_of_the_parts(groups, kernel, b, N, rng):
    # The largest case takes several turns through the lines.
    gp = model(groups, kernel)
    U, X = frozen(rng.random((b, P))), frozen(rng.random((N, P)))
    cross = Cross.of(gp.kernels, gp.groups, X)
    expected = part_by_part(gp, U, X)
    np.testing.assert_allclose(cross(U), expected, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(
        cross.with_pullback(U)[0], expected, rtol=1e-13, atol=1e-15
    )


@structures
@pytest.mark.parametrize("N", [1, 16, 53])
def test_gram_is_the_lower_triangle_of_the_sum_of_the_parts(groups, N, rng):
    gp = model(groups)
    X = frozen(rng.random((N, P)))
    gram = Cross.of(gp.kernels, gp.groups, X).gram()
    assert gram.flags.f_contiguous
    expected = np.tril(part_by_part(gp, X, X))
    np.testing.assert_allclose(np.tril(gram), expected, rtol=1e-13, atol=1e-15)


@structures
@pytest.mark.parametrize("b", [1, 200])
def test_lines_have_the_covariances_of_their_parts(groups, b, rng):
    gp = model(groups)
    U, X = frozen(rng.random((b, P))), frozen(rng.random((61, P)))
    found = [k for _, k in Cross.of(gp.kernels, gp.groups, X).by_line(U)]
    single = [
        kernel(U[:, group], X[:, group])
        for kernel, group in zip(gp.kernels, gp.groups, strict=True)
        if len(group) == 1
    ]
    assert sum(len(k) for k in found) == len(single)
    if single:
        np.testing.assert_allclose(np.concatenate(found), single, rtol=1e-13)


@structures
@pytest.mark.parametrize("kernel", ["matern32", "matern52", "rbf"])
@pytest.mark.parametrize("b", [1, 4])
def test_pullback_is_the_gradient_of_weighted_covariances(groups, kernel, b, rng):
    gp = model(groups, kernel)
    U, X = rng.random((b, P)), rng.random((23, P))
    weights = frozen(rng.standard_normal((b, 23)))
    gradient = Cross.of(gp.kernels, gp.groups, X).with_pullback(U)[1](weights)
    step = 1e-6
    for p in range(P):
        moved = step * (np.arange(P) == p)
        change = part_by_part(gp, U + moved, X) - part_by_part(gp, U - moved, X)
        expected = (weights * change).sum(axis=1) / (2 * step)
        np.testing.assert_allclose(gradient[:, p], expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("appended", [0, 3])
def test_fitted_values_are_predictions_at_the_data(appended, rng):
    X, y = rng.random((29, P)), rng.standard_normal(29)
    gp = replace(model(GROUPS["lines and a residual"]), noise=0.037, mean=-1.3)
    post = gp.condition(X[: 29 - appended], y[: 29 - appended])
    for i in range(29 - appended, 29):
        post = post.append(X[i], y[i])
    np.testing.assert_allclose(post.fitted(), post.predict(X)[0], rtol=0, atol=1e-10)
