"""The command line as a user meets it."""

import dataclasses
import hashlib
import inspect
import json
import re
import signal
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sumbo
from sumbo.cli import app, listings, program
from sumbo.cli.minimize import rate_text
from sumbo.cli.objective import Command, load_function
from sumbo.cli.parameters import groups_from_text, settings_of, space_of
from sumbo.errors import ArgumentError, EvaluationError, SumboError
from sumbo.problems.shear.files import DataFile
from sumbo.space import Integer, Real

PROGRAM = """
import sys
a, b = float(sys.argv[1]), int(sys.argv[2])
if b > 3:
    print("no such mode", file=sys.stderr)
    sys.exit(3)
print("working")
print((a - 0.7) ** 2 + b)
"""


@pytest.fixture
def simulate(tmp_path):
    path = tmp_path / "simulate.py"
    path.write_text(PROGRAM)
    return f"{sys.executable} {path} {{a}} {{b}}"


def invoke(*words):
    result = CliRunner().invoke(app, [str(word) for word in words])
    if isinstance(result.exception, SumboError):
        raise result.exception
    return result


def space():
    return space_of([("real", "a:0.2:1.9"), ("integer", "b:1:6")])


def test_rows_of_a_file_are_evaluated(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("price,b,a\n7,0.3,1.9\n8,0.7,1.4\n9,0.2,2.6\n")
    out = tmp_path / "result.json"
    words = ["minimize", "--command", "sh -c 'echo {a}; : {b}'"]
    words += ["--real", "a:1:3", "--real", "b:0:1"]
    words += ["--choices", table, "--json", out, "--quiet", "--n-init", 2]
    assert invoke(*words).exit_code == 0
    found = json.loads(out.read_text())
    assert found["nfev"] == 3
    assert found["fun"] == 1.4
    table.write_text("a,c\n1.9,0.3\n")
    with pytest.raises(ArgumentError, match="misses"):
        invoke(*words)
    table.write_text("a,b\n1.9,0.3\n1.4,nan\n")
    with pytest.raises(ArgumentError, match="b=nan in row 1 is not finite"):
        invoke(*words)
    table.write_text("a,b\n")
    with pytest.raises(ArgumentError, match="no rows"):
        invoke(*words)
    table.write_text("a,b\n1.9,much\n")
    with pytest.raises(ArgumentError, match="line 2"):
        invoke(*words)


def test_version_is_that_of_the_package():
    assert invoke("--version").stdout.strip() == f"sumbo {sumbo.__version__}"


@pytest.mark.parametrize("words", [(), ("minimize",), ("study",), ("study", "run")])
def test_help_shows_what_there_is(words):
    result = invoke(*words, "--help")
    assert result.exit_code == 0
    assert "Usage" in result.stdout


def test_methods_lists_every_method_and_its_settings():
    listing = invoke("methods").stdout
    assert all(name in listing for name in sumbo.methods.names())
    settings = invoke("methods", "alcb2").stdout
    assert "beta" in settings
    assert "'adam'" in settings  # what the paper's preset says


def test_problems_lists_every_problem_and_describes_one():
    listing = invoke("problems").stdout
    assert all(name in listing for name in sumbo.problems.names())
    assert "obstacles" in invoke("problems", "rover").stdout


def test_problems_draws_a_picture(tmp_path):
    out = tmp_path / "levy.png"
    assert invoke("problems", "levy5", "--plot", "--out", out).exit_code == 0
    assert out.read_bytes().startswith(b"\x89PNG")


def test_a_problem_is_described_to_its_users():
    shown = invoke("problems", "levy10").stdout
    for text in ("10, x0 to x9, all in [0, 1]", "every parameter alone", "0, exact"):
        assert text in shown
    assert "wycoff2025" in shown
    assert "function" not in shown.replace("functions of one", "").replace(
        "Levy functions", ""
    )
    shown = invoke("problems", "rover").stdout
    assert "the lowest value found" in shown
    assert "not known" in shown  # groups
    assert not {"make", "modules", "listed", "check"} & set(shown.split())


def test_the_default_method_is_marked():
    rows = invoke("methods").stdout.splitlines()
    (row,) = [row for row in rows if "(default)" in row]
    default = inspect.signature(sumbo.minimize).parameters["method"].default
    assert f"{default} (default)" in row


def test_failures_are_reported_with_six_digits(tmp_path):
    (tmp_path / "broken.py").write_text("def f(x):\n    raise ValueError('no mesh')\n")
    words = ["minimize", f"{tmp_path / 'broken.py'}:f", "--real", "a:0.1:1.3"]
    found = invoke(*words, "--budget", 1, "--seed", 3).stderr
    (number,) = re.findall(r"at a=([\d.]+): no mesh", found)
    assert len(number.replace("0.", "").replace(".", "")) <= 6


def test_rates_are_per_second_or_seconds_each():
    assert rate_text(None) == ""
    assert rate_text(12.345) == "12.3/s"
    assert rate_text(0.05) == "20 s each"


def test_problems_fetch_prints_where_the_data_are(tmp_path, monkeypatch):
    raw = b"seventeen galaxies"
    file = DataFile(
        name="shapes.bin",
        url="http://127.0.0.1:9/",
        digest=f"sha256:{hashlib.sha256(raw).hexdigest()}",
    )
    row = dataclasses.replace(sumbo.problems.info("kids-1000"), data=(file,))
    monkeypatch.setattr(listings, "info", lambda name: row)
    monkeypatch.setenv("SUMBO_DATA", str(tmp_path))
    (tmp_path / "shapes.bin").write_bytes(raw)
    found = invoke("problems", "fetch", "kids-1000").stdout
    assert found.replace("\n", "") == str(tmp_path / "shapes.bin")


def test_problems_fetch_wants_a_problem():
    result = invoke("problems", "fetch")
    assert result.exit_code == 2
    assert "fetch kids-1000" in result.stdout


def test_problems_fetch_says_that_there_are_no_data():
    assert "needs no data" in invoke("problems", "fetch", "ackley2").stdout


def test_minimize_runs_a_program_and_skips_its_failures(simulate, tmp_path):
    out = tmp_path / "result.json"
    words = ["--command", simulate, "--real", "a:0.2:1.9", "--integer", "b:1:6"]
    options = ["--budget", 14, "--n-init", 9, "--seed", 4, "--json", out]
    result = invoke("minimize", *words, *options)
    assert result.exit_code == 0
    assert "best value" in result.stdout
    assert "no such mode" in result.stderr
    found = json.loads(out.read_text())
    assert found["nfev"] == 14
    failed = [e for e in found["evaluations"] if e["y"] is None]
    assert failed
    assert all(e["x"]["b"] > 3 for e in failed)
    good = [e["y"] for e in found["evaluations"] if e["y"] is not None]
    assert found["fun"] == min(good)
    assert found["x"]["b"] in range(1, 7)


def test_minimize_resumes_from_its_checkpoint(simulate, tmp_path):
    words = ["minimize", "--command", simulate, "--real", "a:0.2:1.9"]
    words += ["--integer", "b:1:3", "--n-init", 5, "--seed", 2, "--quiet"]
    whole, parts = tmp_path / "whole.json", tmp_path / "parts.json"
    invoke(*words, "--budget", 9, "--json", whole)
    saved = ("--checkpoint", tmp_path / "run.npz")
    invoke(*words, *saved, "--budget", 6)
    invoke(*words, *saved, "--budget", 9, "--json", parts)
    assert json.loads(parts.read_text()) == json.loads(whole.read_text())


def test_minimize_runs_a_python_function_and_writes_json_to_stdout(
    tmp_path, monkeypatch
):
    (tmp_path / "mymodel.py").write_text("def loss(x):\n    return 3 * x[0]\n")
    monkeypatch.chdir(tmp_path)
    words = ["minimize", "mymodel:loss", "--bounds", "0.5:2"]
    result = invoke(*words, "--budget", 3, "--n-init", 2, "--json", "-", "--quiet")
    found = json.loads(result.stdout)
    assert found["fun"] == 3 * found["x"]["x0"]


def test_raise_ends_the_run_at_the_first_failure():
    words = ["minimize", "--command", "false {x0}", "--bounds", "0:1", "--budget", 3]
    with pytest.raises(EvaluationError, match="exit code 1"):
        invoke(*words, "--n-init", 1, "--on-error", "raise")


@pytest.mark.parametrize(("retries", "lost"), [(0, 1), (1, 0)])
def test_retries_repeat_an_evaluation_that_failed(tmp_path, monkeypatch, retries, lost):
    name = f"shaky_{retries}"
    text = (
        "calls = []\n\n\ndef cost(x):\n    calls.append(1)\n"
        "    if len(calls) == 3:\n        raise OSError('busy')\n"
        "    return float(x @ x)\n"
    )
    (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    words = ["minimize", f"{name}:cost", "--bounds", "0:1.3*2", "--n-init", 5]
    words += ["--budget", 5, "--seed", 1, "--quiet", "--json", "run.json"]
    invoke(*words, "--retries", retries)
    evaluations = json.loads((tmp_path / "run.json").read_text())["evaluations"]
    assert [e["y"] for e in evaluations].count(None) == lost


def test_run_without_any_success_exits_with_an_error():
    words = ["minimize", "--command", "false {x0}", "--bounds", "0:1", "--budget", 3]
    assert invoke(*words, "--n-init", 1, "--quiet").exit_code == 1


def test_values_cannot_become_commands(tmp_path):
    trap = tmp_path / "trap"
    choices = space_of([("choice", f"mode:plain,; touch {trap}")])
    command = Command.of("echo {mode} 4.5", choices, None)
    with pytest.raises(EvaluationError, match="not a number"):
        command([f"; touch {trap}"])
    assert not trap.exists()


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("false {a} {b}", "exit code 1"),
        ("echo {a} words", "not a number"),
        ("no-such-program {a}", "cannot be started"),
        ("sleep 5", "longer than 0.2 s"),
    ],
)
def test_command_says_why_it_failed(template, message):
    command = Command.of(template, space(), 0.2)
    with pytest.raises(EvaluationError, match=message):
        command([0.5, 3])


