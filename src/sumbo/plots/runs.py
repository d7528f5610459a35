"""Pictures of runs: how the best value falls with the evaluations."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumbo.drawing import BLACK, BLUE, GREY, PALE, VERMILION, plain
from sumbo.errors import ArgumentError
from sumbo.optimizer import Optimizer
from sumbo.plots.source import optimizer_of
from sumbo.plots.style import RC, Axes, one_axes
from sumbo.typing import Float, ndarray


@dataclass(frozen=True, kw_only=True, eq=False)
class Trace:
    """The values of a run in their order: all of them, and those that count.

    Attributes:
        values: All values, NaN where the evaluation failed.
        counted: The same, NaN also at points that break a constraint.
    """

    values: Float[ndarray, " n"]
    counted: Float[ndarray, " n"]

    def map(self, function: Callable[[Any], Any]) -> "Trace":
        """Return the trace of a function of the values."""
        return Trace(values=function(self.values), counted=function(self.counted))

    def best(self, sign: float) -> Float[ndarray, " n"]:
        """Return the best value so far, NaN before the first."""
        return sign * np.fmin.accumulate(sign * self.counted)


def convergence(
    run: Any,
    *,
    minimum: float | None = None,
    ax: Axes | None = None,
    log: bool = False,
    maximize: bool | None = None,
    objective: str = "value",
) -> Axes:
    """Return axes with the best observed value against the number of evaluations.

    One run shows its evaluated values as dots, and failed evaluations (NaN) as
    crosses at the lower edge. Values at points that break a constraint are circles,
    and never the best. Several runs show the median of their best values with the band
    between the quartiles, up to the end of the shortest run.

    Args:
        run: An ``Optimizer``, a result, the path of a checkpoint, or an array of
            values; or a list of such for several runs.
        minimum: The known minimum, or maximum: drawn as a line or, with ``log``,
            subtracted.
        ax: Where to draw; a new figure by default.
        log: Whether the vertical axis is logarithmic.
        maximize: Whether larger values are better; runs know it.
        objective: What the axis calls the values.

    Examples:
        >>> from sumbo import plots
        >>> ax = plots.convergence([3.1, 2.4, 2.7, 1.9], objective="cost")
        >>> ax.get_ylabel()
        'cost'

    Raises:
        ArgumentError: If there is no value to draw, or none that a logarithmic axis
            can show.
    """
    runs = _runs(run)
    sign = -1.0 if _maximised(run, maximize) else 1.0
    gap = log and minimum is not None
    if minimum is not None and gap:
        runs = [one.map(lambda y: sign * (y - minimum)) for one in runs]  # distances
        sign = 1.0
    if log and not max(float(np.nanmax(one.values)) for one in runs) > 0:
        msg = "log=True, but no value is positive. Pass the minimum, or log=False."
        raise ArgumentError(msg)
    ax = one_axes(ax, (4.6, 3.0))
    one = len(runs) == 1
    lowest = _one(ax, runs[0], sign) if one else _many(ax, runs, sign)
    optimum = "minimum" if sign > 0 else "maximum"
    if minimum is not None and not log:
        ax.axhline(minimum, color=BLACK, lw=0.8, ls="--", zorder=1, label=optimum)
    if log:
        # A run may hit the minimum exactly: its line then leaves through the floor.
        ax.set_yscale("log", nonpositive="clip")
        ax.set_ylim(bottom=0.7 * float(lowest[lowest > 0].min()))
    ax.set_xlabel("evaluations")
    label = plain(objective)
    ax.set_ylabel(f"{label}: distance to the optimum" if gap else label)
    ax.set_xlim(0, 1 + max(len(one.values) for one in runs))
    ax.grid(axis="y", color=PALE, lw=0.6)
    ax.set_axisbelow(True)
    ax.legend(frameon=False, fontsize=RC["legend.fontsize"])
    return ax


def _maximised(given: Any, maximize: bool | None) -> bool:
    """Return whether larger values are better.

    Raises:
        ArgumentError: If some of the runs maximise and others do not.
    """
    runs = [given] if _is_run(given) else [r for r in given if _is_run(r)]
    known = {bool(getattr(_loaded(r), "maximize", False)) for r in runs}
    if len(known) > 1:
        msg = "run holds runs that maximise and others that minimise. Draw them apart."
        raise ArgumentError(msg)
    return bool(maximize) if maximize is not None or not known else known.pop()


def _one(ax: Axes, run: Trace, sign: float) -> Float[ndarray, " n"]:
    """Return the best values of the run after drawing it."""
    count = np.arange(1, len(run.values) + 1)
    best = run.best(sign)
    dots: dict[str, Any] = {"ms": 3, "color": GREY, "alpha": 0.65}
    ax.plot(count, run.counted, "o", mec="none", label="value", **dots)
    failed = np.isnan(run.values)
    broken = np.isnan(run.counted) & ~failed
    if broken.any():
        at = count[broken], run.values[broken]
        ax.plot(*at, "o", mfc="none", label="breaks a constraint", **dots)
    ax.step(count, best, where="post", color=BLUE, lw=1.8, label="best so far")
    if failed.any():
        ax.plot(
            count[failed],
            np.full(failed.sum(), 0.02),
            "x",
            ms=4,
            color=VERMILION,
            transform=ax.get_xaxis_transform(),
            label="failed",
        )
    return best


def _many(ax: Axes, runs: list[Trace], sign: float) -> Float[ndarray, " n"]:
    """Return the lower quartiles of the best values after drawing the runs."""
    n = min(len(run.values) for run in runs)
    best = sign * np.stack([run.best(sign)[:n] for run in runs])
    count = np.arange(1, n + 1)
    # Before its first success a run has no best value: it is as bad as can be.
    best = np.where(np.isnan(best), np.inf, best)
    low, median, high = (sign * _quantile(best, q) for q in (0.25, 0.5, 0.75))
    ax.fill_between(
        count, low, high, step="post", color=BLUE, alpha=0.2, lw=0, label="quartiles"
    )
    label = f"median of {len(runs)} runs"
    ax.step(count, median, where="post", color=BLUE, lw=1.8, label=label)
    return low


def _quantile(best: Float[ndarray, "R n"], q: float) -> Float[ndarray, " n"]:
    """Return the interpolated quantiles; NumPy's are NaN wherever infinity is near."""
    ranked = np.sort(best, axis=0)
    at = q * (len(best) - 1)
    i, w = int(at), at - int(at)
    return ranked[i] if w == 0 else (1 - w) * ranked[i] + w * ranked[i + 1]


