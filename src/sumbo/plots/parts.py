"""The parts of a model, one small panel each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumbo.drawing import BLACK, BLUE, VERMILION
from sumbo.errors import ArgumentError
from sumbo.gp import Posterior
from sumbo.linalg import solve_lower
from sumbo.plots.coordinates import Coordinate, coordinates_of, point_of
from sumbo.plots.shares import part_shares
from sumbo.plots.style import (
    DRAWS,
    HEAT,
    SMALL,
    Z95,
    Axes,
    flat_axes,
    legend_above,
    note,
    percent,
    some_axes,
    title,
)
from sumbo.typing import Float, ndarray

POINTS = 121  # of a curve
PIXELS = 61  # of a heat map, along each side
AVERAGE = 21  # of the average over a heat map, along each side


@dataclass(frozen=True, kw_only=True)
class Panel:
    """Part ``m`` against its ``free`` coordinates (positions in the group)."""

    m: int
    free: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Slices:
    """What all panels share."""

    post: Posterior
    coordinates: tuple[Coordinate, ...]
    best: Float[ndarray, " P"]
    shares: Float[ndarray, " M"]
    centred: bool

    def box(self, panel: Panel) -> list[Coordinate]:
        """Return the coordinates that the panel shows."""
        group = self.post.gp.groups[panel.m]
        return [self.coordinates[group[j]] for j in panel.free]

    def points(self, panel: Panel, n: int) -> Float[ndarray, "B d"]:
        """Return the panel's points in the part's coordinates, others at the best."""
        mesh = np.meshgrid(*[c.grid(n) for c in self.box(panel)], indexing="xy")
        group = self.post.gp.groups[panel.m]
        out = np.tile(self.best[list(group)], (mesh[0].size, 1))
        for j, values in zip(panel.free, mesh, strict=True):
            out[:, j] = values.ravel()
        return out

    def moments(
        self, panel: Panel, n: int
    ) -> tuple[Float[ndarray, " B"], Float[ndarray, " B"]]:
        """Return mean and standard deviation of the part at the panel's points."""
        Z = self.points(panel, n)
        mean, var = self.post.part_moments(panel.m, Z)
        if self.centred:
            average = self.points(panel, n if len(panel.free) == 1 else AVERAGE)
            level, shared, spread = _average(self.post, panel.m, Z, average)
            mean, var = mean - level, var - 2.0 * shared + spread
        return mean, np.sqrt(np.maximum(var, 0.0))


@dataclass(frozen=True, kw_only=True)
class PartCurve:
    """Mean, half a band and draws of one part along one coordinate."""

    u: Float[ndarray, " B"]
    mean: Float[ndarray, " B"]
    half: Float[ndarray, " B"]
    draws: Float[ndarray, "n B"]


def parts(
    post: Posterior,
    *,
    names: Sequence[str] | None = None,
    bounds: Any = None,
    draws: int = 3,
    best: Any = None,
    seed: int = 0,
    axes: Any = None,
    max_panels: int = 24,
    centred: bool = False,
) -> Any:
    """Return axes with one small panel per part of the model.

    A part of one coordinate is a curve: mean, 95 % band, joint draws (the same colour
    and dashes are the same draw in all panels: where one is high, another is low) and
    the observed points as a rug. A part of two is a heat map of its mean with
    contours of its standard deviation. A larger part has a curve per coordinate: the
    slice of that part through the best point. All curves have the same vertical
    scale; a title ends with the part's share of the variance (``variance_shares``).

    Args:
        post: The model given data.
        names: One name per coordinate; by default those of ``bounds``, or x0, x1, ….
        bounds: The space whose units the axes show, as in ``minimize``.
        draws: The number of joint draws; 0 for none.
        best: The point to mark, in the units of ``post.X``; by default the observed
            point with the lowest value.
        seed: Of the draws.
        axes: Where to draw, in any nesting; a new figure by default.
        max_panels: If there are more, the parts with the largest shares are shown in
            that order, and the last panel says what was left out.
        centred: Whether to subtract from every curve and draw its average over the
            panel. The data fix the levels of the parts only in sum; a centred band
            shows how well the shape of the part is known.

    Raises:
        ArgumentError: If an argument does not fit the model.
    """
    if isinstance(draws, bool) or draws < 0:
        raise ArgumentError(f"draws={draws!r} is negative. Pass 0 or more.")
    coordinates = coordinates_of(post, names, bounds)
    slices = Slices(
        post=post,
        coordinates=coordinates,
        best=point_of(post, best),
        shares=part_shares(post, coordinates),
        centred=centred,
    )
    room = max_panels if axes is None else min(max_panels, len(flat_axes(axes)))
    panels, left_out = _choose(slices, room)
    curves = _curves(slices, panels, draws, seed)
    used = some_axes(axes, len(panels) + bool(left_out), (2.15, 1.75))
    for ax, panel in zip(used, panels, strict=False):
        if panel in curves:
            _draw_curve(ax, slices, panel, curves[panel])
        else:
            _draw_map(ax, slices, panel)
    _same_scale([ax for ax, p in zip(used, panels, strict=False) if p in curves])
    if left_out:
        note(used[-1], left_out)
    if axes is None:
        legend_above(used)
    return used


