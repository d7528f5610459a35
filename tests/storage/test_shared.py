"""Runs that share a storage: what one worker does, and what it leaves to others."""

import json
import subprocess
import sys
import threading

import numpy as np
import optuna
import pytest
from optuna.trial import TrialState
from typer.testing import CliRunner

import sumbo
from sumbo.cli import app
from sumbo.errors import ArgumentError, EvaluationError, StorageError, SumboError
from sumbo.integrations import shared_storage, shared_trials
from sumbo.integrations.optuna_trials import ObservedTrials
from sumbo.integrations.shared import minimize_shared, open_storage
from sumbo.integrations.shared_processes import is_dead, this_process
from sumbo.integrations.shared_trials import SharedTrials

BOUNDS = [(-1.1, 1.7), (-0.6, 2.3)]
UNIFORM = {"n_init": 5, "seed": 8, "method": "uniform"}
LOGEI = {"n_init": 5, "seed": 8, "method": "logei", "candidates": 25, "starts": 1}


def bowl(x):
    return (x[0] - 0.4) ** 2 + abs(x[1] - 0.3)


@pytest.fixture
def journal(tmp_path):
    return f"journal:{tmp_path / 'run.log'}"


def run(address, budget, fun=bowl, bounds=BOUNDS, **arguments):
    options = {**UNIFORM, "storage": address, "study": "one", **arguments}
    return minimize_shared(fun, bounds, budget=budget, **options)


def trials_of(address):
    storage = open_storage(address).storage
    return optuna.load_study(study_name="one", storage=storage).trials


def worker(address, budget):
    """Return the trials of a study as one more process sees them."""
    opened = open_storage(address, heartbeat=1)
    study = optuna.load_study(study_name="one", storage=opened.storage)
    return SharedTrials(opened, study, budget)


# ---------------------------------------------------------------- one worker
def test_a_run_is_continued_with_the_points_that_it_would_have_had(journal, tmp_path):
    run(journal, 6, **LOGEI)
    continued = run(journal, 8, **LOGEI)
    whole = run(f"journal:{tmp_path / 'whole.log'}", 8, **LOGEI)
    assert continued.nfev == 8
    assert continued.x_iters.tolist() == whole.x_iters.tolist()
    assert continued.fun == whole.fun == continued.func_vals.min()
    assert continued.success
    assert continued.message == "budget used"


def test_a_used_budget_is_not_used_again(journal):
    first = run(journal, 6)

    def never(x):
        pytest.fail("evaluated")

    again = run(journal, 6, never)
    assert again.func_vals.tolist() == first.func_vals.tolist()
    assert len(trials_of(journal)) == 6


def test_threads_of_one_worker_share_its_budget(journal):
    result = run(journal, 11, workers=3)
    assert len({tuple(x) for x in result.x_iters}) == 11


def test_parameters_of_all_kinds_arrive_as_they_were_declared(journal):
    bounds = {
        "z": sumbo.Integer("z", 2, 40, log=True),
        "a": sumbo.Real("a", 1e-3, 0.7, log=True),
        "kind": sumbo.Categorical("kind", ["b", "a", "c"]),
    }
    seen = []

    def cost(x):
        z, a, kind = x
        seen.append([z, a, kind])
        return abs(z - 7) + np.log(a) ** 2 + (kind == "a")

    result = run(journal, 7, cost, bounds, **LOGEI, groups=[("z", "kind"), ("a",)])
    assert result.x_iters.tolist() == seen
    assert result.space.contains(seen)
    assert all(isinstance(z, int) and kind in "abc" for z, _, kind in seen)


def test_a_failed_evaluation_is_a_failed_trial_with_its_reason(journal):
    def cost(x):
        if x[0] > 0.3:
            raise ZeroDivisionError("no [steps] left")
        return bowl(x)

    result = run(journal, 8, cost, on_error="skip", retries=2)
    failed = [t for t in trials_of(journal) if t.state == TrialState.FAIL]
    assert 0 < len(failed) == len(result.failed) < 8
    reason = "ZeroDivisionError: no [steps] left"
    assert {t.user_attrs["sumbo:reason"] for t in failed} == {reason}
    assert [f.reason for f in result.failures] == [reason] * (3 * len(failed))
    assert result.nfev == 8


