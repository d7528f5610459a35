"""Constraints on the command line, and outcomes that a program prints."""

import json
import sys

import pytest
from typer.testing import CliRunner

from sumbo.cli import app
from sumbo.cli.objective import Command
from sumbo.cli.parameters import outcome_of, space_of
from sumbo.errors import ArgumentError
from sumbo.space import Outcome

PROGRAM = """
import sys
w, h = map(float, sys.argv[1:])
print("mesh = fine")
print("stress = 3")
print(f"stress={40 / (w * h**2)}")
print(w * h)
"""


@pytest.fixture
def beam(tmp_path):
    path = tmp_path / "beam.py"
    path.write_text(PROGRAM)
    return f"{sys.executable} {path} {{w}} {{h}}"


def test_lines_before_the_value_are_outcomes(beam):
    space = space_of([("real", "w:0.5:3"), ("real", "h:0.5:3")])
    value, outcomes = Command.of(beam, space, None)([2.0, 2.5])
    assert value == 5.0
    assert outcomes == {"stress": pytest.approx(3.2)}  # the last line of a name counts


def test_a_run_respects_constraints_and_limits(beam, tmp_path):
    out = tmp_path / "r.json"
    words = ["minimize", "--command", beam, "--real", "w:0.5:3", "--real", "h:0.5:3"]
    words += ["--constraint", "w <= h", "--outcome", "stress::20", "--seed", "1"]
    words += ["--budget", "8", "--n-init", "6", "--json", str(out), "--quiet"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    found = json.loads(out.read_text())
    w, h = (found["x"][name] for name in "wh")
    assert w <= h
    assert 40 / (w * h**2) <= 20


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("stress::20", Outcome("stress", None, 20.0)),
        ("load:-1.5:", Outcome("load", -1.5, None)),
        ("c:1:2e3", Outcome("c", 1.0, 2000.0)),
    ],
)
def test_limits_of_an_outcome_are_read(text, limits):
    assert outcome_of(text) == limits


@pytest.mark.parametrize(
    "text", ["stress", "stress:20", "stress:a:b", "s:1:2:3", "s::"]
)
def test_other_limits_are_refused(text):
    with pytest.raises(ArgumentError):
        outcome_of(text)


SHARES = """
def value(x):
    return float((x[0] - 0.6) ** 2 + (x[1] - 0.25) ** 2)

def unknown(x):
    return value(x), {"stress": float("nan")}
"""


@pytest.fixture
def shares(tmp_path):
    # A name of its own: modules are kept by name.
    path = tmp_path / f"shares_{tmp_path.name}.py"
    path.write_text(SHARES)
    return str(path)


def test_a_mixture_is_declared_in_one_option(shares, tmp_path):
    out = tmp_path / "r.json"
    words = ["minimize", f"{shares}:value", "--simplex", "mix:3", "--real", "t:2:7"]
    words += ["--budget", "6", "--n-init", "5", "--seed", "2", "--json", str(out)]
    done = CliRunner().invoke(app, [*words, "--quiet"])
    assert done.exit_code == 0, done.output
    found = json.loads(out.read_text())["x"]
    assert list(found) == ["mix0", "mix1", "mix2", "t"]
    assert sum(found[f"mix{i}"] for i in range(3)) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("text", ["mix", "mix:", "mix:three", "mix:-2", "mix:1"])
def test_other_mixtures_are_refused(text):
    with pytest.raises(ArgumentError):
        space_of([("simplex", text)])


def test_an_unusable_outcome_is_reported_when_it_is_measured(shares):
    words = ["minimize", f"{shares}:unknown", "--bounds", "0:1*2", "--seed", "3"]
    words += ["--outcome", "stress::20", "--budget", "2"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 1
    assert done.stderr.count("stress=nan is not finite") == 2


def test_a_refused_argument_is_all_that_is_printed(shares):
    words = ["minimize", f"{shares}:value", "--bounds", "0:1*2"]
    done = CliRunner().invoke(app, [*words, "--constraint", "x0 + depth <= 1"])
    assert "depth" in str(done.exception)
    assert done.output == ""
