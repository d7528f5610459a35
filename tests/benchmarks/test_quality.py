import csv
import importlib
import inspect
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

import sumbo
from sumbo.data import prepare
from sumbo.methods import METHODS
from sumbo.optimizer import Optimizer
from sumbo.problems import PROBLEMS
from sumbo.space import Space
from sumbo.study.cell import initial_points, run_cell
from sumbo.study.design import select
from sumbo.study.reading import load_design
from sumbo.study.results import load
from sumbo.study.storage import decode, encode, write_design, write_record

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "benchmarks" / "quality"
DESIGN = PACKAGE / "designs" / "quality.toml"
DESIGNS = sorted(DESIGN.parent.glob("*.toml"))
KNOWN = {
    "hartmann6": -3.32236801,
    "rosenbrock10": 0.0,
    "styblinski-tang20": -39.16616570 * 20,
    "michalewicz10": -9.66015172,
    "levy8-rotated": 0.0,
    "sparse50": 0.0,
    "mixed7": 0.0,
    "salomon5": 0.0,
    "weierstrass6": 0.0,
    "schaffer8": 0.0,
    "happy-cat8": 0.0,
    "qing10": 0.0,
    "quartic20": 0.0,
    "bell12": 0.0,
    "chung-reynolds8": 0.0,
    "pairs16": 0.0,
    "oscillation5": 0.0,
    "training6": 0.1,
}


# The methods that the benchmark adds to those of sumbo.
ADDED = (
    "botorch-logei",
    "logei-one",
    "logei-singletons",
    "optuna-cmaes",
    "optuna-gp",
    "optuna-gp-exact",
    "optuna-tpe",
    "sumbo-default",
    "trust-region",
)


@pytest.fixture(scope="module")
def quality():
    names = [path.stem for path in PACKAGE.glob("*.py") if path.stem != "__init__"]
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT))
        before = [set(registry.names()) for registry in (PROBLEMS, METHODS)]
        for registry in (METHODS, PROBLEMS):
            # Other tests must not see what the benchmark registers.
            patch.setattr(registry, "_items", dict(registry._items))
        modules = {n: importlib.import_module(f"benchmarks.quality.{n}") for n in names}
        yield modules | {"before": before}
    for name in [n for n in sys.modules if n.startswith("benchmarks.quality")]:
        del sys.modules[name]


def cell_of(problem, method, **changes):
    design = load_design(DESIGN)
    cells = (
        c for c in design.all_cells() if (c.problem, c.method) == (problem, method)
    )
    return replace(next(cells), **changes)


def test_every_added_problem_and_method_is_tested_here(quality):
    problems, methods = quality["before"]
    assert set(PROBLEMS.names()) - problems == set(KNOWN)
    assert set(METHODS.names()) - methods == set(ADDED)
    assert set(quality["rivals"].NEEDS) <= set(ADDED)


@pytest.mark.parametrize("path", DESIGNS, ids=lambda path: path.stem)
def test_design_imports_the_modules_that_it_needs(path):
    # In a new process, because all modules of the benchmark may be loaded in this one.
    code = "import sys; from sumbo.study.reading import load_design;"
    code += "print(load_design(sys.argv[1]).name)"
    command = [sys.executable, "-c", code, str(path)]
    options = {"cwd": ROOT, "capture_output": True, "text": True}
    done = subprocess.run(command, check=False, **options)
    assert done.stdout.strip() == path.stem, done.stderr