def alive(pid):
    """Whether a process runs; one that ended but was not collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def eventually(condition, seconds=20.0):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def script(tmp_path, source):
    path = tmp_path / "program.py"
    path.write_text(source)
    return f"{sys.executable} {path}"


# A program whose child would outlive it: it notes the process id of the child.
FORKING = """
import subprocess, sys
child = subprocess.Popen(["sleep", "300"])
open(sys.argv[1], "a").write(f"{child.pid}\\n")
child.wait()
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_timeout_ends_what_the_program_started(tmp_path):
    note = tmp_path / "pid"
    command = Command.of(f"{script(tmp_path, FORKING)} {note}", space(), 1.5)
    with pytest.raises(EvaluationError, match=r"longer than 1\.5 s"):
        command([0.5, 3])
    pids = note.read_text().split()
    assert len(pids) == 1
    assert eventually(lambda: not alive(pids[0]))


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_interrupt_with_workers_ends_the_run_and_its_programs(tmp_path, name):
    note = tmp_path / "pid"
    words = [sys.executable, "-m", "sumbo", "minimize", "--bounds", "0.2:0.9"]
    words += ["--command", f"{script(tmp_path, FORKING)} {note} {{x0}}"]
    words += ["--workers", "2", "--budget", "5", "--n-init", "3"]
    run = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        assert eventually(lambda: note.exists() and note.read_text().count("\n") == 2)
        run.send_signal(getattr(signal, name))
        shown, _ = run.communicate(timeout=60)
    finally:
        run.kill()
    assert run.returncode == 130
    assert b"Traceback" not in shown
    assert eventually(lambda: not any(alive(p) for p in note.read_text().split()))


