import importlib
import json
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from sumbo.data import prepare
from sumbo.methods import METHODS
from sumbo.problems import PROBLEMS, available, get
from sumbo.space import Space
from sumbo.study.cell import run_cell
from sumbo.study.reading import load_design
from sumbo.study.rows import read_rows
from sumbo.study.storage import encode, write_design, write_record
from sumbo.testing import check_problem

ROOT = Path(__file__).parents[2]
DESIGNS = sorted((ROOT / "benchmarks" / "suites" / "designs").glob("*.toml"))
MODULES = ("coco", "windfarm", "locomotion", "ignition", "tuning", "turbo", "__main__")
# One cheap problem of each kind.
CHEAP = (
    "bbob-mixint-f03",
    "bbob-largescale-f01",
    "bbob-constrained-f01",
    "dev-yaw9",
    "dev-pendulum4",
    "dev-ignition5",
    "dev-svc-digits",
)


@pytest.fixture(scope="module")
def suites():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT))
        for registry in (METHODS, PROBLEMS):
            registry.names()  # loads those of sumbo
            # Other tests must not see what the benchmark registers.
            patch.setattr(registry, "_items", dict(registry._items))
        yield {n: importlib.import_module(f"benchmarks.suites.{n}") for n in MODULES}
    for name in [n for n in sys.modules if n.startswith("benchmarks.")]:
        del sys.modules[name]


def data_of(y, P=4):
    U = np.random.default_rng(0).random((len(y), P))
    return prepare(
        U=U,
        y=np.array(y),
        failed=np.zeros(len(y), dtype=bool),
        pending=np.empty((0, P)),
        domain=Space.of([(0.0, 1.0)] * P),
        step=0,
        kind="none",
    )


def test_designs_share_no_problem_with_development():
    # In a new process, because designs register their problems.
    code = "import sys, json; from sumbo.study.reading import load_design;"
    code += "designs = [load_design(path) for path in sys.argv[1:]];"
    code += "print(json.dumps({d.name: d.problems for d in designs}))"
    command = [sys.executable, "-c", code, *map(str, DESIGNS)]
    done = subprocess.run(
        command, check=False, cwd=ROOT, capture_output=True, text=True
    )
    problems = json.loads(done.stdout)
    assert set(problems) == {path.stem for path in DESIGNS}, done.stderr
    development = set(problems.pop("development"))
    reported = {p for names in problems.values() for p in names}
    assert development & reported == set()
    assert not [p for p in reported if p.startswith("dev-")]
    assert len(development) > 50
    assert len(reported) > 50


def test_parity_divides_the_functions_of_all_suites_alike(suites):
    coco = suites["coco"]
    bases = {"reported": set(), "development": set()}
    for suite in coco.DIMENSIONS:
        shown = coco.reported(suite)
        for function, base in coco.functions(suite).items():
            bases["reported" if function in shown else "development"].add(base)
    assert bases["reported"] & bases["development"] == set()
    assert bases["reported"] | bases["development"] == set(coco.BBOB)


@pytest.mark.parametrize("name", CHEAP)
@pytest.mark.filterwarnings("ignore")  # of simulators
def test_problems_keep_the_promises_of_a_problem(suites, name):
    usable, reason = available(name)
    if not usable:
        pytest.skip(reason)
    check_problem(name, seed=4)


@pytest.mark.skipif(find_spec("cocoex") is None, reason="coco-experiment is missing")
@pytest.mark.parametrize("kind", [107, 108, 109])
def test_truth_of_a_noisy_function_is_lowest_at_its_minimiser(suites, kind):
    problem = get(f"bbob-noisy-f{kind}", seed=3)
    X = np.vstack(
        [problem.minimizer, 0.5 * np.asarray(problem.minimizer), np.zeros(10)]
    )
    values = problem.truth(X)
    assert (np.diff(values) > 0).all()
    assert np.array_equal(values, problem.truth(X))
    assert len({problem(X[1]) for _ in range(40)}) > 1


@pytest.mark.filterwarnings("ignore")
def test_kept_rows_are_the_finished_runs_and_are_kept_once(suites, tmp_path):
    design = load_design(ROOT / "benchmarks/suites/designs/development.toml")
    write_design(tmp_path / "runs", design)
    cell = next(
        c
        for c in design.all_cells()
        if c.problem == "dev-svc-digits" and c.method == "optuna-tpe"
    )
    record = run_cell_uniformly(cell)
    write_record(tmp_path / "runs", cell, encode(record))
    keep = suites["__main__"].keep
    assert len(keep(tmp_path / "runs", tmp_path / "kept")) == 1
    assert keep(tmp_path / "runs", tmp_path / "kept") == []
    (row,) = read_rows(tmp_path / "kept")
    assert row.cell == cell
    assert row.best[-1] == record.y.min()


def run_cell_uniformly(cell):
    """Return a record as of ``cell``, with few uniform points: Optuna is not here."""
    few = replace(cell, method="uniform", settings={}, n_init=1, acquisitions=1)
    record = run_cell(few)
    fill = 120 - len(record.y)
    return replace(
        record,
        cell=cell,
        y=np.append(record.y, np.full(fill, record.y[-1])),
        x=np.vstack([record.x, np.tile(record.x[-1], (fill, 1))]),
        eval_s=np.append(record.eval_s, np.zeros(fill)),
        fit_cpu_s=np.zeros(100),
        ask_cpu_s=np.zeros(100),
    )


def test_turbo_doubles_after_three_successes_and_halves_after_failures(suites):
    turbo = suites["turbo"]
    y = [5.0, 4.0]
    state = turbo.RegionState(seen=2)
    for value in (3.0, 2.0, 1.0):
        y.append(value)
        state = turbo.updated(state, data_of(y), 1)
    assert state.length == 1.6
    for _ in range(4):
        y.append(9.0)
        state = turbo.updated(state, data_of(y), 1)
    assert state.length == 0.8
    state = turbo.RegionState(seen=len(y), lost=3, length=turbo.SHORTEST)
    y.append(9.0)
    state = turbo.updated(state, data_of(y), 1)
    assert (state.begin, state.length) == (len(y), 0.8)
