"""The search space: notations, round trips, errors."""

import json
import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import Bounds

from sumbo.errors import ArgumentError
from sumbo.space import Categorical, Integer, Real, Space
from sumbo.structure import as_groups
from sumbo.typing import Domain

MIXED = Space.of(
    [
        Real("lr", 3e-5, 0.7, log=True),
        Integer("depth", -2, 9),
        Categorical("act", ("relu", "tanh", None, 17)),
        Real("drop", 0.05, 0.65),
        Integer("width", 3, 700, log=True),
    ]
)
NUMERIC = Space.of([Real("a", -3.7, 11.3), Integer("n", 4, 29), (0.2, 0.9)])


def read_only(x):
    x = np.array(x)
    x.setflags(write=False)
    return x


def scipy_bounds(lb: Any, ub: Any):
    return Bounds(lb, ub)


def uniform(n, dim, seed):
    return read_only(np.random.default_rng(seed).uniform(size=(n, dim)))


# ------------------------------------------------------------------- strategies

finite = st.floats(-1e12, 1e12, allow_subnormal=False)
positive = st.floats(1e-12, 1e12)
choice = st.one_of(st.text(max_size=4), st.integers(), st.booleans(), st.none())


@st.composite
def reals(draw, name):
    log = draw(st.booleans())
    lo = draw(positive if log else finite)
    # At least 1e-6 wide, relative to its place: otherwise floats run out inside it.
    factor = draw(st.floats(1e-6, 1e6))
    hi = lo * (1 + factor) if log else lo + factor * max(abs(lo), 1.0)
    return Real(name, lo, hi, log)


@st.composite
def integers(draw, name):
    log = draw(st.booleans())
    lo = draw(st.integers(1 if log else -(2**40), 2**40 - 1))
    hi = draw(st.integers(lo + 1, 2**40))
    return Integer(name, lo, hi, log)


@st.composite
def categoricals(draw, name):
    choices = draw(st.lists(choice, min_size=2, max_size=5, unique=True))
    return Categorical(name, choices)


@st.composite
def parameters(draw):
    names = draw(st.lists(st.text(min_size=1), min_size=1, max_size=5, unique=True))
    kinds = st.sampled_from([reals, integers, categoricals])
    return [draw(draw(kinds)(name)) for name in names]


def draw_points(data, space):
    n = data.draw(st.integers(1, 4))
    unit = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.5, 1.0]))
    size = n * space.dim
    cells = data.draw(st.lists(unit, min_size=size, max_size=size))
    return read_only(cells).reshape(n, space.dim)


def rounding(space):
    """Return per coordinate the rounding error of a round trip through user units."""
    errors = []
    for p in space.parameters:
        if isinstance(p, Real):
            ends = [math.log(p.lo), math.log(p.hi)] if p.log else [p.lo, p.hi]
            size = max(abs(ends[0]), abs(ends[1]), 1.0 if p.log else 0.0)
            errors.append(8 * np.finfo(float).eps * (1 + size / (ends[1] - ends[0])))
        else:
            errors += [0.0] * (len(p.choices) if isinstance(p, Categorical) else 1)
    return np.array(errors)


# ---------------------------------------------------------------------- notations


def test_pairs_get_names_by_position():
    space = Space.of([(0.5, 2), (-3, -1)])
    assert space.parameters == (Real("x0", 0.5, 2.0), Real("x1", -3.0, -1.0))


@pytest.mark.parametrize(
    "bounds",
    [
        [(0.5, 2), (-3, -1)],
        ((0.5, 2), [-3, -1]),
        np.array([[0.5, 2], [-3, -1]]),
        scipy_bounds([0.5, -3], [2, -1]),
        [Real("x0", 0.5, 2), (-3, -1)],
        {"x0": (0.5, 2), "x1": Real("x1", -3, -1)},
        zip([0.5, -3], [2, -1], strict=True),
        Space.of([(0.5, 2), (-3, -1)]),
    ],
)
def test_all_notations_give_the_same_space(bounds):
    assert Space.of(bounds) == Space.of([(0.5, 2), (-3, -1)])


def test_scalar_scipy_bounds_are_broadcast():
    assert Space.of(scipy_bounds(-2, [5, 7])) == Space.of([(-2, 5), (-2, 7)])


