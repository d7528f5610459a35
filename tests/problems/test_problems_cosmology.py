import gc
import itertools
import json
import os
import pickle  # noqa: TID251 - problems are sent to other processes
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.stats import qmc

from sumbo.errors import ArgumentError, MissingExtraError, ProblemError
from sumbo.problems import (
    available,
    base,
    cosmosis,
    cosmosis_worker,
    desi,
    get,
    info,
    names,
)

DATA = json.loads((Path(__file__).parents[1] / "data" / "desi.json").read_text())
START = np.array([0.7, 0.02236, 0.3, 100.0, 0.97, 0.0, 0.0697186])
FLAT = np.array([0.672, 0.0223, 0.313, 103.7, 0.97, 0.0, 0.061])


# ------------------------------------------------------------------ desi

needs_camb = pytest.mark.skipif(
    not available("desi")[0], reason="camb is not installed"
)


@needs_camb
def test_desi_equals_the_reference_and_fails_where_it_does():
    # The reference is from camb 1.6.6, with which the difference is 3e-6.
    X = np.array([case["x"] for case in DATA["cases"]])
    expected = np.array(
        [
            np.nan if case["loglike"] is None else -case["loglike"]
            for case in DATA["cases"]
        ]
    )
    values = get("desi")(X)
    np.testing.assert_array_equal(values == desi.PENALTY, np.isnan(expected))
    ok = ~np.isnan(expected)
    np.testing.assert_allclose(values[ok], expected[ok], rtol=1e-5)


@needs_camb
def test_desi_at_the_public_start_point():
    problem = get("desi")
    names = ("h0", "ombh2", "omega_m", "rdh", "n_s", "omega_k", "tau")
    assert problem.parameters == names
    assert problem(START) == pytest.approx(11.26, abs=0.01)
    named = pd.Series(START, index=names)
    assert problem(named[::-1]) == problem(START)


@needs_camb
def test_desi_fails_at_exactly_the_empty_closed_corners():
    problem = get("desi")
    corners = np.array(list(itertools.product(*problem.bounds[[0, 1, 2, 3, 5]])))
    X = np.insert(np.insert(corners, 4, 0.9, axis=1), 6, 0.06, axis=1)
    values = problem(X)
    expected = (X[:, 2] == 0.01) & (X[:, 5] == -0.3)
    np.testing.assert_array_equal(values == desi.PENALTY, expected)
    assert values[~expected].max() < desi.PENALTY / 10


@needs_camb
def test_desi_does_not_depend_on_spectral_index_and_optical_depth():
    x = FLAT.copy()
    x[[4, 6]] = 1.047, 0.0883
    assert get("desi")(x) == pytest.approx(get("desi")(FLAT), rel=1e-9)


@needs_camb
@pytest.mark.parametrize("omega_k", [0.0, 0.17, -0.11])
def test_distances_equal_the_integral_of_the_expansion_rate(omega_k):
    x = FLAT.copy()
    x[5] = omega_k
    h0, _, omega_m = x[:3]
    # Photons at 2.7255 K, and 3.046 massless neutrinos.
    omega_r = 2.47282e-5 / h0**2 * (1 + 3.046 * 7 / 8 * (4 / 11) ** (4 / 3))
    hubble = h0 * 100 / 299792.458

    def rate(z):
        dark = 1 - omega_m - omega_k - omega_r
        return hubble * np.sqrt(
            omega_r * (1 + z) ** 4 + omega_m * (1 + z) ** 3 + omega_k * (1 + z) ** 2
            + dark
        )  # fmt: skip

    def transverse(z):
        chi = quad(lambda s: 1 / rate(s), 0, z)[0]
        root = np.sqrt(abs(omega_k)) * hubble
        if omega_k == 0:
            return chi
        return (np.sinh if omega_k > 0 else np.sin)(root * chi) / root

    z = [0.295, 0.93, 2.33]
    distances = desi.background(x, z)
    assert distances is not None
    np.testing.assert_allclose(distances.D_M, [transverse(s) for s in z], rtol=1e-5)
    np.testing.assert_allclose(distances.D_H, [1 / rate(s) for s in z], rtol=1e-6)


