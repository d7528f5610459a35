"""Draws as functions, and the factors that grow with the data.

Checks of a law are false alarms with probability 1e-6; see ``draws.law_p_value``.
"""

import copy
from dataclasses import replace

import numpy as np
import pytest

import irregular
import reference
import sumbo
from counted import CountedMatern, register
from draws import law_p_value
from sumbo import AdditiveGP
from sumbo.sampling.expansion import Draw, expand_joint, expand_marginal
from sumbo.sampling.factors import PartFactor
from sumbo.sampling.growth import FactorMemory, grown_factors

ALARM = 1e-6
BOX = [(-0.7, 1.3)] * 2
FLOOR = 1e-6  # of the prior variance; factors may add jitter of 1e-10 per part
GROUPS = ((0, 3), (1,), (3, 2), (4,))  # coordinate 3 belongs to two parts

expansions = pytest.mark.parametrize("expand", [expand_joint, expand_marginal])


def setting(rng, *, kernel="matern52", noise=1e-2, N=9, B=5, groups=GROUPS):
    gp = irregular.random_gp(rng, groups, kernel, noise)
    X = rng.beta(0.8, 1.3, (N, gp.dim))
    Z = [irregular.frozen(rng.uniform(0.02, 1.0, (B, len(g)))) for g in groups]
    y = irregular.draw_outputs(rng, gp, X)
    return irregular.Setting(gp=gp, X=irregular.frozen(X), y=irregular.frozen(y), Z=Z)


def factors_of(s):
    pairs = zip(s.post.groups(), s.Z, strict=True)
    return [PartFactor.of(kernel, Zm, Xm) for (kernel, Xm), Zm in pairs]


@pytest.mark.parametrize("kernel", ["matern52", "rbf"])
@pytest.mark.parametrize("sizes", [(5, 5, 5), (5, 4, 6)])
def test_parts_on_one_coordinate_are_evaluated_together(kernel, sizes, rng):
    s = setting(rng, kernel=kernel, groups=((0,), (1, 2), (3,), (4,)))
    for m, size in zip((0, 2, 3), sizes, strict=True):
        s.Z[m] = irregular.frozen(rng.random((size, 1)))
    draws = expand_joint(rng, s.post, factors_of(s), 2)
    z = rng.random((3, 7))
    for i in range(2):
        draw = Draw(draws, i)
        draw.lines([2, 3], z[:2])  # other parts before do not matter
        found = draw.lines([3, 0, 2], z)
        expected = [
            draws[m].at(i, row[:, None]) for m, row in zip([3, 0, 2], z, strict=True)
        ]
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9)
        value, slope = draw.line_gradients([3, 0, 2], z)
        np.testing.assert_allclose(value, found, rtol=1e-8, atol=1e-9)
        one_by_one = [
            draws[m].gradient(i, row[:, None])[1][:, 0]
            for m, row in zip([3, 0, 2], z, strict=True)
        ]
        np.testing.assert_allclose(slope, one_by_one, rtol=1e-7, atol=1e-7)


def stacked(parts):
    return np.hstack([part.values for part in parts])


def blocks_only(s, cov):
    part = np.repeat(np.arange(len(s.Z)), [len(Zm) for Zm in s.Z])
    return np.where(part[:, None] == part, cov, 0.0)


def dense(factor):
    upper = np.zeros(factor.R.T.shape)
    return np.block([[np.tril(factor.L), upper], [factor.R, np.tril(factor.S)]])


# ---------------------------------------------------------------------- values
@expansions
@pytest.mark.parametrize("kernel", irregular.KERNELS)
def test_at_its_candidates_an_expansion_is_the_draw(expand, kernel, rng):
    s = setting(rng, kernel=kernel)
    for part, Zm in zip(expand(rng, s.post, factors_of(s), 4), s.Z, strict=True):
        assert part.values.shape == (4, len(Zm))
        for i in range(4):
            # The jitter, 1e-10 of the variance, times coefficients of up to 1e5.
            np.testing.assert_allclose(part.at(i, Zm), part.values[i], atol=1e-4)


