"""The walk over partitions: scores and laws by enumeration, parameters carried over."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.special import softmax
from sumbo.partitions.chain import (
    PENALTY,
    Target,
    Visit,
    carried,
    per_coordinate,
    walk,
    with_residual,
)

import reference
from sumbo import AdditiveGP, Categorical, Integer, Real, Space
from sumbo.data import prepare
from sumbo.gp.fit import Priors
from sumbo.partitions import chain as module, metropolis
from sumbo.structure import expand

MIXED = (Real("a", 0.2, 3.0), Categorical("b", ("u", "v", "w")), Integer("c", 1, 4))
ALL_OF_FOUR = [
    ((0,), (1,), (2,), (3,)),
    ((0, 1), (2,), (3,)),
    ((0, 2), (1,), (3,)),
    ((0, 3), (1,), (2,)),
    ((0,), (1, 2), (3,)),
    ((0,), (1, 3), (2,)),
    ((0,), (1,), (2, 3)),
    ((0, 1), (2, 3)),
    ((0, 2), (1, 3)),
    ((0, 3), (1, 2)),
    ((0, 1, 2), (3,)),
    ((0, 1, 3), (2,)),
    ((0, 2, 3), (1,)),
    ((0,), (1, 2, 3)),
    ((0, 1, 2, 3),),
]


class Case:
    """Data of a space, and parameters that mean the same in every partition."""

    def __init__(self, rng, bounds, N, *, kernel="matern52", noise=0.031, max_size=9):
        space = Space.of(bounds)
        data = prepare(
            U=space.snap(rng.beta(0.8, 1.3, (N, space.dim))),
            y=rng.normal(1.3, 2.2, N),
            failed=np.zeros(N, dtype=bool),
            pending=np.empty((0, space.dim)),
            domain=space,
            step=N,
        )
        self.target = Target(data=data, max_size=max_size)
        self.length = rng.uniform(0.17, 0.83, space.dim)
        self.share = rng.uniform(0.11, 0.62, space.dim)
        self.kernel, self.noise, self.mean = kernel, noise, float(rng.normal(0, 0.4))

    def gp(self, partition, length=None, share=None):
        """Return the model of a partition: Σ v_j and ℓ_j √d for d coordinates."""
        length = self.length if length is None else length
        share = self.share if share is None else share
        groups = expand(partition, self.target.data.domain.blocks)
        return AdditiveGP(
            groups=groups,
            kernel=self.kernel,
            lengthscales=[length[list(g)] * math.sqrt(len(g)) for g in groups],
            variances=[share[list(g)].sum() for g in groups],
            noise=self.noise,
            mean=self.mean,
        )

    def law(self, own=1.0):
        groups = singles(len(self.target.data.domain.blocks))
        return self.target.given(Visit(groups, self.gp(groups), math.nan), own)

    def log_weight(self, partition, **parameters):
        """Return log p(y, partition) by the dense formula, up to the prior's scale."""
        data = self.target.data
        gp = self.gp(partition, **parameters)
        size = sum(len(group) - 1 for group in partition)
        return reference.log_likelihood(gp, data.U, data.y) - PENALTY * size


def singles(K):
    return tuple((k,) for k in range(K))


def chi_square(counts, expected):
    """Return the p-value, the rarest cells pooled until ten are expected of them."""
    order = np.argsort(expected)
    rare = 1 + int(np.searchsorted(np.cumsum(np.asarray(expected)[order]), 10.0))
    pooled = [
        np.append(np.asarray(x)[order[rare:]], np.asarray(x)[order[:rare]].sum())
        for x in (counts, expected)
    ]
    return stats.chisquare(*pooled).pvalue


def box(K):
    return [(-1.2, 2.7 + k) for k in range(K)]