def _runs(given: Any) -> list[Trace]:
    if _is_run(given) or np.ndim(_first(given)) == 0:
        given = [given]
    runs = [_trace(run) for run in given]
    if not runs or any(not np.isfinite(run.counted).any() for run in runs):
        msg = "a run has no evaluated value that meets all constraints. Pass runs with "
        raise ArgumentError(f"{msg}at least one.")
    return runs


def _first(given: Any) -> Any:
    if not isinstance(given, (Sequence, ndarray)) or len(given) == 0:
        msg = (
            f"run={given!r} is neither an Optimizer, a result with func_vals, the path "
            "of a checkpoint nor an array of values. Pass one of them, or a list."
        )
        raise ArgumentError(msg)
    return [0.0] if _is_run(given[0]) else given[0]


def _is_run(given: Any) -> bool:
    known = isinstance(given, Optimizer | str | os.PathLike)
    return known or hasattr(given, "func_vals")


def _loaded(run: Any) -> Any:
    """Return a run, read from its checkpoint if it is a path."""
    return optimizer_of(run) or run


def _trace(run: Any) -> Trace:
    opt = optimizer_of(run)
    if opt is not None:
        return Trace(values=opt.y, counted=opt.feasible_y)
    values = np.array(run.func_vals if _is_run(run) else run, dtype=float)
    if values.ndim != 1:
        msg = f"a run has values of shape {values.shape}. Pass a flat array."
        raise ArgumentError(msg)
    values = np.where(np.isfinite(values), values, np.nan)
    return Trace(values=values, counted=values)
