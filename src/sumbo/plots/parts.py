"""The parts of a model, one small panel each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumbo.drawing import BLACK, VERMILION
from sumbo.errors import ArgumentError
from sumbo.gp import Posterior
from sumbo.linalg import solve_lower
from sumbo.plots.coordinates import POINTS, Coordinate
from sumbo.plots.curves import draw_band, draw_line
from sumbo.plots.shares import part_shares
from sumbo.plots.source import Source, source_of
from sumbo.plots.style import (
    DRAWS,
    HEAT,
    SMALL,
    Z95,
    Axes,
    flat_axes,
    is_first,
    legend_above,
    note,
    percent,
    some_axes,
    title,
)
from sumbo.typing import Float, ndarray

PIXELS = 61  # of a heat map, along each side
AVERAGE = 21  # of the average over a heat map, along each side
FEW = 2  # parameters of a part over all of them that is drawn


@dataclass(frozen=True, kw_only=True)
class Panel:
    """Part ``m`` against its ``free`` parameters."""

    m: int
    free: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Slices:
    """What all panels share."""

    source: Source
    shares: Float[ndarray, " M"]
    centred: bool

    @property
    def post(self) -> Posterior:
        """The model."""
        return self.source.post

    def box(self, panel: Panel) -> list[Coordinate]:
        """Return the parameters that the panel shows."""
        return [self.source.coordinates[k] for k in panel.free]

    def points(self, panel: Panel, n: int) -> Float[ndarray, "B d"]:
        """Return the panel's points in the part's coordinates, others at the best."""
        box = self.box(panel)
        grids = [c.grid(n) for c in box]
        mesh = np.meshgrid(*[np.arange(len(g)) for g in grids], indexing="xy")
        whole = np.tile(self.source.best, (mesh[0].size, 1))
        for c, grid, at in zip(box, grids, mesh, strict=True):
            whole[:, c.block] = grid[at.ravel()]
        return whole[:, self.post.gp.groups[panel.m]]

    def moments(
        self, panel: Panel, n: int
    ) -> tuple[Float[ndarray, " B"], Float[ndarray, " B"]]:
        """Return mean and sd of the part at the panel's points, in the user's units."""
        Z = self.points(panel, n)
        mean, var = self.post.part_moments(panel.m, Z)
        if self.centred:
            average = self.points(panel, n if len(panel.free) == 1 else AVERAGE)
            level, shared, spread = _average(self.post, panel.m, Z, average)
            mean, var = mean - level, var - 2.0 * shared + spread
        unit = self.source.values.unit
        return unit * mean, unit * np.sqrt(np.maximum(var, 0.0))


@dataclass(frozen=True, kw_only=True)
class PartCurve:
    """Mean, half a band and draws of one part along one parameter."""

    mean: Float[ndarray, " B"]
    half: Float[ndarray, " B"]
    draws: Float[ndarray, "n B"]


def parts(
    run: Any,
    *,
    names: Sequence[str] | None = None,
    bounds: Any = None,
    draws: int = 3,
    best: Any = None,
    seed: int = 0,
    axes: Any = None,
    max_panels: int = 24,
    centred: bool = False,
    objective: str = "value",
) -> Any:
    """Return axes with one small panel per part of the model.

    A part of one parameter is a curve (steps for an integer, marks for choices): mean,
    95 % band, joint draws (the same colour and dashes are the same draw in all panels:
    where one is high, another is low) and the observed points as a rug. A part of two
    is a heat map of its mean with contours of its standard deviation. A larger part
    has a curve per parameter: the slice of that part through the best point. All
    curves have the same vertical scale; a title ends with the part's share of the
    variance (``variance_shares``).

    Effects are in the units of the objective. Where the model is one of its logarithm,
    they are effects on this logarithm, and the axis says so.

    Args:
        run: An ``Optimizer``, a result, the path of a checkpoint, or a posterior.
        names: One name per parameter; by default those of the run or of ``bounds``, or
            x0, x1, ….
        bounds: For a posterior: the space whose units the axes show.
        draws: The number of joint draws; 0 for none.
        best: The point to mark, in your units, or for a posterior in the units of
            ``post.X``; by default the best observed point.
        seed: Of the draws.
        axes: Where to draw, in any nesting; a new figure by default.
        max_panels: If there are more, the parts with the largest shares are shown in
            that order, and the last panel says what was left out. A residual part over
            all parameters is not drawn if there are more than two.
        centred: Whether to subtract from every curve and draw its average over the
            panel. The data fix the levels of the parts only in sum; a centred band
            shows how well the shape of the part is known.
        objective: What axes call the values, such as ``"drag, N"``.

    Examples:
        >>> import numpy as np
        >>> import sumbo
        >>> X = np.random.default_rng(1).random((9, 3))
        >>> gp = sumbo.AdditiveGP(groups=[(0,), (1, 2)], noise=1e-3)
        >>> post = gp.condition(X, X[:, 0] ** 2 + X[:, 1] * X[:, 2])
        >>> axes = sumbo.plots.parts(post, names=["a", "b", "c"])
        >>> len(axes)
        2

    Raises:
        ArgumentError: If an argument does not fit the model.
    """
    if isinstance(draws, bool) or draws < 0:
        raise ArgumentError(f"draws={draws!r} is negative. Pass 0 or more.")
    source = source_of(run, names, bounds, best=best, objective=objective)
    shares = part_shares(source.post, source.coordinates)
    scene = Slices(source=source, shares=shares, centred=centred)
    room = max_panels if axes is None else min(max_panels, len(flat_axes(axes)))
    panels, left_out = _choose(scene, room)
    curves = _curves(scene, panels, draws, seed)
    used = some_axes(axes, len(panels) + bool(left_out), (2.3, 1.85))
    for ax, panel in zip(used, panels, strict=False):
        if panel in curves:
            _draw_curve(ax, scene, panel, curves[panel])
        else:
            _draw_map(ax, scene, panel)
    _same_scale([ax for ax, p in zip(used, panels, strict=False) if p in curves])
    if left_out:
        note(used[-1], left_out)
    if axes is None:
        legend_above(used)
    return used


# ---------------------------------------------------------------- what is shown


def _choose(scene: Slices, room: int) -> tuple[list[Panel], str]:
    """Return the panels that fit, and a sentence on the parts that do not.

    Raises:
        ArgumentError: If not even the first part and that sentence fit.
    """
    M = len(scene.post.gp.groups)
    by_part = [_panels_of(scene, m) for m in range(M)]
    drawn = [m for m in range(M) if by_part[m]]
    panels = [panel for m in drawn for panel in by_part[m]]
    if len(panels) + (len(drawn) < M) <= room:
        return panels, _left_out(scene, drawn)
    shown: list[int] = []
    used = 0
    order = sorted(drawn, key=lambda m: -scene.shares[m])
    for m in order:
        if used + len(by_part[m]) > room - 1:
            break
        used += len(by_part[m])
        shown.append(m)
    if not shown:
        msg = (
            f"{room} panels are too few for the first part, which needs "
            f"{len(by_part[order[0]])}, and a note on the others. Raise max_panels, "
            "or pass more axes."
        )
        raise ArgumentError(msg)
    return [p for m in shown for p in by_part[m]], _left_out(scene, shown)


def _left_out(scene: Slices, shown: list[int]) -> str:
    """Return a sentence on the parts that are not shown."""
    rest = [m for m in range(len(scene.shares)) if m not in shown]
    lines = []
    residual = [m for m in rest if _is_residual(scene, m)]
    others = [m for m in rest if m not in residual]
    if others:
        word = "part" if len(others) == 1 else "parts"
        share = percent(float(scene.shares[others].sum()))
        lines.append(f"{len(others)} more {word} not shown:\n{share} of the variance")
    if residual:
        share = percent(float(scene.shares[residual].sum()))
        P = len(scene.source.coordinates)
        lines.append(f"residual part of all {P}\nparameters: {share}")
    return "\n\n".join(lines)


def _is_residual(scene: Slices, m: int) -> bool:
    everything = len(scene.source.coordinates)
    users = scene.source.parameters_of(m)
    return len(scene.shares) > 1 and len(users) == everything > FEW


def _panels_of(scene: Slices, m: int) -> list[Panel]:
    if _is_residual(scene, m):
        return []
    users = scene.source.parameters_of(m)
    if len(users) <= 2:
        return [Panel(m=m, free=users)]
    return [Panel(m=m, free=(k,)) for k in users]


def _curves(
    scene: Slices, panels: list[Panel], draws: int, seed: int
) -> dict[Panel, PartCurve]:
    """Return the curves of all one-parameter panels, drawn jointly."""
    post, unit = scene.post, scene.source.values.unit
    lines = [panel for panel in panels if len(panel.free) == 1]
    # Parts without a curve need a candidate too; one point costs next to nothing.
    Z = [scene.source.best[list(group)][None] for group in post.gp.groups]
    places = {panel: scene.points(panel, POINTS) for panel in lines}
    for m in {panel.m for panel in lines}:
        Z[m] = np.vstack([places[panel] for panel in lines if panel.m == m])
    no_draws = [np.empty((0, len(Zm))) for Zm in Z]
    drawn = post.sample(Z, n=draws, how="joint", seed=seed) if draws else no_draws
    out: dict[Panel, PartCurve] = {}
    for panel in lines:
        at = sum(len(places[other]) for other in out if other.m == panel.m)
        values = unit * drawn[panel.m][:, at : at + len(places[panel])]
        if scene.centred:
            values = values - values.mean(axis=1, keepdims=True)
        mean, sd = scene.moments(panel, POINTS)
        out[panel] = PartCurve(mean=mean, half=Z95 * sd, draws=values)
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


def _draw_curve(ax: Axes, scene: Slices, panel: Panel, curve: PartCurve) -> None:
    (c,) = scene.box(panel)
    source = scene.source
    x = c.user(c.grid())
    draw_band(ax, c, curve.mean, curve.half)
    for k, values in enumerate(curve.draws):
        colour, dashes = DRAWS[k % len(DRAWS)]
        look: dict[str, Any] = {"color": colour, "label": f"draw {k + 1}"}
        if c.kind == "marks":
            ax.plot(x, values, "_", ms=13, mew=1.4, **look)
        else:
            draw_line(ax, c, values, ls=dashes, lw=1.0, **look)
    if c.kind != "marks":
        at = c.user(source.post.X[source.evaluated][:, c.block])
        rug: dict[str, Any] = {"ms": 5, "mew": 0.7, "color": BLACK, "alpha": 0.6}
        ground = ax.get_xaxis_transform()
        ax.plot(at, np.zeros(len(at)), "|", transform=ground, label="observed", **rug)
    best = source.best[None]
    height = scene.post.part_mean(panel.m, best[:, scene.post.gp.groups[panel.m]])[0]
    if scene.centred:
        height -= _level(scene, panel)
    _star(ax, c.user(best[:, c.block])[0], source.values.unit * height)
    c.show(ax, "x")
    if is_first(ax):
        size = None if source.values.linear else SMALL
        ax.set_ylabel(source.values.effect, fontsize=size)
    _title(ax, scene, panel)


def _level(scene: Slices, panel: Panel) -> float:
    return float(scene.post.part_mean(panel.m, scene.points(panel, POINTS)).mean())


def _draw_map(ax: Axes, scene: Slices, panel: Panel) -> None:
    a, b = scene.box(panel)
    source = scene.source
    mean, sd = scene.moments(panel, PIXELS)
    x, y = a.user(a.grid(PIXELS)), b.user(b.grid(PIXELS))
    shape = (len(y), len(x))
    smooth = a.kind == b.kind == "curve"
    mesh = ax.pcolormesh(
        x,
        y,
        mean.reshape(shape),
        cmap=HEAT,
        shading="gouraud" if smooth else "nearest",
        rasterized=True,
    )
    remark = ""
    if np.ptp(sd) < 0.25 * sd.max() or not smooth:
        # Contours of a nearly constant surface are wiggles of no meaning.
        remark = f"sd {sd.mean():.2g}, "
    else:
        lines = ax.contour(
            x, y, sd.reshape(shape), levels=3, colors="white", linewidths=0.7
        )
        ax.clabel(lines, fontsize=SMALL - 1, fmt="%.2g", inline_spacing=2)
    X, best = source.post.X[source.evaluated], source.best[None]
    dots: dict[str, Any] = {"color": BLACK, "mec": "white", "mew": 0.4}
    at = a.user(X[:, a.block]), b.user(X[:, b.block])
    ax.plot(*at, "o", ms=2.2, label="observed", **dots)
    _star(ax, a.user(best[:, a.block])[0], b.user(best[:, b.block])[0])
    a.show(ax, "x")
    b.show(ax, "y")
    bar = ax.figure.colorbar(mesh, ax=ax, pad=0.03)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=SMALL)
    bar.set_label(source.values.effect, fontsize=SMALL)
    _title(ax, scene, panel, remark)


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


def _title(ax: Axes, scene: Slices, panel: Panel, remark: str = "") -> None:
    # Names stand at the axes already.
    whole = len(panel.free) == len(scene.source.parameters_of(panel.m))
    name = f"$f_{{{panel.m}}}$" if whole else f"$f_{{{panel.m}}}$, slice"
    title(ax, name, f"{remark}{percent(scene.shares[panel.m])}")


def _same_scale(axes: list[Axes]) -> None:
    if not axes:
        return
    limits = np.array([ax.get_ylim() for ax in axes])
    for ax in axes:
        ax.set_ylim(limits[:, 0].min(), limits[:, 1].max())
