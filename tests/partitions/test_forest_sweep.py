"""Sweeps over forests: densities against dense formulas, and stationarity."""

from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from scipy.special import softmax

import reference
from forests import FORESTS, chain_data, mixed_data
from sumbo import AdditiveGP
from sumbo.errors import ArgumentError
from sumbo.partitions.coordinates import per_coordinate_of_overlapping
from sumbo.partitions.forest import change_edge, edge_weights, forest_groups, move_end
from sumbo.partitions.forest_sweep import (
    ForestPosterior,
    ForestSweep,
    affinity,
    log_forest_prior,
    run_forest_sweeps,
)
from sumbo.partitions.metropolis import in_turn, walk
from sumbo.structure import expand


# ---------------------------------------------------------------------- densities
def test_affinity_is_the_slope_of_the_evidence_in_the_variance_of_a_pair():
    data = chain_data(15)
    gp = ForestPosterior(data=data).fit_singletons().gp
    slopes = affinity(data, gp)
    parts = [
        kernel(data.U[:, list(g)], data.U[:, list(g)])
        for g, kernel in zip(gp.groups, gp.kernels, strict=True)
    ]
    K = sum(parts) + gp.noise * np.eye(15)
    normal = partial(stats.multivariate_normal, np.zeros(15))
    y, h = data.y - gp.mean, 1e-5
    for p, q in combinations(range(6), 2):
        pair = parts[p] * parts[q] / (gp.variances[p] * gp.variances[q])
        up, down = (normal(K + s * h * pair).logpdf(y) for s in (1, -1))
        assert slopes[p, q] == pytest.approx((up - down) / (2 * h), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("penalty", [1.0, 0.4])
@pytest.mark.parametrize("forest", [(), ((0, 1),), ((0, 1), (1, 2))])
def test_the_density_is_that_of_the_dense_model_of_the_forest(forest, penalty):
    data = mixed_data(11)
    posterior = ForestPosterior(data=data, settings=ForestSweep(penalty=penalty))
    start = posterior.fit(((0, 2),), posterior.fit_singletons().gp).gp
    length, share = per_coordinate_of_overlapping(start)
    groups = expand(forest_groups(forest, 3), data.domain.blocks)
    degree = np.bincount([p for g in groups for p in g], minlength=5)
    # As in ``fit``: what is drawn is the structure of the model that is then used.
    gp = AdditiveGP(
        groups=groups,
        lengthscales=[length[list(g)] * np.sqrt(len(g)) for g in groups],
        variances=[(share / degree)[list(g)].sum() for g in groups],
        noise=start.noise,
        mean=start.mean,
    )
    exact = reference.log_likelihood(gp, data.U, data.y) + 11 / 2 * np.log(2 * np.pi)
    found = posterior.given(start).log_density(forest)
    # With three parameters, log((K − 1)/2) = 0.
    assert found == pytest.approx(exact - penalty * len(forest), rel=1e-9)


@pytest.mark.parametrize("own", [0.0, 0.5])
def test_parameters_are_shrunk_towards_their_geometric_mean(own):
    data = chain_data(13)
    posterior = ForestPosterior(data=data)
    gp = posterior.fit_singletons().gp
    length, share = (
        x**own * stats.gmean(x) ** (1 - own) for x in (gp.lengthscales, gp.variances)
    )
    shrunk = replace(gp, lengthscales=length, variances=share)
    exact = reference.log_likelihood(shrunk, data.U, data.y)
    found = posterior.given(gp, own).log_density(())
    assert found == pytest.approx(exact + 13 / 2 * np.log(2 * np.pi), rel=1e-9)


def test_edges_expected_without_data_grow_as_the_parameters():
    # Were edges independent, K(K − 1)/2 of them with odds exp(log p) would number K/e.
    for K in (4, 17, 60):
        odds = np.exp(log_forest_prior(((0, 1),), K, 1.0))
        assert K * (K - 1) / 2 * odds == pytest.approx(K / np.e)
        two = log_forest_prior(((0, 1), (1, 3)), K, 1.0)
        assert two == pytest.approx(2 * np.log(odds))


# ---------------------------------------------------------------------- the walk
@pytest.mark.statistical
def test_the_walk_has_the_stationary_distribution(rng):
    # False alarm 1e-5; twelve steps between kept states leave little correlation.
    def log_density(forest):
        return float(0.9 * np.cos(sum(3 * i + 5 * j + 1 for i, j in forest)))

    weights = edge_weights(rng.standard_normal((4, 4)), 0.5)
    propose = in_turn(partial(change_edge, weights=weights), partial(move_end, K=4))
    n = 600
    made = walk(rng, (), log_density, propose, 12 * n)
    seen = [step.state for step in made[12::12]]
    counts = [seen.count(forest) for forest in FORESTS]
    expected = n * softmax([log_density(forest) for forest in FORESTS])
    assert sum(counts) == n
    assert stats.chisquare(counts, expected).pvalue > 1e-5


def test_sweeps_return_forests_with_their_fits(rng):
    data = chain_data(20)
    posterior = ForestPosterior(data=data)
    alone = posterior.fit_singletons()
    weights = edge_weights(affinity(data, alone.gp), 0.5)
    made = run_forest_sweeps(rng, posterior, weights, alone, 3)
    assert len(made) == 3
    for now in made:
        assert now.gp.groups == forest_groups(now.forest, 6)


def test_sweeps_depend_on_the_generator_alone(rng):
    data = chain_data(20)
    posterior = ForestPosterior(data=data)
    alone = posterior.fit_singletons()
    weights = edge_weights(affinity(data, alone.gp), 0.5)
    once, again = (
        run_forest_sweeps(np.random.default_rng(6), posterior, weights, alone, 2)
        for _ in range(2)
    )
    assert [now.forest for now in once] == [now.forest for now in again]
    assert [now.gp.noise for now in once] == [now.gp.noise for now in again]


# ---------------------------------------------------------------------- settings
@pytest.mark.parametrize(
    "setting",
    [
        {"penalty": -0.1},
        {"own_spread": ()},
        {"even_share": 1.3},
        {"max_steps": 0},
        {"steps_per_parameter": -6},
    ],
)
def test_settings_that_cannot_be_used_are_named(setting):
    with pytest.raises(ArgumentError, match=next(iter(setting))):
        ForestSweep(**setting)
