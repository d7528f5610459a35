"""Optuna: its own suite for samplers, values in and out, resuming, workers."""

import inspect
import math
import pickle  # noqa: TID251 (Optuna tells its users to pickle samplers)
import re
import runpy
import signal
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import optuna
import pytest
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    RelativeSamplerTestCase,
    SingleOnlySamplerTestCase,
)
from optuna.trial import TrialState, create_trial

import optuna_worker
import sumbo
from sumbo.errors import ArgumentError
from sumbo.integrations.optuna import (
    SumboSampler,
    finish_running,
    to_optuna_study,
)
from sumbo.integrations.optuna_trials import ObservedTrials, space_of, value_of
from sumbo.methods import Info, Method, make
from sumbo.space import Space
from sumbo.state import State

optuna.logging.set_verbosity(optuna.logging.ERROR)

# Small enough for a quick test, and with every step of the real thing.
QUICK = {"candidates": 15, "starts": 1}
SEARCHES = {
    "ts": QUICK,
    "logei": {"descents": 1, "starts": 1},
    "struct": {"candidates": 30, "rounds": 1, "sweeps": 1, "random_starts": 3},
}
WORKER = optuna_worker.__file__
PACKAGE = Path(__file__).parents[2] / "integrations/optunahub/package/samplers/sumbo"

Ranges = dict[str, BaseDistribution]
CONTINUOUS = [
    FloatDistribution(-3.7, 11.2),
    FloatDistribution(2e-6, 0.3, log=True),
    IntDistribution(-3, 2**60),
]
DISTRIBUTIONS = [
    *CONTINUOUS,
    FloatDistribution(-10.2, 9.9, step=0.3),
    IntDistribution(-7, 16),
    IntDistribution(-5, 30, step=7),
    IntDistribution(3, 5000, log=True),
    CategoricalDistribution((None, "a", 2.5, True)),
]


class TestOptunasOwnSuite(
    BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase
):
    """What Optuna demands of a third party's sampler."""

    @pytest.fixture
    def sampler(self):
        return lambda: SumboSampler(seed=5, n_startup_trials=0, **QUICK)


def quick_sampler(method="ts", seed=3, n_startup_trials=6, **settings):
    settings = settings | QUICK if method == "ts" else settings
    return SumboSampler(method, None, seed, n_startup_trials, **settings)


def objective(trial):
    """Return a sum of a part in (x, k) and one in (z, kind)."""
    x = trial.suggest_float("x", -2.3, 1.9)
    k = trial.suggest_int("k", 2, 14, step=3)
    z = trial.suggest_float("z", 1e-3, 7.0, log=True)
    kind = trial.suggest_categorical("kind", ["bad", "good"])
    return (x - 0.3 * k + 1.1) ** 2 + abs(math.log(z)) + (kind == "bad")


def params_of(study):
    return [trial.params for trial in study.trials]


def completed(value, **params):
    """Return a completed trial with numbers x (and z) in the ranges used here."""
    ranges = {"x": FloatDistribution(-2.3, 1.9), "z": FloatDistribution(0.2, 3.1)}
    distributions: Ranges = {name: ranges[name] for name in params}
    return create_trial(value=value, params=params, distributions=distributions)


def study_of_points(rng, n, sampler=None):
    """Return a study with n completed trials at random (x, z)."""
    study = optuna.create_study(sampler=sampler or quick_sampler())
    for x, z in rng.uniform((-2.3, 0.2), (1.9, 3.1), size=(n, 2)):
        study.add_trial(completed((x - 0.4) ** 2 + z, x=float(x), z=float(z)))
    return study


def objective_value(x):
    return float((x[0] - 0.4) ** 2 + np.sin(3 * x[1]))


def new_trial(study):
    trial_id = study._storage.create_new_trial(study._study_id)
    return study._storage.get_trial(trial_id)


