"""A picture of a problem: what happens at one point, or slices through it."""

from typing import Any

import numpy as np

from sumbo.drawing import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PALE,
    PURPLE,
    SKY,
    VERMILION,
    plain,
)
from sumbo.errors import ArgumentError, ProblemError
from sumbo.plots.style import RC, SMALL, Axes, one_axes, title
from sumbo.plots.values import shortened
from sumbo.problems import Problem
from sumbo.problems.lunar import Flight, Lunar
from sumbo.problems.push import (
    DISC_RADIUS,
    GOALS,
    HAND_HALF_SIZE,
    SQUARE_HALF_SIDE,
    Push,
    Trajectory,
)
from sumbo.problems.rover import (
    FAILURE,
    GOAL,
    HALF_SIDE,
    OFFSET,
    START,
    Rover,
    collides,
    obstacles,
    path_cost,
)
from sumbo.problems.synthetic import Synthetic
from sumbo.problems.wrappers import Wrapper
from sumbo.typing import Float, ndarray

OBSTACLE = "#B8B8B8"
COLOURS = (BLUE, VERMILION, GREEN, ORANGE, PURPLE)
ROWS = 20  # slices in one picture; of more, those that vary most
DECADES = 1e4  # values that span more are shown by their logarithms


def problem(p: Problem, x: Any = None, ax: Axes | None = None) -> Axes:
    """Return axes with a picture of the problem at ``x``.

    The rover's path through its field (several rows of ``x``: several paths), the
    course of events of push, flights over the first terrains of lunar, and for all
    others the slices along each coordinate, of 22 evaluations each. Without ``x`` it is
    the best known point, or else the middle of the box. Pictures are noise-free.
    ``ax`` is where to draw; by default a new figure.

    Examples:
        >>> import sumbo
        >>> ax = sumbo.plots.problem(sumbo.problems.get("rastrigin2", seed=3))
        >>> ax.figure.savefig("rastrigin2.png")

    Raises:
        ArgumentError: If ``x`` has several rows and the picture shows one point.
    """
    while isinstance(p, Wrapper):
        p = p.problem
    if x is None:
        x = p.bounds.mean(axis=1) if p.best_known_x is None else p.best_known_x
    X = np.atleast_2d(np.asarray(x, dtype=float))
    if len(X) != 1 and not isinstance(p, Rover):
        msg = f"x has shape {X.shape}, but the picture of {p.name} shows one point."
        raise ArgumentError(msg)
    ax = one_axes(ax, (5.6, 4.0))
    if isinstance(p, Rover):
        _rover(p, X, ax)
    elif isinstance(p, Push):
        _push(p.simulate(X[0]), ax)
    elif isinstance(p, Lunar):
        _lunar([p.fly(X[0], seed) for seed in p.seeds[:5]], p.seeds, ax)
    else:
        _slices(p, p.point(X[0]), ax)
    return ax


def _legend(ax: Axes) -> None:
    # Beside the picture, which fills its axes.
    ax.legend(
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
        frameon=False,
        fontsize=RC["legend.fontsize"],
    )


# ---------------------------------------------------------------- rover


def _rover(p: Rover, X: Float[ndarray, "n P"], ax: Axes) -> None:
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    ax.set_facecolor(PALE)
    ax.add_patch(Rectangle((0, 0), 1, 1, facecolor="white", edgecolor="none"))
    squares = [
        Rectangle((a - HALF_SIDE, b - HALF_SIDE), 2 * HALF_SIDE, 2 * HALF_SIDE)
        for a, b in obstacles()
    ]
    ax.add_collection(PatchCollection(squares, facecolor=OBSTACLE, edgecolor="none"))
    title(ax, f"rover: {len(X)} paths")
    for i, x in enumerate(X):
        _rover_path(p, x, ax, number=i, alone=len(X) == 1)
    for at, marker, name in ((START, "o", "start"), (GOAL, "*", "goal")):
        size = 150 if marker == "*" else 60
        ax.scatter(*at, s=size, marker=marker, color=BLACK, zorder=5, label=name)
    ax.set(xlim=(-0.1, 1.1), ylim=(-0.1, 1.1), aspect="equal")
    ax.set(xlabel="easting", ylabel="northing")
    _legend(ax)


