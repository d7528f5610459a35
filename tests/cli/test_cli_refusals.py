"""Calls that cannot work end with one line, and results are never lost on the way."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from sumbo.cli import app, output
from sumbo.errors import ArgumentError
from sumbo.structure import as_groups

RUN = ("--bounds", "0.2:0.9", "--budget", "4", "--n-init", "3", "--quiet")
DESIGN = (
    'seed = 3\nproblems = ["levy2"]\nreplicates = 1\nn_init = 3\nacquisitions = 1\n'
)
METHODS = '[methods]\n1 = ["ts"]\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder to work in, with modules that can and cannot be imported."""
    (tmp_path / "usable.py").write_text(
        "def cost(x):\n    return float(x[0])\n\n\n"
        "def marked(x):\n    raise ValueError('[/x] [red]')\n"
    )
    (tmp_path / "raising.py").write_text("x = 3\nraise ZeroDivisionError('[/x]')\n")
    (tmp_path / "leaving.py").write_text("import sys\nsys.exit(3)\n")
    (tmp_path / "unreadable.py").write_text("def cost(:\n")
    (tmp_path / "design.toml").write_text(DESIGN + METHODS)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for name in ("usable", "raising", "leaving", "unreadable"):
        sys.modules.pop(name, None)


def last_line(words, monkeypatch, capsys):
    """Call the command line as a shell does; return what it says in the end."""
    monkeypatch.setattr(sys, "argv", ["sumbo", *words])
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as stop:
        app()
    assert stop.value.code == 2
    shown = capsys.readouterr().err
    assert "Traceback" not in shown
    lines = shown.strip().splitlines()
    assert len(lines) == 1 or "Usage" in lines[0]
    return " ".join(lines)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("minimize", "usable:cost", *RUN, "--set", "fun=5"), "'fun' is no setting"),
        (("minimize", "usable:cost", *RUN, "--set", "budget=5"), "'budget' is no sett"),
        (("minimize", "usable:cost", *RUN, "--set", "=5"), "KEY=VALUE"),
        (("minimize", "usable:cost", *RUN, "--batch", "x"), "'--batch'"),
        (("minimize", "usable:cost", *RUN, "--groups", "²,"), "'²', which is no par"),
        (("minimize", "usable:cost", *RUN, "--method", "[/x]"), "method='[/x]'"),
        (("minimize", "usable:cost", "--bounds", "0:1*1000000000"), "TIMES"),
        (("minimize", ":cost", *RUN), "package.module:function"),
        (("minimize", "../usable:cost", *RUN), "package.module:function"),
        (("minimize", "raising:cost", *RUN), "ZeroDivisionError: [/x] ("),
        (("minimize", "raising:cost", *RUN), "raising.py, line 2)"),
        (("minimize", "leaving:cost", *RUN), "SystemExit: 3"),
        (("minimize", "unreadable:cost", *RUN), "SyntaxError"),
        (("minimize", "--command", "echo {a:.3f}", "--real", "a:1:2"), "filled in"),
        (("minimize", "usable:cost", *RUN, "--json", "no/x.json"), "--json 'no/x"),
        (("minimize", "usable:cost", *RUN, "--json", "empty"), "it is a folder"),
        (("minimize", "usable:cost", *RUN, "--checkpoint", "empty"), "directory"),
        (("methods", "[/x]"), "method='[/x]'"),
        (("problems", "levy2", "--plot", "--out", "x.tale"), "--out 'x.tale'"),
        (("problems", "levy2", "--plot", "--out", "no/x.png"), "--out 'no/x.png'"),
        (("study", "run", "empty", "-o", "a"), "cannot be read"),
        (("study", "run", "design.toml", "-o", "a", "--batch", "x"), "--batch 'x'"),
        (
            ("study", "run", "design.toml", "-o", "a", "--replicates", "0:1000000000"),
            "not within 0:1",
        ),
        (("study", "run", "design.toml", "-o", "a", "--replicates", ""), "not a numb"),
        (("study", "run", "design.toml", "-o", "usable.py"), "cannot be written"),
        (("study", "export", "empty", "--out", "no/x.csv"), "--out 'no/x.csv'"),
    ],
)
def test_unusable_calls_end_with_one_line(words, message, folder, monkeypatch, capsys):
    assert message in last_line(words, monkeypatch, capsys)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("settings = 5\n" + METHODS, "settings=5 is not a table"),
        (METHODS + "[settings]\nts = 5\n", "is not a table of tables"),
        (METHODS + "[settings.ts]\nfoo = 5\n", "foo=5 is no setting"),
        (METHODS + "[settings.ts]\ncandidates = nan\n", "JSON"),
        (METHODS + "[settings.ts]\ncandidates = 1979-05-27\n", "JSON"),
        ('modules = [""]\n' + METHODS, "module ''"),
        ('modules = ["../x"]\n' + METHODS, "module '../x'"),
        ('modules = ["raising"]\n' + METHODS, "ZeroDivisionError"),
        ('preset = "papr"\n' + METHODS, "Did you mean 'paper'"),
        ("preset = 5\n" + METHODS, "preset=5"),
        ("[methods]\n1 = []\n", "nothing to run"),
    ],
)
def test_unusable_designs_are_refused_before_the_first_cell(
    text, message, folder, monkeypatch, capsys
):
    monkeypatch.syspath_prepend(folder)
    (folder / "design.toml").write_text(DESIGN + text)
    words = ("study", "run", "design.toml", "-o", "a")
    assert message in last_line(words, monkeypatch, capsys)
    assert not (folder / "a").exists()


