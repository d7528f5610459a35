"""The result of a run, while it runs and at its end."""

import inspect
from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from sumbo.optimizer.asktell import Optimizer
from sumbo.optimizer.violation import best_of, why_none

STOPPED, INTERRUPTED = 99, 130


def result_of(opt: Optimizer, *, nit: int, status: int, message: str) -> OptimizeResult:
    """Return what a run knows now; ``status`` and ``message`` say why it ended."""
    X, y = opt.X, opt.y
    ok = np.isfinite(y)
    best = best_of(opt)
    found = best is not None
    named = found or status == INTERRUPTED
    x, fun = best or (None, np.nan)
    return _Result(
        x=x,
        fun=fun,
        nfev=len(y),
        nit=nit,
        x_iters=X,
        func_vals=y,
        failed=X[~ok],
        failures=opt.failures,
        success=found and status in (0, STOPPED),
        status=status if named else 1,
        message=message if named else why_none(y),
        transform=opt.data().transform.describe(),
        space=opt.space,
        seed=opt.seed,
        method=opt.method_name,
        optimizer=copy(opt),  # as it is now: the run goes on
    )


class _Result(OptimizeResult):
    """An ``OptimizeResult`` whose model is computed only when it is looked at."""

    @property
    def model(self) -> Any:
        """The posterior given the data of then, in the unit cube; None without one."""
        return self["optimizer"].model()


def call_back(callback: Callable[..., Any], result: OptimizeResult) -> None:
    """Call as SciPy does: by keyword if the callback names ``intermediate_result``."""
    try:
        named = "intermediate_result" in inspect.signature(callback).parameters
    except (TypeError, ValueError):
        named = False
    if named:
        callback(intermediate_result=result)
    else:
        callback(result)