def test_a_mapping_names_its_parameters():
    assert Space.of({"b": (3, 4), "a": (0.1, 0.2)}).names == ("b", "a")


def test_numpy_scalars_become_python_numbers():
    p = Integer("n", np.int64(3), np.float64(8))
    assert (type(p.lo), type(p.hi), p.hi) == (int, int, 8)
    assert type(Real("a", np.float32(0.5), np.int8(3)).lo) is float
    assert [type(c) for c in Categorical("c", np.array([16, 32])).choices] == [int, int]


def test_a_space_is_a_domain():
    assert isinstance(MIXED, Domain)


def test_blocks_are_consecutive_and_one_hot_has_one_per_choice():
    assert MIXED.blocks == ((0,), (1,), (2, 3, 4, 5), (6,), (7,))
    assert MIXED.dim == 8


def test_bounds_are_in_user_units():
    expected = [[3e-5, 0.7], [-2, 9], [0, 3], [0.05, 0.65], [3, 700]]
    assert MIXED.bounds.tolist() == expected
    assert not MIXED.bounds.flags.writeable


# ------------------------------------------------------------------- bad notations


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Real("a", 3, 1), "reversed"),
        (lambda: Real("a", 3, 3), "equal"),
        (lambda: Integer("a", 7, 7), "equal"),
        (lambda: Real("a", 0.5, math.inf), "finite"),
        (lambda: Real("a", math.nan, 1.5), "finite"),
        (lambda: Real("a", 3, 10**400), "finite"),
        (lambda: Real("a", -1.5e308, 1.5e308), "too wide"),
        (lambda: Real("a", "3", 4), "no number"),
        (lambda: Real("a", 0, 4, log=True), "lo > 0"),
        (lambda: Integer("a", -2, 4, log=True), "lo > 0"),
        (lambda: Real("a", 1e300, np.nextafter(1e300, 2e300), log=True), "too narrow"),
        (lambda: Integer("a", 0.5, 4), "whole"),
        (lambda: Integer("a", 3, 2**41), "2**40"),
        (lambda: Real(3, 4, 5), "name"),
        (lambda: Real("", 4, 5), "name"),
        (lambda: Categorical("a", ("relu",)), "2 or more"),
        (lambda: Categorical("a", "relu"), "no sequence"),
        (lambda: Categorical("a", {"relu", "tanh"}), "no sequence"),
        (lambda: Categorical("a", ("relu", "tanh", "relu")), "'relu' twice"),
        (lambda: Categorical("a", (1, True)), "True twice"),
        (lambda: Categorical("a", (1.5, math.nan)), "cannot be saved"),
        (lambda: Categorical("a", (len, max)), "cannot be saved"),
        (lambda: Space.of([]), "empty"),
        (lambda: Space.of({}), "empty"),
        (lambda: Space.of((0.5, 2)), "[(0, 1)]"),
        (lambda: Space.of(3), "[(0, 1)]"),
        (lambda: Space.of("ab"), "[(0, 1)]"),
        (lambda: Space.of(Real("a", 3, 4)), "[(0, 1)]"),
        (lambda: Space.of({(1, 2), (3, 4)}), "no sequence"),
        (lambda: Space.of([(1, 2, 3)]), "no pair"),
        (lambda: Space.of(np.ones((2, 5))), "(2, 5)"),
        (lambda: Space.of(np.array([0.5, 2])), "(2,)"),
        (lambda: Space.of([Real("a", 3, 4), Integer("a", 1, 2)]), "two parameters 'a'"),
        (lambda: Space.of([Real("x1", 3, 4), (1, 2)]), "two parameters 'x1'"),
        (lambda: Space.of({"a": Real("b", 3, 4)}), "'b'"),
    ],
)
def test_bad_spaces_are_refused_with_the_reason(build, words):
    with pytest.raises(ArgumentError, match=re.escape(words)):
        build()


# --------------------------------------------------------------------- round trips


@given(parameters(), st.data())
def test_encode_inverts_decode_up_to_rounding(params, data):
    space = Space.of(params)
    U = draw_points(data, space)
    back = space.encode(space.decode(U))
    assert np.all(np.abs(back - space.snap(U)) <= rounding(space))


