"""Cholesky factors with a reported jitter, triangular solves, threads."""

import ctypes
import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from sumbo.errors import NotPositiveDefiniteError, SumboError
from sumbo.linalg import (
    LADDER,
    LARGE,
    cho_solve,
    cholesky,
    factor_in_place,
    inverse_lower,
    one_blas_thread,
    parallel_map,
    solve_lower,
    solve_upper,
    times_lower,
)


def random_covariance(rng, n, rank=None):
    A = rng.standard_normal((n, rank or n + 3))
    return A @ A.T


@pytest.mark.parametrize("n", [1, 2, 13])
def test_factor_equals_numpys_and_needs_no_jitter(n, rng):
    A = random_covariance(rng, n)
    L, jitter = cholesky(A)
    np.testing.assert_allclose(L, np.linalg.cholesky(A), rtol=1e-10, atol=1e-12)
    assert jitter == 0.0


def test_only_the_lower_triangle_is_read(rng):
    A = random_covariance(rng, 6)
    spoiled = A + np.triu(np.full((6, 6), 1e9), 1)
    np.testing.assert_array_equal(cholesky(spoiled).L, cholesky(np.tril(A)).L)


def test_the_upper_triangle_of_the_factor_is_zero(rng):
    L = cholesky(random_covariance(rng, 5)).L
    np.testing.assert_array_equal(np.triu(L, 1), 0.0)


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_matrix_is_not_changed(order, rng):
    A = np.array(random_covariance(rng, 7), order=order)
    before = A.copy()
    A.setflags(write=False)
    cholesky(A)
    np.testing.assert_array_equal(A, before)


def test_a_singular_matrix_gets_jitter_from_the_ladder_and_says_so(rng):
    A = 3.7 * random_covariance(rng, 9, rank=4)
    L, jitter = cholesky(A)
    scale = A.diagonal().mean()
    assert any(jitter == pytest.approx(rung * scale) for rung in LADDER[1:])
    np.testing.assert_allclose(
        L @ L.T, A + jitter * np.eye(9), rtol=0, atol=1e-13 * A.max() * 9
    )


def test_the_jitter_follows_the_scale_of_the_matrix(rng):
    A = random_covariance(rng, 9, rank=4)
    assert cholesky(4e6 * A).jitter == pytest.approx(4e6 * cholesky(A).jitter)


def test_the_ladder_is_climbed_no_higher_than_needed(rng):
    Q, _ = np.linalg.qr(rng.standard_normal((8, 8)))
    values = np.array([1.7, 1.3, 1.1, 0.9, 0.8, 0.6, 0.5, -3e-9])
    A = (Q * values) @ Q.T
    jitter = cholesky((A + A.T) / 2).jitter / A.diagonal().mean()
    assert jitter == pytest.approx(1e-8)


@pytest.mark.parametrize("bad", [-0.02, np.nan, np.inf])
def test_a_hopeless_matrix_is_an_error_with_a_remedy(bad, rng):
    A = random_covariance(rng, 6)
    A[3, 3] = bad
    with pytest.raises(NotPositiveDefiniteError) as caught:
        cholesky(A, what="covariance of the apples")
    message = str(caught.value)
    assert "6 × 6 covariance of the apples is not positive definite" in message
    assert "Raise the noise, or remove nearly equal points." in message
    assert isinstance(caught.value, SumboError)
    assert isinstance(caught.value, np.linalg.LinAlgError)


