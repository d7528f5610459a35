"""One cell: the ask/tell loop that a user would write by hand, with a stop watch.

The function and the initial points depend on (study seed, problem, replicate) alone,
so that all methods and batch sizes of a replicate start from the same data. With common
random numbers the optimizers of all methods also have the same seed: methods that draw
a partition before a refit, candidates or normal variates draw the same ones.
"""

import platform
import subprocess
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from sumbo.optimizer import Optimizer
from sumbo.problems import Problem, get, info
from sumbo.rng import rng_at
from sumbo.study.design import Cell
from sumbo.study.journal import Journal, journal_of
from sumbo.study.storage import Record
from sumbo.typing import Float, ndarray

# Libraries whose version may change a number.
_LIBRARIES = (
    *("numpy", "scipy", "threadpoolctl", "box2d", "gymnasium", "camb", "sumbo"),
    *("optuna", "cmaes", "torch", "gpytorch", "botorch"),
)


def run_cell(cell: Cell) -> Record:
    """Return the record of one cell, computed now; choices are stored by number."""
    started = datetime.now(UTC).isoformat(timespec="seconds")
    clock = time.perf_counter()
    problem, problem_seed = problem_of(cell)
    space = problem.space
    seed = optimizer_seed(cell)
    optimizer = Optimizer(
        space,
        method=cell.method,
        seed=seed,
        n_init=cell.n_init,
        preset=cell.preset,
        **cell.settings,
    )
    journal = journal_of(cell, {"revision": revision(), "versions": versions()})
    X = initial_points(cell, problem)
    y, eval_s = _evaluate(problem, X, journal, 0)
    optimizer.tell(space.points(X), y)
    fit_cpu_s, ask_cpu_s = [], []
    while len(y) < cell.n_init + cell.acquisitions:
        points = optimizer.ask(
            min(cell.batch, cell.n_init + cell.acquisitions - len(y))
        )
        fit_cpu_s.append(optimizer.info.fit_cpu_s)
        ask_cpu_s.append(optimizer.info.ask_cpu_s)
        numbers = space.numbers(points)
        values, seconds = _evaluate(problem, numbers, journal, len(y))
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
        revision=revision(),
        versions=versions(),
    )


def problem_of(cell: Cell) -> tuple[Problem, int | None]:
    """Return the problem of a cell and its seed, shared by all its methods."""
    if not info(cell.problem).seeded:
        return get(cell.problem), None
    rng = rng_at(cell.seed, f"study/function/{cell.problem}", cell.replicate)
    seed = int(rng.integers(2**32))
    return get(cell.problem, seed=seed), seed


def initial_points(cell: Cell, problem: Problem) -> Float[ndarray, "n P"]:
    """Return the uniform initial points of a cell, shared by all its methods."""
    rng = rng_at(cell.seed, f"study/initial/{cell.problem}", cell.replicate)
    space = problem.space
    return space.numbers(space.decode(rng.random((cell.n_init, space.dim))))


def optimizer_seed(cell: Cell) -> int:
    """Return the seed of the optimizer.

    It is different for every problem, batch size and replicate, and without common
    random numbers also for every method.
    """
    purpose = f"study/optimizer/{cell.problem}"
    if not cell.common_random_numbers:
        purpose += f"/{cell.method}"
    rng = rng_at(cell.seed, purpose, cell.batch, cell.replicate)
    return int(rng.integers(2**32))


@cache
def versions() -> Mapping[str, str]:
    """Return the versions of Python and of the libraries that are installed."""
    found = {"python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


@cache
def revision() -> str:
    """Return the git revision of this source tree, "" if it is not a checkout.

    A trailing "+" says that the tree had changes which are not committed.
    """
    git = ("git", "-C", str(Path(__file__).parent))
    try:
        # An installed package can lie inside somebody else's repository.
        subprocess.run(
            [*git, "ls-files", "--error-unmatch", Path(__file__).name],
            check=True,
            capture_output=True,
            timeout=10,
        )
        commands = (["rev-parse", "HEAD"], ["status", "--porcelain", "-uno"])
        head, changes = (
            subprocess.run(
                [*git, *command], check=True, capture_output=True, text=True, timeout=10
            ).stdout.strip()
            for command in commands
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return f"{head}+" if changes else head


def _evaluate(
    problem: Problem, X: Float[ndarray, "n P"], journal: Journal, first: int
) -> tuple[Float[ndarray, " n"], Float[ndarray, " n"]]:
    values, seconds = np.empty(len(X)), np.empty(len(X))
    for i, x in enumerate(X):
        values[i], seconds[i] = journal.evaluate(problem, x, first + i)
    return values, seconds
