"""The distribution of a partition given parameters: dense formulas and enumeration."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.special import softmax

from partition_cases import MIXED, Case, all_partitions, box, chi_square, observed
from sumbo.partitions.conditional import co_membership_of
from sumbo.partitions.partition import group_with, singletons
from sumbo.partitions.sweep import PartitionPosterior

ALL_OF_FOUR = all_partitions(4, 4)


def choices_of(partition, j, max_size=4):
    """Return every partition that differs in the group of j alone."""

    def without(p):
        return {tuple(k for k in g if k != j) for g in p} - {()}

    states = all_partitions(4, max_size)
    return [p for p in states if without(p) == without(partition)]


# ---------------------------------------------------------------------- log density
def assert_densities(case, conditional, partitions, **parameters):
    constant = 0.5 * len(case.data.y) * math.log(2 * math.pi)
    for partition in partitions:
        exact = case.log_density(partition, **parameters) + constant
        found = conditional.log_density(partition)
        assert found == pytest.approx(exact, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", "matern12", "matern32", "matern52"])
def test_the_density_is_the_likelihood_of_the_dense_model_and_the_prior(rng, kernel):
    case = Case(rng, box(4), 9, kernel=kernel)
    assert_densities(case, case.conditional(), ALL_OF_FOUR)


def test_the_density_with_integers_and_choices_is_that_of_the_dense_model(rng):
    # A choice has three coordinates: groups count coordinates, not parameters.
    case = Case(rng, MIXED, 9)
    assert_densities(case, case.conditional(), all_partitions(3, 3))


@pytest.mark.parametrize("own", [0.0, 0.5])
def test_parameters_are_shrunk_towards_their_geometric_mean(rng, own):
    case = Case(rng, box(4), 9)
    length, share = (
        x**own * stats.gmean(x) ** (1 - own) for x in (case.length, case.share)
    )
    conditional = case.conditional(own)
    assert_densities(case, conditional, ALL_OF_FOUR, length=length, share=share)


def test_members_of_a_group_share_its_variance_equally(rng):
    case = Case(rng, box(4), 9)
    conditional = case.posterior.given(case.gp(((0,), (1, 2, 3))))
    share = case.share.copy()
    share[1:] = share[1:].mean()
    assert_densities(case, conditional, ALL_OF_FOUR, share=share)


def test_a_residual_part_does_not_change_the_distribution_of_the_partition(rng):
    case = Case(rng, box(4), 9)
    plain = case.gp(singletons(4))
    more = replace(
        plain,
        groups=(*singletons(4), (0, 1, 2, 3)),
        lengthscales=[*plain.lengthscales, np.array([0.3, 0.5, 0.9, 0.4])],
        variances=[*plain.variances, 0.37],
    )
    assert_densities(case, case.posterior.given(more), ALL_OF_FOUR)


def test_the_density_is_right_after_draws(rng):
    # Covariances that were kept belong to the partition that is asked for.
    case = Case(rng, box(4), 9)
    conditional = case.conditional()
    for partition in ALL_OF_FOUR:
        conditional.draw_group(rng, partition, int(rng.integers(4)))
        assert_densities(case, conditional, [partition])


# ---------------------------------------------------------------------- Gibbs draws
@pytest.mark.parametrize(
    ("partition", "j", "count"),
    [(((0, 2), (1,), (3,)), 2, 4), (((0, 1), (2, 3)), 3, 3), (((0, 1, 2, 3),), 1, 2)],
)
def test_the_group_of_one_parameter_has_its_conditional_distribution(
    rng, partition, j, count
):
    # Chi-square over all choices; a false alarm in 1e-6 of runs.
    case = Case(rng, box(4), 8, noise=0.15)
    conditional = case.conditional()
    choices = choices_of(partition, j)
    assert len(choices) == count
    exact = softmax([case.log_density(p) for p in choices])
    n = 500
    counts = dict.fromkeys(choices, 0)
    for _ in range(n):
        draw = conditional.draw_group(rng, partition, j)
        assert draw.likelihoods == count
        counts[draw.partition] += 1
    assert chi_square(list(counts.values()), n * exact) > 1e-6


def test_co_membership_is_the_conditional_probability_of_sharing_a_group(rng):
    # By enumeration for those that were drawn; by the partition for the last one.
    case = Case(rng, box(4), 8, noise=0.15)
    conditional = case.conditional()
    partition, draws = ((0, 3), (1,), (2,)), {}
    exact = np.zeros((4, 4))
    for j in (2, 0, 1):
        choices = choices_of(partition, j)
        weights = softmax([case.log_density(p) for p in choices])
        for p, weight in zip(choices, weights, strict=True):
            exact[j, list(group_with(p, j))] += weight
        draws[j] = conditional.draw_group(rng, partition, j)
        partition = draws[j].partition
    exact[3, list(group_with(partition, 3))] = 1.0
    found = co_membership_of(draws, partition)
    np.testing.assert_allclose(found, (exact + exact.T) / 2, atol=1e-8)
    np.testing.assert_allclose(found.diagonal(), 1.0)


def test_full_groups_take_no_further_member(rng):
    case = Case(rng, box(4), 6, noise=2.4, max_size=2)
    conditional = case.conditional()
    start = ((0, 1), (2,), (3,))
    drawn = {conditional.draw_group(rng, start, 3).partition for _ in range(150)}
    assert drawn == {start, ((0, 1), (2, 3))}


def test_a_strong_interaction_is_found_by_one_conditional(rng):
    U = rng.random((40, 3))
    data = observed(box(3), U, np.sin(6 * U[:, 0] * U[:, 2]) + 0.3 * U[:, 1])
    posterior = PartitionPosterior(data=data, max_size=3)
    conditional = posterior.given(posterior.fit_singletons().gp, own=0.0)
    draw = conditional.draw_group(rng, singletons(3), 0)
    assert draw.probabilities[2] > 0.999
    assert draw.probabilities[1] < 0.001
