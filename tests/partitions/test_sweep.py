"""Sweeps over partitions: densities of fits, stationarity, limits, repeatability."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.special import softmax

import reference
from partition_cases import MIXED, Case, all_partitions, box, chi_square
from sumbo.errors import ArgumentError
from sumbo.gp.fit import Priors
from sumbo.partitions.coordinates import carried
from sumbo.partitions.metropolis import walk
from sumbo.partitions.partition import (
    exchange,
    singletons,
    split_or_merge,
    with_residual,
)
from sumbo.partitions.sweep import (
    PartitionPosterior,
    PartitionSweep,
    gibbs_sweep,
    run_sweeps,
)
from sumbo.structure import expand


def log_posterior(gp, U, y):
    """Return the density of a fit, parameters included, of standardised values."""
    p = Priors()
    K = reference.observed_covariance(gp, U)
    best = replace(gp, mean=reference.generalised_least_squares_mean(K, y))
    total = reference.log_likelihood(best, U, y)
    for l in reference.lengthscales_of(gp):
        mode = p.lengthscale * math.sqrt(len(l))
        total += reference.log_prior(l, mode, p.lengthscale_sd)
    total += reference.log_prior(gp.variances, 1 / len(gp.groups), p.variance_sd)
    return total + reference.log_prior(gp.noise, p.noise, p.noise_sd)


# ---------------------------------------------------------------------- fits
@pytest.mark.parametrize("penalty", [1.0, 2.3])
@pytest.mark.parametrize("bounds", [box(4), MIXED], ids=["reals", "mixed"])
def test_fitted_partitions_have_the_density_of_their_fit(rng, bounds, penalty):
    data = Case(rng, bounds, 15).data
    settings = PartitionSweep(penalty=penalty)
    posterior = PartitionPosterior(data=data, max_size=4, settings=settings)
    start = posterior.fit_singletons()
    for now in [start, *run_sweeps(rng, posterior, start, 2)]:
        merged = sum(len(group) - 1 for group in now.groups)
        exact = log_posterior(now.gp, data.U, data.y) - penalty * merged
        assert now.log_density == pytest.approx(exact, rel=1e-7, abs=1e-5)
        assert now.gp.groups == expand(now.groups, data.domain.blocks)


def test_a_fit_with_a_residual_part_has_the_density_of_all_parameters(rng):
    case = Case(rng, box(4), 15)
    groups = with_residual(((0, 2), (1,), (3,)))
    now = case.posterior.fit(groups, case.posterior.fit_singletons().gp)
    penalty = case.posterior.settings.penalty  # of one merged parameter
    exact = log_posterior(now.gp, case.data.U, case.data.y) - penalty
    assert now.log_density == pytest.approx(exact, rel=1e-7, abs=1e-5)


def test_a_fit_starts_where_the_other_structure_ended(rng):
    case = Case(rng, box(4), 15)
    gp = case.posterior.fit_singletons().gp
    groups = ((0, 2), (1,), (3,))
    start = carried(gp, groups, 0.1)
    before = log_posterior(start, case.data.U, case.data.y)
    fitted = case.posterior.fit(groups, gp, steps=1)
    penalty = case.posterior.settings.penalty
    assert fitted.log_density >= before - penalty - 1e-6


# ---------------------------------------------------------------------- sweeps
@pytest.mark.statistical
@pytest.mark.parametrize("max_size", [2, 4])
def test_a_sweep_keeps_the_distribution_over_all_partitions(rng, max_size):
    # Exact draws of the partition stay exact draws under draws of groups, exchanges,
    # splits and merges; chi-square over all partitions, a false alarm in 1e-6 of runs.
    case = Case(rng, box(4), 8, noise=0.15, max_size=max_size)
    states = all_partitions(4, max_size)
    conditional = case.conditional()
    exact = softmax([case.log_density(p) for p in states])
    n = 800
    counts = np.zeros(len(states))
    stayed = 0
    for i in rng.choice(len(states), size=n, p=exact):
        partition, _ = gibbs_sweep(rng, conditional, states[i], 100)
        for propose in (exchange, partial(split_or_merge, max_size=max_size)):
            made = walk(rng, partition, conditional.log_density, propose, 2)
            partition = made[-1].state
        after = states.index(partition)
        counts[after] += 1
        stayed += after == i
    assert stayed < 0.8 * n
    assert chi_square(counts, n * exact) > 1e-6


def test_a_gibbs_sweep_draws_every_parameter_once(rng):
    case = Case(rng, box(4), 8, noise=0.15)
    partition, draws = gibbs_sweep(rng, case.conditional(), singletons(4), 100)
    assert set(draws) == {0, 1, 2, 3}
    assert partition in {draw.partition for draw in draws.values()}


def test_with_many_parameters_a_sweep_draws_the_groups_of_some(rng):
    case = Case(rng, box(9), 8)
    seen = set()
    for _ in range(4):
        _, draws = gibbs_sweep(rng, case.conditional(), singletons(9), 25)
        counts = [draw.likelihoods for draw in draws.values()]
        # The draw that exceeds the limit is the last one.
        assert sum(counts[:-1]) <= 25 < sum(counts)
        assert len(draws) < 9
        seen |= set(draws)
    assert len(seen) > 4  # in random order: not always the same ones


def test_every_sweep_gives_a_co_membership(rng):
    case = Case(rng, box(3), 12)
    start = case.posterior.fit_singletons()
    assert start.co_membership is None
    for now in run_sweeps(rng, case.posterior, start, 3):
        C = now.co_membership
        assert C is not None
        np.testing.assert_allclose(C, C.T)
        np.testing.assert_allclose(C.diagonal(), 1.0)
        assert 0.0 <= C.min() <= C.max() <= 1.0 + 1e-12


@pytest.mark.parametrize("max_size", [1, 2])
def test_sweeps_stay_within_the_size_limit(rng, max_size):
    case = Case(rng, box(5), 12, max_size=max_size)
    made = run_sweeps(rng, case.posterior, case.posterior.fit_singletons(), 3)
    assert len(made) == 3
    for now in made:
        assert sorted(k for g in now.groups for k in g) == list(range(5))
        assert max(map(len, now.groups)) <= max_size


def test_coordinates_of_one_parameter_stay_together(rng):
    case = Case(rng, MIXED, 12)
    start = case.posterior.fit_singletons()
    for now in run_sweeps(rng, case.posterior, start, 3):
        assert sum({1, 2, 3} <= set(group) for group in now.gp.groups) == 1


def ends(seed, case, own_spread, sweeps):
    """Return the densities after sweeps with these shares of the spread."""
    settings = PartitionSweep(own_spread=own_spread)
    posterior = replace(case.posterior, settings=settings)
    rng = np.random.default_rng(seed)
    made = run_sweeps(rng, posterior, posterior.fit_singletons(), sweeps)
    return [now.log_density for now in made]


@pytest.mark.parametrize(
    ("sweeps", "same"), [(1, (1.0,)), (2, (0.5, 1.0)), (4, (1.0, 0.0, 0.5, 1.0))]
)
def test_the_last_sweep_has_the_last_share_of_the_spread(rng, sweeps, same):
    case = Case(rng, box(4), 14, noise=0.4)
    found = ends(5, case, (0.0, 0.5, 1.0), sweeps)
    assert found == ends(5, case, same, sweeps)
    # The check can fail: the order of the shares matters.
    assert ends(5, case, (0.0,), 4) != ends(5, case, (1.0,), 4)


def test_sweeps_depend_on_the_generator_alone(rng):
    case = Case(rng, box(4), 10, noise=1.1)
    start = case.posterior.fit_singletons()
    once, again, other = (
        run_sweeps(np.random.default_rng(seed), case.posterior, start, 4)
        for seed in (6, 6, 7)
    )
    assert [now.groups for now in once] == [now.groups for now in again]
    densities = [[now.log_density for now in made] for made in (once, again, other)]
    assert densities[0] == densities[1] != densities[2]


# ---------------------------------------------------------------------- settings
@pytest.mark.parametrize(
    "setting",
    [
        {"penalty": -0.1},
        {"own_spread": (0.5, 1.2)},
        {"fit_steps": 0},
        {"max_likelihoods": True},
        {"max_splits": -1},
        {"residual_share": math.nan},
    ],
)
def test_settings_that_cannot_be_used_are_named(setting):
    with pytest.raises(ArgumentError, match=next(iter(setting))):
        PartitionSweep(**setting)