# ---------------------------------------------------------------- values in and out
@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=repr)
def test_every_value_survives_the_way_to_the_cube_and_back(distribution, rng):
    ranges = {"a": distribution}
    space = space_of(ranges)
    study = optuna.create_study(sampler=quick_sampler())
    values = [
        value_of(distribution, float(number))
        for number in space.decode(rng.random((40, space.dim)))[:, 0]
    ]
    for value in values:
        assert distribution._contains(distribution.to_internal_repr(value))
        trial = create_trial(value=0.7, params={"a": value}, distributions=ranges)
        study.add_trial(trial)
    record = ObservedTrials.of(study, new_trial(study), ranges)
    for value, u in zip(values, record.U, strict=True):
        again = value_of(distribution, float(space.decode(u[None])[0, 0]))
        assert type(again) is type(value)
        if distribution in CONTINUOUS:  # or as good as
            assert again == pytest.approx(value, rel=1e-12, abs=1e-12)
        else:
            assert again == value


@pytest.mark.parametrize("startup", [0, 99], ids=["model", "uniform"])
def test_suggestions_are_python_values_inside_the_ranges(startup):
    space = {f"p{i}": d for i, d in enumerate(DISTRIBUTIONS)}
    sampler = quick_sampler(n_startup_trials=startup)
    study = optuna.create_study(sampler=sampler)
    for t in range(4):
        trial = study.ask(space)
        study.tell(trial, float(trial.params["p0"]) ** 2 + t)
    for trial in study.trials:
        for name, d in space.items():
            value = trial.params[name]
            assert d._contains(d.to_internal_repr(value))
            if isinstance(d, CategoricalDistribution):
                assert any(value is choice for choice in d.choices)
            else:
                assert type(value) is (int if isinstance(d, IntDistribution) else float)


def test_startup_values_are_uniform_on_the_scale_of_the_parameter():
    sampler = quick_sampler(n_startup_trials=10**6)
    study = optuna.create_study(sampler=sampler)
    trial, n = new_trial(study), 400
    d = FloatDistribution(1e-4, 10.0, log=True)
    values = [sampler.sample_independent(study, trial, f"p{i}", d) for i in range(n)]
    # The mean of 400 uniform numbers leaves 0.5 ± 0.0577 (4 sd) once in 16 000; the
    # names and the seed are fixed, so this either always holds or never.
    assert abs(np.mean((np.log10(values) + 4) / 5) - 0.5) < 4 / math.sqrt(12 * n)


def test_maximising_suggests_what_minimising_the_negative_does():
    low = optuna.create_study(sampler=quick_sampler())
    low.optimize(objective, n_trials=14)
    high = optuna.create_study(sampler=quick_sampler(), direction="maximize")
    high.optimize(lambda trial: -objective(trial), n_trials=14)
    assert params_of(low) == params_of(high)
    assert high.best_value == -low.best_value


@pytest.mark.parametrize("preset", [None, "paper"])
@pytest.mark.parametrize("method", ["logei", "ts", "struct"])
def test_a_serial_study_asks_the_points_of_the_optimizer(rng, method, preset):
    n, seed, more = 9, 8, 8
    settings = {"preset": preset, **SEARCHES.get(method, {})}
    sampler = SumboSampler(method, seed=seed, n_startup_trials=n, **settings)
    study = study_of_points(rng, n, sampler)
    opt = sumbo.Optimizer(
        {"x": (-2.3, 1.9), "z": (0.2, 3.1)},
        method=method,
        seed=seed,
        n_init=n,
        x0=[[t.params["x"], t.params["z"]] for t in study.trials],
        y0=[t.value for t in study.trials],
        **settings,
    )
    opt._now = replace(opt._now, steps=n)  # the trials were asked for, too
    for _ in range(more):
        trial = study.ask(study.trials[0].distributions)
        x = opt.ask()
        # The optimizer keeps unit-cube coordinates, a storage only parameters: their
        # rounding is all that may differ.
        assert list(trial.params.values()) == pytest.approx(x.tolist(), abs=1e-5)
        study.tell(trial, objective_value(x))
        opt.tell(x, objective_value(x))


