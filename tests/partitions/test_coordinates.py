"""Length-scales and variances of coordinates: carried from one structure to another."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import reference
from partition_cases import MIXED, Case, box
from sumbo import AdditiveGP
from sumbo.errors import ArgumentError
from sumbo.gp.fit import Priors
from sumbo.linalg import pack_lower
from sumbo.partitions.coordinates import (
    CoordinateModel,
    carried,
    check_spread,
    per_coordinate,
    per_coordinate_of_overlapping,
    shrunk_towards_mean,
    with_groups,
)
from sumbo.partitions.partition import singletons, with_residual
from sumbo.structure import expand

PARTITIONS = [
    singletons(6),
    ((0, 4), (1,), (2, 3, 5)),
    ((0, 1, 2, 3), (4, 5)),
    ((0, 1, 2, 3, 4, 5),),
]
OVERLAPPING = ((1,), (5,), (0, 3), (3, 4), (2, 3))


def six(rng, partition):
    return Case(rng, box(6), 3).gp(partition)


def kernels_by_group(gp):
    return {
        g: (k.lengthscales.tolist(), k.variance)
        for g, k in zip(gp.groups, gp.kernels, strict=True)
    }


# ---------------------------------------------------------------------- partitions
@pytest.mark.parametrize("new", PARTITIONS)
@pytest.mark.parametrize("old", PARTITIONS)
def test_carried_parameters_keep_the_variance_and_the_scales(rng, old, new):
    case = Case(rng, box(6), 3)
    gp = carried(case.gp(old), new, 0.1)
    assert gp.groups == new
    assert gp.variances.sum() == pytest.approx(case.share.sum(), rel=1e-12)
    for one, other in zip(gp.kernels, case.gp(new).kernels, strict=True):
        np.testing.assert_allclose(one.lengthscales, other.lengthscales, rtol=1e-12)
    assert (gp.noise, gp.mean, gp.kernel) == (case.noise, case.mean, case.kernel)
    assert gp.info is None


def test_carried_variances_are_the_sums_of_the_coordinates(rng):
    case = Case(rng, box(6), 3)
    gp = carried(case.gp(singletons(6)), PARTITIONS[1], 0.1)
    np.testing.assert_allclose(gp.variances, case.gp(PARTITIONS[1]).variances)


@pytest.mark.parametrize("other", PARTITIONS)
def test_length_scales_come_back_from_another_partition(rng, other):
    gp = six(rng, PARTITIONS[1])
    length, _ = per_coordinate(carried(carried(gp, other, 0.1), gp.groups, 0.1))
    np.testing.assert_allclose(length, per_coordinate(gp)[0], rtol=1e-12)


def test_variances_come_back_from_a_finer_partition(rng):
    # From a coarser one only their sums do: a group has one variance.
    gp = six(rng, PARTITIONS[1])
    finer = carried(carried(gp, singletons(6), 0.1), gp.groups, 0.1)
    np.testing.assert_allclose(finer.variances, gp.variances, rtol=1e-12)


def test_a_partition_keeps_one_length_scale_per_coordinate(rng):
    gp = carried(six(rng, singletons(6)), PARTITIONS[1], 0.1)
    assert isinstance(gp.lengthscales, np.ndarray)
    blank = AdditiveGP(groups=PARTITIONS[1])
    assert len(gp.hyperparameters().log()) == len(blank.hyperparameters().log())


# ---------------------------------------------------------------------- residual part
@pytest.mark.parametrize("residual_share", [0.1, 0.37])
def test_a_new_residual_part_is_small_and_smooth(residual_share, rng):
    gp = six(rng, PARTITIONS[1])
    more = carried(gp, with_residual(PARTITIONS[1]), residual_share)
    before, after = kernels_by_group(gp), kernels_by_group(more)
    for group in PARTITIONS[1]:
        np.testing.assert_allclose(after[group][0], before[group][0], rtol=1e-12)
        np.testing.assert_allclose(after[group][1], before[group][1], rtol=1e-12)
    lengthscales, variance = after[tuple(range(6))]
    assert variance == pytest.approx(residual_share * gp.variances.sum())
    np.testing.assert_allclose(lengthscales, Priors().lengthscale * math.sqrt(6))


def test_a_residual_part_is_kept_for_other_groups_and_dropped_without(rng):
    gp = carried(six(rng, PARTITIONS[1]), with_residual(PARTITIONS[1]), 0.1)
    gp = replace(
        gp,
        lengthscales=[*gp.lengthscales[:-1], np.linspace(0.3, 1.7, 6)],
        variances=[*gp.variances[:-1], 0.83],
    )
    other = carried(gp, with_residual(PARTITIONS[2]), 0.1)
    np.testing.assert_array_equal(other.lengthscales[-1], gp.lengthscales[-1])
    assert other.variances[-1] == 0.83
    dropped = carried(gp, PARTITIONS[2], 0.1)
    assert dropped.variances.sum() == pytest.approx(gp.variances[:-1].sum())


# ---------------------------------------------------------------------- overlap
def test_overlapping_groups_divide_the_variance_of_a_coordinate(rng):
    length, share = rng.uniform(0.17, 0.83, 6), rng.uniform(0.11, 0.62, 6)
    gp = with_groups(six(rng, singletons(6)), OVERLAPPING, length, share)
    # Coordinate 3 is in three groups, every other one in a single group.
    exact = [
        share[1],
        share[5],
        share[0] + share[3] / 3,
        share[3] / 3 + share[4],
        share[2] + share[3] / 3,
    ]
    np.testing.assert_allclose(gp.variances, exact, rtol=1e-12)
    for group, kernel in zip(OVERLAPPING, gp.kernels, strict=True):
        exact = length[list(group)] * math.sqrt(len(group))
        np.testing.assert_allclose(kernel.lengthscales, exact, rtol=1e-12)


def test_overlapping_groups_give_geometric_means_and_sums():
    gp = AdditiveGP(
        groups=((0,), (1, 2), (2, 3)),
        lengthscales=[[0.31], [0.47, 0.62], [0.95, 0.23]],
        variances=[0.7, 0.4, 1.3],
    )
    length, share = per_coordinate_of_overlapping(gp)
    root = math.sqrt(2)
    shared = math.sqrt(0.62 / root * 0.95 / root)
    np.testing.assert_allclose(length, [0.31, 0.47 / root, shared, 0.23 / root])
    np.testing.assert_allclose(share, [0.7, 0.2, 0.2 + 0.65, 0.65])


@pytest.mark.parametrize("partition", PARTITIONS)
def test_of_a_partition_both_kinds_of_groups_give_the_same(partition, rng):
    gp = six(rng, partition)
    for one, other in zip(
        per_coordinate(gp), per_coordinate_of_overlapping(gp), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-12)


# ---------------------------------------------------------------------- spread
def test_shrinking_keeps_the_geometric_mean_and_a_share_of_the_spread(rng):
    x = rng.gamma(1.3, size=7)
    for own in (0.0, 0.35, 1.0):
        found = shrunk_towards_mean(x, own)
        assert stats.gmean(found) == pytest.approx(stats.gmean(x), rel=1e-12)
        assert np.log(found).std() == pytest.approx(own * np.log(x).std(), abs=1e-12)
    np.testing.assert_allclose(shrunk_towards_mean(x, 1.0), x, rtol=1e-12)


@pytest.mark.parametrize("bad", [(), 0.5, [0.5, 1.0], (0.5, 1.2), (-0.1,), ("a",)])
def test_shares_of_the_spread_that_cannot_be_used_are_named(bad):
    with pytest.raises(ArgumentError, match="own_spread"):
        check_spread(bad)


# ---------------------------------------------------------------------- covariance
@pytest.mark.parametrize("kernel", ["rbf", "matern12", "matern32", "matern52"])
def test_the_correlation_of_a_group_is_that_of_its_coordinates(kernel, rng):
    # A choice has three coordinates: length-scales grow with coordinates.
    case = Case(rng, MIXED, 7, kernel=kernel)
    data, gp = case.data, case.gp(singletons(3))
    model = CoordinateModel.of(data, gp, case.length, case.share)
    np.testing.assert_allclose(model.y, data.y - case.mean)
    np.testing.assert_allclose(
        model.v, [case.share[list(b)].sum() for b in data.domain.blocks]
    )
    for group in ((0,), (1,), (0, 2), (0, 1, 2)):
        (g,) = expand((group,), data.domain.blocks)
        lengthscales = case.length[list(g)] * math.sqrt(len(g))
        U = data.U[:, list(g)]
        exact = pack_lower(reference.gram(kernel, lengthscales, 1.0, U, U))
        np.testing.assert_allclose(model.correlation(group), exact, rtol=1e-9)