@needs_camb
def test_sound_horizon_equals_the_fitting_formula():
    # arXiv:1411.1074 Eq. (16) for massless neutrinos, which is good to 0.1 %.
    h0, ombh2, omega_m = FLAT[:3]
    expected = 55.154 * (omega_m * h0**2) ** -0.25351 * ombh2**-0.12807
    distances = desi.background(FLAT, [0.5])
    assert distances is not None
    assert distances.r_drag == pytest.approx(expected, rel=1e-3)


def test_ratios_are_rescaled_twice():
    distances = desi.Distances(
        z=np.array([0.31]), D_M=np.array([1250.0]), D_H=np.array([3700.0]), r_drag=147.3
    )
    r_d = 96.0 / 0.71
    factor = 147.3 / r_d
    volume = (1250.0**2 * 0.31 * 3700.0) ** (1 / 3)
    expected = np.array([[volume], [1250.0], [3700.0]]) * factor / r_d
    np.testing.assert_allclose(desi.ratios(distances, h0=0.71, rdh=96.0), expected)


@needs_camb
@pytest.mark.parametrize("samples", ["default", "all"])
def test_desi_equals_the_textbook_formula_with_a_full_covariance(samples):
    table = [  # z, quantity and mean, error, correlation with the next row
        (0.295, 0, 7.93, 0.15, 0.0),
        (0.51, 1, 13.62, 0.25, -0.445),
        (0.51, 2, 20.98, 0.61, 0.0),
        (0.706, 1, 16.85, 0.32, -0.420),
        (0.706, 2, 20.08, 0.60, 0.0),
        (0.93, 1, 21.71, 0.28, -0.389),
        (0.93, 2, 17.88, 0.35, 0.0),
        (1.317, 1, 27.79, 0.69, -0.444),
        (1.317, 2, 13.82, 0.42, 0.0),
        (1.491, 0, 26.07, 0.67, 0.0),
        (2.33, 1, 39.71, 0.94, -0.477),
        (2.33, 2, 8.52, 0.17, 0.0),
    ][: 3 if samples == "default" else None]
    z, kind, mean, error, rho = np.array(table).T
    x = FLAT + np.array([0.01, 0.0004, 0.05, 2.1, 0.0, -0.06, 0.0])
    distances = desi.background(x, z.tolist())
    assert distances is not None
    predicted = desi.ratios(distances, h0=x[0], rdh=x[3])
    r = predicted[kind.astype(int), np.arange(len(z))] - mean
    C = np.diag(error**2)
    for i in np.flatnonzero(rho):
        C[i, i + 1] = C[i + 1, i] = rho[i] * error[i] * error[i + 1]
    expected = 0.5 * r @ np.linalg.inv(C) @ r
    assert get("desi", samples=samples)(x) == pytest.approx(expected, rel=1e-9)


@needs_camb
@pytest.mark.parametrize("samples", ["default", "all"])
def test_no_point_lies_below_the_best_known_of_desi(samples):
    problem = get("desi", samples=samples)
    assert problem.best_known is not None
    assert problem.best_known_x is not None
    assert not problem.exact
    assert problem(problem.best_known_x) == pytest.approx(problem.best_known, rel=1e-3)
    # Around the best point, where low values are, instead of in the whole box.
    U = qmc.Sobol(7, rng=11).random(16)
    lo, hi = problem.bounds.T
    X = np.clip(problem.best_known_x + 0.05 * (U - 0.5) * (hi - lo), lo, hi)
    assert problem(X).min() >= problem.best_known * (1 - 1e-4)


@needs_camb
def test_a_pickled_desi_gives_the_same_values():
    problem = get("desi", samples="all")
    copy = pickle.loads(pickle.dumps(problem))
    assert copy(FLAT) == problem(FLAT)


@needs_camb
def test_desi_rejects_unknown_samples():
    with pytest.raises(ArgumentError, match=r"samples='BGS'.*'default' or 'all'"):
        get("desi", samples="BGS")


def test_desi_without_camb_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "camb", None)
    with pytest.raises(MissingExtraError, match=r"sumbo\[cosmology\]"):
        get("desi")