@given(parameters(), st.data())
def test_snap_is_idempotent_and_keeps_the_user_point(params, data):
    space = Space.of(params)
    U = draw_points(data, space)
    snapped = space.snap(U)
    assert np.array_equal(space.snap(snapped), snapped)
    assert np.array_equal(space.decode(snapped), space.decode(U))


@given(parameters(), st.data())
def test_decoded_points_lie_in_the_box(params, data):
    space = Space.of(params)
    U = draw_points(data, space)
    assert space.contains(space.decode(U))
    assert space.contains(space.decode(3 * U - 1))


@given(parameters())
def test_ends_of_numbers_are_exact(params):
    space = Space.of(params)
    ends = [
        (p.choices[0], p.choices[-1]) if isinstance(p, Categorical) else (p.lo, p.hi)
        for p in space.parameters
    ]
    low, high = [lo for lo, _ in ends], [hi for _, hi in ends]
    X = space.decode(space.encode([low, high]))
    assert X.tolist() == [low, high]


@given(integers("n"), st.data())
def test_every_integer_survives_the_round_trip(p, data):
    k = data.draw(st.integers(p.lo, p.hi))
    space = Space(parameters=(p,))
    assert space.decode(space.encode([k])).tolist() == [[k]]


@given(parameters())
def test_json_round_trip_is_exact(params):
    space = Space.of(params)
    text = json.dumps(space.to_json())
    back = Space.from_json(json.loads(text))
    assert back == space
    assert repr(back) == repr(space)


def test_ordinary_values_change_by_rounding_only():
    space = Space.of([Real("a", -3.7, 11.3), Real("b", 2e-7, 31.0, log=True)])
    rng = np.random.default_rng(71)
    X = np.c_[rng.uniform(-3.7, 11.3, 500), 10 ** rng.uniform(-6.6, 1.4, 500)]
    # |log b| < 17, so that the relative error of exp is below 17 eps or so.
    np.testing.assert_allclose(space.decode(space.encode(X)), X, rtol=2e-14, atol=4e-15)


# ------------------------------------------------------------------------- meaning


def test_real_coordinates_are_linear_in_value_or_logarithm():
    space = Space.of([Real("a", -3.7, 11.3), Real("b", 1e-5, 1e2, log=True)])
    X = space.decode(np.array([[0.3, 3 / 7]]))
    np.testing.assert_allclose(X, [[-3.7 + 0.3 * 15.0, 1e-2]], rtol=1e-14)


@pytest.mark.parametrize("m", [2, 3, 7])
def test_equal_intervals_of_the_cube_give_integer_levels(m):
    space = Space.of([Integer("n", -5, -5 + m - 1)])
    u = (np.arange(40 * m) + 0.5) / (40 * m)
    levels = space.decode(u[:, None])[:, 0]
    assert levels.tolist() == (np.repeat(np.arange(m), 40) - 5.0).tolist()


def test_the_interval_of_a_level_includes_its_lower_end():
    space = Space.of([Integer("n", -5, -2)])
    U = np.array([[0.0], [0.25], [0.5], [0.75], [1.0]])
    assert space.decode(U)[:, 0].tolist() == [-5, -4, -3, -2, -2]


def test_integer_levels_sit_in_the_middle_of_their_interval():
    space = Space.of([Integer("n", 4, 8)])
    assert space.encode([[4], [7]])[:, 0] == pytest.approx([0.1, 0.7], abs=1e-15)


def test_log_integers_own_the_interval_between_half_levels():
    space = Space.of([Integer("n", 3, 700, log=True)])
    u = np.linspace(0, 1, 200_001)[:-1]
    levels = space.decode(u[:, None])[:, 0]
    share = [np.mean(levels == k) for k in (3, 4, 700)]
    total = math.log(700.5 / 2.5)
    expected = [math.log((k + 0.5) / (k - 0.5)) / total for k in (3, 4, 700)]
    assert share == pytest.approx(expected, abs=1.1e-5)


def test_categories_are_the_largest_coordinate_and_ties_go_to_the_first():
    space = Space.of([Categorical("c", ("p", "q", "r"))])
    U = np.array([[0.2, 0.9, 0.3], [0.1, 0.2, 0.7], [0.4, 0.4, 0.4]])
    assert space.decode(U)[:, 0].tolist() == ["q", "r", "p"]
    assert space.snap(U).tolist() == [[0, 1, 0], [0, 0, 1], [1, 0, 0]]