def test_an_attempt_that_was_repeated_with_success_leaves_its_reason(journal):
    calls = []

    def cost(x):
        calls.append(1)
        if len(calls) == 2:
            raise OSError("the licence server is busy")
        return bowl(x)

    result = run(journal, 6, cost, retries=1)
    assert len(result.failed) == 0
    assert [f.reason for f in result.failures] == [
        "OSError: the licence server is busy"
    ]


def test_an_error_ends_one_worker_and_tells_what_it_knows(journal):
    def cost(x):
        if x[1] > 1.2:
            raise RuntimeError("diverged")
        return bowl(x)

    with pytest.raises(EvaluationError, match="diverged") as caught:
        run(journal, 9, cost)
    nfev = caught.value.result.nfev
    assert 0 < nfev < 9
    assert run(journal, 9).nfev == 9  # the others go on
    (failed,) = [t for t in trials_of(journal) if t.state == TrialState.FAIL]
    assert failed.number == nfev - 1


def test_an_interrupt_hands_the_trial_to_others(journal):
    calls = []

    def cost(x):
        calls.append(x.tolist())
        if len(calls) == 7:
            raise KeyboardInterrupt
        return bowl(x)

    result = run(journal, 9, cost)
    assert result.status == 130
    assert not result.success
    (waiting,) = [t for t in trials_of(journal) if t.state == TrialState.WAITING]
    assert list(waiting.params.values()) == calls[-1]
    seen = []

    def log(x):
        seen.append(x.tolist())
        return bowl(x)

    assert run(journal, 9, log).nfev == 9
    assert seen[0] == calls[-1]
    assert len(seen) == 3
    assert len(trials_of(journal)) == 9


def test_the_callback_sees_values_and_may_stop(journal):
    counts = []

    def watch(result):
        counts.append((result.nfev, result.fun))
        if result.nfev == 4:
            raise StopIteration

    result = run(journal, 8, callback=watch)
    assert [n for n, _ in counts] == [1, 2, 3, 4]
    assert counts[-1][1] == result.func_vals[:4].min()
    assert result.status == 99


# ---------------------------------------------------------------- several workers
def test_trials_that_run_elsewhere_count_and_are_pending(journal):
    run(journal, 6)
    other = worker(journal, 9)
    trial = other.take()
    point = [trial.suggest_float(f"x{i}", *BOUNDS[i]) for i in range(2)]
    result = run(journal, 9, wait=False)
    assert result.nfev == 8
    assert result.message == "budget used, with 1 trials that run elsewhere"
    assert point not in result.x_iters.tolist()
    frozen = trials_of(journal)[-1]
    study = trial.study
    record = ObservedTrials.of(study, frozen, frozen.distributions)
    assert record.pending_X.tolist() == [point]
    assert other.take() is None
    other.complete(trial, 0.21, [])
    assert run(journal, 9).nfev == 9


def test_workers_that_start_together_never_exceed_the_budget(journal):
    run(journal, 5)
    taken = []
    start = threading.Barrier(4)

    def take():
        mine = worker(journal, 8)
        start.wait()
        while mine.take() is not None:
            taken.append(1)

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == 3


def test_two_workers_start_on_a_fresh_database(tmp_path):
    (tmp_path / "objective.py").write_text(
        "import time\n"
        "def cost(x):\n    time.sleep(0.1)\n    return (x[0] - 0.3) ** 2 + x[1]\n"
    )
    words = "minimize objective:cost --bounds=-1.1:1.7*2 --budget 8 --n-init 8 -q"
    words = words.replace("-q", "--quiet --seed 3 --study two --storage")
    command = [sys.executable, "-m", "sumbo", *words.split(), "sqlite:///run.db"]
    workers = [
        subprocess.Popen([*command, "--json", f"{i}.json"], cwd=tmp_path)
        for i in range(2)
    ]
    assert [w.wait(timeout=300) for w in workers] == [0, 0]
    first, second = [json.loads((tmp_path / f"{i}.json").read_text()) for i in (0, 1)]
    assert first == second
    assert len({tuple(e["x"].values()) for e in first["evaluations"]}) == 8


