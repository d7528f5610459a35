"""The command line: maximise, tables in and out, refusals before a run begins."""

import csv
import json
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from sumbo import Optimizer, Real
from sumbo.cli import app
from sumbo.cli.results import present
from sumbo.errors import ArgumentError, EvaluationError, SumboError
from sumbo.optimizer.result import result_of

SPACE = ("--real", "a:0.2:1.9", "--integer", "b:1:6", "--choice", "c:left,right")
QUICK = ("--seed", 3, "--method", "uniform", "--quiet")

MODEL = """
def loss(x):
    if x[2] == "right":
        raise ValueError("no right")
    return (x[0] - 0.7) ** 2 + x[1]

def gain(x):
    return 9.5 - x[0]
"""


@pytest.fixture
def model(tmp_path):
    # A name of its own: modules are kept by name.
    path = tmp_path / f"model_{tmp_path.name}.py"
    path.write_text(MODEL)
    return path


def invoke(*words):
    result = CliRunner().invoke(app, [str(word) for word in words])
    if isinstance(result.exception, SumboError):
        raise result.exception
    return result


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_file_holds_the_function(model, tmp_path):
    out = tmp_path / "best.json"
    done = invoke(
        "minimize", f"{model}:gain", "--bounds", "0.3:1.9", "--budget", 3, *QUICK,
        "--json", out,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    found = json.loads(out.read_text())
    assert found["fun"] == min(e["y"] for e in found["evaluations"])
    assert str(model.parent) not in sys.path


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ArgumentError, match=r"none\.py.*no such file"):
        invoke("minimize", f"{tmp_path}/none.py:f", "--bounds", "0:1")


def test_the_largest_value_is_searched(model, tmp_path):
    out = tmp_path / "best.json"
    invoke(
        "minimize", f"{model}:gain", "--bounds", "0.3:1.9", "--maximize",
        "--budget", 9, "--seed", 1, "--quiet", "--json", out,
    )  # fmt: skip
    found = json.loads(out.read_text())
    assert found["fun"] == max(e["y"] for e in found["evaluations"]) > 8.0
    assert found["fun"] == 9.5 - found["x"]["x0"]


def test_evaluations_are_written_and_begin_the_next_run(model, tmp_path):
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    invoke("minimize", f"{model}:loss", *SPACE, "--budget", 6, *QUICK, "--csv", first)
    rows = rows_of(first)
    assert list(rows[0]) == ["a", "b", "c", "value", "failed"]
    assert len(rows) == 6
    assert {r["failed"] for r in rows} == {"True", "False"}
    assert all((r["value"] == "") == (r["failed"] == "True") for r in rows)
    invoke(
        "minimize", f"{model}:loss", *SPACE, "--budget", 9, *QUICK,
        "--data", first, "--csv", second,
    )  # fmt: skip
    assert rows_of(second)[:6] == rows
    assert len(rows_of(second)) == 9


def test_outcomes_are_written_and_begin_the_next_run(tmp_path):
    path = tmp_path / f"beam_{tmp_path.name}.py"
    path.write_text("def beam(x):\n    return x[0] + 0.3, {'load': 7.9 - 4 * x[0]}\n")
    first, second, out = (tmp_path / name for name in ("a.csv", "b.csv", "c.json"))
    run = ("minimize", f"{path}:beam", "--real", "w:0.2:1.9", "--outcome", "load::4.1")
    invoke(*run, "--budget", 7, *QUICK, "--csv", first)
    rows = rows_of(first)
    assert [float(r["load"]) for r in rows] == [7.9 - 4 * float(r["w"]) for r in rows]
    done = invoke(
        *run, "--budget", 7, *QUICK, "--data", first, "--csv", second, "--json", out
    )
    assert done.exit_code == 0  # the best of the rows that keep the limit
    assert rows_of(second) == rows
    found = json.loads(out.read_text())
    kept = [float(r["value"]) for r in rows if float(r["load"]) <= 4.1]
    assert found["fun"] == min(kept) == found["recommended"]["mean"]
    assert found["evaluations"][2]["outcomes"] == {"load": float(rows[2]["load"])}


def test_a_quiet_run_without_a_result_says_why(model):
    done = invoke(
        "minimize", f"{model}:loss", "--bounds", "0.3:1.9", "--bounds", "0:1",
        "--bounds", "0:1", "--budget", 2, "--outcome", "s::2", *QUICK,
    )  # fmt: skip
    assert done.exit_code == 1
    assert "no evaluation succeeded; the first failure" in done.output
    assert "without 's', which has limits" in done.output