def test_interrupt_does_not_wait_for_functions_in_threads(tmp_path):
    note = tmp_path / "started"
    source = f"import pathlib, time\ndef slow(x):\n    pathlib.Path({str(note)!r})"
    source += ".touch()\n    time.sleep(300)\n"
    (tmp_path / "slowly.py").write_text(source)
    words = [sys.executable, "-m", "sumbo", "minimize", "slowly:slow", "--workers", "2"]
    words += ["--bounds", "0.2:0.9", "--budget", "5", "--n-init", "3", "--quiet"]
    run = subprocess.Popen(words, cwd=tmp_path)
    try:
        assert eventually(note.exists)
        run.send_signal(signal.SIGINT)
        assert run.wait(timeout=60) == 130
    finally:
        run.kill()


def test_only_the_end_of_the_output_is_kept(tmp_path):
    source = "for _ in range(3000): print('x' * 9999)\nprint(6.25)"
    words = script(tmp_path, source).split()
    tracemalloc.start()
    try:
        finished = program.run(words, None)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert finished.output.endswith("\n6.25\n")
    assert peak < 2e6  # of 30 MB printed


def test_output_in_another_encoding_is_read(tmp_path):
    source = r"import sys; sys.stdout.buffer.write(b'caf\xe9\n6.25\n')"
    command = Command.of(script(tmp_path, source), space(), None)
    assert command([0.5, 3]) == 6.25


