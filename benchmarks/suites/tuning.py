"""Hyperparameters of scikit-learn's models, on the data that it brings along.

The value is a loss of threefold cross-validation: error rate in percent, or 1 − R².
The seed draws the folds and is the seed of the model, so that a run is deterministic;
values are rough where models are random or folds are small.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from sumbo.problems.base import Problem, load, problem
from sumbo.rng import Seed, as_seed
from sumbo.space import Categorical, Integer, Real, Space
from sumbo.typing import Float, ndarray

CITE = "pedregosa2011"
ROWS = 500  # of larger data; the first ones after shuffling


class Task(NamedTuple):
    """Data, a model and its parameters; ``fixed`` are set for every point."""

    data: str
    module: str
    model: str
    space: Space
    fixed: dict[str, Any]


def _space(*parameters: Real | Integer | Categorical) -> Space:
    return Space.of(list(parameters))


TASKS = {
    "dev-svc-digits": Task(
        "digits",
        "sklearn.svm",
        "SVC",
        _space(
            Real("C", 1e-2, 1e3, log=True),
            Real("gamma", 1e-5, 1.0, log=True),
            Categorical("kernel", ("rbf", "poly", "sigmoid")),
            Integer("degree", 2, 5),
            Real("coef0", -1.0, 1.0),
            Categorical("shrinking", (True, False)),
        ),
        {},
    ),
    "dev-forest-wine": Task(
        "wine",
        "sklearn.ensemble",
        "RandomForestClassifier",
        _space(
            Integer("max_depth", 1, 12),
            Integer("min_samples_leaf", 1, 30),
            Real("max_features", 0.05, 1.0),
            Real("max_samples", 0.1, 1.0),
            Categorical("criterion", ("gini", "entropy")),
        ),
        {"n_estimators": 20},
    ),
    "boosting-diabetes": Task(
        "diabetes",
        "sklearn.ensemble",
        "GradientBoostingRegressor",
        _space(
            Real("learning_rate", 1e-3, 1.0, log=True),
            Integer("n_estimators", 10, 150, log=True),
            Integer("max_depth", 1, 6),
            Integer("min_samples_leaf", 1, 40),
            Real("subsample", 0.2, 1.0),
            Real("max_features", 0.1, 1.0),
            Categorical("loss", ("squared_error", "absolute_error", "huber")),
            Real("alpha", 0.5, 0.99),
        ),
        {},
    ),
    "forest-cancer": Task(
        "breast_cancer",
        "sklearn.ensemble",
        "ExtraTreesClassifier",
        _space(
            Integer("n_estimators", 5, 50),
            Integer("max_depth", 1, 15),
            Integer("min_samples_split", 2, 40),
            Integer("min_samples_leaf", 1, 30),
            Real("max_features", 0.05, 1.0),
            Real("min_impurity_decrease", 1e-6, 1e-1, log=True),
            Categorical("criterion", ("gini", "entropy", "log_loss")),
            Categorical("class_weight", ("none", "balanced")),
        ),
        {},
    ),
    "network-digits": Task(
        "digits",
        "sklearn.neural_network",
        "MLPClassifier",
        _space(
            Real("learning_rate_init", 1e-4, 1.0, log=True),
            Real("alpha", 1e-7, 1e1, log=True),
            Integer("hidden_layer_sizes", 4, 128, log=True),
            Integer("batch_size", 8, 256, log=True),
            Real("beta_1", 0.0, 0.99),
            Real("beta_2", 0.8, 0.9999),
            Integer("max_iter", 2, 25),
            Categorical("activation", ("relu", "tanh", "logistic", "identity")),
        ),
        {},
    ),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Tuning(Problem):
    """The loss of a model in cross-validation."""

    task: Task
    seed: int
    opened: list[Any] = field(default_factory=list, repr=False)

    @property
    def space(self) -> Space:
        """The hyperparameters."""
        return self.task.space

    def evaluate(self, X: Float[ndarray, "n P"]) -> Float[ndarray, " n"]:
        """Return the loss of each row."""
        if not self.opened:
            self.opened.extend(_data(self.name, self.task.data, self.seed))
        points = self.space.points(_whole(self.space, X))
        return np.array([self._loss(point) for point in self.space.as_dicts(points)])

    def _loss(self, point: dict[str, Any]) -> float:
        selection = load("sklearn.model_selection", name=self.name, extra="suites")
        pipeline = load("sklearn.pipeline", name=self.name, extra="suites")
        scaling = load("sklearn.preprocessing", name=self.name, extra="suites")
        family = load(self.task.module, name=self.name, extra="suites")
        settings = {**self.task.fixed, **point, "random_state": self.seed}
        if settings.get("class_weight") == "none":
            settings["class_weight"] = None
        model = getattr(family, self.task.model)(**settings)
        X, y = self.opened
        regression = self.task.data == "diabetes"
        kind = selection.KFold if regression else selection.StratifiedKFold
        folds = kind(3, shuffle=True, random_state=self.seed)
        whole = pipeline.make_pipeline(scaling.StandardScaler(), model)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # iterations are few on purpose
            scores = selection.cross_val_score(whole, X, y, cv=folds, error_score=0.0)
        loss = 1.0 - float(np.mean(scores))
        # A regression can be arbitrarily bad; beyond that of two means it is two.
        return min(loss, 2.0) if regression else 100.0 * loss

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "opened": []}


def _data(name: str, data: str, seed: int) -> tuple[ndarray, ndarray]:
    sets = load("sklearn.datasets", name=name, extra="suites")
    X, y = getattr(sets, f"load_{data}")(return_X_y=True)
    rows = np.random.default_rng(seed).permutation(len(X))[:ROWS]
    return X[rows], y[rows]


def _whole(space: Space, X: Float[ndarray, "n P"]) -> Float[ndarray, "n P"]:
    whole = [not isinstance(p, Real) for p in space.parameters]
    return np.where(whole, np.rint(X), X)


def _maker(name: str) -> Callable[..., Tuning]:
    task = TASKS[name]

    def make(*, seed: Seed = 0) -> Tuning:
        """Return the loss with the folds of that seed."""
        return Tuning(
            name=name,
            bounds=task.space.bounds,
            parameters=tuple(p.name for p in task.space.parameters),
            description=f"{task.model} on {task.data}",
            cite=CITE,
            task=task,
            seed=as_seed(seed) % 2**31,
        )

    return make


for _name, _task in TASKS.items():
    problem(
        _name,
        dim=len(_task.space.parameters),
        cost="0.2 s",
        cite=CITE,
        description=f"{_task.model} on {_task.data}",
        needs="suites",
        modules=("sklearn",),
    )(_maker(_name))
