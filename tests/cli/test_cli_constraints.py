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
