"""The four samplers: laws, switches, seeds, threads and coinciding points.

Every check of a law states its false-alarm rate; see ``draws.law_p_value``.
"""

import numpy as np
import pytest
from hypothesis import given, strategies as st

import irregular
import reference
from draws import law_p_value
from sumbo import AdditiveGP
from sumbo.errors import ArgumentError, UnknownNameError
from sumbo.gp import SAMPLERS

EXACT = ("naive", "joint", "sequential")
HOWS = (*EXACT, "marginal")

every_how = pytest.mark.parametrize("how", HOWS)
every_exact = pytest.mark.parametrize("how", EXACT)
seeds = st.integers(0, 2**32 - 1)

# Samplers may add jitter of 1e-10 of a part's variance; 1e-6 of the sum is far above.
FLOOR = 1e-6


def stacked(draws):
    return np.hstack(draws)


# ---------------------------------------------------------------------- the law
@every_exact
@pytest.mark.parametrize(
    ("M", "kernel", "noise"),
    [
        (2, "matern52", 0.7),
        (3, "matern32", 1e-2),
        (5, "rbf", 1e-6),
        (12, "matern12", 1.0),
    ],
)
def test_draws_have_the_exact_joint_law(how, M, kernel, noise, rng):
    # False alarm: 1e-6 for each of the 12 cases.
    s = irregular.random_setting(rng, M=M, N=14, kernel=kernel, noise=noise)
    draws = stacked(s.post.sample(s.Z, n=20_000, how=how, seed=11))
    assert law_p_value(draws, *s.exact, floor=FLOOR * s.scale) > 1e-6


def test_marginal_draws_have_the_right_blocks_and_none_between_parts(rng):
    # False alarm: 1e-6.
    s = irregular.random_setting(rng, M=4, noise=1e-2)
    draws = stacked(s.post.sample(s.Z, n=20_000, how="marginal", seed=12))
    mean, _ = s.exact
    assert (
        law_p_value(draws, mean, irregular.block_diagonal(s), floor=FLOOR * s.scale)
        > 1e-6
    )


def test_the_check_of_the_law_rejects_independent_parts(rng):
    s = irregular.random_setting(rng, M=4, kernel="matern52", noise=1e-2)
    draws = stacked(s.post.sample(s.Z, n=20_000, how="marginal", seed=13))
    assert law_p_value(draws, *s.exact, floor=FLOOR * s.scale) < 1e-12


@pytest.mark.parametrize("defect", ["mean", "scale", "one entry", "repeated"])
def test_the_check_of_the_law_rejects_small_defects(defect, rng):
    s = irregular.random_setting(rng, M=3, kernel="matern52", noise=0.1)
    mean, cov = s.exact
    draws = rng.multivariate_normal(mean, cov, size=20_000, method="cholesky")
    assert law_p_value(draws, mean, cov) > 1e-6
    if defect == "mean":
        mean = mean + 0.08 * np.sqrt(cov.diagonal())
    elif defect == "scale":
        cov = cov * 1.04
    elif defect == "one entry":
        cov = cov + 0.0
        cov[0, -1] = cov[-1, 0] = cov[0, -1] + 0.1 * np.sqrt(cov[0, 0] * cov[-1, -1])
    else:
        draws[1::2] = draws[::2]
    assert law_p_value(draws, mean, cov) < 1e-6


@every_exact
@pytest.mark.parametrize("noise", [1e-4, 0.4])
def test_draws_of_the_sum_at_and_off_the_data_have_the_law_of_the_sum(how, noise, rng):
    # False alarm: 1e-6 for each of the 6 cases. At the data the variance of the sum
    # is mostly that of the noise, and the blocks between parts decide.
    s = irregular.random_setting(rng, M=4, N=8, noise=noise)
    X_new = np.vstack([s.X[:4], rng.random((2, s.gp.dim))])
    Z = reference.project(s.gp, X_new)
    draws = s.post.sample(Z, n=20_000, how=how, seed=14)
    mean, cov = reference.posterior_of_sum(s.gp, s.X, s.y, X_new)
    total = s.gp.mean + np.sum(draws, axis=0)
    assert law_p_value(total, mean, cov, floor=FLOOR * s.scale) > 1e-6


def test_the_recursion_as_printed_is_not_a_covariance(rng):
    gp = AdditiveGP(
        groups=[(0,), (1,), (2,)], lengthscales=[0.31, 0.52, 0.43], noise=1e-2
    )
    X = rng.random((6, 3))
    Z = [rng.random((4, 1)) for _ in gp.groups]
    printed = reference.recursion_covariance(gp, X, Z, 0, printed=True)
    corrected = reference.recursion_covariance(gp, X, Z, 0, printed=False)
    assert np.linalg.eigvalsh(printed).min() < -1.0
    assert np.linalg.eigvalsh(corrected).min() > -1e-12