# ------------------------------------------------------------------ tables


def test_the_shear_problems_have_the_dimensions_of_the_study():
    kids, hsc = (
        cosmosis.PIPELINES["kids-1000-cosmosis"],
        cosmosis.PIPELINES["hsc-y3-shear-cosmosis"],
    )
    assert info("kids-1000").dim == len(kids.parameters) == 14
    assert info("hsc-y3-shear").dim == len(hsc.parameters) == 25
    assert kids.parameters[7] == ("halo_model_parameters", "logt_agn", 7.3, 8.0)
    assert hsc.parameters[0] == ("cosmological_parameters", "a_s", 0.5e-9, 1e-8)
    assert hsc.parameters[-1] == ("psf_parameters", "psf_beta4", -5.0, 5.0)


def test_desi_through_cosmosis_has_the_coordinates_of_desi():
    parameters = cosmosis.PIPELINES["desi-cosmosis"].parameters
    assert [(n, (lo, hi)) for _, n, lo, hi in parameters] == list(desi.BOX.items())
    assert "desi-cosmosis" not in names()
    assert {"kids-1000", "hsc-y3-shear"} <= set(names())


# ------------------------------------------------------------------ fake workers

ALWAYS = """
say(loglike=-47.5)
for line in sys.stdin:
    x = json.loads(line)["x"]
    say(loglike=-sum(i * v for i, v in enumerate(x, 1)))
"""
KIDS = np.array(
    [1.3, -0.7, 2.2, -3.1, 0.4, 1.1, -2.4, 7.63, 0.12, 0.0223, 0.71, 0.97, 0.83, 0.2]
)
KIDS_VALUE = float(np.arange(1, 15) @ KIDS)


@pytest.fixture
def kids(tmp_path, monkeypatch):
    """Return a maker of kids-1000 with an interpreter that runs a given script."""
    library = tmp_path / "library"
    (library / "examples").mkdir(parents=True)
    (library / "examples" / "kids-1000.ini").touch()
    monkeypatch.setenv("COSMOSIS_STANDARD_LIBRARY", str(library))

    def make(body, timeout=30.0):
        script = tmp_path / "python"
        marker = tmp_path / "marker"
        script.write_text(
            f"#!{sys.executable} -SE\n"
            "import json, os, pathlib, sys, time\n"
            f"marker = pathlib.Path({str(marker)!r})\n"
            "def say(**reply):\n"
            "    print(json.dumps(reply), flush=True)\n"
            "setup = json.loads(sys.stdin.readline())\n" + textwrap.dedent(body)
        )
        script.chmod(0o755)
        monkeypatch.setenv("SUMBO_COSMOSIS_PYTHON", str(script))
        return get("kids-1000-cosmosis", timeout=timeout)

    return make


def child(problem):
    return problem.link.process._child


def test_a_worker_evaluates_points_and_batches(kids):
    problem = kids(ALWAYS)
    assert problem(KIDS) == pytest.approx(KIDS_VALUE, rel=1e-14)
    first = child(problem)
    other = KIDS + 0.001
    values = problem(np.stack([other, KIDS]))
    expected = [float(np.arange(1, 15) @ other), KIDS_VALUE]
    np.testing.assert_allclose(values, expected, rtol=1e-14)
    assert child(problem) is first


def test_the_worker_is_told_the_pipeline(kids, tmp_path):
    problem = kids("marker.write_text(json.dumps(setup))" + ALWAYS)
    problem(KIDS)
    setup = json.loads((tmp_path / "marker").read_text())
    assert setup["library"] == str(tmp_path / "library")
    assert setup["ini"] == "examples/kids-1000.ini"
    first = ["nofz_shifts_kids", "uncorr_bias_1", -5.0, 5.0]
    assert setup["parameters"][0] == first
    assert len(setup["parameters"]) == 14


def test_a_worker_that_died_between_evaluations_is_replaced(kids):
    problem = kids(ALWAYS)
    problem(KIDS)
    first = child(problem)
    first.kill()
    first.wait()
    assert problem(KIDS) == pytest.approx(KIDS_VALUE)
    assert child(problem).pid != first.pid


