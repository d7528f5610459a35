"""Splines for the moments of a part at many points of a line."""

import numpy as np
import pytest

from sumbo import AdditiveGP
from sumbo.gp.smooth import part_moments
from sumbo.rng import rng_at

GROUPS = ((0, 2), (1,), (3,))


def posterior(lengthscale, kernel="rbf", N=70):
    rng = rng_at(7, "smooth")
    X = rng.random((N, 4))
    y = np.sin(5 * X).sum(axis=1) + 0.1 * rng.standard_normal(N)
    gp = AdditiveGP(
        groups=GROUPS,
        kernel=kernel,
        lengthscales=[[0.4, 0.7], [lengthscale], [0.9]],
        variances=[0.7, 1.3, 0.4],
        noise=1e-3,
    )
    return gp.condition(X, y)


def points(count=4500):
    return 0.02 + 0.9 * rng_at(11, "smooth").random((count, 1))


@pytest.mark.parametrize("lengthscale", [0.02, 0.17, 2.3])
def test_splines_equal_the_moments_up_to_rounding(lengthscale):
    post, Z = posterior(lengthscale), points()
    mean, var = part_moments(post, 1, Z)
    expected_mean, expected_var = post.part_moments(1, Z)
    np.testing.assert_allclose(mean, expected_mean, rtol=0, atol=1e-10)
    np.testing.assert_allclose(var, expected_var, rtol=0, atol=1e-10)
    assert not np.array_equal(var, expected_var)  # it was a spline


@pytest.mark.parametrize(
    ("post", "m", "Z"),
    [
        (posterior(0.17), 1, points(300)),  # few points
        (posterior(0.17, N=30), 1, points()),  # few observations
        (posterior(0.17, kernel="matern52"), 1, points()),  # kinks at the data
        (posterior(0.17), 0, np.tile(points(), 2)),  # two coordinates
        (posterior(1e-5), 1, points()),  # a grid finer than the points
        (posterior(0.17), 1, np.full((4500, 1), 0.37)),  # one place
    ],
)
def test_everything_else_is_computed_directly(post, m, Z):
    for found, expected in zip(
        part_moments(post, m, Z), post.part_moments(m, Z), strict=True
    ):
        assert np.array_equal(found, expected)
