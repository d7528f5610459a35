"""What a run returns."""

import inspect
from collections.abc import Callable, Collection
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from sumbo.errors import MissingExtraError
from sumbo.importance import Importance
from sumbo.optimizer.asktell import Optimizer
from sumbo.optimizer.predict import Prediction
from sumbo.optimizer.recommend import Recommendation
from sumbo.optimizer.show import run_html, run_text
from sumbo.optimizer.violation import best_of, why_none
from sumbo.space import Categorical

STOPPED, INTERRUPTED = 99, 130


class Result(OptimizeResult):
    """An ``OptimizeResult`` whose model is computed when it is first used."""

    def __repr__(self) -> str:
        """Return the best point by name, and what was done; all else by attribute."""
        if "optimizer" not in self:  # one that was not made by a run
            return super().__repr__()
        return run_text(self["optimizer"], self["message"])

    def _repr_html_(self) -> str:
        """Return the same for notebooks."""
        return run_html(self["optimizer"], self["message"])

    @property
    def model(self) -> Any:
        """The posterior given the data of the run, in the unit cube, or None."""
        return self["optimizer"].model()

    @property
    def recommended(self) -> Recommendation:
        """The point that the model recommends, as (x, mean, sd).

        See ``Optimizer.recommend``. With noise it is better than ``x``.
        """
        return self["optimizer"].recommend()

    def predict(self, X: Any) -> Prediction:
        """Return what the model expects at points: (mean, sd) in your units.

        See ``Optimizer.predict``.
        """
        return self["optimizer"].predict(X)

    def importance(
        self, n: int = 200, seed: int = 0, level: float = 0.95
    ) -> Importance:
        """Return how much of the variation of the objective each parameter causes.

        See ``Optimizer.importance``: a table of Sobol shares with intervals.
        """
        return self["optimizer"].importance(n=n, seed=seed, level=level)

    def report(self, path: Any, *, title: str = "") -> Path:
        """Write a report on the run as one HTML file, and return its path.

        See ``Optimizer.report``.
        """
        message = str(self.get("message", ""))
        return self["optimizer"].report(path, title=title, message=message)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row per evaluation, in their order.

        It has a column per parameter, then ``value`` (NaN where the evaluation
        failed), ``failed``, ``noise`` if a noise was given, and one per outcome that
        has limits. A name that is taken gets an underscore at its end.

        Raises:
            MissingExtraError: If pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            msg = "to_frame needs pandas. Install it: pip install 'sumbo[pandas]'."
            raise MissingExtraError(msg) from error
        opt = self["optimizer"]
        frame = pd.DataFrame(columns_of(opt))
        for p in opt.space.parameters:
            if isinstance(p, Categorical):  # a column of strings would not hold None
                values = [row[p.name] for row in opt.space.as_dicts(opt.X)]
                frame[p.name] = pd.Series(values, dtype=object)
        return frame


def columns_of(opt: Optimizer) -> dict[str, list[Any]]:
    """Return all observations as columns: Python values, by name."""
    rows = opt.space.as_dicts(opt.X)
    names = opt.space.names
    columns = {name: [row[name] for row in rows] for name in names}
    others = {"value": opt.y.tolist(), "failed": np.isnan(opt.y).tolist()}
    if not np.isnan(opt.noise).all():
        others["noise"] = opt.noise.tolist()
    measured = {name: values.tolist() for name, values in opt.outcomes.items()}
    for name, values in (*others.items(), *measured.items()):
        columns[free_name(name, columns)] = values
    return columns


def free_name(name: str, taken: Collection[str]) -> str:
    """Return the name, with underscores at its end if it is taken."""
    while name in taken:
        name = f"{name}_"
    return name


def result_of(opt: Optimizer, *, nit: int, status: int, message: str) -> Result:
    """Return what is known of a run now."""
    X, y = opt.X, opt.y
    ok = np.isfinite(y)
    best = best_of(opt)
    found = best is not None
    named = found or status == INTERRUPTED
    x, fun = best or (None, np.nan)
    return Result(
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
        transform=opt.data().transform.describe(negated=opt.maximize),
        space=opt.space,
        seed=opt.seed,
        method=opt.method_name,
        maximize=opt.maximize,
        optimizer=copy(opt),  # as it is now: the run goes on
    )


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