# ---------------------------------------------------------------- what trials tell
def test_failed_and_pruned_trials_are_told_as_documented():
    study = optuna.create_study(sampler=quick_sampler())
    ranges: Ranges = {"x": FloatDistribution(-2.3, 1.9)}

    def add(x, state, value=None, reports=None):
        study.add_trial(
            create_trial(
                state=state,
                value=value,
                params={"x": x},
                distributions=ranges,
                intermediate_values=reports,
            )
        )

    add(0.1, TrialState.COMPLETE, 5.5)
    add(0.2, TrialState.FAIL)
    add(0.3, TrialState.COMPLETE, 2.5)
    add(0.4, TrialState.COMPLETE, math.inf)
    add(0.5, TrialState.COMPLETE, -math.inf)
    add(0.6, TrialState.COMPLETE, 3.5)
    add(0.7, TrialState.PRUNED, 8.25)
    add(0.8, TrialState.PRUNED, 1.25)  # reports may be on another scale
    add(0.9, TrialState.PRUNED)
    record = ObservedTrials.of(study, new_trial(study), ranges)
    y, failed = record.values(9)
    assert failed.tolist() == [i in (1, 3, 8) for i in range(9)]
    assert y[~failed].tolist() == [5.5, 2.5, 2.5, 3.5, 8.25, 3.5]
    history = record.history(9, pending=True)
    assert history.failed.tolist() == failed.tolist()
    np.testing.assert_array_equal(history.y, np.where(failed, np.nan, y))


def test_a_trial_pruned_in_the_loop_has_its_last_report():
    def pruned(trial):
        x = trial.suggest_float("x", -2.3, 1.9)
        trial.report(10.0 + x, step=3)
        raise optuna.TrialPruned

    study = optuna.create_study(sampler=quick_sampler())
    study.optimize(pruned, n_trials=1)
    ranges = study.trials[0].distributions
    record = ObservedTrials.of(study, new_trial(study), ranges)
    assert record.values(1)[0][0] == 10.0 + study.trials[0].params["x"]


def test_trials_without_a_parameter_or_with_another_range_are_left_out():
    study = optuna.create_study(sampler=quick_sampler())
    study.add_trial(completed(1.5, x=0.2))
    study.add_trial(completed(2.5, x=0.3, z=0.9))
    study.add_trial(
        create_trial(
            value=3.5,
            params={"x": 0.2, "z": 0.9},
            distributions={
                "x": FloatDistribution(-2.3, 1.9),
                "z": FloatDistribution(0.2, 4.4),
            },
        )
    )
    ranges = study.trials[1].distributions
    assert ObservedTrials.of(study, new_trial(study), ranges).raw.tolist() == [2.5]


def test_a_value_enqueued_outside_its_range_counts_at_the_boundary():
    study = optuna.create_study(sampler=quick_sampler(n_startup_trials=0))
    study.enqueue_trial({"x": 2.6})
    with pytest.warns(UserWarning, match="out of range"):
        study.optimize(lambda t: t.suggest_float("x", -2.3, 1.9) ** 2, n_trials=1)
    ranges = study.trials[0].distributions
    assert ObservedTrials.of(study, new_trial(study), ranges).U.tolist() == [[1.0]]
    study.optimize(lambda t: t.suggest_float("x", -2.3, 1.9) ** 2, n_trials=2)
    assert study.trials[0].params == {"x": 2.6}


def test_running_trials_are_pending_before_their_parameters_are_stored(rng):
    study = study_of_points(rng, 7)
    elsewhere, here = new_trial(study), new_trial(study)
    space = study.sampler.infer_relative_search_space(study, elsewhere)
    params = study.sampler.sample_relative(study, elsewhere, space)
    assert study.trials[7].params == {}
    record = ObservedTrials.of(study, here, space)
    (row,) = record.space.decode(record.pending_U)
    assert row.tolist() == pytest.approx([params["x"], params["z"]], rel=1e-12)
    assert len(ObservedTrials.of(study, elsewhere, space).pending_U) == 0  # not its own


