"""The laws of all samplers over many irregular settings; minutes, not seconds.

Run with ``-m statistical``. ``SUMBO_TEST_SEED=1`` repeats everything with other data.
Every test is a false alarm with probability 1e-6; any of about a hundred, with 1e-4.
"""

import numpy as np
import pytest
from scipy import stats

import irregular
import reference
from draws import law_p_value
from sumbo import AdditiveGP

pytestmark = [pytest.mark.statistical, pytest.mark.slow]

EXACT = ("naive", "joint", "sequential")
ALARM = 1e-6
FLOOR = 1e-6  # of the prior variance; samplers may add jitter of 1e-10 per part

every_exact = pytest.mark.parametrize("how", EXACT)


def stacked(draws):
    return np.hstack(draws)


@every_exact
@pytest.mark.parametrize("trial", range(12))
def test_draws_have_the_exact_law_at_random_settings(how, trial, rng):
    # M from 2 to 12, groups of 1, 2, 3 coordinates, shared ones, all kernels, noise
    # from 1e-6 to 1, 1 to 6 candidates per group.
    s = irregular.random_setting(rng)
    draws = stacked(s.post.sample(s.Z, n=40_000, how=how, seed=trial))
    assert law_p_value(draws, *s.exact, floor=FLOOR * s.scale) > ALARM


@every_exact
@pytest.mark.parametrize("kernel", irregular.KERNELS)
@pytest.mark.parametrize(("M", "noise"), [(2, 0.6), (12, 1e-6), (12, 1e-3), (12, 1.0)])
def test_draws_have_the_exact_law_for_every_kernel(how, kernel, M, noise, rng):
    s = irregular.random_setting(rng, M=M, kernel=kernel, noise=noise)
    draws = stacked(s.post.sample(s.Z, n=20_000, how=how, seed=1))
    assert law_p_value(draws, *s.exact, floor=FLOOR * s.scale) > ALARM


@pytest.mark.parametrize("trial", range(8))
def test_marginal_draws_have_exact_blocks_and_none_between_parts(trial, rng):
    s = irregular.random_setting(rng)
    draws = stacked(s.post.sample(s.Z, n=40_000, how="marginal", seed=trial))
    mean, cov = s.exact[0], irregular.block_diagonal(s)
    assert law_p_value(draws, mean, cov, floor=FLOOR * s.scale) > ALARM


@every_exact
@pytest.mark.parametrize("kernel", irregular.KERNELS)
def test_draws_at_coinciding_candidates_have_the_exact_law(how, kernel, rng):
    s = irregular.random_setting(rng, M=4, N=6, kernel=kernel, noise=1e-4)
    Z = irregular.with_coincidences(s)
    draws = stacked(s.post.sample(Z, n=20_000, how=how, seed=2))
    exact = reference.posterior_of_parts(s.gp, s.X, s.y, Z)
    assert law_p_value(draws, *exact, floor=FLOOR * s.scale) > ALARM


@pytest.mark.parametrize("how", ["joint", "sequential"])
@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
@pytest.mark.parametrize("noise", [1e-6, 1e-2])
def test_draws_at_many_close_candidates_have_the_exact_law(how, kernel, noise, rng):
    # The size of a real run: 120 observations, 500 candidates on a line per group,
    # where prior covariances are singular in floats. 16 candidates are looked at.
    gp = AdditiveGP(
        groups=[(0,), (1, 2), (2,)],
        kernel=kernel,
        lengthscales=[[0.31], [0.47, 0.72], [0.58]],
        variances=[1.3, 0.7, 0.4],
        noise=noise,
    )
    X = rng.random((120, 3))
    y = irregular.draw_outputs(rng, gp, X)
    Z = [rng.random((500, len(group))) for group in gp.groups]
    draws = gp.condition(X, y).sample(Z, n=20_000, how=how, seed=3)
    picks = [rng.choice(500, k, replace=False) for k in (5, 7, 4)]
    looked_at = np.hstack([d[:, i] for d, i in zip(draws, picks, strict=True)])
    chosen = [Zm[i] for Zm, i in zip(Z, picks, strict=True)]
    exact = reference.posterior_of_parts(gp, X, y, chosen)
    assert law_p_value(looked_at, *exact, floor=FLOOR * 2.4) > ALARM


@every_exact
@pytest.mark.parametrize("noise", [1e-4, 1e-2, 0.4])
def test_draws_of_the_sum_at_the_data_have_the_law_of_the_sum(how, noise, rng):
    # Σ_m f_m(X) given y is known to about the noise: errors of one part must be
    # undone by the others, through the blocks between parts.
    s = irregular.random_setting(rng, M=6, N=12, kernel="matern32", noise=noise)
    draws = s.post.sample(reference.project(s.gp, s.X), n=20_000, how=how, seed=4)
    total = s.gp.mean + sum(draws)
    mean, cov = reference.posterior_of_sum(s.gp, s.X, s.y, s.X)
    assert law_p_value(total, mean, cov, floor=1e-7 * s.scale) > ALARM


def path_values(post, Z, count, **settings):
    rows = []
    for seed in range(count):
        path = post.sample_path(seed=seed, **settings)
        parts = zip(path.parts, Z, strict=True)
        rows.append(np.concatenate([part(Zm) for part, Zm in parts]))
    return np.array(rows)


def path_setting(rng, kernel, groups):
    gp = irregular.random_gp(rng, groups, kernel, noise=0.02)
    X = rng.random((9, gp.dim))
    y = irregular.draw_outputs(rng, gp, X)
    Z = [rng.random((k + 1, len(group))) for k, group in enumerate(groups)]
    return irregular.Setting(gp=gp, X=X, y=y, Z=Z)


def test_paths_of_quadrature_features_have_the_exact_law(rng):
    s = path_setting(rng, "rbf", ((0,), (2, 1), (1,)))
    draws = path_values(s.post, s.Z, 20_000)
    assert law_p_value(draws, *s.exact, floor=FLOOR * s.scale) > ALARM


@pytest.mark.parametrize("kernel", ["matern12", "matern32", "matern52"])
def test_paths_of_random_features_have_the_exact_mean_and_covariance(kernel, rng):
    # Drawn anew for every path, features give two exact moments at any number.
    s = path_setting(rng, kernel, ((0, 1, 2), (1,)))
    draws = path_values(s.post, s.Z, 8_000, features=64)
    mean, cov = s.exact
    deviation = draws - mean
    products = np.einsum("ni,nj->nij", deviation, deviation).reshape(len(draws), -1)
    both = np.hstack([deviation, products - cov.ravel()])
    z = both.mean(axis=0) / (both.std(axis=0) / np.sqrt(len(both)))
    assert 2 * stats.norm.sf(np.abs(z)).min() * len(z) > ALARM
