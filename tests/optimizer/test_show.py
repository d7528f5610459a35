"""What terminals and notebooks show of a run."""

import re

import numpy as np
import pytest

import sumbo
from sumbo import Categorical, Optimizer, Outcome, Real
from sumbo.optimizer.show import number, point_text

SPACE = [Real("rate <b>&amp;", 1e-4, 0.7, log=True), Categorical("kind", ("a", "b"))]


def told(**settings):
    opt = Optimizer(SPACE, seed=5, **settings)
    X = opt.ask(4)
    opt.tell(X[:3], [3.7, 1.23456789, 2.9])
    opt.tell(X[3], failed=True)
    opt.ask(2)
    return opt, X


def test_a_printed_result_names_the_parameters():
    r = sumbo.minimize(lambda x: 10.0 * x[0], SPACE, budget=6, seed=2)
    lines = str(r).splitlines()
    assert lines[0] == f"best value {r.fun:.10g}"
    assert re.split(r"  +", lines[1].strip()) == ["rate <b>&amp;", f"{r.x[0]:.6g}"]
    assert lines[2].split() == ["kind", r.x[1]]
    assert lines[3] == "6 evaluations; method 'logei'; seed 2; budget used"
    assert len(lines) == 4
    assert repr(r) == str(r)


def test_an_optimizer_is_one_line():
    opt, _ = told()
    assert repr(opt) == (
        "Optimizer(2 parameters, 'logei', seed 5: 4 evaluations (1 failed), "
        "2 pending, best 1.23457)"
    )
    assert "maximize" in repr(told(maximize=True)[0])
    assert "no value" in repr(Optimizer(SPACE, seed=1))


def test_html_shows_the_same_and_escapes_names():
    opt, X = told(maximize=True)
    html = opt._repr_html_()
    assert "largest value 3.7" in html
    assert "rate &lt;b&gt;&amp;amp;" in html
    assert "<b>" not in html
    assert f">{X[0][0]:.6g}<" in html
    r = sumbo.minimize(lambda x: x[0], SPACE, budget=4, seed=2)
    assert r.message in r._repr_html_()
    assert html.count("<tr>") == html.count("</tr>") == 2


def test_points_that_break_constraints_are_counted():
    opt = Optimizer(SPACE, seed=5, constraints=[Outcome("load", upper=2.0)])
    X = opt.ask(3)
    opt.tell(X, [1.1, 2.2, 3.3], outcomes={"load": [5.0, 1.0, 7.0]})
    assert "3 evaluations (2 infeasible)" in repr(opt)
    assert "best value 2.2" in opt._repr_html_()
    none = Optimizer(SPACE, seed=5, constraints=[Outcome("load", upper=2.0)])
    none.tell(none.ask(), 1.4, outcomes={"load": 9.0})
    assert "no feasible value yet" in none._repr_html_()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1 + 0.2, "0.3"),
        (np.float64(1234567.8), "1.23457e+06"),
        (7, "7"),
        (None, "None"),
    ],
)
def test_numbers_have_six_digits(value, text):
    assert number(value) == text
    assert point_text({"a": value, "b": 2}) == f"a={text}, b=2"
