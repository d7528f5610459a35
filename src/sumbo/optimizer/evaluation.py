"""What every run checks: its arguments, where evaluations run, what a value is."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np

from sumbo.errors import ArgumentError
from sumbo.optimizer.outcomes import read_outcomes
from sumbo.space import Outcome
from sumbo.values import as_floats


def check_run(fun: Any, callback: Any, budget: Any, batch: Any, on_error: Any) -> None:
    """Check the arguments that every run has.

    Raises:
        ArgumentError: If one of them cannot be used.
    """
    if not callable(fun):
        msg = f"fun={fun!r} is not callable. Pass a function of one point."
        raise ArgumentError(msg)
    if callback is not None and not callable(callback):
        msg = f"callback={callback!r} is not callable. Pass a function of the result."
        raise ArgumentError(msg)
    for name, value in (("budget", budget), ("batch", batch)):
        integer = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        if not integer or value < 1:
            msg = f"{name}={value!r} is not a positive integer."
            raise ArgumentError(msg)
    if on_error not in ("raise", "skip"):
        msg = f"on_error={on_error!r} is unknown. Use 'raise' or 'skip'."
        raise ArgumentError(msg)


def shortened(n_init: Any, budget: int) -> Any:
    """Return the observations before the model takes over, given the budget.

    With a smaller budget the model would never be used; half of it is then random.
    """
    if isinstance(n_init, (int, np.integer)) and budget < n_init:
        return max(1, budget // 2)
    return n_init


def as_evaluation(returned: Any, limits: Sequence[Outcome]) -> tuple[float, Any]:
    """Return the value that an objective returned, and its outcomes if it did.

    Raises:
        ArgumentError: If the value is not a finite number, or an outcome that has
            limits is missing or none.
    """
    if not (isinstance(returned, tuple) and len(returned) == 2):
        value, outcomes = returned, None
    else:
        value, outcomes = returned
    if limits and outcomes is None:
        names = ", ".join(repr(limit.name) for limit in limits)
        has = "has" if len(limits) == 1 else "have"
        msg = (
            f"the objective returned {returned!r} without {names}, which {has} limits. "
        )
        raise ArgumentError(f"{msg}Return (value, {{name: number}}).")
    if outcomes is not None and not isinstance(outcomes, Mapping):
        msg = f"the objective returned {returned!r}, neither a number nor a pair of a "
        raise ArgumentError(f"{msg}number and a mapping of outcomes.")
    value = as_value(value)
    read_outcomes(limits, outcomes, 1)
    return value, outcomes


def as_value(value: Any) -> float:
    """Return the value that an objective returned.

    Raises:
        ArgumentError: If it is not a finite number.
    """
    try:
        known = [] if value is None else value  # NumPy would make None NaN
        out = float(as_floats(known, "value").reshape(()))
    except (TypeError, ValueError) as error:
        msg = f"the objective returned {value!r}, not a number."
        raise ArgumentError(msg) from error
    if not np.isfinite(out):
        msg = f"the objective returned {out}."
        raise ArgumentError(msg)
    return out


@contextmanager
def executor_of(workers: Any) -> Iterator[tuple[Any, int]]:
    """Yield an executor (None: evaluate here) and how many evaluations fit in it.

    Raises:
        ArgumentError: If ``workers`` is neither a positive number nor an executor.
    """
    if hasattr(workers, "get_executor"):  # a Dask client; its futures are of its own
        workers = workers.get_executor()
    if hasattr(workers, "submit"):
        yield workers, _slots(workers)
    elif isinstance(workers, (int, np.integer)) and not isinstance(workers, bool):
        if workers < 1:
            msg = f"workers={workers} is not positive. Pass how many run at a time."
            raise ArgumentError(msg)
        if workers == 1:
            yield None, 1
            return
        pool = ThreadPoolExecutor(max_workers=int(workers))
        try:
            yield pool, int(workers)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    else:
        msg = f"workers={workers!r} is neither a number nor a futures executor."
        raise ArgumentError(msg)


def _slots(executor: Any) -> int:
    """Return how many evaluations an executor runs at a time."""
    known = getattr(executor, "_max_workers", None)  # thread and process pools
    if known is None and hasattr(executor, "_client"):  # dask's ClientExecutor
        known = sum(executor._client.nthreads().values())
    return int(known) if known else 1