WRONG_TABLES = {
    "no value column": ("a,b,c\n0.5,2,left\n", r"lacks the columns \['value'\]"),
    "no parameter": ("a,b,value\n0.5,2,3.5\n", r"lacks the columns \['c'\]"),
    "a word": ("a,b,c,value\n0.5,two,left,3.5\n", "row 1, b: 'two' is not a number"),
    "no such choice": ("a,b,c,value\n0.5,2,up,3.5\n", "c='up' is no choice"),
    "no value": ("a,b,c,value\n0.5,2,left,\n", "row 1 has no value"),
    "empty": ("", "lacks the columns"),
}


@pytest.mark.parametrize(("text", "message"), WRONG_TABLES.values(), ids=WRONG_TABLES)
def test_a_wrong_table_is_explained(model, tmp_path, text, message):
    path = tmp_path / "earlier.csv"
    path.write_text(text)
    with pytest.raises(ArgumentError, match=message):
        invoke("minimize", f"{model}:loss", *SPACE, "--data", path)


def test_a_table_that_is_not_there_is_named(model, tmp_path):
    with pytest.raises(ArgumentError, match=r"none\.csv.*cannot be read"):
        invoke("minimize", f"{model}:loss", *SPACE, "--data", tmp_path / "none.csv")


def test_a_table_that_cannot_be_written_is_refused_before_the_run(model, tmp_path):
    for path in (tmp_path / "nowhere" / "out.csv", tmp_path):
        with pytest.raises(ArgumentError, match="--csv"):
            invoke("minimize", f"{model}:loss", *SPACE, "--csv", path)


def test_a_parameter_that_the_program_does_not_use_is_refused():
    with pytest.raises(ArgumentError, match=r"does not use b, c. Write \{b\}"):
        invoke("minimize", "--command", "echo {a}", *SPACE)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_program_that_cannot_start_ends_the_run_at_once(tmp_path, workers):
    path = tmp_path / "run.npz"
    with pytest.raises(EvaluationError, match="cannot be started"):
        invoke(
            "minimize", "--command", f"{tmp_path}/nothing {{a}}", "--real", "a:0:1",
            "--on-error", "skip", "--retries", 3, "--workers", workers,
            "--checkpoint", path, "--quiet",
        )  # fmt: skip


def test_a_wrong_argument_is_reported_without_a_progress_bar(model):
    runner = CliRunner().invoke(
        app, ["minimize", f"{model}:gain", "--bounds", "0:1", "--set", "candidate=3"]
    )
    assert isinstance(runner.exception, ArgumentError)
    assert "0/120" not in runner.output


def test_a_finished_run_says_how_to_go_on(model, tmp_path):
    path = tmp_path / "run.npz"
    words = (
        "minimize", f"{model}:gain", "--bounds", "0.3:1.9", "--budget", 3,
        "--n-init", 3, "--method", "uniform", "--seed", 1, "--checkpoint", path,
    )  # fmt: skip
    assert "finished run" not in invoke(*words).output
    again = " ".join(invoke(*words).output.split())
    assert "finished run of 3 evaluations" in again
    assert "larger --budget" in again


def test_a_design_finds_modules_beside_it(tmp_path, monkeypatch):
    from sumbo.study import load_design

    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "beside_the_design.py").write_text("FOUND = True\n")
    design = tmp_path / "mine.toml"
    design.write_text(
        'seed = 3\nreplicates = 2\nmodules = ["beside_the_design"]\n'
        'problems = ["levy2"]\nn_init = 4\nacquisitions = 3\n[methods]\n1 = ["ts"]\n'
    )
    assert load_design(design).modules == ("beside_the_design",)
    assert sys.modules.pop("beside_the_design").FOUND


def test_the_table_shows_a_recommended_point_that_is_not_the_best(capsys):
    opt = Optimizer([Real("depth", 2.0, 9.0)], seed=4, n_init=3)
    noise = np.random.default_rng(5).normal(scale=0.7, size=40)
    x = np.linspace(2.1, 8.9, 40)[:, None]
    opt.tell(x, (x[:, 0] - 5.3) ** 2 / 9 + noise, noise=0.7)
    result = result_of(opt, nit=40, status=0, message="budget used")
    assert not np.array_equal(result.recommended.x, result.x)
    present(result, None, None, quiet=False)
    shown = capsys.readouterr().out
    assert f"{result.recommended.x[0]:.10g}" in shown
    assert f"{result.x[0]:.10g}" in shown