# ---------------------------------------------------------------------- switches
def test_the_four_switches_give_four_different_draws(rng):
    s = irregular.random_setting(rng, M=3)
    draws = [stacked(s.post.sample(s.Z, n=2, how=how, seed=15)) for how in HOWS]
    for i, a in enumerate(draws):
        for b in draws[i + 1 :]:
            assert (a != b).all()


def test_the_four_switches_run_four_different_functions():
    functions = {SAMPLERS.get(how) for how in HOWS}
    assert len(functions) == 4


def test_joint_draws_are_correlated_between_parts_where_marginal_ones_are_not(rng):
    # Two parts, one observation, hardly any noise: their sum is known at the point.
    gp = AdditiveGP(groups=[(0,), (1,)], variances=[1.3, 0.8], noise=1e-4)
    X = np.array([[0.37, 0.61]])
    Z = [X[:, :1], X[:, 1:]]
    post = gp.condition(X, [0.9])
    for how in EXACT:
        a, b = post.sample(Z, n=4000, how=how, seed=16)
        assert np.corrcoef(a[:, 0], b[:, 0])[0, 1] < -0.99
    a, b = post.sample(Z, n=4000, how="marginal", seed=16)
    assert abs(np.corrcoef(a[:, 0], b[:, 0])[0, 1]) < 0.09  # 5.7 σ of 4 000 draws


def test_joint_is_the_default(rng):
    s = irregular.random_setting(rng, M=3)
    default = stacked(s.post.sample(s.Z, seed=17))
    np.testing.assert_array_equal(
        default, stacked(s.post.sample(s.Z, n=1, how="joint", seed=17))
    )


# ---------------------------------------------------------------------- shape, seed
@every_how
@pytest.mark.parametrize("n", [1, 3])
def test_draws_come_as_one_array_per_group(how, n, rng):
    s = irregular.random_setting(rng, M=5)
    draws = s.post.sample(s.Z, n=n, how=how, seed=18)
    assert [d.shape for d in draws] == [(n, len(Zm)) for Zm in s.Z]
    assert all(np.isfinite(d).all() for d in draws)


@every_how
def test_the_same_seed_gives_the_same_draws_and_another_seed_others(how, rng):
    s = irregular.random_setting(rng, M=4)
    first = stacked(s.post.sample(s.Z, n=3, how=how, seed=19))
    again = stacked(s.post.sample(s.Z, n=3, how=how, seed=19))
    other = stacked(s.post.sample(s.Z, n=3, how=how, seed=20))
    np.testing.assert_array_equal(first, again)
    assert (first != other).all()


def test_without_a_seed_every_call_is_fresh(rng):
    s = irregular.random_setting(rng, M=2)
    assert (stacked(s.post.sample(s.Z)) != stacked(s.post.sample(s.Z))).all()


@every_how
def test_two_workers_give_the_same_draws_bit_for_bit(how, rng):
    s = irregular.random_setting(rng, M=7, N=30, most=40)
    one = s.post.sample(s.Z, n=3, how=how, seed=21, workers=1)
    two = s.post.sample(s.Z, n=3, how=how, seed=21, workers=2)
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)


@every_how
def test_sampling_changes_neither_data_nor_candidates(how, rng):
    s = irregular.random_setting(rng, M=3)  # its arrays are read-only
    post = s.post
    L, alpha = post.L.copy(), post.alpha.copy()
    post.sample(s.Z, n=2, how=how, seed=22)
    np.testing.assert_array_equal(post.L, L)
    np.testing.assert_array_equal(post.alpha, alpha)


def test_candidates_of_equal_shape_may_be_one_array(rng):
    gp = AdditiveGP(groups=[(0, 1), (2, 3)], noise=0.1)
    post = gp.condition(rng.random((4, 4)), rng.standard_normal(4))
    Z = rng.random((2, 5, 2))
    np.testing.assert_array_equal(
        stacked(post.sample(Z, seed=23)), stacked(post.sample(list(Z), seed=23))
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n": 0}, "n=0 is not a positive integer"),
        ({"n": -3}, "n=-3 is not a positive integer"),
        ({"workers": 0}, "workers=0 is not a positive integer"),
        ({"seed": -1}, "seed=-1 is not a non-negative integer"),
    ],
)
def test_bad_settings_are_refused(settings, message, rng):
    s = irregular.random_setting(rng, M=2)
    with pytest.raises(ArgumentError, match=message):
        s.post.sample(s.Z, **settings)


def test_an_unknown_sampler_names_the_nearest(rng):
    s = irregular.random_setting(rng, M=2)
    with pytest.raises(UnknownNameError, match=r"how='jiont' is unknown.*'joint'"):
        s.post.sample(s.Z, how="jiont")