# ---------------------------------------------------------------- what is shown


def _choose(slices: Slices, room: int) -> tuple[list[Panel], str]:
    """Return the panels that fit, and a sentence on the parts that do not.

    Raises:
        ArgumentError: If not even the first part and that sentence fit.
    """
    groups = slices.post.gp.groups
    by_part = [_panels_of(m, len(group)) for m, group in enumerate(groups)]
    if sum(len(panels) for panels in by_part) <= room:
        return [panel for panels in by_part for panel in panels], ""
    shown: list[Panel] = []
    left = 1.0
    order = np.argsort(-slices.shares, kind="stable").tolist()
    count = 0
    for m in order:
        if len(shown) + len(by_part[m]) > room - 1:
            break
        shown += by_part[m]
        left -= float(slices.shares[m])
        count += 1
    if not shown:
        msg = (
            f"{room} panels are too few for the first part, which needs "
            f"{len(by_part[order[0]])}, and a note on the others. Raise max_panels, "
            "or pass more axes."
        )
        raise ArgumentError(msg)
    more = len(groups) - count
    word = "part" if more == 1 else "parts"
    return shown, f"{more} more {word} not shown:\n{percent(left)} of the variance"


def _panels_of(m: int, d: int) -> list[Panel]:
    if d <= 2:
        return [Panel(m=m, free=tuple(range(d)))]
    return [Panel(m=m, free=(j,)) for j in range(d)]


def _curves(
    slices: Slices, panels: list[Panel], draws: int, seed: int
) -> dict[Panel, PartCurve]:
    """Return the curves of all one-coordinate panels, drawn jointly."""
    post = slices.post
    lines = [panel for panel in panels if len(panel.free) == 1]
    # Parts without a curve need a candidate too; one point costs next to nothing.
    Z = [slices.best[list(group)][None] for group in post.gp.groups]
    for m in {panel.m for panel in lines}:
        own = [panel for panel in lines if panel.m == m]
        Z[m] = np.vstack([slices.points(panel, POINTS) for panel in own])
    no_draws = [np.empty((0, len(Zm))) for Zm in Z]
    drawn = post.sample(Z, n=draws, how="joint", seed=seed) if draws else no_draws
    out: dict[Panel, PartCurve] = {}
    for panel in lines:
        at = POINTS * sum(other.m == panel.m for other in out)
        values = drawn[panel.m][:, at : at + POINTS]
        if slices.centred:
            values = values - values.mean(axis=1, keepdims=True)
        mean, sd = slices.moments(panel, POINTS)
        u = slices.box(panel)[0].grid(POINTS)
        out[panel] = PartCurve(u=u, mean=mean, half=Z95 * sd, draws=values)
    return out