def test_a_worker_that_dies_once_is_asked_again(kids, tmp_path):
    problem = kids(
        """
        say(loglike=-47.6)
        for line in sys.stdin:
            if not marker.exists():
                marker.touch()
                os._exit(3)
            say(loglike=-8.25)
        """
    )
    assert problem(KIDS) == 8.25
    assert (tmp_path / "marker").exists()


def test_a_worker_that_dies_at_a_point_is_an_error_with_its_last_words(kids):
    problem = kids(
        """
        say(loglike=-47.6)
        sys.stdin.readline()
        sys.stderr.write("segmentation fault in cosebis\\n")
        sys.exit(139)
        """
    )
    with pytest.raises(ProblemError, match=r"died twice at x=\[1.3") as error:
        problem(KIDS)
    assert "code 139" in str(error.value)
    assert "segmentation fault in cosebis" in str(error.value)


def test_a_worker_that_dies_at_once_is_an_error(kids):
    problem = kids("sys.exit('no licence')")
    with pytest.raises(ProblemError, match=r"(?s)died at once.*code 1.*no licence"):
        problem(KIDS)


def test_a_worker_that_hangs_is_ended_and_then_replaced(kids):
    problem = kids(
        """
        say(loglike=-47.6)
        sys.stdin.readline()
        if not marker.exists():
            marker.touch()
            time.sleep(1000)
        say(loglike=-3.5)
        """,
        timeout=1.5,
    )
    with pytest.raises(ProblemError, match=r"no reply for timeout=1.5 s"):
        problem(KIDS)
    assert child(problem).poll() is not None
    assert problem(KIDS) == 3.5


@pytest.mark.parametrize(
    ("line", "message"),
    [("Computing cosebis ...", "not JSON"), ("[1, 2]", "no reply"), ("{}", "no reply")],
)
def test_a_worker_that_prints_garbage_is_an_error(kids, line, message):
    problem = kids(f"say(loglike=-47.6); sys.stdin.readline(); print({line!r})")
    with pytest.raises(ProblemError, match=message) as error:
        problem(KIDS)
    assert line in str(error.value)
    assert child(problem).poll() is not None


@pytest.mark.parametrize("value", ["-Infinity", "null", "NaN", "-1e300"])
def test_a_failed_point_has_the_penalty(kids, value):
    problem = kids(
        f"""
        say(loglike=-47.6)
        for line in sys.stdin:
            print('{{"loglike": {value}}}', flush=True)
        """
    )
    assert problem(KIDS) == cosmosis.PENALTY


@pytest.mark.parametrize("value", ["-Infinity", "-48.2", "null"])
def test_a_wrong_start_value_is_an_error(kids, value):
    problem = kids(f"""print('{{"loglike": {value}}}', flush=True); time.sleep(1000)""")
    with pytest.raises(ProblemError, match=r"self-check.*-47.663.*camb"):
        problem(KIDS)


@pytest.mark.parametrize(
    ("kind", "remedy"),
    [
        ("import", "set SUMBO_COSMOSIS_PYTHON"),
        ("parameters", "COSMOSIS_STANDARD_LIBRARY to a current checkout"),
        ("pipeline", "Make it run with the cosmosis command"),
    ],
)
def test_what_cannot_be_set_up_is_explained(kids, kind, remedy):
    problem = kids(f"say(error={kind!r}, message='KeyError: xyz')")
    with pytest.raises(ProblemError, match=remedy) as error:
        problem(KIDS)
    assert "KeyError: xyz" in str(error.value)


def test_a_pickled_problem_starts_its_own_worker(kids):
    problem = kids(ALWAYS)
    value = problem(KIDS)
    copy = pickle.loads(pickle.dumps(problem))
    assert copy.link.process is None
    assert copy(KIDS) == value
    assert child(copy).pid != child(problem).pid


def test_a_fork_leaves_the_worker_to_its_parent(kids, monkeypatch):
    problem = kids(ALWAYS)
    value = problem(KIDS)
    process = problem.link.process
    with monkeypatch.context() as patch:
        pid = os.getpid()
        patch.setattr(os, "getpid", lambda: pid + 1)
        assert problem(KIDS) == value
        problem.link.process.end()
    assert problem.link.process is not process
    assert process.alive()