# ---------------------------------------------------------------- dead workers
def abandon(address, budget):
    """Take a trial and store its parameters as a process that then ended."""
    trial = worker(address, budget).take()
    for i in range(2):
        trial.suggest_float(f"x{i}", *BOUNDS[i])
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    trial.set_user_attr("sumbo:worker", {**this_process(), "pid": child.pid})


def test_a_journal_gives_the_point_of_a_dead_process_to_another(journal):
    run(journal, 5)
    abandon(journal, 7)
    dead = trials_of(journal)[-1]
    assert dead.state == TrialState.RUNNING
    result = run(journal, 7)
    trials = trials_of(journal)
    assert trials[5].state == TrialState.FAIL
    assert trials[6].params == dead.params
    assert [t.state for t in trials[6:]] == [TrialState.COMPLETE] * 2
    assert result.nfev == 7
    assert list(dead.params.values()) in result.x_iters.tolist()
    assert len(result.failed) == 0


def test_a_point_that_kills_every_worker_counts_as_failed_in_the_end(journal):
    run(journal, 5)
    times = shared_storage.MOST_RETRIES + 1
    for _ in range(times):
        abandon(journal, 6)
    result = run(journal, 6)
    assert result.nfev == 6
    assert len(result.failed) == 1
    assert result.failures[-1].reason == shared_trials.DIED
    assert len({tuple(t.params.values()) for t in trials_of(journal)[5:]}) == 1
    assert len(trials_of(journal)) == 5 + times


def test_a_dead_worker_that_chose_no_point_leaves_a_fresh_trial(journal):
    run(journal, 5)
    mine = worker(journal, 6)
    trial = mine.take()
    storage = trial.storage
    trial.suggest_float("x0", *BOUNDS[0])  # the second one was not stored
    storage.set_trial_state_values(trial._trial_id, TrialState.FAIL)
    assert run(journal, 6).nfev == 6
    *_, dead, fresh = trials_of(journal)
    assert dead.params.keys() == {"x0"}
    assert fresh.params.keys() == {"x0", "x1"}
    assert fresh.params["x0"] != dead.params["x0"]


def test_a_value_that_comes_late_is_not_lost(journal):
    run(journal, 5)
    slow, quick = worker(journal, 7), worker(journal, 7)
    trials = [slow.take(), slow.take()]
    for trial in trials:
        for i in range(2):
            trial.suggest_float(f"x{i}", *BOUNDS[i])
    for trial in trials:  # others take it for dead
        trial.storage.set_trial_state_values(trial._trial_id, TrialState.FAIL)
    repeated = quick.take()
    assert repeated.params == trials[0].params
    slow.complete(trials[0], 0.51, [])  # it runs again already
    assert repeated.study.user_attrs["sumbo:late value of trial 5"] == 0.51
    slow.complete(trials[1], 0.62, [])  # it only waits: the value is its value
    quick.complete(repeated, 0.53, [])
    values = {t.params["x0"]: t.value for t in trials_of(journal)[7:]}
    assert values == {trials[0].params["x0"]: 0.53, trials[1].params["x0"]: 0.62}
    assert run(journal, 7).nfev == 7


def test_only_a_process_of_this_machine_that_ended_is_dead():
    here = this_process()
    assert not is_dead(here)
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    gone = {**here, "pid": child.pid}
    assert is_dead(gone)  # another process has its number
    child.communicate(b"\n")
    assert is_dead(gone)
    assert not is_dead({**gone, "host": "another machine"})
    assert not is_dead(None)
    assert not is_dead({"host": here["host"]})