def test_numeric_points_are_floats():
    X = NUMERIC.decode(uniform(6, 3, 5))
    assert X.dtype == float
    assert np.array_equal(X[:, 1], np.rint(X[:, 1]))


def test_mixed_points_are_python_values():
    X = MIXED.decode(uniform(50, 8, 6))
    assert X.shape == (50, 5)
    assert {tuple(type(v) for v in row[[0, 1, 3, 4]]) for row in X} == {
        (float, int, float, int)
    }
    assert set(X[:, 2]) == {"relu", "tanh", None, 17}


def test_coordinates_outside_the_cube_are_clipped():
    U = np.array([[-0.3, 1.7, 0.5]])
    assert NUMERIC.decode(U)[0, :2].tolist() == [-3.7, 29]
    assert NUMERIC.snap(U)[0, 0] == 0.0


def test_arguments_are_not_modified():
    U = uniform(7, MIXED.dim, 8)  # read-only: writing would raise
    X = MIXED.decode(MIXED.snap(U))
    X.setflags(write=False)
    MIXED.encode(X)
    MIXED.encode_any(X)


def test_no_points_are_points_too():
    assert NUMERIC.encode(np.empty((0, 3))).shape == (0, 3)
    assert MIXED.decode(np.empty((0, 8))).shape == (0, 5)
    U, moved = MIXED.encode_any(np.empty((0, 5), dtype=object))
    assert (U.shape, moved.shape) == ((0, 8), (0,))


@pytest.mark.parametrize("bad", [np.ones((2, 7)), np.ones(8), np.full((1, 8), np.nan)])
@pytest.mark.parametrize("method", ["snap", "decode"])
def test_bad_unit_points_are_refused(bad, method):
    with pytest.raises((ArgumentError, TypeError)):
        getattr(MIXED, method)(bad)


# ------------------------------------------------------------------- user points

POINT = [0.02, 5, "tanh", 0.4, 60]
NAMED = {"drop": 0.4, "act": "tanh", "width": 60, "lr": 0.02, "depth": 5}


@pytest.mark.parametrize(
    "x",
    [
        POINT,
        tuple(POINT),
        [POINT],
        NAMED,
        [NAMED],
        np.array(POINT, dtype=object),
        np.array([POINT], dtype=object),
        np.array(["0.02", "5", "tanh", "0.4", "60"]),
    ],
)
def test_a_point_may_be_written_in_many_ways(x):
    U = MIXED.encode(x)
    assert U.shape == (1, 8)
    assert MIXED.as_dict(MIXED.decode(U)[0]) == pytest.approx(
        {"lr": 0.02, "depth": 5, "act": "tanh", "drop": 0.4, "width": 60}
    )


def test_several_points_keep_their_order():
    X = [[0.5, 7, 0.3], [-1.5, 5, 0.8]]
    assert np.array_equal(
        NUMERIC.encode(X), np.r_[NUMERIC.encode(X[0]), NUMERIC.encode(X[1])]
    )
    dicts = [dict(zip(NUMERIC.names, x, strict=True)) for x in X]
    assert np.array_equal(NUMERIC.encode(dicts), NUMERIC.encode(X))


def test_one_parameter_may_be_given_as_a_number():
    space = Space.of([(2.5, 4.5)])
    assert space.encode(3.0).tolist() == [[0.25]]


def test_numbers_equal_to_a_choice_are_that_choice():
    space = Space.of([Categorical("c", (16, 32)), (0.5, 2)])
    assert space.as_dict(np.array([32.0, 0.7])) == {"c": 32, "x1": 0.7}


def test_as_dict_gives_python_values_in_order():
    point = NUMERIC.as_dict(np.array([1.25, 7.0, 0.5]))
    assert list(point.items()) == [("a", 1.25), ("n", 7), ("x2", 0.5)]
    assert [type(v) for v in point.values()] == [float, int, float]


def test_as_dict_takes_one_point_only():
    with pytest.raises(ArgumentError, match="2 points"):
        NUMERIC.as_dict([[1, 7, 0.5], [2, 7, 0.5]])


