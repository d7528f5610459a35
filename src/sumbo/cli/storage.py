"""Runs of ``sumbo minimize`` on a storage that other processes share."""

from collections.abc import Callable
from functools import partial
from typing import Any

import sumbo
from sumbo.errors import ArgumentError

# Options that a shared run does not have: their defaults, and what it does instead.
_UNUSED = {
    "batch": (1, "every trial is chosen as soon as a worker is free."),
    "checkpoint": (None, "every value is kept in the storage."),
    "choices": (None, "trials are points of the space."),
    "repeats": (None, "every point is asked once."),
    "maximize": (False, "the values of a shared run are minimised."),
    "stop": (None, "it ends when the budget is used."),
    "data": (None, "add earlier values to the storage as trials."),
}


def minimiser(
    storage: str | None, study: str | None, heartbeat: int, *, wait: bool
) -> Callable[..., Any]:
    """Return the function that minimises: with a storage, together with others.

    Raises:
        ArgumentError: If only one of the two names is given.
    """
    if storage is None and study is None:
        return sumbo.minimize
    if storage is None or study is None:
        given, missing = ("--study", "--storage URL")
        if study is None:
            given, missing = ("--storage", "--study NAME")
        msg = f"{given} is given without {missing}. A shared run needs both."
        raise ArgumentError(msg)
    return partial(
        _minimize_shared, storage=storage, study=study, heartbeat=heartbeat, wait=wait
    )


def _minimize_shared(fun: Any, space: Any, **options: Any) -> Any:
    options["data"] = options.pop("x0", None)
    options.pop("y0", None)
    for name, (unused, instead) in _UNUSED.items():
        value = options.pop(name, unused)
        if value is not None if unused is None else value != unused:
            msg = f"--{name} does not go with --storage. Leave it out: {instead}"
            raise ArgumentError(msg)
    # A second of import time, and the error that names the extra comes first.
    from sumbo.integrations.shared import minimize_shared
    from sumbo.integrations.shared_storage import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return minimize_shared(fun, space, **options)
