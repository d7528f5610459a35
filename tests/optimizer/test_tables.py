"""Points and values as dictionaries and tables, by name, in any order."""

import numpy as np
import pandas as pd
import pytest

import sumbo
from searches import MIXED, QUICK, everything
from sumbo import Optimizer
from sumbo.errors import ArgumentError

ROWS = [
    {"rate": 1e-3, "layers": 4, "rule": "max", "weight": -1.2},
    {"rate": 0.2, "layers": 7, "rule": None, "weight": 0.1},
    {"rate": 0.03, "layers": 2, "rule": "sum", "weight": -2.9},
]
VALUES = [3.7, 1.2, 5.9]


def fresh(**settings):
    return Optimizer(MIXED, seed=4, n_init=3, **QUICK["logei"], **settings)


def told():
    opt = fresh()
    opt.tell([list(row.values()) for row in ROWS], VALUES)
    return everything(opt)


def shuffled():
    """Return a frame with the columns in another order, and one more."""
    frame = pd.DataFrame(ROWS, index=[7, 3, 9])
    frame["loss"], frame["comment"] = VALUES, ["a", "b", "c"]
    return frame[["loss", "weight", "comment", "rule", "rate", "layers"]]


def with_loss():
    return [{**row, "loss": y} for row, y in zip(ROWS, VALUES, strict=True)]


WAYS = {
    "dictionaries": lambda opt: opt.tell(ROWS, VALUES),
    "one by one": lambda opt: [
        opt.tell(row, y) for row, y in zip(ROWS, VALUES, strict=True)
    ],
    "a frame": lambda opt: opt.tell(pd.DataFrame(ROWS), VALUES),
    "a frame and a series in another order": lambda opt: opt.tell(
        pd.DataFrame(ROWS, index=[7, 3, 9]), pd.Series(VALUES[::-1], index=[9, 3, 7])
    ),
    "a frame with its values": lambda opt: opt.tell(shuffled(), "loss"),
    "dictionaries with their values": lambda opt: opt.tell(with_loss(), "loss"),
    "one dictionary with its value": lambda opt: [
        opt.tell(row, "loss") for row in with_loss()
    ],
}


@pytest.mark.parametrize("tell", WAYS.values(), ids=WAYS)
def test_every_notation_tells_the_same(tell):
    opt = fresh()
    tell(opt)
    assert everything(opt) == told()


def test_earlier_data_may_be_a_frame():
    assert everything(fresh(x0=shuffled(), y0="loss")) == told()


def test_points_of_a_frame_without_values_are_evaluated_first():
    frame = pd.DataFrame(ROWS)[["rule", "rate", "weight", "layers"]]
    opt = fresh(x0=frame)
    assert opt.space.as_dicts(opt.pending) == ROWS


def cost(x):
    """Return a value that is unusable for one of the choices."""
    return np.nan if x[2] is None else abs(np.log10(x[0]) + 2) + 0.1 * x[1]


@pytest.fixture(scope="module")
def result():
    return sumbo.minimize(
        cost, MIXED, budget=12, n_init=8, seed=2, on_error="skip", **QUICK["logei"]
    )


def test_a_result_becomes_a_frame_with_a_row_per_evaluation(result):
    frame = result.to_frame()
    assert list(frame.columns) == [*result.space.names, "value", "failed"]
    assert len(frame) == result.nfev == 12
    assert frame["failed"].any()
    assert not frame["failed"].all()
    np.testing.assert_array_equal(frame["value"], result.func_vals)
    points = frame[list(result.space.names)].to_numpy(dtype=object)
    assert (points == result.x_iters).all()


def test_a_frame_of_a_result_begins_another_run_with_the_same_knowledge(result):
    opt = Optimizer(MIXED, seed=2, x0=result.to_frame(), y0="value")
    assert (result.x_iters == opt.X).all()
    np.testing.assert_array_equal(opt.y, result.func_vals)


def test_the_frame_of_a_maximisation_holds_the_users_values():
    r = sumbo.maximize(lambda x: 2.3 - x[0], [(0.2, 1.7)], budget=3, n_init=3, seed=1)
    assert r.to_frame()["value"].tolist() == [2.3 - x for x in r.to_frame()["x0"]]


def test_a_noise_that_was_told_is_a_column_and_comes_back():
    opt = fresh()
    opt.tell(ROWS[:2], VALUES[:2], noise=[0.3, np.nan])
    opt.tell(ROWS[2], VALUES[2])
    r = sumbo.minimize(
        lambda x: 9.7, MIXED, budget=4, x0=ROWS, y0=VALUES, n_init=4, seed=1
    )
    assert "noise" not in r.to_frame()
    assert opt.noise[0] == 0.3
    assert np.isnan(opt.noise[1:]).all()
    frame = pd.DataFrame(ROWS).assign(value=VALUES, noise=[0.3, np.nan, np.nan])
    again = fresh(x0=frame, y0="value")
    assert everything(again) == everything(opt)


def test_a_parameter_may_be_called_as_a_column_of_the_result():
    r = sumbo.minimize(
        lambda x: x[0], {"value": (0.3, 1.9)}, budget=3, n_init=3, seed=1
    )
    frame = r.to_frame()
    assert list(frame.columns) == ["value", "value_", "failed"]
    assert frame["value_"].tolist() == frame["value"].tolist()


WRONG = {
    "a missing column": (
        shuffled().drop(columns="rate"),
        "loss",
        "without .'rate'",
    ),
    "no such column": (shuffled(), "cost", "without .'cost'"),
    "a parameter as the value": (shuffled(), "rate", "'rate' is a parameter"),
    "a value that is missing": (
        shuffled().assign(loss=[1.5, np.nan, 2.5]),
        "loss",
        r"value 1\) is not finite",
    ),
    "a flag that is none": (
        shuffled().assign(failed=["no", "yes", "perhaps"]),
        "loss",
        "'failed' holds",
    ),
    "a negative noise": (
        shuffled().assign(noise=[0.1, -0.2, 0.3]),
        "loss",
        "noise=-0.2",
    ),
    "a name beside an array": ([1e-3, 4, "max", -1.2], "loss", "y='loss' is not"),
}


@pytest.mark.parametrize(("x", "y", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_table_is_explained_and_changes_nothing(x, y, message):
    opt = fresh()
    before = everything(opt)
    with pytest.raises(ArgumentError, match=message):
        opt.tell(x, y)
    assert everything(opt) == before


@pytest.mark.parametrize("noise", [-0.1, np.inf, [0.1, 0.2], "much"])
def test_a_wrong_noise_is_explained_and_changes_nothing(noise):
    opt = fresh()
    before = everything(opt)
    with pytest.raises(ArgumentError, match="noise"):
        opt.tell(ROWS, VALUES, noise=noise)
    assert everything(opt) == before


def test_asks_are_logged(caplog):
    caplog.set_level("INFO", logger="sumbo")
    fresh().ask(2)
    assert "asked 2 points after 0 values" in caplog.text