def test_a_branch_is_sampled_by_itself_and_the_shared_parameters_together():
    def branching(trial):
        x = trial.suggest_float("x", -2.3, 1.9)
        if trial.suggest_categorical("leaf", [True, False]):
            return x**2 + trial.suggest_float("a", 0.1, 0.9)
        return x**2 + trial.suggest_int("b", 4, 9)

    study = optuna.create_study(sampler=quick_sampler(n_startup_trials=3))
    study.optimize(branching, n_trials=12)
    space = study.sampler.infer_relative_search_space(study, new_trial(study))
    assert list(space) == ["leaf", "x"]
    assert {"a" in params for params in params_of(study)} == {True, False}


def test_a_bracket_of_hyperband_is_a_study_like_any_other():
    def reporting(trial):
        value = objective(trial)
        for step in range(1, 5):
            trial.report(value + 1 / step, step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return value

    pruner = optuna.pruners.HyperbandPruner(min_resource=1, max_resource=4)
    sampler = quick_sampler(n_startup_trials=2)
    study = optuna.create_study(sampler=sampler, pruner=pruner)
    study.optimize(reporting, n_trials=14)
    assert {t.state for t in study.trials} <= {TrialState.COMPLETE, TrialState.PRUNED}


# ---------------------------------------------------------------- errors, settings
def test_several_objectives_are_refused_by_all_three_methods():
    sampler = quick_sampler()
    study = optuna.create_study(directions=["minimize", "maximize"], sampler=sampler)
    trial, d = new_trial(study), FloatDistribution(0.3, 0.8)
    for ask in (
        lambda: sampler.infer_relative_search_space(study, trial),
        lambda: sampler.sample_relative(study, trial, {"x": d}),
        lambda: sampler.sample_independent(study, trial, "x", d),
    ):
        with pytest.raises(ArgumentError, match="2 objectives"):
            ask()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "tss"}, "Did you mean 'ts'"),
        ({"candidats": 9}, "Did you mean 'candidates'"),
        ({"seed": -1}, "seed=-1"),
        ({"n_startup_trials": -2}, "n_startup_trials=-2"),
        ({"transform": "lgo"}, "Did you mean 'log'"),
        ({"groups": [(0, 1)]}, "groups of parameter names"),
        ({"groups": "randm"}, "Did you mean 'random'"),
        ({"groups": [("x", "x")]}, "twice"),
        ({"method": "struct", "groups": [("x",)]}, "no setting of method"),
    ],
)
def test_a_wrong_argument_is_refused_at_once(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        SumboSampler(**arguments)


def test_groups_of_names_become_groups_of_the_parameters_present():
    sampler = SumboSampler(groups=[("z", "x"), ("leaf", "a")], **QUICK)
    known = ("a", "b", "leaf", "x", "y", "z")
    space = Space.of(dict.fromkeys(("leaf", "x", "y", "z"), (0.1, 0.9)))
    method = sampler._engine(space, known).method
    assert vars(method)["groups"] == ((3, 1), (0,), (2,))  # y, not named, is alone


def test_a_group_with_a_name_that_no_trial_has_is_an_error(rng):
    sampler = SumboSampler(groups=[("x", "zz")], n_startup_trials=3, **QUICK)
    study = study_of_points(rng, 4, sampler)
    with pytest.raises(ArgumentError, match=r"'zz'.*Did you mean 'z'"):
        study.ask({"x": FloatDistribution(-2.3, 1.9), "z": FloatDistribution(0.2, 3.1)})


# ---------------------------------------------------------------- resuming
@pytest.mark.parametrize(
    ("method", "settings", "n"),
    [
        ("ts", {"refit": 3}, 14),  # fits at 4, 7, 10, 13, from those at 4 and 8
        pytest.param("struct", {"refit": 3, "sweeps": 1}, 9, marks=pytest.mark.slow),
        pytest.param(
            "dumbo", {"states": 2, "adam_steps": 9}, 9, marks=pytest.mark.slow
        ),
    ],
)
def test_a_sampler_that_knows_nothing_suggests_the_same(method, settings, n):
    one = optuna.create_study(sampler=quick_sampler(method, 2, 4, **settings))
    one.optimize(objective, n_trials=n)
    fresh = optuna.create_study()
    for _ in range(n):
        fresh.sampler = quick_sampler(method, 2, 4, **settings)
        fresh.optimize(objective, n_trials=1)
    assert params_of(one) == params_of(fresh)


@dataclass(frozen=True, kw_only=True)
class Count(State):
    """What a ``Recorder`` remembers."""

    fits: int
    fitted_at: int


@dataclass(frozen=True, kw_only=True)
class Recorder(Method):
    """A method that records what it was asked, and refits at every second trial."""

    cite: ClassVar[str] = "recorder2026"
    label: ClassVar[str] = "Recorder"
    remembers: ClassVar[type[State] | None] = Count

    calls: list = field(default_factory=list, repr=False)
    growth: float = 0.0

    def next_refit(self, fitted_at, q=1):
        return fitted_at + max(2, int(self.growth * fitted_at))

    def propose(self, rng, state, data, q):
        known = None if state is None else (state.fits, state.fitted_at)
        self.calls.append((len(data.y), len(data.pending), data.asks, known))
        if state is None or len(data.y) >= self.next_refit(state.fitted_at):
            fits = 0 if state is None else state.fits
            state = Count(fits=fits + 1, fitted_at=len(data.y))
        return rng.random((q, data.domain.dim)), state, Info()


def test_refits_see_first_trials_and_suggestions_see_pending_ones_too(rng):
    method = Recorder()
    sampler = SumboSampler(method, seed=1, n_startup_trials=4)
    study = study_of_points(rng, 9, sampler)
    ranges = study.trials[0].distributions
    for _ in range(2):
        study.ask(ranges)
    # Observations, pending points, asks so far, and the state that came in.
    assert method.calls == [
        (4, 0, 0, None),
        (6, 0, 2, (1, 4)),
        (8, 0, 4, (2, 6)),
        (9, 0, 5, (3, 8)),
        (9, 1, 6, (3, 8)),  # the refits are remembered
    ]


def test_a_refit_of_a_serial_study_is_not_made_twice(rng):
    method = Recorder()
    sampler = SumboSampler(method, seed=1, n_startup_trials=4)
    study = study_of_points(rng, 4, sampler)
    for _ in range(5):
        trial = study.ask(study.trials[0].distributions)
        study.tell(trial, 0.3 + trial.params["x"])
    assert [calls[0] for calls in method.calls] == [4, 5, 6, 7, 8]


def test_very_many_refits_are_made_at_doublings_only():
    sampler = SumboSampler(n_startup_trials=6)
    often, grows = Recorder(), Recorder(growth=0.25)
    assert sampler._refit_points(often, 6) == []
    assert sampler._refit_points(often, 11) == [6, 8, 10]
    assert sampler._refit_points(often, 70) == [6, 12, 24, 48, 68]
    assert sampler._refit_points(grows, 30) == [6, 8, 10, 12, 15, 18, 22, 27]
    assert len(sampler._refit_points(grows, 1000)) < 25
    assert sampler._refit_points(make("uniform"), 100) == []


def test_a_pickled_sampler_suggests_the_same():
    study = optuna.create_study(sampler=quick_sampler(n_startup_trials=4))
    study.optimize(objective, n_trials=6)
    copied = optuna.create_study(sampler=pickle.loads(pickle.dumps(study.sampler)))
    copied.add_trials(study.trials)
    for s in (study, copied):
        s.optimize(objective, n_trials=2)
    assert params_of(study) == params_of(copied)


def kill_in(url, number, place):
    """Start a worker, and kill it in a trial, after so many of its parameters."""
    command = [sys.executable, WORKER, "kill", url, str(number), str(place)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "hanging\n"
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL


@pytest.mark.slow
def test_a_killed_study_goes_on_as_if_it_had_not_been(tmp_path):
    url = f"sqlite:///{tmp_path / 'killed.db'}"
    kill_in(url, number=7, place=1)  # one of three parameters is stored
    kill_in(url, number=12, place=3)  # all are, the value is not
    killed = optuna_worker.resume(url)
    calm = optuna_worker.resume(None)
    assert len(calm.trials) == optuna_worker.TRIALS
    assert params_of(killed) == params_of(calm)
    assert [t.value for t in killed.trials] == [t.value for t in calm.trials]


def test_finishing_trials_that_run_keeps_prunings_and_failures():
    study = optuna.create_study(sampler=quick_sampler())

    def pruned(trial):
        trial.suggest_float("x", -2.3, 1.9)
        raise optuna.TrialPruned

    def broken(trial):
        trial.suggest_float("x", -2.3, 1.9)
        raise ZeroDivisionError

    study.ask()
    assert finish_running(study, pruned) == 1
    study.ask()
    with pytest.raises(ZeroDivisionError):
        finish_running(study, broken)
    states = [trial.state for trial in study.trials]
    assert states == [TrialState.PRUNED, TrialState.FAIL]


# ---------------------------------------------------------------- workers
def test_a_point_that_another_worker_proposed_is_not_proposed_again(rng):
    study = study_of_points(rng, 7)
    elsewhere, here = new_trial(study), new_trial(study)
    space = study.sampler.infer_relative_search_space(study, here)
    wish = study.sampler.sample_relative(study, here, space)
    assert study.sampler.sample_relative(study, here, space) == wish
    record = ObservedTrials.of(study, elsewhere, space)
    record.share(study, elsewhere, [wish["x"], wish["z"]])
    assert study.sampler.sample_relative(study, here, space) != wish


def test_a_point_that_another_worker_proposes_meanwhile_is_left_to_it(rng, monkeypatch):
    study = study_of_points(rng, 7)
    elsewhere, here = new_trial(study), new_trial(study)
    space = study.sampler.infer_relative_search_space(study, here)
    wish = study.sampler.sample_relative(study, here, space)
    share = ObservedTrials.share

    def share_second(record, study, trial, numbers):
        if numbers == [wish["x"], wish["z"]]:
            share(record, study, elsewhere, numbers)
        share(record, study, trial, numbers)

    monkeypatch.setattr(ObservedTrials, "share", share_second)
    params = study.sampler.sample_relative(study, here, space)
    assert params != wish
    (shared,) = study.trials[here.number].system_attrs.values()
    assert shared == f"[{params['x']}, {params['z']}]"


def test_threads_of_one_study_ask_different_points():
    def corner(trial):
        return sum(trial.suggest_float(name, 0.3, 1.7) for name in "abc")

    study = optuna.create_study(sampler=quick_sampler(n_startup_trials=3))
    study.optimize(corner, n_trials=15, n_jobs=3)
    assert all(t.state == TrialState.COMPLETE for t in study.trials)
    assert len({tuple(t.params.values()) for t in study.trials}) == 15


@pytest.mark.slow
@pytest.mark.parametrize("method", ["ts", "alcb2"])
@pytest.mark.parametrize("kind", ["journal", "sqlite"])
def test_four_workers_on_one_storage_never_repeat_a_point(kind, method, tmp_path):
    path = str(tmp_path / "study")
    storage = optuna_worker.storage_of(kind, path)
    study = optuna.create_study(study_name="shared", storage=storage)
    command = [sys.executable, WORKER, "share", kind, path, method]
    workers = [subprocess.Popen(command) for _ in range(4)]
    assert [worker.wait() for worker in workers] == [0, 0, 0, 0]
    trials = study.trials
    assert [t.state for t in trials] == [TrialState.COMPLETE] * 48
    # The minimum is a corner: all workers want that very point at the same time.
    assert len({tuple(t.params.values()) for t in trials}) == 48


# ---------------------------------------------------------------- results, package
def mixed_result():
    space = [
        sumbo.Real("rate", 3e-4, 0.7, log=True),
        sumbo.Integer("depth", 2, 9),
        sumbo.Categorical("kind", ["a", "b"]),
    ]

    def f(x):
        rate, depth, kind = x
        return math.nan if depth > 7 else math.log(rate) ** 2 + depth + (kind == "b")

    arguments = {"budget": 12, "n_init": 10, "seed": 4, "on_error": "skip"}
    return sumbo.minimize(f, space, **arguments, **QUICK)


def test_a_result_becomes_a_study_with_the_same_trials(tmp_path):
    result = mixed_result()
    assert 0 < len(result.failed) < 12
    url = f"sqlite:///{tmp_path / 'study.db'}"
    study = to_optuna_study(result, storage=url, study_name="told")
    again = optuna.load_study(study_name="told", storage=url)
    assert study.best_value == again.best_value == result.fun
    assert again.best_params == result.space.as_dict(result.x)
    assert [list(t.params.values()) for t in again.trials] == result.x_iters.tolist()
    for trial, y in zip(again.trials, result.func_vals, strict=True):
        good = bool(np.isfinite(y))
        assert trial.state == (TrialState.COMPLETE if good else TrialState.FAIL)
        assert trial.value == (y if good else None)
        # What optuna-dashboard and the plots look at.
        assert trial.datetime_start is not None
        assert trial.duration is not None
        assert type(trial.params["depth"]) is int
    assert again.user_attrs == {"sumbo": {"method": "logei", "seed": 4}}


def test_a_study_of_a_result_can_be_continued():
    result = mixed_result()
    study = to_optuna_study(result)
    study.sampler = SumboSampler(seed=4, n_startup_trials=10, **QUICK)
    trial = new_trial(study)
    space = study.sampler.infer_relative_search_space(study, trial)
    assert space == study.trials[0].distributions
    record = ObservedTrials.of(study, trial, space)
    assert len(record.raw) == 12
    params = study.sampler.sample_relative(study, trial, space)
    assert result.space.contains([params[name] for name in result.space.names])


def test_earlier_points_outside_the_box_become_points_of_its_boundary():
    with pytest.warns(UserWarning, match="outside the box"):
        result = sumbo.minimize(
            lambda x: float(x[0] ** 2),
            {"a": (-0.4, 2.1)},
            budget=3,
            n_init=3,
            seed=1,
            x0=[[2.7], [0.6]],
            y0=[7.29, 0.36],
        )
    study = to_optuna_study(result)
    assert [t.params["a"] for t in study.trials[:2]] == [2.1, 0.6]
    assert study.trials[0].value == 7.29


def test_optuna_is_imported_by_the_integration_alone_and_missed_by_name():
    code = """
import sys
import sumbo
assert "optuna" not in sys.modules
sys.modules["optuna"] = None
try:
    import sumbo.integrations.optuna
except sumbo.errors.MissingExtraError as error:
    assert "sumbo[optuna]" in str(error)
else:
    raise SystemExit("no error")
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_optunahub_package_hands_out_the_sampler():
    module = runpy.run_path(str(PACKAGE / "__init__.py"))
    assert module["__all__"] == ["SumboSampler"]
    assert module["SumboSampler"] is SumboSampler


def test_the_optunahub_package_has_the_files_and_headings_of_the_registry():
    names = {path.name for path in PACKAGE.iterdir()}
    wanted = {"__init__.py", "README.md", "LICENSE", "example.py", "requirements.txt"}
    assert wanted <= names
    _, front, body = (PACKAGE / "README.md").read_text().split("---\n", 2)
    fields = dict(line.split(": ", 1) for line in front.strip().splitlines())
    order = ["author", "title", "description", "tags", "optuna_versions", "license"]
    assert list(fields) == order
    assert "sampler" in fields["tags"].strip("[]").split(", ")
    assert fields["license"] == "MIT License"
    headings = [line[3:] for line in body.splitlines() if line.startswith("## ")]
    assert headings == ["Abstract", "APIs", "Installation", "Example", "Others"]


def test_the_optunahub_package_shows_the_signature_of_the_sampler():
    text = (PACKAGE / "README.md").read_text()
    shown = []
    for p in list(inspect.signature(SumboSampler).parameters.values()):
        if p.kind is p.KEYWORD_ONLY and "*" not in shown:
            shown.append("*")
        default = "" if p.default is p.empty else f"={p.default!r}"
        shown.append(str(p).partition(":")[0] + default)
    assert f"`SumboSampler({', '.join(shown)})`".replace("'", '"') in text
    assert set(re.findall(r"^  - `(\w+)`", text, re.M)) == {
        name.strip("*").partition("=")[0] for name in shown
    } - {""}