@pytest.mark.parametrize("n", [1, 2, 130])
def test_a_matrix_becomes_its_factor_below_the_diagonal_alone(n, rng):
    A = random_covariance(rng, n)
    L = np.asfortranarray(np.tril(A) + np.triu(np.full((n, n), 7.3), 1))
    assert factor_in_place(L)
    np.testing.assert_allclose(np.tril(L), np.linalg.cholesky(A), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(L[np.triu_indices(n, 1)], 7.3)


def test_a_matrix_that_has_no_factor_is_reported(rng):
    A = np.asfortranarray(random_covariance(rng, 6))
    A[3, 3] = -0.2
    assert not factor_in_place(A)


@pytest.mark.parametrize("spoil", ["order", "type", "frozen"])
def test_a_matrix_of_another_layout_is_not_touched(spoil, rng):
    A = np.asfortranarray(random_covariance(rng, 5))
    if spoil == "frozen":
        A.setflags(write=False)
    A = {"order": np.ascontiguousarray(A), "type": A.astype("f4", order="F")}.get(
        spoil, A
    )
    before = A.copy()
    with pytest.raises(ctypes.ArgumentError):
        factor_in_place(A)
    np.testing.assert_array_equal(A, before)


@pytest.mark.parametrize("columns", [None, 1, 4])
def test_solves_equal_numpys(columns, rng):
    A = random_covariance(rng, 8)
    L = cholesky(A).L
    b = rng.standard_normal(8 if columns is None else (8, columns))
    np.testing.assert_allclose(cho_solve(L, b), np.linalg.solve(A, b), rtol=1e-8)
    np.testing.assert_allclose(solve_lower(L, b), np.linalg.solve(L, b), rtol=1e-9)
    np.testing.assert_allclose(solve_upper(L, b), np.linalg.solve(L.T, b), rtol=1e-9)


def test_solves_do_not_change_the_right_hand_side(rng):
    L = cholesky(random_covariance(rng, 5)).L
    b = np.asfortranarray(rng.standard_normal((5, 3)))
    b.setflags(write=False)
    for solve in (cho_solve, solve_lower, solve_upper, times_lower):
        solve(L, b)


@pytest.mark.parametrize("columns", [1, 4])
@pytest.mark.parametrize("n", [6, LARGE + 3])
def test_triangular_product_ignores_the_upper_triangle(columns, n, rng):
    L = np.tril(rng.standard_normal((n, n)))
    spoiled = np.asfortranarray(L + np.triu(np.full((n, n), np.nan), 1))
    B = rng.standard_normal((n, columns))
    np.testing.assert_allclose(times_lower(spoiled, B), L @ B, rtol=0, atol=1e-11)


@pytest.mark.parametrize("n", [6, LARGE + 3])
def test_triangular_product_takes_any_layout(n, rng):
    L = np.tril(rng.standard_normal((n, n)))
    B = rng.standard_normal((n, 6))[:, ::2]
    wide = np.asfortranarray(np.hstack([L, B]))[:, :n]
    for layout in (np.ascontiguousarray(L), wide, np.vstack([L, L])[:n]):
        np.testing.assert_allclose(times_lower(layout, B), L @ B, rtol=0, atol=1e-11)


def test_inverse_from_the_factor_is_right_in_the_lower_triangle(rng):
    A = random_covariance(rng, 7)
    inverse = inverse_lower(cholesky(A).L)
    np.testing.assert_allclose(np.tril(inverse), np.tril(np.linalg.inv(A)), rtol=1e-8)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_parallel_map_keeps_the_order(workers):
    out = parallel_map(lambda a: a * a + 1, list(range(23)), workers)
    assert out == [a * a + 1 for a in range(23)]


def test_parallel_map_really_uses_several_threads():
    # Both calls wait for each other: with one thread the barrier would time out.
    barrier = threading.Barrier(2)
    assert (
        parallel_map(lambda _: barrier.wait(timeout=20) >= 0, [3, 4], 2) == [True] * 2
    )


@pytest.mark.parametrize("workers", [1, 3])
def test_parallel_map_passes_errors_on(workers):
    def fail(a):
        if a == 2:
            message = "two"
            raise NotPositiveDefiniteError(message)
        return a

    with pytest.raises(NotPositiveDefiniteError, match="two"):
        parallel_map(fail, [1, 2, 3], workers)


def blas_threads():
    return [p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"]


def test_blas_runs_on_one_thread_inside_and_as_before_outside():
    before = blas_threads()
    with one_blas_thread():
        assert set(blas_threads()) == {1}
    assert blas_threads() == before
