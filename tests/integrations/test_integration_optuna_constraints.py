"""Constraints of Optuna's trials reach the model as outcomes."""

import numpy as np
import optuna
import pytest

from sumbo.errors import ArgumentError
from sumbo.integrations.optuna import SumboSampler
from sumbo.integrations.optuna_trials import ObservedTrials, SearchSpace

optuna.logging.set_verbosity(optuna.logging.ERROR)


def by_values(trial):
    x = [trial.suggest_float(name, 0.0, 1.0) for name in "abc"]
    trial.set_constraint("load", sum(x) - 1.2)
    return sum((v - 0.8) ** 2 for v in x)


def by_attributes(trial):
    x = [trial.suggest_float(name, 0.0, 1.0) for name in "abc"]
    trial.set_user_attr("load", sum(x) - 1.2)
    return sum((v - 0.8) ** 2 for v in x)


def study_of(objective, n, **options):
    sampler = SumboSampler(seed=3, n_startup_trials=8, **options)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=n)
    return study


def test_constraint_values_guide_the_search():
    study = study_of(by_values, 18)
    assert study.best_trial.constraints["load"] <= 0
    assert study.best_value < 0.48 + 0.05  # 3 · 0.4² on the limit
    late = [t.constraints["load"] for t in study.trials[8:]]
    assert np.mean(late) < 0.2  # 0.3 at random points


def test_a_function_of_constraints_asks_the_same_points():
    given = study_of(by_values, 12)
    computed = study_of(
        by_attributes, 12, constraints_func=lambda trial: [trial.user_attrs["load"]]
    )
    assert [t.params for t in given.trials] == [t.params for t in computed.trials]
    assert list(computed.trials[0].constraints.values()) == pytest.approx(
        list(given.trials[0].constraints.values())
    )


def test_a_constraint_that_is_nan_is_refused():
    with pytest.raises(ArgumentError, match="not NaN"):
        study_of(by_attributes, 1, constraints_func=lambda trial: [np.nan])


def test_unknown_and_infinite_constraints_are_read():
    study = optuna.create_study()
    space: SearchSpace = {"a": optuna.distributions.FloatDistribution(0.0, 1.0)}
    for a, constraints in [
        (0.1, {"c": -2.0}),
        (0.2, {"c": np.inf}),
        (0.3, {"c": 0.7, "d": 1.5}),
        (0.4, {}),
    ]:
        trial = optuna.trial.create_trial(
            params={"a": a}, distributions=space, value=a, constraints=constraints
        )
        study.add_trial(trial)
    record = ObservedTrials.of(study, optuna.trial.create_trial(value=0.0), space)
    history = record.history(4, pending=False)
    np.testing.assert_array_equal(
        history.outcomes,
        [[-2.0, np.nan], [0.7, np.nan], [0.7, 1.5], [np.nan, np.nan]],
    )
    assert [limit.name for limit in record.limits] == ["c", "d"]