def test_the_worker_ends_with_the_problem(kids):
    problem = kids(ALWAYS)
    problem(KIDS)
    process = child(problem)
    del problem
    gc.collect()
    assert process.poll() is not None


@pytest.mark.slow
def test_the_worker_ends_with_the_program(kids, tmp_path):
    kids("marker.write_text(str(os.getpid()))" + ALWAYS)
    code = (
        "import sumbo.problems as p; kids = p.get('kids-1000-cosmosis');"
        f"print(kids({KIDS.tolist()}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert float(done.stdout) == pytest.approx(KIDS_VALUE)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "marker").read_text()), 0)


def test_an_interrupted_evaluation_leaves_no_stale_reply(kids, monkeypatch):
    problem = kids(ALWAYS)
    problem(KIDS)
    process = problem.link.process
    lines = process._lines

    class Interrupted:
        def get(self, timeout):
            raise KeyboardInterrupt

    monkeypatch.setattr(process, "_lines", Interrupted())
    with pytest.raises(KeyboardInterrupt):
        problem(KIDS + 0.001)
    monkeypatch.setattr(process, "_lines", lines)
    assert problem(KIDS) == pytest.approx(KIDS_VALUE, rel=1e-14)


# ------------------------------------------------------------------ missing parts


def check_missing(message):
    with pytest.raises(ProblemError, match=message):
        get("hsc-y3-shear-cosmosis")
    ok, reason = available("hsc-y3-shear-cosmosis")
    assert not ok
    assert message in reason


def test_a_missing_library_variable_is_named(monkeypatch):
    monkeypatch.delenv("COSMOSIS_STANDARD_LIBRARY", raising=False)
    check_missing("COSMOSIS_STANDARD_LIBRARY is not set")


def test_a_missing_library_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("COSMOSIS_STANDARD_LIBRARY", str(tmp_path / "absent"))
    check_missing("absent is no directory")


def test_a_missing_file_of_the_library_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("COSMOSIS_STANDARD_LIBRARY", str(tmp_path))
    check_missing("has no examples/hsc-y3-shear.ini")


def test_a_missing_interpreter_is_named(monkeypatch, kids):
    kids(ALWAYS)
    monkeypatch.setenv("SUMBO_COSMOSIS_PYTHON", "/no/such/python")
    ok, reason = available("kids-1000-cosmosis")
    assert not ok
    assert "SUMBO_COSMOSIS_PYTHON=/no/such/python is no program" in reason
    with pytest.raises(ProblemError, match="is no program"):
        get("kids-1000-cosmosis")


def test_an_interpreter_that_cannot_be_run_is_an_error(kids, tmp_path):
    problem = kids(ALWAYS)
    (tmp_path / "python").write_text("#!/no/such/interpreter\n")
    with pytest.raises(ProblemError, match="cannot be started"):
        problem(KIDS)
    assert "cannot be run" in available("kids-1000-cosmosis")[1]


def test_a_library_that_vanished_is_an_error(kids, tmp_path):
    problem = kids(ALWAYS)
    (tmp_path / "library" / "examples" / "kids-1000.ini").unlink()
    with pytest.raises(ProblemError, match=r"has no examples/kids-1000.ini"):
        problem(KIDS)


def test_an_interpreter_without_cosmosis_is_not_available(kids):
    kids("")  # a script that ends with an error unless it is asked anything
    assert "it cannot import cosmosis" in available("kids-1000-cosmosis")[1]


@pytest.mark.parametrize("timeout", [0.0, -3.0, float("nan")])
def test_a_timeout_must_be_positive(kids, timeout):
    with pytest.raises(ArgumentError, match="timeout="):
        kids(ALWAYS, timeout=timeout)


# ------------------------------------------------------------------ the real worker

VALUES = """
[cosmological_parameters]
n_s = 0.97
h0 = 0.7
omega_m = 0.01 0.3 0.99
ombh2 = 0.02236
A_s = 2.19e-9
rdh = 10.0 100.0 1000.0
omega_k = 0.0
tau = 0.0697186
"""
INI = """
[runtime]
sampler = test
[pipeline]
modules = tiny
values = examples/tiny-values.ini
debug = T
[tiny]
file = tiny.py
"""
MODULE = """
import os

WEIGHTS = {"h0": 3, "ombh2": 5e4, "omega_m": 7, "rdh": 2e-4, "n_s": 11, "tau": 1e3}
CENTRE = {"h0": .7, "ombh2": .02236, "omega_m": .3, "rdh": 100, "n_s": .97, "tau": .07}

def setup(options):
    print("chatter of the set-up")
    return 0

def execute(block, config):
    os.write(1, b'{"loglike": 12345.0}\\n')
    x = {name: block["cosmological_parameters", name] for name in WEIGHTS}
    assert block["cosmological_parameters", "a_s"] == 2.19e-9
    if x["omega_m"] < 0.05:
        return 1
    if x["h0"] > 0.79:
        raise ValueError("too fast")
    cost = sum(w * (x[n] - CENTRE[n]) ** 2 for n, w in WEIGHTS.items())
    block["likelihoods", "tiny_like"] = -11.3 - cost
    return 0

def cleanup(config):
    pass
"""
STUB_CONFIG = """
import configparser

class Inifile(configparser.ConfigParser):
    def __init__(self, filename, override=None):
        super().__init__()
        with open(filename) as file:
            self.read_file(file)
        for (section, name), value in (override or {}).items():
            self.set(section, name, value)
"""
STUB_PIPELINE = """
import runpy
from types import SimpleNamespace

class LikelihoodPipeline:
    def __init__(self, ini, values):
        assert ini.get("pipeline", "debug") == "F"
        found = [(s, n) for s in values.sections() for n in values.options(s)]
        words = {key: values.get(*key).split() for key in found}
        self.fixed = {k: float(v[0]) for k, v in words.items() if len(v) == 1}
        self.varied_params = [
            SimpleNamespace(section=k[0], name=k[1], start=float(v[1]))
            for k, v in words.items() if len(v) == 3
        ]
        self.module = runpy.run_path(ini.get("tiny", "file"))
        self.module["setup"]({})

    def likelihood(self, p):
        block = dict(self.fixed)
        block.update({(q.section, q.name): v for q, v in zip(self.varied_params, p)})
        if self.module["execute"](block, None):
            return float("-inf"), []
        return block["likelihoods", "tiny_like"], []
"""


def stub(root, monkeypatch):
    """Write a package called cosmosis that can do what the worker asks of it."""
    package = root / "site" / "cosmosis"
    (package / "runtime").mkdir(parents=True)
    for folder in (package, package / "runtime"):
        (folder / "__init__.py").touch()
    (package / "runtime" / "config.py").write_text(STUB_CONFIG)
    (package / "runtime" / "pipeline.py").write_text(STUB_PIPELINE)
    monkeypatch.setenv("PYTHONPATH", str(root / "site"))
    monkeypatch.setenv("SUMBO_COSMOSIS_PYTHON", sys.executable)


@pytest.fixture
def library(tmp_path, monkeypatch):
    root = tmp_path / "library"
    (root / "examples").mkdir(parents=True)
    (root / "examples" / "desi_dr1.ini").write_text(INI)
    (root / "examples" / "tiny-values.ini").write_text(VALUES)
    (root / "tiny.py").write_text(MODULE)
    monkeypatch.setenv("COSMOSIS_STANDARD_LIBRARY", str(root))
    return root


@pytest.fixture(params=["stub", "cosmosis"])
def tiny(request, tmp_path, library, monkeypatch):
    """Return the problem of a small pipeline, run by a stub or by CosmoSIS itself."""
    if request.param == "stub":
        stub(tmp_path, monkeypatch)
    elif "SUMBO_COSMOSIS_PYTHON" not in os.environ:
        pytest.importorskip("cosmosis")
    return get("desi-cosmosis", timeout=60.0)


def test_the_worker_runs_a_pipeline(tiny):
    assert available("desi-cosmosis") == (True, "")
    x = np.array([0.66, 0.0241, 0.47, 213.0, 0.91, 0.12, 0.083])
    weights = np.array([3, 5e4, 7, 2e-4, 11, 0, 1e3])
    centre = np.array([0.7, 0.02236, 0.3, 100, 0.97, 0, 0.07])
    empty, fast = x.copy(), x.copy()
    empty[2], fast[0] = 0.03, 0.795
    values = tiny(np.stack([x, empty, fast, x]))
    expected = 11.3 + float(weights @ (x - centre) ** 2)
    failed = cosmosis.PENALTY
    np.testing.assert_allclose(values, [expected, failed, failed, expected], rtol=1e-12)


def test_the_worker_checks_its_start_value(tiny, library):
    (library / "tiny.py").write_text(MODULE.replace("-11.3", "-13.3"))
    with pytest.raises(ProblemError, match=r"self-check.*-13\.3"):
        tiny(START)


def test_the_worker_names_a_module_that_cannot_be_set_up(tiny, library):
    (library / "tiny.py").write_text("import no_such_module")
    with pytest.raises(ProblemError, match=r"cannot be built.*no_such_module"):
        tiny(START)


def test_the_worker_names_a_missing_parameter(tiny, library):
    path = library / "examples" / "tiny-values.ini"
    path.write_text(VALUES.replace("tau =", "tau_reio ="))
    with pytest.raises(ProblemError, match="cosmological_parameters/tau is not in"):
        tiny(START)


def test_the_worker_names_a_parameter_that_it_does_not_know(tiny, library):
    path = library / "examples" / "tiny-values.ini"
    path.write_text(VALUES.replace("2.19e-9", "1e-9 2.19e-9 3e-9"))
    with pytest.raises(
        ProblemError, match=r"varies also \[cosmological_parameters/a_s"
    ):
        tiny(START)


def test_the_worker_frees_and_permutes_the_parameters(tmp_path, library, monkeypatch):
    # In this process, where the other tests see only what comes out of the worker.
    stub(tmp_path, monkeypatch)
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.chdir(tmp_path)
    for name in ("", ".runtime", ".runtime.config", ".runtime.pipeline"):
        monkeypatch.delitem(sys.modules, f"cosmosis{name}", raising=False)
    parameters = [list(p) for p in cosmosis.PIPELINES["desi-cosmosis"].parameters]
    setup = {"library": str(library), "ini": "examples/desi_dr1.ini"}
    pipeline, order = cosmosis_worker.build({**setup, "parameters": parameters})
    assert order == [4, 0, 2, 1, 3, 5, 6]
    assert [p.start for p in pipeline.varied_params] == START[order].tolist()
    reply = cosmosis_worker.loglike(pipeline, START[order].tolist())
    assert reply["loglike"] == pytest.approx(-11.3, abs=1e-4)
    empty, fast = START.copy(), START.copy()
    empty[2], fast[0] = 0.03, 0.795
    failed = cosmosis_worker.loglike(pipeline, empty[order].tolist())
    assert failed == {"loglike": None, "reason": "the pipeline returned -inf"}
    failed = cosmosis_worker.loglike(pipeline, fast[order].tolist())
    assert failed == {"loglike": None, "reason": "ValueError: too fast"}
    with pytest.raises(cosmosis_worker.RefusedError, match=r"also \[.*/omega_m\]"):
        cosmosis_worker.build({**setup, "parameters": parameters[3:]})


def test_the_worker_says_that_cosmosis_cannot_be_imported(
    tmp_path, library, monkeypatch
):
    stub(tmp_path, monkeypatch)
    (tmp_path / "site" / "cosmosis" / "__init__.py").write_text("import no_such_thing")
    problem = get("desi-cosmosis")
    with pytest.raises(ProblemError, match=r"cannot import cosmosis.*no_such_thing"):
        problem(START)


def test_importing_the_problems_starts_nothing():
    # The worker is a script in the folder that the registry imports as a whole.
    assert "cosmosis_worker" not in base.PROBLEMS.names()
    assert "sumbo.problems.cosmosis_worker" in sys.modules
