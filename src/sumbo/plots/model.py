"""Pictures of a fitted model: whether it predicts, and the sum around a point."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sumbo.drawing import BLACK, BLUE, GREY, VERMILION
from sumbo.errors import ArgumentError
from sumbo.plots.coordinates import POINTS
from sumbo.plots.curves import draw_band
from sumbo.plots.source import source_of
from sumbo.plots.style import (
    Z95,
    flat_axes,
    is_first,
    legend_above,
    note,
    percent,
    require_positive,
    some_axes,
    title,
)
from sumbo.plots.values import numbers
from sumbo.typing import Float, Int, ndarray


def leave_one_out(run: Any, *, axes: Any = None, objective: str = "value") -> Any:
    """Return two axes: predicted against observed, and standardised residuals.

    Each value is predicted from all others (the kernel's parameters stay), with its
    central 95 % interval, noise included. Values outside of theirs are marked; about
    one in twenty should be. Where the model is one of the logarithm of the objective,
    both axes are linear in this logarithm, and the share explained is that of it.

    Args:
        run: An ``Optimizer``, a result, the path of a checkpoint, or a posterior.
        axes: Where to draw; a new figure by default.
        objective: What axes call the values.

    Examples:
        >>> import numpy as np
        >>> import sumbo
        >>> X = np.random.default_rng(1).random((9, 3))
        >>> gp = sumbo.AdditiveGP(groups=[(0,), (1, 2)], noise=1e-3)
        >>> post = gp.condition(X, X[:, 0] ** 2 + X[:, 1] * X[:, 2])
        >>> predicted, residuals = sumbo.plots.leave_one_out(post, objective="cost")
        >>> predicted.get_xlabel()
        'cost, observed'
    """
    source = source_of(run, objective=objective)
    rows, values = source.evaluated, source.values
    mean, var = source.post.leave_one_out()
    y, mean, sd = source.post.y[rows], mean[rows], np.sqrt(var[rows])
    z = (y - mean) / sd
    out = np.abs(z) > Z95
    left, right = some_axes(axes, 2, (3.3, 2.9))
    at = values.user(mean)
    reach = np.abs(values.user([mean - Z95 * sd, mean + Z95 * sd]) - at)
    for which, colour, label in ((~out, BLUE, "inside"), (out, VERMILION, "outside")):
        if which.any():
            left.errorbar(
                values.user(y[which]),
                at[which],
                yerr=reach[:, which],
                fmt="o",
                ms=3,
                lw=0.7,
                color=colour,
                label=f"{label} 95 %",
            )
            right.plot(at[which], z[which], "o", ms=3.5, color=colour)
    ends = np.array([y.min(), y.max()])
    # Straight in the model, whatever the units.
    left.plot(values.user(ends), values.user(ends), color=BLACK, lw=0.8, zorder=0)
    low, high = _padded((mean - Z95 * sd).min(), (mean + Z95 * sd).max())
    values.show(left, "x", *_padded(*ends))
    values.show(left, "y", min(low, float(ends[0])), max(high, float(ends[1])))
    values.show(right, "x", *_padded(mean.min(), mean.max()))
    left.set_xlabel(f"{values.label}, observed")
    left.set_ylabel(f"{values.label}, predicted from the others")
    right.set_xlabel(f"{values.label}, predicted from the others")
    spread = float(((y - y.mean()) ** 2).sum())
    if spread > 0:
        missed = float(((y - mean) ** 2).sum()) / spread
        title(left, "Leave one out", f"explained: {percent(max(0.0, 1 - missed))}")
    for level in (-Z95, 0.0, Z95):
        dashes = "-" if level == 0 else "--"
        right.axhline(level, color=GREY, lw=0.8, ls=dashes, zorder=0)
    farthest = 1.1 * max(3.0, float(np.abs(z).max()))
    right.set_ylim(-farthest, farthest)
    right.set_ylabel("(observed − predicted) / sd")
    title(right, "Residuals", f"{out.sum()} of {len(y)} outside 95 %")
    return np.array([left, right], dtype=object)


def slices(
    run: Any,
    x: Any = None,
    *,
    names: Sequence[str] | None = None,
    bounds: Any = None,
    top: int = 11,
    axes: Any = None,
    objective: str = "value",
) -> Any:
    """Return axes with the model of the sum along single parameters through ``x``.

    Mean and 95 % band of f in the units of the objective, all other parameters held at
    ``x``. Where the model is one of the logarithm of the objective, the line is the
    median, and the vertical axis is linear in this logarithm. The ``top`` parameters
    whose slices vary most are shown, largest first; a last panel counts the others.

    Args:
        run: An ``Optimizer``, a result, the path of a checkpoint, or a posterior.
        x: The point, in your units, or for a posterior in the units of ``post.X``; by
            default the best observed point.
        names: One name per parameter.
        bounds: For a posterior: the space whose units the axes show.
        top: The largest number of panels.
        axes: Where to draw; a new figure by default.
        objective: What axes call the values.

    Examples:
        >>> import numpy as np
        >>> import sumbo
        >>> X = np.random.default_rng(1).random((9, 3))
        >>> gp = sumbo.AdditiveGP(groups=[(0,), (1, 2)], noise=1e-3)
        >>> post = gp.condition(X, X[:, 0] ** 2 + X[:, 1] * X[:, 2])
        >>> axes = sumbo.plots.slices(post, [0.3, 0.4, 0.5])
        >>> len(axes)
        3
    """
    source = source_of(run, names, bounds, best=x, objective=objective)
    require_positive(top, "top")
    values, P = source.values, len(source.coordinates)
    grids = [c.grid(POINTS) for c in source.coordinates]
    lines = [
        _line(source.best, c.block, grid)
        for c, grid in zip(source.coordinates, grids, strict=True)
    ]
    found = source.post.predict(np.vstack(lines))
    cuts = np.cumsum([len(grid) for grid in grids])[:-1]
    means, variances = (np.split(column, cuts) for column in found)
    halves = [Z95 * np.sqrt(var) for var in variances]
    spread = np.array([mean.std() for mean in means])
    room = top + 1 if axes is None else len(flat_axes(axes))
    shown = _largest(spread, top, room)
    used = some_axes(axes, len(shown) + (len(shown) < P), (2.3, 1.85))
    here = values.user(source.post.predict_mean(source.best[None]))[0]
    low = min(float((means[p] - halves[p]).min()) for p in shown)
    high = max(float((means[p] + halves[p]).max()) for p in shown)
    for ax, p in zip(used, shown.tolist(), strict=False):
        c = source.coordinates[p]
        band = values.user(means[p] - halves[p]), values.user(means[p] + halves[p])
        draw_band(ax, c, values.user(means[p]), band, middle=values.middle)
        point = {"color": VERMILION, "mec": "white", "clip_on": False, "label": "point"}
        at = c.user(source.best[None][:, c.block])
        ax.plot(at, [here], "o", ms=5.5, zorder=5, **point)
        c.show(ax, "x")
        values.show(ax, "y", *_padded(low, high))
        if not is_first(ax):
            ax.set_ylabel("")
    if len(shown) < P:
        most = float(np.delete(spread, shown).max())
        where = _apart(values, most)
        note(used[-1], f"{P - len(shown)} more not shown:\nsd along each\n{where}")
    if axes is None:
        legend_above(used)
    return used


def _apart(values: Any, spread: float) -> str:
    """Return how much a slice varies at most, in words."""
    number = numbers([values.unit * spread])[0]
    return f"at most {number}" + ("" if values.linear else " in the logarithm")


def _line(
    x: Float[ndarray, " P"], block: tuple[int, ...], values: Float[ndarray, "n d"]
) -> Float[ndarray, "n P"]:
    out = np.tile(x, (len(values), 1))
    out[:, block] = values
    return out


def _largest(spread: Float[ndarray, " P"], top: int, room: int) -> Int[ndarray, " k"]:
    """Return the parameters to show; where some are left out, a note needs a panel.

    Raises:
        ArgumentError: If there is no room for one of them and the note.
    """
    P = len(spread)
    if min(top, room) >= P:
        return np.arange(P)
    count = min(top, room - 1)
    if count < 1:
        msg = f"axes hold {room} axes for {P} parameters. Pass at least 2."
        raise ArgumentError(msg)
    return np.argsort(-spread, kind="stable")[:count]


def _padded(low: Any, high: Any) -> tuple[float, float]:
    pad = 0.05 * float(high - low) or 1.0
    return float(low) - pad, float(high) + pad
