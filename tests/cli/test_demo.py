"""The demo: a simulator that behaves like one, and an end that is a result."""

import numpy as np
import pytest
from typer.testing import CliRunner

from sumbo import Optimizer
from sumbo.cli import app, kiln
from sumbo.cli.demo import BUDGET, has_screen
from sumbo.errors import EvaluationError
from sumbo.space import Space


@pytest.fixture(scope="module")
def firings():
    """Return random settings of the kiln with their costs, NaN where it failed."""
    X = Optimizer(kiln.SPACE, method="uniform", seed=8).ask(150)
    return X, np.array([_cost(x) for x in X])


def _cost(x):
    try:
        return kiln.cost(x)
    except EvaluationError:
        return np.nan


def test_the_kiln_fails_sometimes_and_costs_something_else_everywhere(firings):
    _, y = firings
    assert 0.01 < np.isnan(y).mean() < 0.3
    known = y[~np.isnan(y)]
    assert (known > 0).all()
    assert len(np.unique(known)) == len(known)
    assert known.max() > 10 * known.min()


def test_the_kiln_is_a_function_of_all_its_parameters(firings):
    X, y = firings
    x = X[int(np.nanargmin(y))]
    for i, p in enumerate(kiln.SPACE):
        ends = p.choices if hasattr(p, "choices") else (p.lo, p.hi)
        moved = [[*x[:i], end, *x[i + 1 :]] for end in ends]
        assert any(_cost(row) != _cost(x) for row in moved), p.name


def test_a_failure_of_the_kiln_says_why(firings):
    X, y = firings
    with pytest.raises(EvaluationError, match=r"the shell reaches \d+ °C after"):
        kiln.cost(X[int(np.isnan(y).argmax())])
    assert len(Space.of(kiln.SPACE).names) == 10


def test_a_report_is_opened_where_there_is_a_screen_only():
    assert not has_screen("linux", {"DISPLAY": ""})
    assert has_screen("linux", {"DISPLAY": ":0"})
    assert has_screen("linux", {"WAYLAND_DISPLAY": "wayland-0"})
    assert has_screen("darwin", {})


@pytest.mark.slow
def test_the_demo_ends_on_a_result(tmp_path):
    done = CliRunner().invoke(app, ["demo", "--out", str(tmp_path), "--jobs", "1"])
    assert done.exit_code == 0, done.output
    text = " ".join(done.stdout.split())
    assert f"{BUDGET} evaluations" in text
    assert "% lower" in text
    assert "cannot be answered" not in text
    assert text.count("ended below uniform in") == 2
    for file in ("kiln.npz", "kiln.html", "kiln-parts.png", "study/report/index.html"):
        assert (tmp_path / file).stat().st_size > 1000