@pytest.mark.parametrize("name", ["quality", "simulators", "structures"])
def test_published_rows_are_cells_of_their_design(quality, name):
    path = ROOT / "docs" / "data" / f"{name}.csv"
    if not path.exists():
        pytest.skip("the documentation is not part of an sdist")
    design = load_design(DESIGN.with_stem(name))
    cells = {(c.problem, c.batch, c.method, c.replicate) for c in design.all_cells()}
    with path.open(encoding="utf-8") as file:
        rows = {
            (row["problem"], int(row["batch"]), row["method"], int(row["replicate"]))
            for row in csv.DictReader(file)
        }
    assert len(rows) > 300
    assert rows - cells == set()


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("seed", [3, 58])
def test_minimiser_of_a_problem_gives_its_known_minimum(quality, name, seed):
    problem = sumbo.problems.get(name, seed=seed)
    assert problem.minimum == pytest.approx(KNOWN[name], rel=1e-7, abs=1e-12)
    assert problem(problem.minimizer) == pytest.approx(problem.minimum, abs=1e-9)
    other = sumbo.problems.get(name, seed=seed + 1)
    assert np.abs(other.minimizer - problem.minimizer).max() > 0.05


@pytest.mark.parametrize("name", KNOWN)
def test_no_search_goes_below_the_minimum(quality, name):
    problem = sumbo.problems.get(name, seed=11)
    rng = np.random.default_rng(4)
    low, high = problem.bounds.T
    X = low + (high - low) * rng.random((4000, problem.dim))
    values = problem(X)
    assert values.min() > problem.minimum
    near = np.clip(
        problem.minimizer + 0.02 * rng.standard_normal(problem.dim), low, high
    )
    for x in (near, X[np.argmin(values)]):
        found = minimize(problem, x, bounds=problem.bounds, options={"maxiter": 30})
        assert found.fun > problem.minimum - 1e-8 * max(1.0, abs(problem.minimum))


def test_rotated_function_is_no_sum_of_coordinates(quality):
    problem = sumbo.problems.get("levy8-rotated", seed=2)
    x = np.full(8, 0.37)
    step = 0.21 * np.eye(8)
    twist = problem(x + step[1] + step[6]) - problem(x + step[1])
    assert abs(twist - (problem(x + step[6]) - problem(x))) > 0.01


def test_only_five_of_fifty_coordinates_matter(quality):
    problem = sumbo.problems.get("sparse50", seed=9)
    x = np.random.default_rng(0).random(50)
    changed = [problem(np.where(np.arange(50) == p, 0.93, x)) for p in range(50)]
    differs = np.flatnonzero(np.array(changed) != problem(x))
    assert differs.tolist() == problem.active.tolist()
    assert len(differs) == 5


def test_initial_points_of_mixed_problem_use_every_level(quality):
    cell = cell_of("mixed7", "uniform", n_init=300)
    problem = sumbo.problems.get("mixed7", seed=1)
    X = initial_points(cell, problem)
    assert problem.space.contains(problem.space.points(X))
    assert [len(np.unique(column)) for column in X[:, 3:].T] == [11, 20, 3, 4]


@pytest.mark.parametrize("q", [1, 3])
def test_alias_asks_what_the_default_asks(quality, q):
    bounds = [(-2.0, 5.0), (0.3, 1.0), (10.0, 11.0)]
    X = Space.of(bounds).decode(np.random.default_rng(8).random((9, 3)))
    y = np.sin(X[:, 0]) + X[:, 1] ** 2
    default = Optimizer(bounds, seed=5, n_init=9, x0=X, y0=y)
    settings = {"method": "sumbo-default", "preset": "default"}
    alias = Optimizer(bounds, seed=5, n_init=9, x0=X, y0=y, **settings)
    for value in (0.4, -1.3, 0.7):
        points = default.ask(q)
        assert np.array_equal(alias.ask(q), points)
        for optimizer in (default, alias):
            optimizer.tell(points, np.full(q, value))


def test_minimize_and_optimizer_have_the_same_defaults():
    ours, theirs = (
        inspect.signature(f).parameters for f in (Optimizer, sumbo.minimize)
    )
    shared = set(ours) & set(theirs)
    assert shared >= {"method", "groups", "seed", "n_init", "x0", "y0"}
    assert {n: ours[n].default for n in shared} == {
        n: theirs[n].default for n in shared
    }