@expansions
@pytest.mark.parametrize("kernel", irregular.KERNELS)
def test_the_gradient_is_the_finite_difference(expand, kernel, rng):
    s = setting(rng, kernel=kernel)
    for part in expand(rng, s.post, factors_of(s), 2):
        d = part.A.shape[1]
        z = irregular.frozen(rng.uniform(0.05, 0.95, (3, d)))
        value, slope = part.gradient(1, z)
        np.testing.assert_allclose(value, part.at(1, z), rtol=1e-9, atol=1e-9)
        for row, expected in zip(z, slope, strict=True):
            found = reference.finite_difference(
                lambda x, part=part: part.at(1, x[None]), row
            )
            np.testing.assert_allclose(found[0], expected, rtol=1e-3, atol=1e-4)


# ---------------------------------------------------------------------- the law
@pytest.mark.parametrize(
    ("kernel", "noise"), [("matern52", 1e-2), ("rbf", 1e-4), ("matern12", 0.7)]
)
def test_joint_draws_have_the_joint_covariance(kernel, noise, rng):
    s = setting(rng, kernel=kernel, noise=noise)
    mean = np.concatenate([part.mean for part in s.post.parts(s.Z)])
    draws = stacked(expand_joint(rng, s.post, factors_of(s), 12_000))
    cov = s.post.joint_covariance(s.Z)
    assert law_p_value(draws, mean, cov, floor=FLOOR * s.scale) > ALARM


@pytest.mark.parametrize(
    ("kernel", "noise"), [("matern52", 1e-2), ("rbf", 1e-4), ("matern12", 0.7)]
)
def test_marginal_draws_have_its_blocks_and_independent_parts(kernel, noise, rng):
    s = setting(rng, kernel=kernel, noise=noise)
    mean, cov = s.exact
    draws = stacked(expand_marginal(rng, s.post, factors_of(s), 12_000))
    cov = blocks_only(s, cov)
    assert law_p_value(draws, mean, cov, floor=FLOOR * s.scale) > ALARM


@expansions
def test_grown_factors_give_the_exact_law(expand, rng):
    s = setting(rng, N=11)
    mean, cov = s.exact
    if expand is expand_marginal:
        cov = blocks_only(s, cov)
    draws = stacked(expand(rng, s.post, grown_factors(s.post, s.Z, 4), 12_000))
    assert law_p_value(draws, mean, cov, floor=FLOOR * s.scale) > ALARM


@expansions
def test_candidates_at_the_data_and_repeated_ones_give_the_exact_law(expand, rng):
    s = setting(rng, N=6, B=2)
    s = replace(s, Z=irregular.with_coincidences(s))
    mean, cov = s.exact
    if expand is expand_marginal:
        cov = blocks_only(s, cov)
    draws = stacked(expand(rng, s.post, grown_factors(s.post, s.Z, 3), 12_000))
    assert law_p_value(draws, mean, cov, floor=1e-5 * s.scale) > ALARM


# ---------------------------------------------------------------------- growth
@pytest.mark.parametrize("kernel", irregular.KERNELS)
@pytest.mark.parametrize("base", [1, 4, 8])
def test_appended_rows_give_the_factor_from_scratch(kernel, base, rng):
    s = setting(rng, kernel=kernel)
    for (k, Xm), Zm in zip(s.post.groups(), s.Z, strict=True):
        factor = PartFactor.of(k, Zm, Xm[:base])
        for row in Xm[base:]:
            factor = factor.appended(row[None])
        whole = PartFactor.of(k, Zm, Xm)
        assert factor.jitter == whole.jitter
        np.testing.assert_array_equal(factor.X, Xm)
        np.testing.assert_allclose(factor.K_ZX, whole.K_ZX, rtol=1e-14)
        # Both square to the same matrix; the factors differ where it is nearly
        # singular, by the rounding divided by the pivot.
        K = dense(whole) @ dense(whole).T
        np.testing.assert_allclose(
            dense(factor) @ dense(factor).T, K, rtol=0, atol=1e-12 * k.variance
        )
        np.testing.assert_allclose(dense(factor), dense(whole), rtol=0, atol=1e-4)


def bits(factors):
    return [(dense(f).tobytes(), f.K_ZX.tobytes()) for f in factors]


