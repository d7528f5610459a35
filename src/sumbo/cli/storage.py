"""Runs of ``sumbo minimize`` on a storage that other processes share."""

from collections.abc import Callable
from functools import partial
from typing import Any

import sumbo
from sumbo.errors import ArgumentError
from sumbo.integrations.shared_options import refuse


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
    refuse(options, "--")
    # A second of import time, and the error that names the extra comes first.
    from sumbo.integrations.shared import minimize_shared
    from sumbo.integrations.shared_storage import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return minimize_shared(fun, space, **options)