# ---------------------------------------------------------------------- edges
@every_how
@pytest.mark.parametrize("kernel", irregular.KERNELS)
@pytest.mark.parametrize("noise", [0.0, 1e-10, 1e-6, 1e-2])
@pytest.mark.parametrize("groups", [((0, 1),), ((0,), (1,)), ((0,), (1,), (0, 1))])
def test_candidates_may_coincide_with_data_and_with_each_other(
    how, kernel, noise, groups, rng
):
    gp = irregular.random_gp(rng, groups, kernel, noise)
    X = rng.random((6, 2))
    y = irregular.draw_outputs(rng, gp, X)
    Z = [np.vstack([A, A[:1], A[:1]]) for A in reference.project(gp, X)]
    draws = gp.condition(X, y).sample(Z, n=3, how=how, seed=24)
    for part in draws:
        assert np.isfinite(part).all()
        np.testing.assert_allclose(part[:, [6, 7]], part[:, [0, 0]], rtol=0, atol=2e-3)
    if how != "marginal" or len(groups) == 1:
        total = gp.mean + np.sum(draws, axis=0)[:, :6]
        reach = 2e-3 + 6 * np.sqrt(noise)
        np.testing.assert_allclose(total, np.tile(y, (3, 1)), rtol=0, atol=reach)


@every_exact
def test_draws_of_the_sum_interpolate_without_noise(how, rng):
    s = irregular.random_setting(rng, M=4, N=6, kernel="matern52", noise=0.0)
    draws = s.post.sample(reference.project(s.gp, s.X), n=5, how=how, seed=25)
    total = s.gp.mean + sum(draws)
    np.testing.assert_allclose(total, np.tile(s.y, (5, 1)), rtol=0, atol=1e-3)


@every_how
def test_one_observation_one_candidate_one_coordinate(how):
    # False alarm: 1e-6.
    gp = AdditiveGP(groups=[(0,)], lengthscales=[0.4], variances=[1.7], noise=0.2)
    X, y, Z = np.array([[0.3]]), np.array([1.9]), [np.array([[0.45]])]
    draws = gp.condition(X, y).sample(Z, n=20_000, how=how, seed=26)
    mean, cov = reference.posterior_of_parts(gp, X, y, Z)
    assert law_p_value(draws[0], mean, cov) > 1e-6


@every_how
def test_consistent_duplicates_without_noise_can_be_sampled(how, rng):
    s = irregular.random_setting(rng, M=3, N=6, kernel="matern52", noise=0.0)
    X, y = np.vstack([s.X, s.X[:3]]), np.append(s.y, s.y[:3])
    draws = s.gp.condition(X, y).sample(s.Z, n=4, how=how, seed=27)
    assert all(np.isfinite(part).all() for part in draws)


@every_how
@pytest.mark.parametrize("scale", [1e-140, 1e-8, 1e8, 1e140])
def test_draws_scale_with_the_outputs(how, scale, rng):
    s = irregular.random_setting(rng, M=3, kernel="matern32", noise=0.01)
    gp = AdditiveGP(
        groups=s.gp.groups,
        kernel="matern32",
        lengthscales=reference.lengthscales_of(s.gp),
        variances=s.gp.variances * scale**2,
        noise=0.01 * scale**2,
        mean=s.gp.mean * scale,
    )
    small = stacked(s.post.sample(s.Z, n=2, how=how, seed=28))
    large = stacked(gp.condition(s.X, s.y * scale).sample(s.Z, n=2, how=how, seed=28))
    np.testing.assert_allclose(large / scale, small, rtol=1e-4, atol=1e-5)


@every_how
def test_five_hundred_close_candidates_can_be_sampled(how, rng):
    # The prior covariance of a smooth part at 500 points of a line is singular.
    gp = AdditiveGP(
        groups=[(0,), (1,)], kernel="rbf", lengthscales=[0.6, 0.9], noise=1e-4
    )
    X = rng.random((20, 2))
    post = gp.condition(X, irregular.draw_outputs(rng, gp, X))
    Z = [np.sort(rng.random((500, 1)), axis=0) for _ in gp.groups]
    for part in post.sample(Z, n=2, how=how, seed=29):
        assert np.isfinite(part).all()
        assert np.abs(np.diff(part, axis=1)).max() < 0.5


@given(seed=seeds, noise=st.sampled_from([0.0, 1e-9, 1e-4, 1.0]))
def test_no_draw_is_nan(seed, noise):
    s = irregular.random_setting(np.random.default_rng([seed, 10]), noise=noise)
    Z = irregular.with_coincidences(s)
    for how in HOWS:
        for part in s.post.sample(Z, n=2, how=how, seed=seed):
            assert np.isfinite(part).all()
