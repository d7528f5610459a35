"""Kernels: values, gradients, spectral draws, properties of every registered one."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

import irregular
import reference
from sumbo.errors import UnknownNameError
from sumbo.kernels import KERNELS, GroupKernel, as_kernel, squared_distances

NAMES = ("rbf", "matern12", "matern32", "matern52")
MATERN = ("matern12", "matern32", "matern52")

every_kernel = pytest.mark.parametrize("name", NAMES)
every_dimension = pytest.mark.parametrize("d", [1, 2, 3])
seeds = st.integers(0, 2**32 - 1)


def random_kernel(rng, name, d):
    return GroupKernel(
        kernel=as_kernel(name),
        lengthscales=irregular.frozen(rng.uniform(0.19, 1.4, d)),
        variance=float(rng.uniform(0.3, 4.1)),
    )


def random_points(rng, n, d):
    return irregular.frozen(rng.uniform(-0.6, 1.9, (n, d)))


def test_the_four_documented_kernels_are_registered():
    assert set(NAMES) <= set(KERNELS.names())


def test_a_kernel_object_is_passed_through():
    kernel = as_kernel("matern32")
    assert as_kernel(kernel) is kernel
    assert kernel.name == "matern32"


def test_an_unknown_kernel_names_the_nearest():
    with pytest.raises(UnknownNameError, match=r"kernel='matern25'.*'matern52'"):
        as_kernel("matern25")


@every_kernel
def test_registered_name_is_the_kernels_own_name(name):
    assert as_kernel(name).name == name


@pytest.mark.parametrize("name", MATERN)
def test_matern_correlation_is_the_bessel_formula(name, rng):
    r = rng.uniform(0.03, 6.0, 40)
    expected = reference.correlation_by_bessel(reference.SMOOTHNESS[name], r)
    np.testing.assert_allclose(as_kernel(name).correlation(r**2), expected, rtol=1e-12)


@every_kernel
@every_dimension
def test_covariances_equal_the_textbook_formula(name, d, rng):
    kernel = random_kernel(rng, name, d)
    A, B = random_points(rng, 7, d), random_points(rng, 4, d)
    expected = reference.gram(name, kernel.lengthscales, kernel.variance, A, B)
    np.testing.assert_allclose(kernel(A, B), expected, rtol=1e-12)


@every_kernel
def test_correlation_is_one_at_distance_zero_and_vanishes_far_away(name):
    kernel = as_kernel(name)
    near, far = kernel.correlation(np.array([0.0, 1e8]))
    assert near == 1.0
    assert 0.0 <= far < 1e-300


@every_kernel
def test_correlation_does_not_change_its_argument(name, rng):
    s = irregular.frozen(rng.uniform(0.1, 3.0, (3, 5)))
    kernel = as_kernel(name)
    kernel.correlation(s)
    kernel.correlation_and_weight(s)


@every_kernel
def test_both_evaluations_give_the_same_correlation(name, rng):
    s = np.append(rng.uniform(0.0, 9.0, 30), 0.0)
    kernel = as_kernel(name)
    k, _ = kernel.correlation_and_weight(s)
    np.testing.assert_allclose(k, kernel.correlation(s), rtol=1e-14)


@every_kernel
def test_weight_is_minus_twice_the_slope_of_the_correlation(name, rng):
    s = rng.uniform(0.05, 7.0, 25)
    kernel = as_kernel(name)
    _, w = kernel.correlation_and_weight(s)
    h = 1e-6
    slope = (kernel.correlation(s + h) - kernel.correlation(s - h)) / (2 * h)
    np.testing.assert_allclose(w, -2 * slope, rtol=1e-6, atol=1e-9)


@every_kernel
def test_weight_is_finite_where_points_coincide(name):
    k, w = as_kernel(name).correlation_and_weight(np.zeros(3))
    assert (k == 1.0).all()
    assert np.isfinite(w).all()


@every_kernel
@every_dimension
def test_gradient_in_inputs_equals_finite_differences(name, d, rng):
    kernel = random_kernel(rng, name, d)
    A, B = random_points(rng, 4, d), random_points(rng, 6, d)
    values, gradient = kernel.input_gradient(A, B)
    np.testing.assert_allclose(values, kernel(A, B), rtol=1e-13)
    for i, a in enumerate(A):
        expected = reference.finite_difference(
            lambda a: reference.gram(
                name, kernel.lengthscales, kernel.variance, a[None], B
            )[0],
            a,
        )
        np.testing.assert_allclose(gradient[i], expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", ["rbf", "matern32", "matern52"])
def test_differentiable_kernels_are_flat_where_points_coincide(name, rng):
    kernel = random_kernel(rng, name, 2)
    A = random_points(rng, 3, 2)
    _, gradient = kernel.input_gradient(A, A)
    np.testing.assert_array_equal(gradient[np.arange(3), np.arange(3)], 0.0)


@every_kernel
def test_gradients_in_inputs_are_finite_where_points_coincide(name, rng):
    kernel = random_kernel(rng, name, 2)
    A = random_points(rng, 3, 2)
    assert np.isfinite(kernel.input_gradient(A, A)[1]).all()


# A panel of the lower triangle holds about 16 000 elements: 700 points need many.
@pytest.mark.parametrize("n", [1, 2, 37, 700])
def test_lower_triangle_is_added_panel_by_panel(n, rng):
    kernel = random_kernel(rng, "matern52", 2)
    A = random_points(rng, n, 2)
    before = rng.standard_normal((n, n))
    out = np.array(before, order="F")
    kernel.add_lower(A, out)
    expected = before + reference.gram(
        "matern52", kernel.lengthscales, kernel.variance, A, A
    )
    np.testing.assert_allclose(np.tril(out), np.tril(expected), rtol=1e-12, atol=1e-12)


@every_kernel
@pytest.mark.parametrize(("n", "d"), [(1, 2), (7, 1), (700, 3)])
def test_lower_triangle_is_that_of_the_gram_matrix(name, n, d, rng):
    kernel = random_kernel(rng, name, d)
    A = random_points(rng, n, d)
    out = kernel.lower(A)
    assert out.flags.f_contiguous
    expected = reference.gram(name, kernel.lengthscales, kernel.variance, A, A)
    np.testing.assert_allclose(np.tril(out), np.tril(expected), rtol=1e-12, atol=0)


@given(seed=seeds, name=st.sampled_from(NAMES), d=st.integers(1, 3))
def test_gram_matrix_is_symmetric_and_positive_semidefinite(seed, name, d):
    rng = np.random.default_rng([seed, 1])
    kernel = random_kernel(rng, name, d)
    A = rng.uniform(-0.6, 1.9, (int(rng.integers(1, 25)), d))
    A = np.vstack([A, A[:2] + 1e-9, A[:1]])  # near and exact duplicates
    K = kernel(A, A)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(K.diagonal(), kernel.variance)
    assert np.linalg.eigvalsh(K).min() > -1e-13 * len(A) * kernel.variance


@given(seed=seeds, name=st.sampled_from(NAMES), d=st.integers(1, 3))
def test_covariances_do_not_change_under_a_common_shift(seed, name, d):
    rng = np.random.default_rng([seed, 2])
    kernel = random_kernel(rng, name, d)
    A, B = random_points(rng, 5, d), random_points(rng, 4, d)
    shift = rng.uniform(-3.0, 4.0, d)
    np.testing.assert_allclose(kernel(A + shift, B + shift), kernel(A, B), rtol=1e-10)


def test_squared_distances_keep_their_digits_for_nearly_equal_points():
    A = np.array([[0.71828, 12345.678]])
    B = A + np.array([[3e-9, 0.0]])
    s = squared_distances(A, B, np.array([0.37, 2.1]))
    exact = ((B[0, 0] - A[0, 0]) / 0.37) ** 2
    assert s[0, 0] == pytest.approx(exact, rel=1e-6)


@every_kernel
@every_dimension
def test_spectral_draws_have_the_kernel_as_characteristic_function(name, d, rng):
    # False alarm: 12 z-scores at 1e-6 each (cosines are bounded: the CLT holds).
    kernel = random_kernel(rng, name, d)
    n = 40_000
    omega = kernel.spectral(rng, n)
    A, b = rng.uniform(-0.6, 0.9, (12, d)), rng.uniform(-0.3, 0.6, (1, d))
    waves = np.cos((A - b) @ omega.T)
    exact = reference.gram(name, kernel.lengthscales, 1.0, A, b)[:, 0]
    z = (waves.mean(axis=1) - exact) / (waves.std(axis=1) / np.sqrt(n))
    assert 2 * stats.norm.sf(np.abs(z)).min() > 1e-6


@every_kernel
def test_spectral_draws_depend_on_the_generator_alone(name):
    kernel = as_kernel(name)
    first = kernel.spectral(np.random.default_rng(71), 6, 2)
    again = kernel.spectral(np.random.default_rng(71), 6, 2)
    np.testing.assert_array_equal(first, again)
    assert (first != kernel.spectral(np.random.default_rng(72), 6, 2)).all()
