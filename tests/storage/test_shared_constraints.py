"""Shared runs that maximise, and shared runs whose points are constrained."""

import numpy as np
import optuna
import pytest
from typer.testing import CliRunner

import sumbo
from sumbo.cli import app
from sumbo.errors import ArgumentError
from sumbo.integrations.optuna import SumboSampler
from sumbo.integrations.shared import minimize_shared, open_storage

BOUNDS = [(-1.1, 1.7), (-0.6, 2.3)]
LOGEI = {"n_init": 5, "seed": 8, "method": "logei", "candidates": 25, "starts": 1}
SPACE = {
    "a": sumbo.Real("a", -0.7, 1.9),
    "k": sumbo.Integer("k", 3, 11),
    "kind": sumbo.Categorical("kind", ["slow", "fast"]),
}


def small_when_fast(x):
    return x[2] == "slow" or x[1] <= 6


FEASIBLE = sumbo.Feasible(small_when_fast)
RULES = ["4*a + k <= 9.5", FEASIBLE]


def bowl(x):
    return (x[0] - 0.4) ** 2 + abs(x[1] - 0.3)


def hill(x):
    return -bowl(x)


def cost(x):
    return (x[0] - 1.1) ** 2 + 0.2 * abs(x[1] - 7) + 0.3 * (x[2] == "slow")


@pytest.fixture
def journal(tmp_path):
    return f"journal:{tmp_path / 'run.log'}"


def run(address, budget, fun=bowl, bounds=BOUNDS, **arguments):
    options = {**LOGEI, "storage": address, "study": "one", **arguments}
    return minimize_shared(fun, bounds, budget=budget, **options)


def study_of(address):
    return optuna.load_study(study_name="one", storage=open_storage(address).storage)


# ---------------------------------------------------------------- maximise
def test_a_shared_run_maximises_in_the_sign_of_the_user(journal, tmp_path):
    seen = []
    result = run(journal, 8, hill, maximize=True, callback=lambda r: seen.append(r.fun))
    other = run(f"journal:{tmp_path / 'other.log'}", 8)
    assert result.x_iters.tolist() == other.x_iters.tolist()
    assert result.func_vals.tolist() == (-other.func_vals).tolist()
    assert result.fun == result.func_vals.max()
    assert seen == np.maximum.accumulate(result.func_vals).tolist()
    study = study_of(journal)
    assert study.direction == optuna.study.StudyDirection.MAXIMIZE
    assert study.best_value == result.fun


def test_a_worker_with_the_other_direction_is_refused(journal):
    run(journal, 5, hill, maximize=True)
    with pytest.raises(ArgumentError, match="maximize is False here and True there"):
        run(journal, 6, hill)


# ---------------------------------------------------------------- constraints
def test_every_point_of_a_constrained_shared_run_is_feasible(journal, tmp_path):
    arguments = {"bounds": SPACE, "constraints": RULES}
    first = run(journal, 7, cost, **arguments)
    result = run(journal, 10, cost, **arguments)
    assert result.x_iters[:7].tolist() == first.x_iters.tolist()
    for a, k, kind in result.x_iters:
        assert 4 * a + k <= 9.5 + 1e-9
        assert small_when_fast((a, k, kind))
        assert isinstance(k, int)
    assert len({tuple(x) for x in result.x_iters.tolist()}) == 10
    whole = run(f"journal:{tmp_path / 'whole.log'}", 10, cost, **arguments)
    assert result.x_iters.tolist() == whole.x_iters.tolist()


def test_the_shares_of_a_mixture_add_up_to_one(journal):
    result = run(journal, 7, bowl, [sumbo.Simplex("mix", 3)])
    np.testing.assert_allclose(
        result.x_iters.astype(float).sum(axis=1), 1.0, rtol=0, atol=1e-9
    )


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        (["4*a + k <= 9"], "tests"),
        (["4*a + k <= 9", FEASIBLE], "constraints are .*<= 9.*here and .*9.5.*there"),
        ((), "tests"),
    ],
)
def test_a_worker_with_other_constraints_is_refused(journal, constraints, message):
    run(journal, 5, cost, SPACE, constraints=RULES)
    with pytest.raises(ArgumentError, match=message):
        run(journal, 6, cost, SPACE, constraints=constraints)


def test_the_command_line_passes_direction_and_constraints(journal, tmp_path):
    (tmp_path / "hill.py").write_text("def up(x):\n    return x[0] - x[1]\n")
    words = f"minimize {tmp_path / 'hill.py'}:up --real a:-1:2 --real b:0.3:1.4"
    words += f" --storage {journal} --study one --budget 6 --n-init 6 --seed 5"
    line = [*words.split(), "--maximize", "--constraint", "a + b <= 1.2", "--quiet"]
    result = CliRunner().invoke(app, line)
    assert result.exit_code == 0, result.output
    trials = study_of(journal).trials
    assert len(trials) == 6
    assert all(t.params["a"] + t.params["b"] <= 1.2 + 1e-9 for t in trials)
    assert study_of(journal).direction == optuna.study.StudyDirection.MAXIMIZE


def test_the_sampler_takes_a_space_with_constraints():
    space = sumbo.Space.of(SPACE).constrained(RULES)
    sampler = SumboSampler(seed=4, n_startup_trials=4, space=space, candidates=20)
    study = optuna.create_study(sampler=sampler)

    def objective(trial):
        a = trial.suggest_float("a", -0.7, 1.9)
        k = trial.suggest_int("k", 3, 11)
        kind = trial.suggest_categorical("kind", ["slow", "fast"])
        assert small_when_fast((a, k, kind))
        assert 4 * a + k <= 9.5 + 1e-9
        return cost((a, k, kind))

    study.optimize(objective, n_trials=8)
    assert len(study.trials) == 8
