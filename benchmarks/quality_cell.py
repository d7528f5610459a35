"""One cell of the quality benchmark: as a cell of a study, with two differences.

Problems may have integer and categorical parameters, and the record also names the
versions of the rivals' libraries.
"""

import platform
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from sumbo.optimizer import Optimizer
from sumbo.problems import Problem
from sumbo.rng import rng_at
from sumbo.space import Space
from sumbo.study import cell as study
from sumbo.study.design import Cell
from sumbo.study.storage import Record
from sumbo.typing import Float, ndarray

_LIBRARIES = ("optuna", "cmaes", "torch", "gpytorch", "botorch")


def run_cell(cell: Cell) -> Record:
    """Return the record of one cell, computed now; choices are stored by number."""
    started = datetime.now(UTC).isoformat(timespec="seconds")
    clock = time.perf_counter()
    problem, problem_seed = study.problem_of(cell)
    space = space_of(problem)
    seed = study.optimizer_seed(cell)
    optimizer = Optimizer(
        space,
        method=cell.method,
        seed=seed,
        n_init=cell.n_init,
        preset=cell.preset,
        **cell.settings,
    )
    X = initial_points(cell, problem)
    y, eval_s = _evaluate(problem, X)
    optimizer.tell(space.points(X), y)
    fit_cpu_s, ask_cpu_s = [], []
    while len(y) < cell.n_init + cell.acquisitions:
        points = optimizer.ask(
            min(cell.batch, cell.n_init + cell.acquisitions - len(y))
        )
        fit_cpu_s.append(optimizer.info.fit_cpu_s)
        ask_cpu_s.append(optimizer.info.ask_cpu_s)
        numbers = space.numbers(points)
        values, seconds = _evaluate(problem, numbers)
        optimizer.tell(points, values)
        X = np.vstack([X, numbers])
        y, eval_s = np.append(y, values), np.append(eval_s, seconds)
    return Record(
        cell=cell,
        dim=problem.dim,
        seed=seed,
        problem_seed=problem_seed,
        best_known=problem.best_known,
        exact=problem.exact,
        y=y,
        x=X,
        fit_cpu_s=np.array(fit_cpu_s),
        ask_cpu_s=np.array(ask_cpu_s),
        eval_s=eval_s,
        seconds=time.perf_counter() - clock,
        started=started,
        host=platform.node(),
        revision=study.revision(),
        versions=versions(),
    )


def space_of(problem: Problem) -> Space:
    """Return the search space of a problem: its own, or its box."""
    return getattr(problem, "space", None) or Space.of(problem.bounds)


def initial_points(cell: Cell, problem: Problem) -> Float[ndarray, "n K"]:
    """Return the uniform initial points of a cell, shared by all its methods."""
    if not hasattr(problem, "space"):
        return study.initial_points(cell, problem)
    space = space_of(problem)
    rng = rng_at(cell.seed, f"study/initial/{cell.problem}", cell.replicate)
    return space.numbers(space.decode(rng.random((cell.n_init, space.dim))))


@cache
def versions() -> Mapping[str, str]:
    """Return the versions of all libraries that may change a number."""
    found = dict(study.versions())
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _evaluate(
    problem: Problem, X: Float[ndarray, "n K"]
) -> tuple[Float[ndarray, " n"], Float[ndarray, " n"]]:
    values, seconds = np.empty(len(X)), np.empty(len(X))
    for i, x in enumerate(X):
        clock = time.perf_counter()
        values[i] = problem(x)
        seconds[i] = time.perf_counter() - clock
    return values, seconds
