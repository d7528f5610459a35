"""Weight space: both forms draw from the exact posterior; quadrature is the kernel."""

import numpy as np
import pytest

from draws import law_p_value
from irregular import frozen
from reference import condition, finite_difference, gram
from sumbo.methods.qff.weights import (
    sample_by_features,
    sample_by_observations,
    sample_weights,
)
from sumbo.sampling.features import quadrature_features

FORMS = [sample_by_observations, sample_by_features]


class Chosen(np.random.Generator):
    """A generator whose normals are given: one unit vector after the other."""

    def __init__(self, unit, n):
        super().__init__(np.random.PCG64(0))
        self.unit, self.n, self.used = unit, n, 0

    def standard_normal(self, size):
        rows, columns = size
        out = np.zeros((rows, columns))
        if self.unit:
            # Column j of all draws together is the j-th unit vector.
            for j in range(self.used, self.used + rows):
                out[j - self.used, j] = 1.0
        self.used += rows
        return out


def features_and_posterior(rng, d, N, lengthscale=0.3, nodes=24, noise=0.037):
    """Return features of data and of points, and the exact posterior of the points."""
    phi = quadrature_features(np.full(d, lengthscale), [nodes] * d, 1.7)
    X, Z = rng.beta(0.8, 1.3, (N, d)), rng.random((5, d))
    y = np.sin(5 * X).sum(axis=1) + 0.3 * rng.standard_normal(N)
    l = np.full(d, lengthscale)
    mean, cov = condition(
        np.zeros(len(Z)),
        gram("rbf", l, 1.7, Z, Z),
        gram("rbf", l, 1.7, Z, X),
        0.0,
        gram("rbf", l, 1.7, X, X) + noise * np.eye(N),
        y,
    )
    return frozen(phi(X)), phi(Z), frozen(y), noise, mean, cov


@pytest.mark.parametrize("N", [6, 70])
@pytest.mark.parametrize("form", FORMS)
def test_mean_and_covariance_are_those_of_the_exact_posterior(rng, form, N):
    # Draws are affine in their normals: zeros give the mean, unit vectors a root of
    # the covariance, without any sampling error.
    Phi, Phi_Z, y, noise, mean, cov = features_and_posterior(rng, 1, N)
    F = Phi.shape[1]
    normals = F + N if form is sample_by_observations else F
    center = form(Chosen(unit=False, n=1), Phi, y, noise, 1)[0]
    moved = form(Chosen(unit=True, n=normals), Phi, y, noise, normals)
    root = Phi_Z @ (moved - center).T
    np.testing.assert_allclose(Phi_Z @ center, mean, atol=1e-8)
    np.testing.assert_allclose(root @ root.T, cov, atol=1e-8)


@pytest.mark.statistical
@pytest.mark.parametrize("form", FORMS)
def test_draws_follow_the_exact_posterior(rng, form):
    # False alarm 1e-6.
    Phi, Phi_Z, y, noise, mean, cov = features_and_posterior(rng, 2, 15, 0.5, 16)
    draws = form(rng, Phi, y, noise, 3000) @ Phi_Z.T
    assert law_p_value(draws, mean, cov) > 1e-6


def test_the_smaller_matrix_decides_the_form(rng):
    Phi, _, y, noise, _, _ = features_and_posterior(rng, 1, 30, nodes=24)
    assert Phi.shape == (30, 24)
    for rows, form in ((30, sample_by_features), (23, sample_by_observations)):
        one = sample_weights(np.random.default_rng(8), Phi[:rows], y[:rows], noise, 2)
        other = form(np.random.default_rng(8), Phi[:rows], y[:rows], noise, 2)
        np.testing.assert_array_equal(one, other)


def test_repeated_observations_are_no_trouble(rng):
    Phi, _, y, noise, _, _ = features_and_posterior(rng, 1, 9)
    twice = sample_weights(rng, np.vstack([Phi] * 2), np.tile(y, 2), noise, 3)
    assert twice.shape == (3, Phi.shape[1])
    assert np.isfinite(twice).all()


# ---------------------------------------------------------------------- quadrature
def kernel_error(d, lengthscale, nodes, signed_corners):
    """Return the largest error of the feature kernel over differences of points."""
    phi = quadrature_features(np.full(d, lengthscale), [nodes] * d)
    axis = np.linspace(0.0, 1.0, 401 if d == 1 else 41)
    Z = np.stack(np.meshgrid(*[axis] * d, indexing="ij"), -1).reshape(-1, d)
    # Stationary: differences from corners of the cube run through all differences.
    corners = np.array(signed_corners, dtype=float)
    wanted = gram("rbf", np.full(d, lengthscale), 1.0, corners, Z)
    return np.abs(phi(corners) @ phi(Z).T - wanted).max()


@pytest.mark.parametrize("d", [1, 2])
def test_sixty_four_nodes_are_the_kernel_at_a_tenth(d):
    corners = [[0]] if d == 1 else [[0, 0], [1, 0]]
    assert kernel_error(d, 0.1, 64, corners) < 1e-9


def test_too_few_nodes_are_another_kernel():
    # The failure is abrupt: a factor of about 100 for every eight nodes.
    errors = {n: kernel_error(1, 0.1, n, [[0]]) for n in (24, 32, 40, 48)}
    assert errors[24] > 0.9
    assert 0.3 < errors[32] < 0.5
    assert 0.01 < errors[40] < 0.03
    assert errors[48] < 3e-4


def test_gradient_of_a_draw_equals_finite_differences(rng):
    phi = quadrature_features(np.array([0.1, 0.17]), [64, 32], 0.6)
    w = rng.standard_normal(2 * len(phi.weights))
    z = rng.random(2)
    numeric = finite_difference(lambda z: (phi(z[None]) @ w)[0], z)
    np.testing.assert_allclose(phi.gradient(z[None], w)[0], numeric, rtol=1e-5)