@pytest.mark.parametrize(
    ("x", "words"),
    [
        ([1.0, 7], "one row of 3 values"),
        ([[1.0, 7, 0.5, 0.5]], "one row of 3 values"),
        ([[1.0, 7, 0.5], [1.0, 7]], "one row of 3 values"),
        ([np.ones((2, 3)), np.ones((2, 2))], "one row of 3 values"),
        (3.0, "one row of 3 values"),
        ([], "one row of 3 values"),
        ([math.nan, 7, 0.5], "a=nan is not finite"),
        ([[1.0, 7, 0.5], [1.0, 7, math.inf]], "x2=inf in row 1 is not finite"),
        ([None, 7, 0.5], "a=nan is not finite"),
        (["one", 7, 0.5], "no numbers"),
        ([1j, 7, 0.5], "no numbers"),
        (np.array([1j, 7, 0.5]), "no numbers"),
        ([-3.8, 7, 0.5], "a=-3.8 is outside [-3.7, 11.3]"),
        ([[1.0, 7, 0.5], [1.0, 30, 0.5]], "n=30.0 in row 1 is outside [4, 29]"),
        ([1.0, 7.5, 0.5], "n=7.5 is not whole"),
        ({"a": 1.0, "n": 7}, "misses ['x2']"),
        ({"a": 1.0, "n": 7, "x2": 0.5, "m": 3}, "['m'] are no parameters"),
    ],
)
def test_encode_says_what_is_wrong_with_a_point(x, words):
    with pytest.raises(ArgumentError, match=re.escape(words)):
        NUMERIC.encode(x)


# ------------------------------------------------------------------ boxes of reals
BOX = Space.of([(-3.7, 11.3), (0.2, 0.9), (5.0, 6.0)])


def one_by_one(x):
    """Return points as lists, which are looked at one parameter at a time."""
    return np.asarray(x).tolist()


def test_arrays_in_a_box_are_what_lists_are():
    U = uniform(7, 3, seed=4)
    X = read_only(BOX.decode(U))
    for x in (X, X[0], np.asfortranarray(X), X[:0], BOX.bounds.T):
        if len(x):
            assert np.array_equal(BOX.encode(x), BOX.encode(one_by_one(x)))
            assert np.array_equal(BOX.numbers(x), BOX.numbers(one_by_one(x)))
        else:
            assert BOX.encode(x).shape == BOX.numbers(x).shape == (0, 3)
    parted = [
        Space.of([pair]).decode(U[:, j : j + 1])
        for j, pair in enumerate(BOX.bounds.tolist())
    ]
    assert np.array_equal(X, np.hstack(parted))


def test_numbers_of_an_array_are_no_view_of_it():
    X = BOX.decode(uniform(2, 3, seed=4))
    assert not np.shares_memory(BOX.numbers(X), X)


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (np.array([1.0, 0.95, 5.5]), "x1=0.95 is outside [0.2, 0.9]"),
        (np.array([[1.0, 0.5, 5.5], [1.0, 0.5, math.nan]]), "x2=nan in row 1"),
        (np.ones((2, 4)), "one row of 3 values"),
    ],
)
def test_arrays_outside_a_box_are_refused_with_the_reason(x, words):
    with pytest.raises(ArgumentError, match=re.escape(words)):
        BOX.encode(x)


def test_numbers_outside_a_box_are_numbers_too():
    x = np.array([[1.0, 7.5, 5.5]])
    assert np.array_equal(BOX.numbers(x), x)


def test_an_unknown_choice_is_refused_with_the_choices():
    with pytest.raises(ArgumentError, match=r"act='gelu' is no choice.*'relu', 'tanh'"):
        MIXED.encode([0.02, 5, "gelu", 0.4, 60])
    with pytest.raises(ArgumentError, match="no choice"):
        MIXED.encode_any([0.02, 5, ["relu"], 0.4, 60])


def test_encode_any_moves_points_to_the_box_and_says_which():
    X = [[1.0, 7, 0.5], [-9.0, 7, 0.5], [1.0, 7.3, 0.5], [1.0, 1e9, 0.95]]
    U, moved = NUMERIC.encode_any(X)
    assert moved.tolist() == [False, True, True, True]
    nearest = [[1.0, 7, 0.5], [-3.7, 7, 0.5], [1.0, 7, 0.5], [1.0, 29, 0.9]]
    assert np.array_equal(U, NUMERIC.encode(nearest))


