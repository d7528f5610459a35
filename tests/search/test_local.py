"""Descent from many starts: against SciPy's L-BFGS-B, and at the edges."""

from functools import partial

import numpy as np
import pytest
from scipy.optimize import minimize

from irregular import frozen
from sumbo.errors import ArgumentError
from sumbo.search.local import descend, minimise_multistart


def quadratic(A, c):
    """Return ½(x − c)ᵀA(x − c) for the rows of X, with gradients."""

    def f(X):
        gap = X - c
        return 0.5 * np.einsum("bi,ij,bj->b", gap, A, gap), gap @ A

    return f


def valley(X):
    """Return a curved valley with its minimum at 1/2.3 in every coordinate."""
    a = 2.3 * X
    bend = a[:, 1:] - a[:, :-1] ** 2
    value = ((1 - a[:, :-1]) ** 2 + 100 * bend**2).sum(axis=1)
    slope = np.zeros_like(X)
    slope[:, :-1] += -2 * (1 - a[:, :-1]) - 400 * bend * a[:, :-1]
    slope[:, 1:] += 200 * bend
    return value, 2.3 * slope


def waves(X):
    """Return a function with many local minima, some of them on the boundary."""
    total = X.sum(axis=1, keepdims=True)
    value = (np.sin(9.3 * X + 0.4) + 0.7 * X).sum(axis=1) + 0.4 * total[:, 0] ** 2
    return value, 9.3 * np.cos(9.3 * X + 0.4) + 0.7 + 0.8 * total


def by_scipy(f, x, d, low=0.0, high=1.0):
    def single(x):
        value, slope = f(x[None])
        return value[0], slope[0]

    options = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 2000}
    return minimize(
        single,
        x,
        jac=True,
        method="L-BFGS-B",
        bounds=[(low, high)] * d,
        options=options,
    )


def test_curved_valley_is_followed_to_its_end(rng):
    X, values = descend(valley, frozen(rng.random((9, 4))), steps=300)
    np.testing.assert_allclose(X, 1 / 2.3, atol=1e-6)
    assert values.max() < 1e-11


def test_a_minimum_outside_the_box_gives_the_constrained_one(rng):
    B = rng.standard_normal((5, 5))
    f = quadratic(B @ B.T + 0.3 * np.eye(5), rng.uniform(-0.9, 1.8, 5))
    for start in rng.random((4, 5)):
        x, value = minimise_multistart(f, start[None], steps=200)
        exact = by_scipy(f, start, 5)
        assert value == pytest.approx(exact.fun, abs=1e-9)
        np.testing.assert_allclose(x, exact.x, atol=1e-5)
        assert ((x == 0) | (x == 1)).any()


def test_box_can_be_any_interval(rng):
    f = quadratic(np.diag([1.3, 40.0]), np.array([-2.7, 9.4]))
    x, _ = minimise_multistart(f, np.array([[1.1, 6.2]]), bounds=(-3.1, 7.3))
    np.testing.assert_allclose(x, [-2.7, 7.3], atol=1e-6)


def test_rows_do_not_depend_on_each_other(rng):
    starts = rng.uniform(0.05, 0.97, (7, 3))
    together, values = descend(waves, starts)
    for start, x, value in zip(starts, together, values, strict=True):
        alone, v = descend(waves, start[None])
        np.testing.assert_allclose(alone[0], x, atol=1e-9)
        assert v[0] == pytest.approx(value, abs=1e-12)


def test_every_row_ends_at_a_stationary_point_of_the_box(rng):
    X, _ = descend(waves, rng.uniform(0.05, 0.97, (25, 3)))
    _, slope = waves(X)
    projected = np.clip(X - slope, 0.0, 1.0) - X
    assert np.abs(projected).max() < 1e-4


def test_the_best_of_all_rows_is_returned(rng):
    starts = rng.uniform(0.05, 0.97, (15, 2))
    x, value = minimise_multistart(waves, starts)
    assert value == pytest.approx(min(by_scipy(waves, s, 2).fun for s in starts))
    assert value == pytest.approx(waves(x[None])[0][0], abs=1e-14)


@pytest.mark.parametrize("halving", [1, 3, 7])
def test_halving_gives_up_the_higher_rows(halving, rng):
    starts = rng.random((8, 3))
    counts = {}

    def counted(key, X):
        counts[key] = counts.get(key, 0) + len(X)
        return waves(X)

    full, reached = descend(partial(counted, "all"), starts, steps=60)
    X, values = descend(partial(counted, "some"), starts, steps=60, halving=halving)
    assert counts["some"] < counts["all"]
    assert (values > reached + 1e-9).any()  # those that were given up
    np.testing.assert_array_equal(values, waves(X)[0])
    assert (values <= waves(starts)[0]).all()
    if halving == 7:  # by then the order of the rows is that of their ends
        best = np.argmin(reached)
        np.testing.assert_allclose(X[best], full[best], atol=1e-6)
        assert np.argmin(values) == best


def test_no_row_ends_above_its_start(rng):
    starts = rng.uniform(0.05, 0.97, (40, 3))
    for steps in (1, 2, 5):
        _, values = descend(waves, starts, steps=steps)
        assert (values <= waves(starts)[0]).all()


def test_starts_are_left_unchanged(rng):
    starts = frozen(rng.uniform(0.05, 0.97, (4, 2)))
    before = starts.copy()
    descend(waves, starts)
    np.testing.assert_array_equal(starts, before)


def test_a_flat_function_keeps_its_start():
    start = np.array([[0.31, 0.87]])
    x, value = minimise_multistart(
        lambda X: (np.full(len(X), 1.7), np.zeros_like(X)), start
    )
    np.testing.assert_array_equal(x, start[0])
    assert value == 1.7


def test_values_that_are_not_numbers_are_not_entered():
    def f(X):
        value, slope = (X[:, 0] - 0.9) ** 2, 2 * (X - 0.9)
        return np.where(X[:, 0] > 0.6, np.nan, value), slope

    x, value = minimise_multistart(f, np.array([[0.13], [0.71]]))
    assert 0.5 < x[0] <= 0.6
    assert np.isfinite(value)


def test_no_starts_are_refused():
    with pytest.raises(ArgumentError, match="starts is empty"):
        minimise_multistart(waves, np.empty((0, 2)))


def test_starts_without_a_finite_value_are_refused():
    with pytest.raises(ArgumentError, match="no finite value"):
        minimise_multistart(
            lambda X: (np.full(len(X), np.nan), np.zeros_like(X)),
            np.array([[0.2, 0.3]]),
        )
