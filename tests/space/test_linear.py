"""Texts and matrices become linear constraints, and nothing is evaluated."""

import math

import numpy as np
import pytest
from scipy.optimize import LinearConstraint
from scipy.sparse import csr_array

from sumbo.errors import ArgumentError
from sumbo.space.linear import from_scipy, parse_linear

NAMES = ("a", "b", "depth")


@pytest.mark.parametrize(
    ("text", "coefficients", "lower", "upper"),
    [
        ("a + 2*b <= 1", {"a": 1.0, "b": 2.0}, -math.inf, 1.0),
        ("3 >= 2*(a - b*1.5) + 1", {"a": 2.0, "b": -3.0}, -math.inf, 2.0),
        ("-a == depth - 4e-1", {"a": -1.0, "depth": -1.0}, -0.4, -0.4),
        ("a/4 - (b - 3)/-2 <= 1.7", {"a": 0.25, "b": 0.5}, -math.inf, 3.2),
        ("a - 0.3*-depth >= 7", {"a": 1.0, "depth": 0.3}, 7.0, math.inf),
    ],
)
def test_text_is_read_as_written(text, coefficients, lower, upper):
    (row,) = parse_linear(text, NAMES)
    found, limits = dict(row.coefficients), (row.lower, row.upper)
    if found["a"] * coefficients["a"] < 0:  # stored with all signs turned
        found = {name: -c for name, c in found.items()}
        limits = (-row.upper, -row.lower)
    assert found == pytest.approx(coefficients)
    assert limits == pytest.approx((lower, upper))


def test_a_text_means_the_same_as_its_python_expression():
    text = "0.7*a - (b + 3)*2 <= 4*depth - 1.5"
    (row,) = parse_linear(text, NAMES)
    rng = np.random.default_rng(3)
    for a, b, depth in rng.normal(scale=3.0, size=(50, 3)):
        values = {"a": a, "b": b, "depth": depth}
        total = sum(c * values[name] for name, c in row.coefficients)
        assert (row.lower <= total <= row.upper) == eval(text, {}, values)


def test_a_chain_is_one_constraint_for_each_sign():
    low, high = parse_linear("0.2 <= a + b <= 1.7", NAMES)
    assert (low.upper, high.upper) == (-0.2, 1.7)
    assert dict(low.coefficients) == {"a": -1.0, "b": -1.0}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a*b <= 1", "not linear"),
        ("a**2 <= 1", "not linear"),
        ("2/a <= 1", "not linear"),
        ("a/b <= 1", "not linear"),
        ("a/0 <= 1", "not linear"),
        ("a = 1", "uses = alone.*equations have =="),
        ("abs(a) <= 1", "not linear"),
        ("__import__('os').getcwd() <= 1", "not linear"),
        ("a <= 'x'", "not linear"),
        ("a <= True", "not linear"),
        ("a < 1", "another sign"),
        ("a + b", "compares nothing"),
        ("a <= = 1", "uses = alone"),
        ("lambda <= 1", "cannot be read"),
        ("c <= 1", "no parameter"),
        ("a - a >= 2", "never be met"),
        ("a <= 1e999", "not finite"),
    ],
)
def test_what_is_not_linear_is_refused_with_a_remedy(text, message):
    if message == "not finite":
        # An infinite limit constrains nothing.
        assert parse_linear(text, NAMES)[0].upper == math.inf
        return
    with pytest.raises(ArgumentError, match=message) as error:
        parse_linear(text, NAMES)
    assert text in str(error.value)


def test_rows_of_scipy_keep_order_and_limits():
    A = np.array([[1.0, 0.0, -2.5], [0.0, 3.0, 0.0]])
    plain = from_scipy(LinearConstraint(A, [-np.inf, 1.0], [2.0, 1.0]), NAMES)
    assert dict(plain[0].coefficients) == {"a": 1.0, "depth": -2.5}
    assert (plain[1].lower, plain[1].upper) == (1.0, 1.0)
    sparse = from_scipy(LinearConstraint(csr_array(A), -np.inf, 2.0), NAMES)
    assert [row.upper for row in sparse] == [2.0, 2.0]


@pytest.mark.parametrize(
    ("A", "lb", "ub"),
    [([[1.0, 2.0]], 0, 1), ([[1.0, np.nan, 2.0]], 0, 1), ([[1.0, 2.0, 3.0]], 2, 1)],
)
def test_wrong_matrices_are_refused(A, lb, ub):
    with pytest.raises(ArgumentError, match="constraints"):
        from_scipy(LinearConstraint(A, lb, ub), NAMES)