@pytest.mark.parametrize("timeout", [0.0, -1.0, float("nan"), float("inf")])
def test_a_timeout_that_is_no_time_is_refused(timeout):
    with pytest.raises(ArgumentError, match="--timeout"):
        Command.of("echo 1.5", space(), timeout)


@pytest.mark.parametrize(
    ("template", "message"),
    [("echo {c}", r"\{c\}"), ("", "empty"), ("echo {a", "cannot be read")],
)
def test_unusable_templates_are_refused(template, message):
    with pytest.raises(ArgumentError, match=message):
        Command.of(template, space(), None)


@pytest.mark.parametrize(
    "spec", ["nothing", "no.such.module:f", "math:nothing", "math:pi"]
)
def test_unusable_functions_are_refused(spec):
    with pytest.raises(ArgumentError):
        load_function(spec)


def test_functions_are_loaded_by_name():
    import math

    assert load_function("math:sin") is math.sin


def test_parameters_are_read_from_options():
    options = [("choice", "mode:a,b"), ("bounds", "-1:2*2"), ("integer", "n:1:9")]
    options += [("real", "rate:1e-4:1:log"), ("bounds", "3:7")]
    parsed = space_of(options)
    assert parsed.names == ("mode", "x0", "x1", "n", "rate", "x2")
    assert parsed.parameters[1] == Real("x0", -1.0, 2.0)
    assert parsed.parameters[3] == Integer("n", 1, 9)
    assert parsed.parameters[4] == Real("rate", 1e-4, 1.0, log=True)


def test_function_gets_its_parameters_in_the_order_of_the_options(
    tmp_path, monkeypatch
):
    source = "def loss(x):\n    return (x[0] == 'c') + x[1] / 10 + x[2] / 100 + x[3]\n"
    (tmp_path / "ordered.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    options = ["--choice", "mode:c,d", "--integer=k:3:5", "--real", "a:0.2:0.4"]
    options += ["--integer", "j:7:9", "--budget", 3, "--n-init", 2, "--json", "-"]
    result = invoke("minimize", *options, "--quiet", "ordered:loss")
    found = json.loads(result.stdout)
    assert list(found["x"]) == ["mode", "k", "a", "j"]
    mode, k, a, j = found["x"].values()
    assert found["fun"] == (mode == "c") + k / 10 + a / 100 + j


@pytest.mark.parametrize(
    "options",
    [
        [("bounds", "0")],
        [("bounds", "0:1*x")],
        [("bounds", "0:1*")],
        [("real", "a:0")],
        [("real", "a:0:1:lin")],
        [("real", "a:zero:1")],
        [("choice", "mode")],
        [],
    ],
)
def test_unreadable_parameters_are_refused(options):
    with pytest.raises(ArgumentError):
        space_of(options)


def test_groups_and_settings_are_read_from_options():
    assert groups_from_text("a,b;c") == [["a", "b"], ["c"]]
    assert groups_from_text("0;1,2") == [[0], [1, 2]]
    assert groups_from_text("singletons") == "singletons"
    assert groups_from_text(None) is None
    assert settings_of(["beta=2.5", "kernel=rbf"]) == {"beta": 2.5, "kernel": "rbf"}
    with pytest.raises(ArgumentError, match="KEY=VALUE"):
        settings_of(["beta"])


def test_errors_are_one_line_without_a_traceback(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["sumbo", "minimize", "math:sin"])
    with pytest.raises(SystemExit) as stop:
        app()
    assert stop.value.code == 2
    shown = capsys.readouterr().err
    assert "no parameters" in shown
    assert "Traceback" not in shown
