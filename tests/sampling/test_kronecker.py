"""Draws on product grids: the dense law, from factors of the axes alone."""

import numpy as np
import pytest

import irregular
import reference
from draws import law_p_value
from sumbo import AdditiveGP
from sumbo.errors import ArgumentError
from sumbo.kernels import GroupKernel, as_kernel
from sumbo.sampling.factors import PartFactor
from sumbo.sampling.kronecker import Grid, GridFactor, as_grid, part_factor

SIDES = [(7, 5), (3, 4, 6), (1, 9), (2, 2, 2, 3)]
every_side = pytest.mark.parametrize("sides", SIDES)


def random_grid(rng, sides):
    return Grid(tuple(rng.uniform(-0.2, 1.3, n) for n in sides))


def random_kernel(rng, d, name="rbf", scale=1.0):
    return GroupKernel(
        kernel=as_kernel(name),
        lengthscales=irregular.frozen(scale * rng.uniform(0.2, 0.9, d)),
        variance=float(rng.uniform(0.3, 4.1)),
    )


def implied_covariance(factor, B, N):
    """Return the covariance of (f(Z), f(X)): draws are linear in their white noise."""
    W = np.vstack(factor.draw(np.eye(B + N)))
    return W @ W.T


# ---------------------------------------------------------------------- grids
def test_the_last_axis_runs_fastest():
    grid = Grid((np.array([0.7, 0.2]), np.array([3.1, 5.0, 4.4])))
    expected = [[a, b] for a in (0.7, 0.2) for b in (3.1, 5.0, 4.4)]
    np.testing.assert_array_equal(grid.points(), expected)
    assert len(grid) == 6


def test_a_grid_is_an_array_to_numpy(rng):
    grid = random_grid(rng, (4, 3))
    np.testing.assert_array_equal(np.array(grid, dtype=np.float64), grid.points())
    with pytest.raises(ValueError, match="copy=False"):
        np.array(grid, copy=False)


@pytest.mark.parametrize(
    "axes", [(), (np.empty(0),), (np.array([0.3]), np.ones((2, 2)))]
)
def test_axes_that_are_no_vectors_are_refused(axes):
    with pytest.raises(ArgumentError, match="Pass one vector of values"):
        Grid(axes)


def test_axes_are_copied(rng):
    axis = rng.random(3)
    grid = Grid((axis, axis))
    axis[0] = 17.0
    assert grid.axes[0].max() < 1.0


@every_side
def test_a_grid_is_found_in_its_points(sides, rng):
    grid = random_grid(rng, sides)
    found = as_grid(grid.points())
    assert found is not None
    for axis, expected in zip(found.axes, grid.axes, strict=True):
        np.testing.assert_array_equal(axis, expected)


def test_points_that_are_no_grid_are_seen(rng):
    points = random_grid(rng, (4, 6)).points()
    moved = points.copy()
    moved[13, 1] = moved[14, 1]
    for other in (points[:-1], points[rng.permutation(24)], moved, rng.random((24, 2))):
        assert as_grid(other) is None


# ---------------------------------------------------------------------- the prior
@every_side
@pytest.mark.parametrize("scale", [0.3, 1.0, 20.0])
def test_draws_have_exactly_the_prior_covariance(sides, scale, rng):
    # Long length-scales make the factors of the axes singular in floats.
    kernel = random_kernel(rng, len(sides), scale=scale)
    grid, X = random_grid(rng, sides), rng.uniform(-0.3, 1.4, (6, len(sides)))
    A = np.vstack([grid.points(), X])
    expected = reference.gram("rbf", kernel.lengthscales, kernel.variance, A, A)
    factor = GridFactor.of(kernel, grid, X)
    np.testing.assert_allclose(
        implied_covariance(factor, len(grid), 6),
        expected,
        rtol=0,
        atol=2e-9 * kernel.variance,
    )


def test_data_on_the_grid_have_the_values_of_the_grid(rng):
    kernel, grid = random_kernel(rng, 2), random_grid(rng, (6, 5))
    places = [3, 17, 28]
    factor = GridFactor.of(kernel, grid, grid.points()[places])
    f_Z, f_X = factor.draw(rng.standard_normal((33, 4)))
    np.testing.assert_allclose(f_X, f_Z[places], rtol=0, atol=1e-4)


@every_side
def test_cross_covariance_multiplies_like_the_dense_one(sides, rng):
    kernel = random_kernel(rng, len(sides))
    grid, X = random_grid(rng, sides), rng.uniform(-0.3, 1.4, (6, len(sides)))
    v = rng.standard_normal((6, 3))
    K_ZX = GridFactor.of(kernel, grid, X).K_ZX
    expected = kernel(grid.points(), X) @ v
    np.testing.assert_allclose(K_ZX @ v, expected, rtol=1e-10, atol=1e-12)


def test_a_kernel_that_is_no_product_is_refused(rng):
    kernel, grid = random_kernel(rng, 2, "matern52"), random_grid(rng, (3, 4))
    with pytest.raises(ArgumentError, match=r"'matern52' is no product.*'rbf'"):
        GridFactor.of(kernel, grid, rng.random((2, 2)))


# ---------------------------------------------------------------------- the choice
def test_a_large_grid_of_a_product_kernel_is_drawn_axis_by_axis(rng):
    X = rng.random((5, 2))
    large, small = (
        random_grid(rng, (20, 13)).points(),
        random_grid(rng, (4, 3)).points(),
    )
    rbf = random_kernel(rng, 2)
    matern = random_kernel(rng, 2, "matern52")
    assert isinstance(part_factor(rbf, large, X), GridFactor)
    assert isinstance(part_factor(rbf, small, X), PartFactor)
    assert isinstance(part_factor(rbf, rng.random((260, 2)), X), PartFactor)
    assert isinstance(part_factor(matern, large, X), PartFactor)
    line = random_kernel(rng, 1)
    assert isinstance(part_factor(line, rng.random((260, 1)), X[:, :1]), PartFactor)


def test_posterior_draws_on_a_grid_have_the_dense_law(rng):
    # Matheron's rule by hand, with the factor of the grid; false alarm 1e-6.
    gp = AdditiveGP(
        groups=((0, 1), (2,)),
        kernel="rbf",
        lengthscales=(np.array([0.3, 0.5]), np.array([0.4])),
        variances=np.array([1.7, 0.6]),
        noise=0.05,
        mean=0.3,
    )
    X = rng.random((9, 3))
    post = gp.condition(X, irregular.draw_outputs(rng, gp, X))
    grid, line = random_grid(rng, (3, 2)), rng.random((4, 1))
    n = 20_000
    f = [
        GridFactor.of(gp.kernels[0], grid, X[:, :2]),
        PartFactor.of(gp.kernels[1], line, X[:, 2:]),
    ]
    noises = [rng.standard_normal((B + 9, n)) for B in (6, 4)]
    draws = [factor.draw(xi) for factor, xi in zip(f, noises, strict=True)]
    epsilon = np.sqrt(gp.noise) * rng.standard_normal((9, n))
    misfit = (post.y - gp.mean)[:, None] - epsilon - draws[0][1] - draws[1][1]
    v = np.linalg.solve(reference.observed_covariance(gp, X), misfit)
    values = np.vstack(
        [f_Z + factor.K_ZX @ v for (f_Z, _), factor in zip(draws, f, strict=True)]
    )
    Z = [grid, line]
    mean = np.concatenate([part.mean for part in post.parts(Z)])
    cov = post.joint_covariance(Z)
    assert law_p_value(values.T, mean, cov, floor=1e-6) > 1e-6