# ---------------------------------------------------------------------- scores
def assert_scores(case, law, partitions, **parameters):
    constant = 0.5 * len(case.target.data.y) * math.log(2 * math.pi)
    for partition in partitions:
        exact = case.log_weight(partition, **parameters) + constant
        assert law.score(partition) == pytest.approx(exact, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", "matern12", "matern32", "matern52"])
def test_score_is_the_likelihood_of_the_dense_model_and_the_prior(rng, kernel):
    case = Case(rng, box(4), 9, kernel=kernel)
    assert_scores(case, case.law(), ALL_OF_FOUR)


def test_score_of_integers_and_choices_is_that_of_the_dense_model(rng):
    # A choice has three coordinates: groups count coordinates, not parameters.
    case = Case(rng, MIXED, 9)
    pairs = [((0, 1), (2,)), ((0,), (1, 2)), ((0, 2), (1,))]
    assert_scores(case, case.law(), [singles(3), *pairs, ((0, 1, 2),)])


@pytest.mark.parametrize("own", [0.0, 0.5])
def test_parameters_are_drawn_towards_their_geometric_mean(rng, own):
    case = Case(rng, box(4), 9)
    length, share = (
        x**own * stats.gmean(x) ** (1 - own) for x in (case.length, case.share)
    )
    assert_scores(case, case.law(own), ALL_OF_FOUR[:9], length=length, share=share)


def test_members_of_a_group_share_its_variance_equally(rng):
    case = Case(rng, box(4), 9)
    groups = ((0,), (1, 2, 3))
    law = case.target.given(Visit(groups, case.gp(groups), math.nan))
    share = case.share.copy()
    share[1:] = share[1:].mean()
    assert_scores(case, law, ALL_OF_FOUR[:9], share=share)


def test_a_residual_part_does_not_change_the_law_of_the_partition(rng):
    case = Case(rng, box(4), 9)
    groups = singles(4)
    plain = case.gp(groups)
    more = replace(
        plain,
        groups=(*groups, (0, 1, 2, 3)),
        lengthscales=[*plain.lengthscales, np.array([0.3, 0.5, 0.9, 0.4])],
        variances=[*plain.variances, 0.37],
    )
    law = case.target.given(Visit(with_residual(groups), more, math.nan))
    assert_scores(case, law, ALL_OF_FOUR[:5])


def test_prior_of_a_residual_part_is_not_counted():
    assert module.log_prior(((0, 3), (1,), (2, 4, 5))) == -3 * PENALTY
    assert module.log_prior(((0, 1), (2,), (0, 1, 2))) == -PENALTY
    assert module.log_prior(((0, 1, 2),)) == -2 * PENALTY
    assert module.log_prior(((0,),)) == 0


# ---------------------------------------------------------------------- Gibbs
def choices_of(partition, j, max_size):
    """Return every partition that differs in the group of j alone."""
    out = []
    for p in ALL_OF_FOUR:
        rest = {tuple(k for k in g if k != j) for g in p} - {()}
        kept = {tuple(k for k in g if k != j) for g in partition} - {()}
        if rest == kept and max(map(len, p)) <= max_size:
            out.append(p)
    return out


@pytest.mark.parametrize(
    ("partition", "j", "count"),
    [(((0, 2), (1,), (3,)), 2, 4), (((0, 1), (2, 3)), 3, 3), (((0, 1, 2, 3),), 1, 2)],
)
def test_group_of_one_parameter_has_its_conditional_law(rng, partition, j, count):
    # Chi-square over all choices; a false alarm in 1e-6 of runs.
    case = Case(rng, box(4), 8, noise=0.15)
    law = case.law()
    choices = choices_of(partition, j, 9)
    assert len(choices) == count
    weights = np.array([case.log_weight(p) for p in choices])
    wanted = np.exp(weights - np.logaddexp.reduce(weights))
    n = 500
    counts = dict.fromkeys(choices, 0)
    for _ in range(n):
        counts[law.draw_group(rng, partition, j)] += 1
    assert chi_square(list(counts.values()), n * wanted) > 1e-6


def test_company_of_a_parameter_is_its_conditional_law(rng):
    # By enumeration for those that were drawn; by the partition for the last one.
    case = Case(rng, box(4), 8, noise=0.15)
    law = case.law()
    partition = ((0, 3), (1,), (2,))
    wanted = np.zeros((4, 4))
    for j in (2, 0, 1):
        choices = choices_of(partition, j, 9)
        weights = np.array([case.log_weight(p) for p in choices])
        for p, weight in zip(choices, softmax(weights), strict=True):
            wanted[j, list(next(g for g in p if j in g))] += weight
        partition = law.draw_group(rng, partition, j)
    wanted[3, list(next(g for g in partition if 3 in g))] = 1.0
    found = law.together(partition)
    np.testing.assert_allclose(found, (wanted + wanted.T) / 2, atol=1e-8)
    np.testing.assert_allclose(found.diagonal(), 1.0)


def test_every_sweep_knows_who_was_likely_together(rng):
    case = Case(rng, box(3), 12)
    start = case.target.singletons()
    assert start.together is None
    for visit in walk(rng, case.target, start, 3):
        assert visit.together is not None
        assert visit.together.shape == (3, 3)


def test_full_groups_take_no_further_member(rng):
    case = Case(rng, box(4), 6, noise=2.4, max_size=2)
    law = case.law()
    drawn = {law.draw_group(rng, ((0, 1), (2,), (3,)), 3) for _ in range(150)}
    assert drawn == {((0, 1), (2,), (3,)), ((0, 1), (2, 3))}


def test_a_strong_interaction_is_found_by_one_draw(rng):
    space = Space.of(box(3))
    U = rng.random((40, 3))
    y = np.sin(6 * U[:, 0] * U[:, 2]) + 0.3 * U[:, 1]
    data = prepare(
        U=U,
        y=y,
        failed=np.zeros(40, dtype=bool),
        pending=np.empty((0, 3)),
        domain=space,
        step=40,
    )
    target = Target(data=data, max_size=3)
    law = target.given(target.singletons(), own=0.0)
    drawn = [law.draw_group(rng, singles(3), 0) for _ in range(5)]
    assert drawn == [((0, 2), (1,))] * 5


@pytest.mark.statistical
@pytest.mark.parametrize("max_size", [2, 4])
def test_sweeps_have_the_stationary_law_over_all_partitions(rng, max_size):
    # Exact draws of the partition stay exact draws under a sweep of moves, splits and
    # merges; chi-square over all partitions, a false alarm in 1e-6 of runs.
    case = Case(rng, box(4), 8, noise=0.15, max_size=max_size)
    states = [p for p in ALL_OF_FOUR if max(map(len, p)) <= max_size]
    law = case.law()
    weights = np.array([case.log_weight(p) for p in states])
    wanted = np.exp(weights - np.logaddexp.reduce(weights))
    n = 800
    counts = np.zeros(len(states))
    stayed = 0
    for i in rng.choice(len(states), size=n, p=wanted):
        partition = states[i]
        for j in rng.permutation(4):
            partition = law.draw_group(rng, partition, int(j))
        visits = metropolis.walk(rng, partition, law.score, 2, max_size)
        after = states.index(visits[-1].partition)
        counts[after] += 1
        stayed += after == i
    assert stayed < 0.8 * n
    assert chi_square(counts, n * wanted) > 1e-6


# ---------------------------------------------------------------------- parameters
PARTITIONS = [
    singles(6),
    ((0, 4), (1,), (2, 3, 5)),
    ((0, 1, 2, 3), (4, 5)),
    ((0, 1, 2, 3, 4, 5),),
]


def six(rng, partition):
    return Case(rng, box(6), 3).gp(partition)


def kernels_by_group(gp):
    return {
        g: (k.lengthscales.tolist(), k.variance)
        for g, k in zip(gp.groups, gp.kernels, strict=True)
    }


@pytest.mark.parametrize("new", PARTITIONS)
@pytest.mark.parametrize("old", PARTITIONS)
def test_carried_parameters_keep_the_variance_and_the_scales(rng, old, new):
    case = Case(rng, box(6), 3)
    gp = carried(case.gp(old), new)
    wanted = case.gp(new)
    assert gp.groups == new
    assert gp.variances.sum() == pytest.approx(case.share.sum(), rel=1e-12)
    for one, other in zip(gp.kernels, wanted.kernels, strict=True):
        spread = other.lengthscales
        np.testing.assert_allclose(one.lengthscales, spread, rtol=1e-12)
    assert (gp.noise, gp.mean, gp.kernel) == (case.noise, case.mean, case.kernel)
    assert gp.info is None


def test_carried_variances_are_the_sums_of_the_coordinates(rng):
    case = Case(rng, box(6), 3)
    gp = carried(case.gp(singles(6)), PARTITIONS[1])
    np.testing.assert_allclose(gp.variances, case.gp(PARTITIONS[1]).variances)


@pytest.mark.parametrize("other", PARTITIONS)
def test_length_scales_come_back_from_another_partition(rng, other):
    gp = six(rng, PARTITIONS[1])
    length, _ = per_coordinate(carried(carried(gp, other), gp.groups))
    np.testing.assert_allclose(length, per_coordinate(gp)[0], rtol=1e-12)


def test_variances_come_back_from_a_finer_partition(rng):
    # From a coarser one only their sums do: a group has one variance.
    gp = six(rng, PARTITIONS[1])
    finer = carried(carried(gp, singles(6)), gp.groups)
    np.testing.assert_allclose(finer.variances, gp.variances, rtol=1e-12)


def test_a_partition_keeps_one_length_scale_per_coordinate(rng):
    gp = carried(six(rng, singles(6)), PARTITIONS[1])
    assert isinstance(gp.lengthscales, np.ndarray)
    blank = AdditiveGP(groups=PARTITIONS[1])
    assert len(gp.hyperparameters().log()) == len(blank.hyperparameters().log())


def test_a_new_residual_part_is_small_and_smooth(rng):
    gp = six(rng, PARTITIONS[1])
    more = carried(gp, with_residual(PARTITIONS[1]))
    before, after = kernels_by_group(gp), kernels_by_group(more)
    everything = tuple(range(6))
    for group in PARTITIONS[1]:
        np.testing.assert_allclose(after[group][0], before[group][0], rtol=1e-12)
        np.testing.assert_allclose(after[group][1], before[group][1], rtol=1e-12)
    assert after[everything][1] == pytest.approx(0.1 * gp.variances.sum())
    np.testing.assert_allclose(after[everything][0], 0.4 * math.sqrt(6))


def test_a_residual_part_is_kept_for_other_groups_and_dropped_without(rng):
    gp = carried(six(rng, PARTITIONS[1]), with_residual(PARTITIONS[1]))
    gp = replace(
        gp,
        lengthscales=[*gp.lengthscales[:-1], np.linspace(0.3, 1.7, 6)],
        variances=[*gp.variances[:-1], 0.83],
    )
    other = carried(gp, with_residual(PARTITIONS[2]))
    np.testing.assert_array_equal(other.lengthscales[-1], gp.lengthscales[-1])
    assert other.variances[-1] == 0.83
    dropped = carried(gp, PARTITIONS[2])
    assert dropped.variances.sum() == pytest.approx(gp.variances[:-1].sum())


def test_a_residual_part_is_added_to_all_but_one_group():
    assert with_residual(((0, 3), (1,), (2,))) == ((0, 3), (1,), (2,), (0, 1, 2, 3))
    assert with_residual(((0, 1, 2),)) == ((0, 1, 2),)
    assert with_residual(((0,),)) == ((0,),)


# ---------------------------------------------------------------------- the walk
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


@pytest.mark.parametrize("bounds", [box(4), MIXED], ids=["reals", "mixed"])
def test_visits_have_the_density_of_their_fit(rng, bounds):
    case = Case(rng, bounds, 15)
    data = case.target.data
    start = case.target.singletons()
    for visit in [start, *walk(rng, case.target, start, 2)]:
        size = sum(len(group) - 1 for group in visit.groups)
        exact = log_posterior(visit.gp, data.U, data.y) - PENALTY * size
        assert visit.score == pytest.approx(exact, rel=1e-7, abs=1e-5)
        assert visit.gp.groups == expand(visit.groups, data.domain.blocks)


def test_a_fit_with_a_residual_part_has_the_density_of_all_parameters(rng):
    case = Case(rng, box(4), 15)
    data = case.target.data
    groups = with_residual(((0, 2), (1,), (3,)))
    visit = case.target.fit(groups, case.target.singletons().gp)
    exact = log_posterior(visit.gp, data.U, data.y) - PENALTY
    assert visit.score == pytest.approx(exact, rel=1e-7, abs=1e-5)


def test_a_fit_starts_where_the_other_structure_ended(rng):
    case = Case(rng, box(4), 15)
    data = case.target.data
    now = case.target.singletons()
    groups = ((0, 2), (1,), (3,))
    before = log_posterior(carried(now.gp, groups), data.U, data.y) - PENALTY
    assert case.target.fit(groups, now.gp, steps=1).score >= before - 1e-6


@pytest.mark.parametrize("max_size", [1, 2])
def test_the_walk_stays_within_the_size_limit(rng, max_size):
    case = Case(rng, box(5), 12, max_size=max_size)
    visits = walk(rng, case.target, case.target.singletons(), 3)
    assert len(visits) == 3
    for visit in visits:
        assert sorted(k for g in visit.groups for k in g) == list(range(5))
        assert max(map(len, visit.groups)) <= max_size


def test_coordinates_of_one_parameter_stay_together(rng):
    case = Case(rng, MIXED, 12)
    for visit in walk(rng, case.target, case.target.singletons(), 3):
        assert sum({1, 2, 3} <= set(group) for group in visit.gp.groups) == 1


def test_the_last_sweep_leaves_the_parameters_their_own(rng, monkeypatch):
    case = Case(rng, box(3), 8)
    seen = []

    def sweep(rng, target, now, own):
        seen.append(own)
        return now

    monkeypatch.setattr(module, "_sweep", sweep)
    for sweeps in (1, 4, 5):
        seen.clear()
        walk(rng, case.target, case.target.singletons(), sweeps)
        assert seen[-1] == 1.0
        assert len(seen) == sweeps


def test_many_parameters_take_turns(rng, monkeypatch):
    monkeypatch.setattr(module, "MOST", 25)
    case = Case(rng, box(9), 8)
    laws = []
    original = Target.given
    monkeypatch.setattr(
        Target,
        "given",
        lambda *arguments: laws.append(original(*arguments)) or laws[-1],
    )
    walk(rng, case.target, case.target.singletons(), 2)
    # One more draw of at most nine choices, the start and nine exchanges, the start
    # and two splits or merges.
    assert all(25 < law.evaluations <= 25 + 9 + 10 + 3 for law in laws)


def test_the_walk_depends_on_the_generator_alone(rng):
    case = Case(rng, box(4), 10, noise=1.1)
    start = case.target.singletons()
    once, again, other = (
        walk(np.random.default_rng(seed), case.target, start, 4) for seed in (6, 6, 7)
    )
    assert [v.groups for v in once] == [v.groups for v in again]
    assert [v.score for v in once] == [v.score for v in again]
    assert [v.score for v in once] != [v.score for v in other]
