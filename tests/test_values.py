"""Masked, complex and labelled values: used by name, or refused; never dropped."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import sumbo
from sumbo import AdditiveGP, Optimizer
from sumbo.errors import ArgumentError, EvaluationError

BOUNDS = {"a": (0.3, 1.7), "b": (-4.0, 2.5)}
POINTS = [[0.6, -3.1], [1.4, 2.2], [0.9, -0.7]]
VALUES = [3.2, -1.4, 0.8]


@pytest.fixture(autouse=True)
def _no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def optimizer(**options):
    return Optimizer(BOUNDS, n_init=3, seed=5, **options)


@pytest.mark.parametrize(
    "y",
    [
        np.ma.masked,
        np.ma.masked_values([3.2, -999.0, 0.8], -999.0),
        [3.2, np.ma.masked, 0.8],
        np.array([3.2, np.ma.masked, 0.8], dtype=object),
        np.array(VALUES) + 0.5j,
        [3.2, 1.4 + 2j, 0.8],
        [np.complex64(3.2), 1.4, 0.8],
        None,
        "three",
        [[3.2], [1.4, 2.0], [0.8]],
    ],
)
def test_values_that_are_no_numbers_are_refused(y):
    opt = optimizer()
    with pytest.raises(ArgumentError, match="y="):
        opt.tell(POINTS, y)
    assert len(opt.y) == 0
    if y is not None:
        with pytest.raises(ArgumentError, match="y="):
            optimizer(x0=POINTS, y0=y)


@pytest.mark.parametrize(
    "x",
    [
        np.ma.masked_greater(np.array(POINTS), 2.0),
        [[0.6, np.ma.masked], *POINTS[1:]],
        np.array(POINTS) + 0.1j,
        np.array([[0.6, 1j], *POINTS[1:]], dtype=object),
        None,
        [],
        [[]],
        np.empty((0, 3)),
    ],
)
def test_points_that_are_no_numbers_are_refused(x):
    with pytest.raises(ArgumentError, match="x"):
        optimizer().tell(x, VALUES)


def test_masked_arrays_without_a_masked_value_are_numbers():
    opt = optimizer()
    opt.tell(np.ma.array(POINTS), np.ma.array(VALUES))
    assert opt.best[1] == -1.4


@pytest.mark.parametrize("bad", [np.ma.masked, 1.5 + 2j, np.array(2.0 + 1j), None])
def test_an_objective_without_a_number_fails(bad):
    with pytest.raises(EvaluationError, match="objective returned"):
        sumbo.minimize(lambda x: bad, BOUNDS, budget=3, n_init=3, seed=1)
    result = sumbo.minimize(
        lambda x: bad if x[0] > 0.8 else x[0] + 2.0,
        BOUNDS,
        budget=6,
        n_init=6,
        seed=1,
        on_error="skip",
    )
    assert result.fun > 2.0
    assert len(result.failed) > 0


def test_a_frame_is_read_by_name():
    frame = pd.DataFrame(POINTS, columns=["a", "b"])
    opt = optimizer()
    opt.tell(frame[["b", "a"]], VALUES)
    assert_array_equal(opt.X, POINTS)
    assert_array_equal(optimizer(x0=frame[["b", "a"]], y0=VALUES).X, POINTS)


def test_a_series_is_read_by_name():
    opt = optimizer()
    opt.tell(pd.Series({"b": -3.1, "a": 0.6}), 3.2)
    opt.tell(
        [pd.Series({"b": 2.2, "a": 1.4}), pd.Series({"a": 0.9, "b": -0.7})], [1, 2]
    )
    assert_array_equal(opt.X, POINTS)


def test_a_frame_with_a_choice_is_read_by_name():
    bounds = [sumbo.Real("a", 0.3, 1.7), sumbo.Categorical("mode", ("slow", "fast"))]
    opt = Optimizer(bounds, seed=2)
    opt.tell(pd.DataFrame({"mode": ["fast", "slow"], "a": [0.4, 1.1]}), [2.0, 3.0])
    assert opt.X.tolist() == [[0.4, "fast"], [1.1, "slow"]]


def test_a_frame_without_names_is_read_by_position():
    opt = optimizer()
    opt.tell(pd.DataFrame(POINTS), pd.Series(VALUES))
    assert_array_equal(opt.X, POINTS)


@pytest.mark.parametrize("columns", [["a", "c"], ["a", "a"], [1, 0], [5, 6]])
def test_frames_with_other_names_are_refused(columns):
    with pytest.raises(ArgumentError, match=r"x is a pandas object.*to_numpy"):
        optimizer().tell(pd.DataFrame(POINTS, columns=columns), VALUES)


def test_rows_of_points_and_values_belong_together_by_their_index():
    frame = pd.DataFrame(POINTS, columns=["a", "b"], index=[7, 3, 5])
    opt = optimizer()
    opt.tell(frame, pd.Series(VALUES, index=[7, 3, 5]).sort_values())
    assert_array_equal(opt.y, VALUES)
    with pytest.raises(ArgumentError, match="y has the index"):
        optimizer().tell(frame, pd.Series(VALUES))


def test_bounds_in_a_series_keep_their_names():
    space = sumbo.Space.of(pd.Series({"b": (0.5, 2.0), "a": (1.0, 3.0)}))
    assert space.names == ("b", "a")
    frame = pd.DataFrame({"lo": [0.1], "hi": [2.0]}, index=["a"])
    with pytest.raises(ArgumentError, match="DataFrame"):
        sumbo.Space.of(frame)


def test_problems_read_frames_by_name():
    problem = sumbo.problems.get("push")
    x = problem.bounds @ [0.3, 0.7]
    series = pd.Series(x, index=problem.parameters)
    assert problem(series[::-1]) == problem(x)
    with pytest.raises(ArgumentError, match="pandas"):
        problem(series.rename({problem.parameters[2]: "other"}))


@pytest.mark.parametrize("bad", [1 + 2j, np.ma.masked])
def test_problems_refuse_what_is_no_number(bad):
    problem = sumbo.problems.get("levy2", seed=3)
    with pytest.raises(ArgumentError, match="x="):
        problem([0.7, bad])
    with pytest.raises(ArgumentError, match="x="):
        problem(np.ma.masked_less([0.7, -0.4], 0.0))


X = np.array([[0.61, 0.13], [0.27, 0.94], [0.83, 0.48], [0.05, 0.36]])
Y = np.array([1.3, -0.4, 2.2, 0.9])


def gp(**settings):
    return AdditiveGP(groups=[(0,), (1,)], **settings)


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (X + 0.1j, Y),
        (X, Y * (1 + 2j)),
        (np.ma.masked_greater(X, 0.9), Y),
        (X, np.ma.masked_less(Y, 0.0)),
        (X, [1.3, np.ma.masked, 2.2, 0.9]),
        (X.astype(object) + 1j, Y),
        (None, Y),
        (X, None),
        (X, np.empty(0)),
        (np.empty((0, 2)), np.empty(0)),
        ("ab", Y),
        (pd.DataFrame(X, columns=["a", "b"]), Y),
        (pd.DataFrame(X), pd.Series(Y, index=[4, 5, 6, 7])),
    ],
)
def test_models_refuse_data_that_would_lose_something(X, y):
    for call in (gp().condition, gp().fit, gp().log_marginal_likelihood):
        with pytest.raises(ArgumentError, match=r"\b[Xy]\b"):
            call(X, y)
    with pytest.raises(ArgumentError, match=r"\b[Xxy]\b"):
        gp().condition(np.full((1, 2), 0.4), [0.7]).append(X, y)


def test_models_match_rows_by_index():
    expected = gp().condition(X, Y)
    shuffled = pd.Series(Y).sort_values()
    found = gp().condition(pd.DataFrame(X), shuffled)
    assert_allclose(found.y, expected.y, rtol=0)


@pytest.mark.parametrize("name", ["lengthscales", "variances"])
@pytest.mark.parametrize(
    "value",
    [
        np.array([1.3 + 1j, 0.7]),
        [1.3, 0.7j],
        np.ma.masked_less([1.3, 0.7], 1.0),
        [1.3, np.ma.masked],
        pd.Series([1.3, 0.7], index=["b", "a"]),
        [1.3, np.nan],
        [1.3, "wide"],
        [],
        [[1.3, 0.7, 0.2]],
        -0.4,
    ],
)
def test_models_refuse_parameters_that_would_lose_something(name, value):
    with pytest.raises(ArgumentError, match=name):
        gp(**{name: value})


@pytest.mark.parametrize("name", ["noise", "mean"])
@pytest.mark.parametrize(
    "value", [1 + 2j, np.complex128(0.3), np.ma.masked, np.nan, "x", None, [1.0, 2.0]]
)
def test_models_refuse_numbers_that_would_lose_something(name, value):
    with pytest.raises(ArgumentError, match=name):
        gp(**{name: value})


@pytest.mark.parametrize(
    "Z", [X + 1j, np.ma.masked_greater(X, 0.9), None, "ab", np.empty((2, 3))]
)
def test_predictions_refuse_points_that_would_lose_something(Z):
    with pytest.raises(ArgumentError, match="X_new"):
        gp().condition(X, Y).predict(Z)
