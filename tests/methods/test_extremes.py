"""Draws of a part's minimum against the product of normal distributions."""

from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq

from irregular import frozen
from sumbo.acquisition.normal import log_cdf_and_ratio
from sumbo.methods.max.extremes import (
    EXTREMES,
    quantiles_of_minimum,
    sample_by_gumbel,
    sample_by_inverse,
)


def random_part(rng, B):
    """Return means and deviations on an uneven grid."""
    return frozen(rng.normal(0.7, 1.3, B)), frozen(np.exp(rng.uniform(-3.0, 0.5, B)))


def log_survival(y, mean, sd):
    """Return log P(min > y) of independent normals."""
    return stats.norm.logsf(y[:, None], mean, sd).sum(axis=1)


def test_the_logarithm_of_the_distribution_function_is_scipys():
    # On both sides of where the formula changes, far out, and in any shape.
    z = np.r_[-37.3, -9.1, np.linspace(-1.6, -1.4, 11), -0.3, 0.8, 6.2, 41.0]
    log_cdf, ratio = log_cdf_and_ratio(z.reshape(1, -1))
    np.testing.assert_allclose(log_cdf[0], stats.norm.logcdf(z), rtol=1e-13, atol=0)
    expected = np.exp(stats.norm.logpdf(z) - stats.norm.logcdf(z))
    np.testing.assert_allclose(ratio[0], expected, rtol=1e-12)


@pytest.mark.parametrize("B", [1, 3, 400, 7013])
def test_quantiles_invert_the_survival_function(rng, B):
    mean, sd = random_part(rng, B)
    p = np.array([1e-12, 0.03, 0.41, 0.77, 0.999])
    y = quantiles_of_minimum(p, mean, sd)
    np.testing.assert_allclose(log_survival(y, mean, sd), np.log(p), rtol=1e-8)


def test_quantiles_survive_deviations_of_very_different_size(rng):
    # The lowest mean is known to a millionth; most of the others are not at all.
    mean = frozen(np.r_[-1.7, rng.normal(0.2, 0.5, 60)])
    sd = frozen(np.r_[1e-6, np.exp(rng.uniform(-12.0, 1.0, 60))])
    p = np.array([0.001, 0.2, 0.6, 0.95])
    y = quantiles_of_minimum(p, mean, sd)

    def excess(v, u):
        return log_survival(np.array([v]), mean, sd)[0] - np.log(u)

    exact: list[Any] = [brentq(excess, -40, 9, args=(u,), xtol=1e-13) for u in p]
    np.testing.assert_allclose(y, exact, atol=1e-9)


def test_quantiles_of_one_point_are_those_of_the_normal():
    y = quantiles_of_minimum(np.array([0.2, 0.9]), np.array([1.3]), np.array([0.6]))
    np.testing.assert_allclose(y, stats.norm(1.3, 0.6).isf([0.2, 0.9]), rtol=1e-10)


@pytest.mark.statistical
def test_inverse_draws_follow_the_mean_field_law(rng):
    # Kolmogorov-Smirnov on exact uniforms: a false alarm in 1e-6 of runs.
    mean, sd = random_part(rng, 230)
    draws = sample_by_inverse(rng, mean, sd, 4000)
    uniform = np.exp(log_survival(draws, mean, sd))
    assert stats.kstest(uniform, "uniform")[1] > 1e-6


@pytest.mark.statistical
def test_inverse_draws_are_minima_of_independent_normals(rng):
    # Two-sample Kolmogorov-Smirnov: a false alarm in 1e-6 of runs.
    mean, sd = random_part(rng, 40)
    direct = (mean + sd * rng.standard_normal((3000, 40))).min(axis=1)
    draws = sample_by_inverse(rng, mean, sd, 3000)
    test: Any = stats.ks_2samp(direct, draws)
    assert test.pvalue > 1e-6


@pytest.mark.statistical
def test_gumbel_draws_have_the_quartiles_of_the_mean_field(rng):
    # Counts below the three quartiles are multinomial: a false alarm in 1e-6 of runs.
    mean, sd = random_part(rng, 230)
    edges = quantiles_of_minimum(np.array([0.75, 0.5, 0.25]), mean, sd)
    draws = sample_by_gumbel(rng, mean, sd, 4000)
    above = [(draws > edge).sum() for edge in edges]
    # The median is matched exactly; of the quartiles only the distance is.
    assert stats.binomtest(int(above[1]), 4000, 0.5).pvalue > 1e-6
    b = (edges[2] - edges[0]) / (np.log(np.log(4)) - np.log(np.log(4 / 3)))
    a = edges[1] - b * np.log(np.log(2))
    law = stats.gumbel_l(a, b)
    assert stats.kstest(draws, law.cdf)[1] > 1e-6
    np.testing.assert_allclose(law.ppf(0.75) - law.ppf(0.25), edges[2] - edges[0])


def test_gumbel_law_is_near_the_mean_field_on_a_large_even_grid(rng):
    # The minimum of many equal normals tends to a Gumbel law: 1.2e-2 at B = 3 000.
    mean, sd = np.full(3000, 0.4), np.full(3000, 0.7)
    draws = np.sort(sample_by_gumbel(rng, mean, sd, 20_000))
    exact = 1 - np.exp(log_survival(draws[::200], mean, sd))
    seen = np.arange(0, 20_000, 200) / 20_000
    assert np.abs(exact - seen).max() < 0.04


@pytest.mark.parametrize("how", ["cdf", "gumbel"])
def test_draws_depend_on_the_generator_alone(rng, how):
    mean, sd = random_part(rng, 30)
    first, second = (
        EXTREMES[how](np.random.default_rng(611), mean, sd, 7) for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)
    assert np.isfinite(first).all()