def data_of(y, dim=5):
    U = np.random.default_rng(1).random((len(y), dim))
    space = Space.of([(0.0, 1.0)] * dim)
    return prepare(
        U=U,
        y=np.array(y, dtype=float),
        failed=np.zeros(len(y), dtype=bool),
        pending=np.empty((0, dim)),
        domain=space,
        step=0,
        kind="none",
    )


@pytest.mark.parametrize(
    ("name", "groups"),
    [("logei-singletons", ((0,), (1,), (2,), (3,))), ("logei-one", ((0, 1, 2, 3),))],
)
def test_fixed_groups_are_used(quality, rng, name, groups):
    box = [(-1.2, 2.7 + k) for k in range(4)]
    opt = Optimizer(box, method=name, n_init=5, descents=1)
    X = rng.uniform(-1.2, 2.7, (12, 4))
    opt.tell(X, rng.normal(size=12))
    opt.ask()
    assert opt.info.groups == groups


def test_trust_region_doubles_halves_and_restarts(quality):
    method = METHODS.get("trust-region")(shortest=0.3)
    state = method._start(0, 2)
    y = [9.0, 7.0]
    for value in (5.0, 4.0, 1.0):
        y.append(value)
        state = method.updated(state, data_of(y), 1)
    assert state.length == 1.6
    lengths = []
    for _ in range(15):  # with five coordinates, five failures halve the side
        y.append(6.0)
        state = method.updated(state, data_of(y), 1)
        lengths.append(state.length)
    assert lengths == [1.6] * 4 + [0.8] * 5 + [0.4] * 5 + [0.8]
    assert state.begin == len(y) == 20
    U, _, _ = method.propose(np.random.default_rng(0), state, data_of(y), 2)
    assert np.ptp(U) > 0.1  # uniform points after the restart


def test_trust_region_comes_close_to_the_minimum(quality):
    target = np.array([0.23, 0.71, 0.64, 0.38])

    def f(x):
        return float(np.sum((x - target) ** 2) + 0.5 * (x[0] - x[2] + 0.41) ** 2)

    options = {"budget": 28, "n_init": 10, "seed": 3}
    bounds = [(0.0, 1.0)] * 4
    ours = sumbo.minimize(f, bounds, method="trust-region", candidates=128, **options)
    assert ours.fun < 0.02
    # The limit is not reached by chance: it is below the best of as many random points.
    assert sumbo.minimize(f, bounds, method="uniform", **options).fun > 0.04


@pytest.mark.parametrize("method", ADDED)
def test_method_runs_on_mixed_parameters_and_its_record_can_be_read(quality, method):
    for module in quality["rivals"].NEEDS.get(method, ()):
        pytest.importorskip(module)
    cell = cell_of("mixed7", "uniform", acquisitions=5, batch=3)
    record = run_cell(replace(cell, method=method, settings={"transform": "none"}))
    again = run_cell(cell_of("mixed7", "uniform", acquisitions=1))
    assert np.array_equal(record.x[:20], again.x[:20])
    assert len(record.ask_cpu_s) == 2
    assert len(np.unique(record.x, axis=0)) == 25
    problem = sumbo.problems.get("mixed7", seed=record.problem_seed)
    assert np.array_equal(problem(record.x), record.y)
    read = decode(
        encode(record).encode(), Path(quality["__main__"].filename(record.cell))
    )
    assert np.array_equal(read.x, record.x)


def test_optuna_gets_every_value_with_its_point(quality):
    pytest.importorskip("optuna")
    rivals = quality["rivals"]
    record = run_cell(cell_of("mixed7", "optuna-tpe", acquisitions=7, batch=3))
    problem = sumbo.problems.get("mixed7", seed=record.problem_seed)
    session = list(rivals._SESSIONS.values())[-1]
    done = [t for t in session.study.trials if t.value is not None]
    assert [t.value for t in done] == record.y[
        :26
    ].tolist()  # the last has no value yet
    for trial, x in zip(done, problem.space.points(record.x[:26]), strict=True):
        point = problem.space.numbers([list(trial.params.values())])[0]
        assert point == pytest.approx(problem.space.numbers(x)[0], rel=1e-12)