def _rover_path(p: Rover, x: ndarray, ax: Axes, *, number: int, alone: bool) -> None:
    points = p.control_points(x)
    try:
        q = p.path(x)
    except ProblemError:
        q = np.empty((0, 2))
    value = path_cost(q) - OFFSET if len(q) else FAILURE
    remark = f"{value:.4g}" if len(q) else f"{value:.4g}, no path"
    if alone:
        ax.scatter(*points.T, s=10, color=GREY, zorder=3, label="control points")
        title(ax, f"rover: value {remark}")
    name = "path" if alone else f"path {number}: {remark}"
    colour = (BLUE, GREEN, PURPLE, SKY, ORANGE)[number % 5]
    ax.plot(*q.T, color=colour, lw=2, zorder=4, label=name)
    # NaN interrupts the line where the path is free.
    hit = np.where(collides(q)[:, None], q, np.nan)
    if np.isfinite(hit).any():
        told = "collision" in ax.get_legend_handles_labels()[1]
        label = None if told else "collision"
        ax.plot(*hit.T, color=VERMILION, lw=4, zorder=4, label=label)


# ---------------------------------------------------------------- push


def _push(trajectory: Trajectory, ax: Axes) -> None:
    names = ("square", "disc", "hand 1", "hand 2")
    for i, (name, colour) in enumerate(
        zip(names, (BLUE, VERMILION, GREEN, PURPLE), strict=True)
    ):
        path, angles = trajectory.positions[:, i], trajectory.angles[:, i]
        ax.plot(*path.T, color=colour, lw=1.2, zorder=2)
        start = _push_shape(i, path[0], angles[0])
        start.set(facecolor="none", edgecolor=colour, linestyle="--", zorder=3)
        end = _push_shape(i, path[-1], angles[-1])
        end.set(facecolor=colour, edgecolor=colour, alpha=0.55, zorder=3, label=name)
        ax.add_patch(start)
        ax.add_patch(end)
        if i < len(GOALS):
            label = "goals" if i == 0 else None
            ax.scatter(*GOALS[i], marker="x", s=70, c=BLACK, zorder=5, label=label)
    reach = 1.2 + max(5.0, float(np.abs(trajectory.positions).max()))
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    ax.set(xlabel="x", ylabel="y")
    title(ax, f"push: value {trajectory.value:.4g}", "dashed: start, filled: end")
    _legend(ax)


def _push_shape(i: int, at: Float[ndarray, " 2"], angle: float) -> Any:
    from matplotlib.patches import Circle, Rectangle

    if i == 1:
        return Circle(tuple(at), DISC_RADIUS)
    half = np.array((SQUARE_HALF_SIDE,) * 2 if i == 0 else HAND_HALF_SIZE)
    return Rectangle(
        tuple(at - half), *(2 * half), angle=np.degrees(angle), rotation_point="center"
    )


# ---------------------------------------------------------------- lunar


def _lunar(flights: list[Flight], seeds: tuple[int, ...], ax: Axes) -> None:
    colours = (BLUE, VERMILION, GREEN, PURPLE, ORANGE)
    for flight, seed, colour in zip(flights, seeds, colours, strict=False):
        label = f"seed {seed}: return {flight.reward:.0f}"
        ax.plot(*flight.ground.T, color=colour, lw=1, alpha=0.6)
        x, y = flight.states[:, 0], flight.states[:, 1]
        ax.plot(x, y, color=colour, lw=2, label=label)
        # The lander at the end: a triangle that points where its top points.
        ax.scatter(
            x[-1],
            y[-1],
            marker=(3, 0, round(np.degrees(float(flight.states[-1, 4])))),
            s=160,
            color=colour,
            edgecolor=BLACK,
            zorder=4,
        )
    ax.axvspan(-0.2, 0.2, color=PALE, zorder=0, label="landing pad")
    ax.set(xlabel="horizontal position", ylabel="height above the pad")
    title(ax, "lunar: flights over the first terrains")
    _legend(ax)