# ---------------------------------------------------------------- wrong calls
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 9}, "seed is 9 here and 8 there"),
        ({"method": "ts", "starts": None}, "method is 'ts' here and 'logei' there"),
        ({"n_init": 4}, "n_init is 4 here and 5 there"),
        ({"candidates": 30}, "setting candidates is 30 here and 25 there"),
        ({"groups": "one"}, "setting groups is 'one' here"),
        ({"transform": "log"}, "transform is 'log' here and 'auto' there"),
        ({"bounds": [(-1.1, 1.7), (-0.6, 2.4)]}, "hi of parameter 'x1' is 2.4 here"),
        ({"bounds": [(-1.1, 1.7)]}, "number of parameters is 1 here and 2 there"),
    ],
)
def test_a_worker_with_other_settings_is_refused(journal, change, message):
    run(journal, 5, **LOGEI)
    arguments = {k: v for k, v in {**LOGEI, **change}.items() if v is not None}
    with pytest.raises(ArgumentError, match=message):
        run(journal, 6, **arguments)
    assert len(trials_of(journal)) == 5


def test_a_worker_without_a_seed_takes_that_of_the_study(journal):
    assert run(journal, 5).seed == run(journal, 6, seed=None).seed == 8


def test_a_study_of_another_program_is_refused(journal):
    storage = open_storage(journal).storage
    study = optuna.create_study(study_name="one", storage=storage)
    study.optimize(lambda trial: trial.suggest_float("x0", -1.1, 1.7), n_trials=1)
    with pytest.raises(ArgumentError, match="not started by sumbo"):
        run(journal, 6)


@pytest.mark.parametrize(
    ("address", "error", "message"),
    [
        ("run.db", ArgumentError, "'run.db' is no address"),
        ("oracle://host/x", ArgumentError, "no address of a storage"),
        ("sqlite://", ArgumentError, "one process alone"),
        ("journal:", ArgumentError, "names no file"),
        ("journal:no/such/run.log", StorageError, "folder 'no/such' does not exist"),
        ("sqlite:///no/such/run.db", StorageError, "folder 'no/such' does not exist"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused(address, error, message):
    with pytest.raises(error, match=message):
        open_storage(address)


def test_a_file_that_is_no_storage_is_refused(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("no journal\nand no database\n" * 40)
    with pytest.raises(StorageError, match="cannot be opened"):
        open_storage(f"journal:{path}")
    with pytest.raises(StorageError, match="not a database"):
        open_storage(f"sqlite:///{path}")


def test_a_password_is_not_shown():
    with pytest.raises(SumboError) as caught:
        open_storage("postgresql://me:secret@localhost:1/none?connect_timeout=1")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("heartbeat", [0, -3, True])
def test_a_heartbeat_is_a_whole_number_of_seconds(journal, heartbeat):
    with pytest.raises(ArgumentError, match="heartbeat="):
        open_storage(journal, heartbeat=heartbeat)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--storage journal:x.log", "--storage is given without --study NAME"),
        ("--study one", "--study is given without --storage URL"),
        ("--storage journal:x.log --study one --batch 3", "--batch does not go"),
        ("--storage journal:x.log --study one --repeats", "--repeats does not go"),
        ("--storage journal:x.log --study one --checkpoint r.npz", "--checkpoint"),
        ("--storage journal:x.log --study one --stop 0.2", "--stop does not go"),
    ],
)
def test_options_that_do_not_fit_a_storage_are_refused(
    words, message, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    line = f"minimize math:fsum --bounds 0.2:1.3*2 {words}"
    result = CliRunner().invoke(app, line.split())
    assert isinstance(result.exception, ArgumentError)
    assert message in str(result.exception)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"constraints": [sumbo.Outcome("load", upper=2)]}, "has no outcomes"),
        ({"stop": 0.1}, "stop does not go with a run on a storage. Leave it out: it"),
        ({"batch": 3}, "batch does not go with a run on a storage"),
        ({"init": "sobol"}, "init: a run on a storage"),
        ({"study": ""}, "study is empty"),
        ({"nosuch": 3}, "nosuch"),
        ({"on_error": "hide"}, "on_error="),
    ],
)
def test_an_argument_that_cannot_be_used_is_refused(journal, arguments, message):
    with pytest.raises(ArgumentError, match=message):
        run(journal, 6, **arguments)