def test_encode_any_refuses_what_is_no_number():
    with pytest.raises(ArgumentError, match="not finite"):
        NUMERIC.encode_any([math.nan, 7, 0.5])


def test_encode_any_copes_with_negative_values_of_a_log_parameter():
    U, moved = MIXED.encode_any([-0.02, 5, "tanh", 0.4, -60])
    assert (U[0, 0], moved.tolist()) == (0.0, [True])
    assert MIXED.as_dict(MIXED.decode(U)[0])["width"] == 3


@pytest.mark.parametrize(
    ("x", "inside"),
    [
        ([1.0, 7, 0.5], True),
        ([[1.0, 7, 0.5], [-3.7, 29, 0.9]], True),
        ([[1.0, 7, 0.5], [11.4, 7, 0.5]], False),
        ([1.0, 7.5, 0.5], False),
        ([1.0, math.nan, 0.5], False),
    ],
)
def test_contains(x, inside):
    assert NUMERIC.contains(x) is inside


def test_numbers_keep_values_outside_the_box_and_count_choices():
    X = [POINT, [-3.5, 99, 17, 0.4, 60.5]]
    expected = [[0.02, 5, 1, 0.4, 60], [-3.5, 99, 3, 0.4, 60.5]]
    assert MIXED.numbers(X).tolist() == expected


@given(parameters(), st.data())
def test_numbers_and_points_invert_each_other(params, data):
    space = Space.of(params)
    X = space.decode(draw_points(data, space))
    numbers = read_only(space.numbers(X))
    assert repr(space.points(numbers)) == repr(X)
    assert np.array_equal(space.numbers(space.points(numbers)), numbers)


# -------------------------------------------------------------------------- groups


def test_groups_by_number_or_name_become_numbers():
    groups = MIXED.groups_of([("lr", 2), ["width"], np.array([3, 1])])
    assert groups == ((0, 2), (4,), (3, 1))
    assert as_groups(groups, len(MIXED.names)) == groups


def test_a_set_is_a_group_in_the_order_of_the_space():
    assert MIXED.groups_of([{"width", "lr", "drop"}]) == ((0, 3, 4),)


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ("lr", "no sequence of groups"),
        (3, "no sequence of groups"),
        ({("lr",), ("act",)}, "no sequence of groups"),
        (["lr", ("act",)], "Write ('lr',)"),
        ([2, (1,)], "Write (2,)"),
        ([("lr", "rl")], "'rl', which is no parameter"),
        ([(5,)], "Use 0 to 4"),
        ([(-1,)], "no parameter"),
        ([(True,)], "no parameter"),
        ([(1.0,)], "no parameter"),
    ],
)
def test_bad_groups_are_refused(groups, words):
    with pytest.raises(ArgumentError, match=re.escape(words)):
        MIXED.groups_of(groups)


# ---------------------------------------------------------------- json, difference


@pytest.mark.parametrize(
    "value", [None, 3, [{"kind": "Complex"}], [{"name": "a"}], [3], [], "ab"]
)
def test_a_foreign_json_value_is_refused(value):
    with pytest.raises(ArgumentError):
        Space.from_json(value)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ([(1, 2)], "number of parameters is 3 here and 1 there"),
        ([("b", 1)], "called 'a' here and 'b' there"),
        ([("n", 1)], "lo of parameter 'n' is 4 here and 5 there"),
        ([("r", 1)], "'n' is Integer here and Real there"),
        ([("c", 1)], "hi of parameter 'x2' is 0.9 here and 0.8 there"),
        ([("l", 1)], "log of parameter 'n' is False here and True there"),
    ],
)
def test_the_first_difference_is_described(other, words):
    a, n, c = NUMERIC.parameters
    changed = {
        "b": [Real("b", -3.7, 11.3), n, c],
        "n": [a, Integer("n", 5, 29), (0.2, 0.8)],
        "r": [a, Real("n", 4, 29), c],
        "c": [a, n, (0.2, 0.8)],
        "l": [a, Integer("n", 4, 29, log=True), c],
    }.get(other[0][0], other)
    assert words in NUMERIC.difference(Space.of(changed))


@given(parameters())
@settings(max_examples=20)
def test_equal_spaces_do_not_differ(params):
    space = Space.of(params)
    assert space.difference(Space.from_json(space.to_json())) == ""