def _average(
    post: Posterior, m: int, Z: Float[ndarray, "B d"], A: Float[ndarray, "C d"]
) -> tuple[float, Float[ndarray, " B"], float]:
    """Return mean, covariance with f_m(Z), and variance of the average of f_m(A)."""
    kernel, Xm = list(post.groups())[m]
    k_X = kernel(Xm, A).mean(axis=1)
    v = solve_lower(post.L, k_X)
    shared = kernel(Z, A).mean(axis=1) - v @ solve_lower(post.L, kernel(Xm, Z))
    spread = float(kernel(A, A).mean() - v @ v)
    return float(k_X @ post.alpha), shared, spread


# ---------------------------------------------------------------- how it is drawn


def _draw_curve(ax: Axes, slices: Slices, panel: Panel, curve: PartCurve) -> None:
    (c,) = slices.box(panel)
    p = slices.post.gp.groups[panel.m][panel.free[0]]
    x = c.user(curve.u)
    low, high = curve.mean - curve.half, curve.mean + curve.half
    ax.fill_between(x, low, high, color=BLUE, alpha=0.18, lw=0, label="95 % band")
    for k, values in enumerate(curve.draws):
        colour, dashes = DRAWS[k % len(DRAWS)]
        ax.plot(x, values, color=colour, ls=dashes, lw=1.0, label=f"draw {k + 1}")
    ax.plot(x, curve.mean, color=BLUE, lw=1.8, label="mean")
    ax.plot(
        c.user(slices.post.X[:, p]),
        np.zeros(slices.post.N),
        "|",
        ms=5,
        mew=0.7,
        color=BLACK,
        alpha=0.6,
        transform=ax.get_xaxis_transform(),
        label="observed",
    )
    height = np.interp(slices.best[p], curve.u, curve.mean)
    _star(ax, c.user(slices.best[p]), height)
    c.show_x(ax)
    _title(ax, slices, panel)


def _draw_map(ax: Axes, slices: Slices, panel: Panel) -> None:
    a, b = slices.box(panel)
    group = slices.post.gp.groups[panel.m]
    mean, sd = slices.moments(panel, PIXELS)
    x, y = a.user(a.grid(PIXELS)), b.user(b.grid(PIXELS))
    shape = (PIXELS, PIXELS)
    mesh = ax.pcolormesh(
        x, y, mean.reshape(shape), cmap=HEAT, shading="gouraud", rasterized=True
    )
    remark = ""
    if np.ptp(sd) < 0.25 * sd.max():
        # Contours of a nearly constant surface are wiggles of no meaning.
        remark = f"sd {sd.mean():.2g}, "
    else:
        lines = ax.contour(
            x, y, sd.reshape(shape), levels=3, colors="white", linewidths=0.7
        )
        ax.clabel(lines, fontsize=SMALL - 1, fmt="%.2g", inline_spacing=2)
    ax.plot(
        a.user(slices.post.X[:, group[0]]),
        b.user(slices.post.X[:, group[1]]),
        "o",
        ms=2.2,
        color=BLACK,
        mec="white",
        mew=0.4,
        label="observed",
    )
    _star(ax, a.user(slices.best[group[0]]), b.user(slices.best[group[1]]))
    a.show_x(ax)
    b.show_y(ax)
    bar = ax.figure.colorbar(mesh, ax=ax, pad=0.03)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=SMALL)
    _title(ax, slices, panel, remark)


def _star(ax: Axes, x: Any, y: Any) -> None:
    ax.plot(
        x,
        y,
        "*",
        ms=10,
        color=VERMILION,
        mec="white",
        mew=0.7,
        zorder=6,
        clip_on=False,
        label="best",
    )


def _title(ax: Axes, slices: Slices, panel: Panel, remark: str = "") -> None:
    # Names stand at the axes already.
    whole = len(panel.free) == len(slices.post.gp.groups[panel.m])
    name = f"$f_{{{panel.m}}}$" if whole else f"$f_{{{panel.m}}}$, slice"
    title(ax, name, f"{remark}{percent(slices.shares[panel.m])}")


def _same_scale(axes: list[Axes]) -> None:
    if not axes:
        return
    limits = np.array([ax.get_ylim() for ax in axes])
    for ax in axes:
        ax.set_ylim(limits[:, 0].min(), limits[:, 1].max())