def test_a_study_of_too_many_cells_is_refused(folder, monkeypatch, capsys):
    text = DESIGN.replace("replicates = 1", "replicates = 1_000_000_000_000")
    (folder / "design.toml").write_text(text + METHODS)
    words = ("study", "run", "design.toml", "-o", "a")
    assert "1000000000000 cells" in last_line(words, monkeypatch, capsys)


def test_square_brackets_are_shown_as_they_are(folder):
    words = ["minimize", "usable:marked", "--real", "[/x]:0.1:0.7", "--n-init", "2"]
    words += ["--choice", "[red]:[/y],z", "--budget", "3", "--seed", "1"]
    result = CliRunner().invoke(app, words, env={"COLUMNS": "150"})
    assert result.exit_code == 1  # no evaluation succeeded
    assert result.stderr.count("[/x] [red]") == 3
    words[1] = "usable:cost"
    shown = CliRunner().invoke(app, words, env={"COLUMNS": "150"}).stdout
    assert "[/x]" in shown
    assert "[red]" in shown


def test_a_result_that_cannot_be_written_is_printed(folder):
    words = ["minimize", "usable:cost", *RUN, "--json", "/dev/full"]
    result = CliRunner().invoke(app, words)
    assert isinstance(result.exception, ArgumentError)
    assert json.loads(result.stdout)["nfev"] == 4


def test_values_before_a_failure_are_shown_and_written(folder):
    (folder / "usable.py").write_text(
        "calls = []\n\n\ndef cost(x):\n    calls.append(1)\n"
        "    return float(x[0]) if len(calls) < 3 else 1 / 0\n"
    )
    words = ["minimize", "usable:cost", *RUN, "--on-error", "raise"]
    result = CliRunner().invoke(app, [*words, "--json", "run.json"])
    assert "failed at" in str(result.exception)
    assert json.loads((folder / "run.json").read_text())["nfev"] == 2


def test_a_test_of_a_path_leaves_nothing_behind(folder):
    before = sorted(folder.iterdir())
    output.require_writable("--json", folder / "new.json")
    output.require_writable("--json", folder / "design.toml")
    assert sorted(folder.iterdir()) == before
    assert (folder / "design.toml").read_text() == DESIGN + METHODS


def test_a_coordinate_larger_than_the_memory_is_refused():
    with pytest.raises(ArgumentError, match=r"missing 0, 1, .*, … \(1000000000 in all"):
        as_groups([(10**9,)])


PYTHON_CALLS = """
import sumbo
import sumbo.plots
from sumbo.errors import SumboError

gp = sumbo.AdditiveGP(groups=[(0,)])
X, y = [[0.2], [0.7]], [1.3, 2.1]
calls = {
    "checkpoint": lambda: sumbo.minimize(sum, [(0.2, 0.9)], checkpoint=5),
    "unknown": lambda: gp.fit(X, y, foo=1),
    "exact": lambda: gp.condition(X, y, foo=1),
    "seed": lambda: gp.fit(X, y, seed=-1),
    "starts": lambda: gp.fit(X, y, starts=0),
    "parts": lambda: sumbo.plots.parts(None),
    "loo": lambda: sumbo.plots.leave_one_out(None),
    "sobol": lambda: sumbo.Optimizer([(0.2, 0.9)] * 21_202, init="sobol"),
}
for name, call in calls.items():
    try:
        call()
        print(name, "accepted")
    except SumboError as error:
        assert len(str(error)) > 20
"""


def test_unusable_arguments_in_python_are_named():
    # In a process of its own: here the annotations are checked first.
    words = [sys.executable, "-c", PYTHON_CALLS]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