def grown_step_by_step(s, base, memory):
    """Return the factors at the end of a run that asks after every observation."""
    factors = []
    for n in range(base, len(s.y) + 1):
        post = s.gp.condition(s.X[:n], s.y[:n])
        factors = grown_factors(post, s.Z, base, memory=memory)
    return factors


@pytest.mark.parametrize("base", [1, 5, 9])
def test_what_is_remembered_does_not_change_a_bit(base, rng):
    s = setting(rng)
    once = grown_factors(s.post, s.Z, base)
    remembered = grown_step_by_step(s, base, FactorMemory())
    forgotten = grown_step_by_step(s, base, None)
    assert bits(once) == bits(remembered) == bits(forgotten)


def test_memory_is_used(rng):
    s = setting(rng)
    memory = FactorMemory()
    first = grown_factors(s.post, s.Z, 5, memory=memory)
    again = grown_factors(s.post, s.Z, 5, memory=memory)
    assert all(a is b for a, b in zip(first, again, strict=True))


@pytest.mark.parametrize("other", [lambda memory: FactorMemory(), copy.deepcopy])
def test_memory_is_of_one_run_and_not_copied(other, rng):
    s = setting(rng)
    memory = FactorMemory()
    first = grown_factors(s.post, s.Z, 5, memory=memory)
    anew = grown_factors(s.post, s.Z, 5, memory=other(memory))
    assert not any(a is b for a, b in zip(first, anew, strict=True))


def test_a_run_that_goes_another_way_does_not_find_the_first_ones_rows(rng):
    s = setting(rng)
    memory = FactorMemory()
    grown_factors(s.post, s.Z, 5, memory=memory)
    X = np.vstack([s.X[:5], s.X[5:][::-1]])
    other = s.gp.condition(X, s.y)
    found = grown_factors(other, s.Z, 5, memory=memory)
    assert bits(found) == bits(grown_factors(other, s.Z, 5))


def test_groups_that_differ_only_in_their_coordinates_are_told_apart(rng):
    X, y = rng.random((8, 2)), rng.standard_normal(8)
    Z = [irregular.frozen(rng.random((4, 1))) for _ in range(2)]

    def posterior(groups):
        gp = AdditiveGP(
            groups=groups, lengthscales=[0.3, 0.3], variances=[1.2, 1.2], noise=0.1
        )
        return gp.condition(X, y)

    memory = FactorMemory()
    grown_factors(posterior(((0,), (1,))), Z, 5, memory=memory)
    swapped = grown_factors(posterior(((1,), (0,))), Z, 5, memory=memory)
    np.testing.assert_array_equal(swapped[0].X[:, 0], X[:, 1])


def test_threads_do_not_change_a_bit(rng):
    s = setting(rng)
    alone = grown_factors(s.post, s.Z, 4, workers=1)
    assert bits(alone) == bits(grown_factors(s.post, s.Z, 4, workers=3))


def test_a_factor_that_was_handed_out_is_not_changed_by_later_growth(rng):
    s = setting(rng)
    memory = FactorMemory()
    early = grown_factors(s.gp.condition(s.X[:7], s.y[:7]), s.Z, 5, memory=memory)
    before = bits(early)
    grown_factors(s.post, s.Z, 5, memory=memory)
    assert bits(early) == before


def test_an_optimizer_keeps_its_factors_between_refits(monkeypatch):
    kernel, B = register(monkeypatch, CountedMatern()), 150
    settings = {"groups": [(0,), (1,)], "kernel": kernel.name, "transform": "none"}
    opt = sumbo.Optimizer(
        BOX, method="ts", n_init=5, refit=4, seed=3, candidates=B, **settings
    )
    computed = []
    for _ in range(8):
        before = kernel.count
        x = opt.ask()
        opt.tell(x, float(np.sin(4.1 * x).sum()))
        computed.append(kernel.count - before)
    # All pairs of candidates of both parts after a fit, and only new rows later on.
    pairs = 2 * B * (B + 1) // 2
    assert computed[:5] == [0] * 5
    assert computed[5] > pairs
    assert max(computed[6:]) < pairs / 4