# ---------------------------------------------------------------- slices


def _slices(p: Problem, x: Float[ndarray, " P"], ax: Axes) -> None:
    # A cusp needs a fine grid; where a value costs, a coarse one has to do.
    grid = np.linspace(0.0, 1.0, 501 if isinstance(p, Synthetic) else 21)
    low, high = p.bounds.T
    here = (x - low) / (high - low)
    curves = []
    for i in range(p.dim):
        U = np.unique([*grid, here[i]])
        X = np.tile(x, (len(U), 1))
        X[:, i] = np.clip(low[i] + U * (high[i] - low[i]), low[i], high[i])
        curves.append((U, p.evaluate(X)))
    value = float(p.evaluate(x[None])[0])
    unit = bool(np.all(p.bounds == [0.0, 1.0]))
    ax.set_xlabel("coordinate" if unit else "coordinate, as a fraction of its range")
    names = [plain(name) for name in shortened(p.parameters)]
    draw = _lines if p.dim <= len(COLOURS) else _rows
    remark = draw(ax, p, curves, names, here, value)
    title(ax, f"{plain(p.name)}: slices through x", remark)


def _lines(
    ax: Axes, p: Problem, curves: Any, names: list[str], here: Any, value: float
) -> str:
    """Draw few slices over each other; return a remark."""
    for (U, y), name, colour in zip(curves, names, COLOURS, strict=False):
        ax.plot(U, y, color=colour, lw=1.5, label=name)
        if np.ptp(y) > DECADES:  # orders of magnitude: show them all
            ax.set_yscale("symlog")
    ax.scatter(here, np.full(p.dim, value), s=18, color=BLACK, zorder=4, label="x")
    if p.best_known is not None:
        name = "minimum" if p.exact else "best known"
        ax.axhline(p.best_known, color=GREY, lw=1, ls="--", label=name)
    ax.set_ylabel("value")
    _legend(ax)
    return f"value {value:.4g}"


def _rows(
    ax: Axes, p: Problem, curves: Any, names: list[str], here: Any, value: float
) -> str:
    """Draw each slice in a row of its own, all to one scale; return a remark."""
    spread = np.array([np.ptp(y) for _, y in curves])
    rows = np.sort(np.argsort(-spread, kind="stable")[:ROWS])
    bottom = min(float(y.min()) for _, y in curves)
    tallest = max(float(y.max()) for _, y in curves) - bottom or 1.0
    logs = tallest > DECADES

    def height(y: Any) -> Any:
        h = np.log1p(y - bottom) / np.log1p(tallest) if logs else (y - bottom) / tallest
        return 0.9 * h

    for row, i in enumerate(rows.tolist()):
        U, y = curves[i]
        base = len(rows) - 1 - row
        ax.axhline(base, color=PALE, lw=0.8, zorder=1)
        ax.fill_between(U, base, base + height(y), color=BLUE, alpha=0.15, lw=0)
        ax.plot(U, base + height(y), color=BLUE, lw=1.2, label=names[i])
        ax.plot(here[i], base + height(value), "o", ms=3.5, color=BLACK, zorder=4)
    ticks = np.arange(len(rows))[::-1]
    ax.set_yticks(ticks, [names[i] for i in rows], fontsize=SMALL)
    ax.tick_params(axis="y", length=0)
    ax.set_ylabel("value, one row for each parameter")
    ax.set_ylim(-0.15, len(rows) + 0.05)
    left = p.dim - len(rows)
    more = f"{left} more vary less; " if left else ""
    scale = ", logarithmic" if logs else ""
    return f"{more}row height {tallest:.3g}{scale}; dots: x, value {value:.4g}"
