"""Pictures of runs: how the best value falls with the evaluations."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sumbo.drawing import BLACK, BLUE, GREY, PALE, VERMILION
from sumbo.errors import ArgumentError
from sumbo.plots.style import RC, Axes, one_axes
from sumbo.typing import Float, ndarray


def convergence(
    result_or_y: Any,
    *,
    minimum: float | None = None,
    ax: Axes | None = None,
    log: bool = False,
    maximize: bool | None = None,
) -> Axes:
    """Return axes with the best observed value against the number of evaluations.

    One run shows its evaluated values as dots, and failed evaluations (NaN) as
    crosses at the lower edge. Several runs show the median of their best values with
    the band between the quartiles, up to the end of the shortest run.

    Args:
        result_or_y: A result with ``func_vals``, or an array of values; or a list of
            such for several runs.
        minimum: The known minimum, or maximum: drawn as a line or, with ``log``,
            subtracted.
        ax: Where to draw; a new figure by default.
        log: Whether the vertical axis is logarithmic.
        maximize: Whether larger values are better; results know it.

    Raises:
        ArgumentError: If there is no value to draw, or none that a logarithmic axis
            can show.
    """
    runs = _runs(result_or_y)
    sign = -1.0 if _maximised(result_or_y, maximize) else 1.0
    gap = log and minimum is not None
    if minimum is not None and gap:
        runs = [sign * (values - minimum) for values in runs]  # distances
        sign = 1.0
    if log and not max(float(np.nanmax(values)) for values in runs) > 0:
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
    ax.set_ylabel("distance to the optimum" if gap else "value")
    ax.set_xlim(0, 1 + max(len(values) for values in runs))
    ax.grid(axis="y", color=PALE, lw=0.6)
    ax.set_axisbelow(True)
    ax.legend(frameon=False, fontsize=RC["legend.fontsize"])
    return ax


def _maximised(given: Any, maximize: bool | None) -> bool:
    """Return whether larger values are better.

    Raises:
        ArgumentError: If some of the results maximise and others do not.
    """
    results = [given] if _is_result(given) else [r for r in given if _is_result(r)]
    known = {bool(getattr(r, "maximize", False)) for r in results}
    if len(known) > 1:
        msg = "result_or_y holds results that maximise and others that minimise. Draw "
        raise ArgumentError(f"{msg}them apart.")
    return bool(maximize) if maximize is not None or not known else known.pop()


def _one(ax: Axes, values: Float[ndarray, " n"], sign: float) -> Float[ndarray, " n"]:
    """Return the best values of the run after drawing it."""
    count = np.arange(1, len(values) + 1)
    best = sign * np.fmin.accumulate(sign * values)
    ax.plot(count, values, "o", ms=3, mec="none", color=GREY, alpha=0.65, label="value")
    ax.step(count, best, where="post", color=BLUE, lw=1.8, label="best so far")
    failed = np.isnan(values)
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


def _many(
    ax: Axes, runs: list[Float[ndarray, "..."]], sign: float
) -> Float[ndarray, " n"]:
    """Return the lower quartiles of the best values after drawing the runs."""
    n = min(len(values) for values in runs)
    best = np.stack([np.fmin.accumulate(sign * values)[:n] for values in runs])
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


def _runs(given: Any) -> list[Float[ndarray, "..."]]:
    if _is_result(given) or np.ndim(_first(given)) == 0:
        given = [given]
    runs = [_values(run) for run in given]
    if not runs or any(not np.isfinite(values).any() for values in runs):
        msg = "a run has no evaluated value. Pass runs with at least one."
        raise ArgumentError(msg)
    return runs


def _first(given: Any) -> Any:
    if not isinstance(given, (Sequence, ndarray)) or len(given) == 0:
        msg = (
            f"result_or_y={given!r} is neither a result with func_vals nor an array "
            "of values. Pass one of them, or a list of them."
        )
        raise ArgumentError(msg)
    return _values(given[0]) if _is_result(given[0]) else given[0]


def _is_result(given: Any) -> bool:
    return hasattr(given, "func_vals")


def _values(run: Any) -> Float[ndarray, " n"]:
    values = np.array(run.func_vals if _is_result(run) else run, dtype=float)
    if values.ndim != 1:
        msg = f"a run has values of shape {values.shape}. Pass a flat array."
        raise ArgumentError(msg)
    return np.where(np.isfinite(values), values, np.nan)
