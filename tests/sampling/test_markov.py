"""One-coordinate Matérn parts in linear time: recursion, noise, products and draws."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.integrate import quad
from scipy.special import factorial

import irregular
import reference
from counted import CountedMatern, CountedRBF, register
from draws import law_p_value
from sumbo import AdditiveGP
from sumbo.gp.solvers import semiseparable, statespace
from sumbo.gp.solvers.semiseparable import MarkovProduct, multiply_markov
from sumbo.gp.solvers.statespace import (
    FAR,
    Recursion,
    SortedPoints,
    in_turns,
    is_markov,
    noise_factor,
    states_of,
)
from sumbo.kernels import GroupKernel, as_kernel
from sumbo.sampling import joint, markov

MATERN = ("matern12", "matern32", "matern52")
every_matern = pytest.mark.parametrize("name", MATERN)
every_scale = pytest.mark.parametrize("scale", [3e-7, 0.037, 0.37, 7e5])
seeds = st.integers(0, 2**32 - 1)


def kernel_of(name, lengthscale, variance=1.0):
    return GroupKernel(
        kernel=as_kernel(name), lengthscales=np.array([lengthscale]), variance=variance
    )


def awkward_points(rng, count):
    """Return unsorted points of a line: ties, two clusters of very close ones."""
    x = rng.uniform(-0.4, 1.3, (count, 1))
    x[3:9] = x[1]
    x[12:24] = 0.31 + 1e-9 * rng.random((12, 1))
    x[30:36] = 0.77 + 1e-15 * np.arange(6)[:, None]
    return rng.permutation(x)


def two_parts(rng, name, scale, counts=(90, 70)):
    kernels = [kernel_of(name, scale, 1.7), kernel_of(name, 2.3 * scale, 0.4)]
    return kernels, [awkward_points(rng, count) for count in counts]


def dense(name, kernel, A, B):
    return reference.gram(name, kernel.lengthscales, kernel.variance, A, B)


# ---------------------------------------------------------------------- prior draws
@every_scale
@every_matern
def test_white_noise_through_the_recursion_has_the_covariance_of_the_kernel(
    name, scale, rng
):
    kernels, points = two_parts(rng, name, scale)
    sequence = SortedPoints.of(kernels, points)
    p, T = sequence.p, len(sequence.gaps)
    unit = np.eye(p * T).reshape(p * T, p, T).transpose(1, 0, 2)
    F = np.vstack(markov.draw_from_noise(kernels, sequence, unit))
    expected = np.zeros((T, T))
    expected[:90, :90] = dense(name, kernels[0], points[0], points[0])
    expected[90:, 90:] = dense(name, kernels[1], points[1], points[1])
    np.testing.assert_allclose(F @ F.T, expected, rtol=0, atol=1e-12)


@every_matern
@pytest.mark.parametrize("gap", [1e-15, 1e-6, 0.03, 0.9, 14.0])
def test_the_noise_of_a_gap_is_the_integral_of_the_filters_response(name, gap):
    # Entry by entry and relative: a tiny gap's noise is not lost in rounding.
    p = states_of(as_kernel(name))
    L = noise_factor(np.array([gap]), p)[..., 0]
    for i in range(p):
        for j in range(p):
            count = factorial(i) * factorial(j)
            scaled, _ = quad(  # s = gap · t, so that no unit is tiny
                lambda t, i=i, j=j: np.exp(-2 * gap * t) * t ** (i + j), 0, 1
            )
            expected = scaled * gap ** (i + j + 1) / count
            np.testing.assert_allclose((L @ L.T)[i, j], expected, rtol=1e-9)


def test_equal_points_get_equal_values(rng):
    x = rng.random((300, 1))
    x[40:80] = x[11]
    (f,) = markov.draw_markov(rng, [kernel_of("matern52", 0.2)], [x], 3)
    np.testing.assert_allclose(f[40:80], np.tile(f[11], (40, 1)), rtol=0, atol=1e-14)


@every_matern
def test_prior_draws_have_the_law_of_the_kernel(name, rng):
    # False alarm: 1e-6 for each of the 3 cases.
    kernels, points = two_parts(rng, name, 0.3, (40, 50))
    pick = [rng.choice(len(A), 6, replace=False) for A in points]
    f = markov.draw_markov(rng, kernels, points, 8_000)
    draws = np.hstack([part[i].T for part, i in zip(f, pick, strict=True)])
    cov = np.zeros((12, 12))
    for m, (kernel, A, i) in enumerate(zip(kernels, points, pick, strict=True)):
        cov[6 * m : 6 * m + 6, 6 * m : 6 * m + 6] = dense(name, kernel, A[i], A[i])
    assert law_p_value(draws, np.zeros(12), cov, floor=1e-6) > 1e-6


def test_parts_that_are_drawn_in_turns_are_as_good_as_together(rng, monkeypatch):
    # False alarm: 1e-6. Equal points in two parts: independent all the same.
    kernels = [kernel_of("matern32", 0.4, 0.8), kernel_of("matern32", 0.7, 2.1)]
    x = np.array([[0.2], [0.9], [0.35]])
    monkeypatch.setattr(markov, "MOST_NOISE", 5)
    f = np.vstack(markov.draw_markov(rng, kernels, [x, x], 8_000)).T
    cov = np.zeros((6, 6))
    cov[:3, :3] = dense("matern32", kernels[0], x, x)
    cov[3:, 3:] = dense("matern32", kernels[1], x, x)
    assert law_p_value(f, np.zeros(6), cov) > 1e-6


@given(st.lists(st.integers(1, 9), max_size=20), st.integers(1, 30))
def test_turns_hold_everything_once_and_never_too_much(sizes, most):
    turns = list(in_turns(sizes, most))
    assert [m for turn in turns for m in range(len(sizes))[turn]] == list(
        range(len(sizes))
    )
    for turn in turns:
        assert sum(sizes[turn]) <= most or len(sizes[turn]) == 1


# ---------------------------------------------------------------------- recursion
@pytest.mark.parametrize("T", [1, 2, 64, 65, 97, 2080, 2500])
@pytest.mark.parametrize("p", [1, 2, 3])
def test_stretches_give_what_one_point_after_the_other_gives(p, T, rng):
    gaps = rng.exponential(0.3, T)
    gaps[rng.integers(T)] = FAR
    w = rng.standard_normal((p, 2, T))
    u, states = np.zeros((p, 2)), []
    for i in range(T):
        d = gaps[i]
        move = [[d ** (k - j) / factorial(k - j) if k >= j else 0.0 for j in range(p)]
                for k in range(p)]  # fmt: skip
        u = np.exp(-d) * np.array(move) @ u + w[..., i]
        states.append(u)
    weights = tuple(rng.uniform(-1, 2, p))
    expected = np.einsum("p,tpk->kt", weights, np.array(states))
    np.testing.assert_allclose(
        Recursion.of(gaps).run(w, weights), expected, rtol=0, atol=1e-11
    )


# ---------------------------------------------------------------------- products
@every_scale
@every_matern
def test_products_equal_the_dense_ones(name, scale, rng):
    kernels, Z = two_parts(rng, name, scale)
    X = [np.vstack([awkward_points(rng, 61), Zm[:5]]) for Zm in Z]
    v = rng.standard_normal((66, 3))
    found = MarkovProduct.of(kernels, Z, X).parts(v)
    for part, kernel, Zm, Xm in zip(found, kernels, Z, X, strict=True):
        K = dense(name, kernel, Zm, Xm)
        np.testing.assert_allclose(part, K @ v, rtol=0, atol=1e-11)


@every_matern
def test_products_of_long_lines_equal_the_dense_ones(name, rng):
    kernel = kernel_of(name, 0.11, 1.3)
    Z, X = rng.random((1700, 1)), rng.random((1100, 1))
    v = rng.uniform(0.2, 1.9, (1100, 2))  # positive: errors are relative to the sum
    (found,) = MarkovProduct.of([kernel], [Z], [X]).parts(v)
    np.testing.assert_allclose(found, dense(name, kernel, Z, X) @ v, rtol=1e-12)


def test_the_sum_of_square_products_is_that_of_the_parts(rng):
    kernels, X = two_parts(rng, "matern52", 0.3, (80, 80))
    v = rng.standard_normal((80, 2))
    K = sum(
        dense("matern52", kernel, Xm, Xm) for kernel, Xm in zip(kernels, X, strict=True)
    )
    found = MarkovProduct.square(kernels, X).total(v)
    np.testing.assert_allclose(found, K @ v, rtol=0, atol=1e-11)


def test_columns_and_parts_may_go_in_turns(rng, monkeypatch):
    kernels, Z = two_parts(rng, "matern32", 0.3)
    X = [rng.random((25, 1)) for _ in Z]
    v = rng.standard_normal((25, 5))
    together = multiply_markov(kernels, Z, X, v)
    monkeypatch.setattr(semiseparable, "MOST_STATES", 700)
    monkeypatch.setattr(semiseparable, "MOST_POINTS", 100)
    in_parts = multiply_markov(kernels, Z, X, v)
    for a, b in zip(together, in_parts, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-13)


@given(seed=seeds, name=st.sampled_from(MATERN), exponent=st.floats(-8, 8))
def test_products_are_finite_and_symmetric_at_any_lengthscale(seed, name, exponent):
    rng = np.random.default_rng([seed, 3])
    kernel = kernel_of(name, 10.0**exponent)
    A = rng.normal(0, 3, (int(rng.integers(1, 150)), 1))
    product = MarkovProduct.square([kernel], [A])
    v, w = rng.standard_normal((2, len(A), 1))
    Kv, Kw = product.total(v), product.total(w)
    assert np.isfinite(Kv).all()
    np.testing.assert_allclose(w.T @ Kv, v.T @ Kw, rtol=0, atol=1e-10)


def test_only_matern_parts_of_one_coordinate_are_markov():
    assert [states_of(as_kernel(name)) for name in (*MATERN, "rbf")] == [1, 2, 3, 0]
    assert is_markov(kernel_of("matern32", 0.3))
    assert not is_markov(kernel_of("rbf", 0.3))
    wide = GroupKernel(
        kernel=as_kernel("matern32"), lengthscales=np.array([0.3, 0.4]), variance=1.0
    )
    assert not is_markov(wide)


# ---------------------------------------------------------------------- joint draws
@pytest.fixture
def linear(monkeypatch):
    """Take the linear form for every part that has one, however small."""
    monkeypatch.setattr(joint, "is_linear_cheaper", lambda points, n: True)


@pytest.mark.parametrize(
    ("name", "noise"), [("matern12", 0.0), ("matern32", 0.5), ("matern52", 1e-4)]
)
def test_linear_draws_have_the_exact_joint_law(name, noise, rng, linear):
    # False alarm: 1e-6 for each of the 3 cases. Dense parts, and a shared coordinate.
    gp = irregular.random_gp(rng, ((0,), (1, 2), (2,), (3,), (0,)), name, noise)
    X = rng.beta(0.8, 1.3, (14, gp.dim))
    y = irregular.draw_outputs(rng, gp, X)
    Z = [rng.uniform(-0.1, 1.1, (4, len(group))) for group in gp.groups]
    Z[0] = np.vstack([Z[0], X[:2, :1], X[:1, :1]])  # at the data, and a tie
    draws = np.hstack(gp.condition(X, y).sample(Z, n=8_000, seed=3))
    mean, cov = reference.posterior_of_parts(gp, X, y, Z)
    assert law_p_value(draws, mean, cov, floor=1e-6 * gp.variances.sum()) > 1e-6


@pytest.mark.parametrize(
    ("name", "noise"), [("matern12", 0.0), ("matern32", 0.5), ("matern52", 1e-4)]
)
def test_linear_marginal_draws_have_the_right_blocks(name, noise, rng, linear):
    # False alarm: 1e-6 for each of the 3 cases. Fewer data than candidates on lines.
    gp = irregular.random_gp(rng, ((0,), (1, 2), (2,), (0,)), name, noise)
    X = rng.beta(0.8, 1.3, (5, gp.dim))
    y = irregular.draw_outputs(rng, gp, X)
    Z = [rng.uniform(-0.1, 1.1, (6, len(group))) for group in gp.groups]
    post = gp.condition(X, y)
    draws = np.hstack(post.sample(Z, n=8_000, how="marginal", seed=3))
    mean, cov = reference.posterior_of_parts(gp, X, y, Z)
    blocks = np.kron(np.eye(len(Z)), np.ones((6, 6)))
    floor = 1e-6 * gp.variances.sum()
    assert law_p_value(draws, mean, cov * blocks, floor=floor) > 1e-6


def test_linear_draws_of_the_sum_interpolate_without_noise(rng, linear):
    s = irregular.random_setting(rng, M=4, N=9, kernel="matern32", noise=0.0)
    draws = s.post.sample(reference.project(s.gp, s.X), n=4, seed=5)
    total = s.gp.mean + sum(draws)
    np.testing.assert_allclose(total, np.tile(s.y, (4, 1)), rtol=0, atol=1e-3)


@pytest.mark.parametrize(
    ("kernel", "group", "B", "linear"),
    [
        (CountedMatern, (0,), 900, True),
        (CountedMatern, (0,), 13, False),
        (CountedMatern, (0, 1), 800, False),
        (CountedRBF, (0,), 900, False),
    ],
)
@pytest.mark.parametrize("how", ["joint", "marginal"])
def test_the_linear_form_is_taken_for_long_matern_lines_only(
    how, kernel, group, B, linear, rng, monkeypatch
):
    counted = register(monkeypatch, kernel())
    X, y = rng.random((20, 2)), rng.standard_normal(20)
    gp = AdditiveGP(groups=[group, (1,)], kernel=counted.name, noise=0.1)
    post = gp.condition(X, y)
    Z = [rng.random((B, len(group))), rng.random((1, 1))]
    before = counted.count
    draws = post.sample(Z, n=2, how=how, seed=6)
    assert [part.shape for part in draws] == [(2, B), (2, 1)]
    pairs = B * (B + 1) // 2  # what a dense covariance of the points has at least
    assert (counted.count - before < pairs) == linear


def test_many_draws_share_one_dense_factor():
    assert joint.is_linear_cheaper(700, 1)
    assert joint.is_linear_cheaper(2500, 100)
    assert not joint.is_linear_cheaper(700, 5000)
    assert not joint.is_linear_cheaper(100, 1)


@pytest.mark.parametrize("how", ["joint", "marginal"])
def test_linear_draws_depend_on_the_seed_and_not_on_the_workers(how, rng, linear):
    s = irregular.random_setting(rng, M=5, N=30, most=40, kernel="matern52")
    first, again, other = (
        np.hstack(s.post.sample(s.Z, n=2, how=how, seed=seed, workers=workers))
        for seed, workers in ((7, 1), (7, 2), (8, 1))
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).all()


def test_stretches_are_really_nested_at_these_sizes():
    # The tests above would not see a defect between levels that they never reach.
    assert Recursion.of(np.ones(64)).ends is None
    outer = Recursion.of(np.ones(2500)).ends
    assert outer is not None
    assert outer.ends is not None
    assert statespace.SHORTEST == 32
