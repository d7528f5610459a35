"""The log density of packed covariance matrices, and the packed layout itself."""

import numpy as np
import pytest
from scipy import stats

from irregular import frozen
from sumbo.linalg import pack_lower
from sumbo.partitions.density import diagonal, distances, log_density


@pytest.mark.parametrize("N", [1, 2, 7])
def test_the_log_density_is_that_of_a_normal_distribution_less_its_constant(N, rng):
    A = rng.normal(0.3, 1.2, (N, N + 2))
    K = A @ A.T + 0.13 * np.eye(N)
    y = frozen(rng.normal(0.4, 1.7, N))
    exact = stats.multivariate_normal(np.zeros(N), K).logpdf(y)
    found = log_density(frozen(pack_lower(K)), y)
    assert found - N / 2 * np.log(2 * np.pi) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("N", [1, 2, 6])
def test_the_diagonal_is_where_an_observation_meets_itself(N):
    i, j = np.triu_indices(N)
    np.testing.assert_array_equal(diagonal(N), np.flatnonzero(i == j))


@pytest.mark.parametrize(
    "blocks", [((0,), (1,), (2,), (3,)), ((2,), (0,), (3,), (1,)), ((0, 3), (1,), (2,))]
)
def test_distances_are_squared_and_summed_over_the_coordinates_of_a_parameter(
    blocks, rng
):
    U = frozen(rng.normal(0.2, 0.7, (5, 4)))
    i, j = np.triu_indices(5)
    exact = [((U[i] - U[j])[:, list(block)] ** 2).sum(axis=1) for block in blocks]
    np.testing.assert_allclose(distances(U, blocks), exact, rtol=1e-12, atol=1e-15)