def test_ranks_are_paired_and_ties_are_not_significant(quality):
    report = quality["report"]
    # The second and the third are each best in half of the replicates. So their ranks
    # are equal, although the third has the better median.
    finals = np.array(
        [
            [5.0, 15.0, 25.0, 35.0, 45.0, 55.0, 65.0, 75.0],
            [4.0, 13.0, 22.0, 31.0, 40.0, 49.0, 58.0, 67.0],
            [4.5, 12.0, 22.7, 30.0, 40.3, 48.0, 58.4, 66.0],
        ]
    )
    assert report.paired_ranks(finals).tolist() == [3.0, 1.5, 1.5]
    assert report.ties_for_first(finals, 1) == [False, True, True]


def test_gaps_are_to_the_minimum_of_their_own_replicate(quality, tmp_path):
    design = load_design(DESIGN)
    write_design(tmp_path, design)
    for replicate, minimum in ((2, -7.5), (4, 3.25)):
        cell = cell_of("push", "uniform", replicate=replicate)
        y = minimum + 1.0 + np.arange(120.0)[::-1] ** 2
        record = run_cell(cell_of("levy2", "uniform", acquisitions=1))
        fake = {"cell": cell, "y": y, "x": None, "eval_s": np.ones(120)}
        record = replace(record, best_known=minimum, exact=True, **fake)
        record = replace(record, fit_cpu_s=np.ones(100), ask_cpu_s=np.ones(100))
        write_record(tmp_path, cell, encode(record))
    gaps = quality["report"].as_gaps(load(tmp_path), tmp_path)
    assert gaps.runs["push", "uniform", 1].final.tolist() == [1.0, 1.0]


@pytest.mark.slow
def test_command_runs_what_is_missing_and_reports(
    quality, tmp_path, monkeypatch, capsys
):
    text = DESIGN.read_text("utf-8")
    short = text.replace("acquisitions = 100", "acquisitions = 2")
    short = short.replace("replicates = 10", "replicates = 2")
    (tmp_path / "quality.toml").write_text(short, encoding="utf-8")
    monkeypatch.chdir(ROOT)
    out = ["--out", str(tmp_path / "runs")]
    words = ["run", *out, "--design", str(tmp_path / "quality.toml"), "--batch", "1"]
    words += ["--methods", "uniform,trust-region", "--problems", "mixed7"]
    words += ["--replicates", "0"]
    quality["__main__"].main(words)
    assert "2 runs done" in capsys.readouterr().out
    quality["__main__"].main(words)
    assert "0 runs done" in capsys.readouterr().out
    quality["__main__"].main(["report", *out])
    lines = (tmp_path / "runs" / "report" / "quality.md").read_text().splitlines()
    assert sum(line.startswith("| mixed7") for line in lines) == 1
    assert sum(line.startswith(("| uniform", "| trust-region")) for line in lines) == 2
    assert (tmp_path / "runs" / "report" / "convergence-batch1.png").exists()


def test_records_to_be_run_again_are_kept(quality, tmp_path):
    design = load_design(DESIGN)
    design = select(design, methods=("ts",))
    cells = [cell_of("levy2", "ts"), cell_of("levy2", "optuna-gp")]
    (tmp_path / "records").mkdir()
    for content in ("first", "second"):
        for cell in cells:
            path = tmp_path / "records" / quality["__main__"].filename(cell)
            path.write_text(content)
        assert quality["__main__"].archive(design, tmp_path) == 1
    kept = sorted(path.read_text() for path in (tmp_path / "replaced").iterdir())
    assert kept == ["first", "second"]
    assert [p.name for p in (tmp_path / "records").iterdir()] == [path.name]
