"""Pictures of a fitted model: what matters, whether it predicts, which groups."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from sumbo.drawing import BLACK, BLUE, GREY, PALE, VERMILION, plain
from sumbo.errors import ArgumentError
from sumbo.gp import Posterior
from sumbo.plots.coordinates import (
    coordinates_of,
    names_of,
    point_of,
    require_posterior,
)
from sumbo.plots.shares import part_shares
from sumbo.plots.style import (
    HEAT,
    SMALL,
    Z95,
    Axes,
    flat_axes,
    legend_above,
    note,
    one_axes,
    percent,
    some_axes,
    title,
)
from sumbo.structure import co_membership_matrix
from sumbo.typing import Float, Int, ndarray

POINTS = 121


def variance_shares(
    post: Posterior,
    *,
    names: Sequence[str] | None = None,
    bounds: Any = None,
    top: int = 20,
    ax: Axes | None = None,
) -> Axes:
    """Return axes with a bar per part: its share of the model's variance.

    The share is Var f̄_m / Σ_j Var f̄_j, where f̄_m is the posterior mean of the part
    and x is uniform on the box, by quadrature (``sumbo.plots.shares``). It says what
    the fitted model has found, not how sure it is. Parts beyond the ``top`` largest
    share the last bar.
    """
    _require_positive(top, "top")
    coordinates = coordinates_of(post, names, bounds)
    shares = part_shares(post, coordinates)
    order = np.argsort(-shares, kind="stable")[:top].tolist()
    groups = post.gp.groups
    labels = [", ".join(plain(coordinates[p].name) for p in groups[m]) for m in order]
    values = shares[order].tolist()
    rest = len(groups) - len(order)
    if rest:
        labels.append(f"{rest} more")
        values.append(max(0.0, 1.0 - sum(values)))
    ax = one_axes(ax, (4.6, 0.7 + 0.21 * len(values)))
    rows = np.arange(len(values))
    colours = [BLUE] * len(order) + [GREY] * bool(rest)
    ax.barh(rows, 100 * np.array(values), color=colours, height=0.7)
    for row, value in zip(rows, values, strict=True):
        ax.annotate(
            percent(value),
            (100 * value, row),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            fontsize=SMALL,
        )
    ax.set_yticks(rows, [_shortened(label) for label in labels])
    ax.set_ylim(len(values) - 0.4, -0.6)
    ax.set_xlim(0, 108 * max(*values, 0.01))
    ax.set_xlabel("share of the variance of the posterior mean, %")
    ax.tick_params(axis="y", length=0)
    return ax


def leave_one_out(post: Posterior, *, axes: Any = None) -> Any:
    """Return two axes: predicted against observed, and standardised residuals.

    Each value is predicted from all others (the kernel's parameters stay), with its
    central 95 % interval, noise included. Values outside of theirs are marked; about
    one in twenty should be.
    """
    require_posterior(post)
    mean, var = post.leave_one_out()
    sd = np.sqrt(var)
    z = (post.y - mean) / sd
    out = np.abs(z) > Z95
    left, right = some_axes(axes, 2, (3.3, 2.9))
    for which, colour, label in ((~out, BLUE, "inside"), (out, VERMILION, "outside")):
        if which.any():
            left.errorbar(
                post.y[which],
                mean[which],
                yerr=Z95 * sd[which],
                fmt="o",
                ms=3,
                lw=0.7,
                color=colour,
                label=f"{label} 95 %",
            )
            right.plot(mean[which], z[which], "o", ms=3.5, color=colour)
    ends = (post.y.min(), post.y.max())
    left.plot(ends, ends, color=BLACK, lw=0.8, zorder=0)
    left.set_xlabel("observed")
    left.set_ylabel("predicted from the others")
    spread = float(((post.y - post.y.mean()) ** 2).sum())
    if spread > 0:
        missed = float(((post.y - mean) ** 2).sum()) / spread
        title(left, "Leave one out", f"explained: {percent(max(0.0, 1 - missed))}")
    for level in (-Z95, 0.0, Z95):
        dashes = "-" if level == 0 else "--"
        right.axhline(level, color=GREY, lw=0.8, ls=dashes, zorder=0)
    reach = 1.1 * max(3.0, float(np.abs(z).max()))
    right.set_ylim(-reach, reach)
    right.set_xlabel("predicted from the others")
    right.set_ylabel("(observed − predicted) / sd")
    title(right, "Residuals", f"{out.sum()} of {post.N} outside 95 %")
    return np.array([left, right], dtype=object)


def slices(
    post: Posterior,
    x: Any = None,
    *,
    names: Sequence[str] | None = None,
    bounds: Any = None,
    top: int = 11,
    axes: Any = None,
) -> Any:
    """Return axes with the model of the sum along single coordinates through ``x``.

    Mean and 95 % band of f, all other coordinates held at ``x`` (in the units of
    ``post.X``; by default the best observed point). The ``top`` coordinates whose
    slices vary most are shown, largest first; a last panel counts the others.
    """
    coordinates = coordinates_of(post, names, bounds)
    x = point_of(post, x)
    _require_positive(top, "top")
    P = post.gp.dim
    lines = [_line(x, p, coordinates[p].grid(POINTS)) for p in range(P)]
    mean, var = post.predict(np.vstack(lines))
    mean, half = mean.reshape(P, POINTS), Z95 * np.sqrt(var.reshape(P, POINTS))
    spread = mean.std(axis=1)
    room = top + 1 if axes is None else len(flat_axes(axes))
    shown = _largest(spread, top, room)
    used = some_axes(axes, len(shown) + (len(shown) < P), (2.15, 1.75))
    here = float(post.predict(x[None])[0][0])
    for ax, p in zip(used, shown.tolist(), strict=False):
        c = coordinates[p]
        at = c.user(c.grid(POINTS))
        low, high = mean[p] - half[p], mean[p] + half[p]
        ax.fill_between(at, low, high, color=BLUE, alpha=0.18, lw=0, label="95 % band")
        ax.plot(at, mean[p], color=BLUE, lw=1.8, label="mean")
        point = {"color": VERMILION, "mec": "white", "clip_on": False, "label": "point"}
        ax.plot(c.user(x[p]), here, "o", ms=5.5, zorder=5, **point)
        c.show_x(ax)
        ax.set_ylim(*_limits(mean[shown], half[shown]))
    if len(shown) < P:
        most = float(np.delete(spread, shown).max())
        more = P - len(shown)
        note(used[-1], f"{more} more not shown:\nsd along each\nat most {most:.2g}")
    if axes is None:
        legend_above(used)
    return used


def co_membership(
    structures: Sequence[Any] | ndarray,
    names: Sequence[str] | None = None,
    *,
    cluster: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Return axes with a heat map of how often two coordinates share a group.

    Args:
        structures: Over the same coordinates, such as sampled ones; or how probable
            it is that two of them share a group, from ``Optimizer.co_membership``.
        names: One name per coordinate.
        cluster: Whether to order coordinates such that those that often share a group
            are neighbours (average linkage).
        ax: Where to draw; a new figure by default.

    Raises:
        ArgumentError: If probabilities are not those of pairs.
    """
    if isinstance(structures, ndarray):
        if structures.ndim != 2 or structures.shape[0] != structures.shape[1]:
            msg = f"structures has the shape {structures.shape}, not that of pairs."
            raise ArgumentError(f"{msg} Pass Optimizer.co_membership().")
        probability, label = structures, "probability of sharing a group"
    else:
        probability = co_membership_matrix(structures)
        label = f"share a group: fraction of {len(structures)}"
    P = len(probability)
    labels = np.array([plain(name) for name in names_of(names, P)], dtype=object)
    order = _clustered(probability) if cluster and P > 2 else np.arange(P)
    shown = probability[np.ix_(order, order)]
    np.fill_diagonal(shown, np.nan)  # always 1, and would only outshine the others
    side = 2.2 + 0.085 * P if P > 8 else 3.0
    ax = one_axes(ax, (side + 0.7, side))
    image = ax.imshow(shown, cmap=HEAT, vmin=0.0, vmax=1.0, interpolation="nearest")
    ax.set_facecolor(PALE)  # seen through the diagonal
    for edge in ax.spines.values():
        edge.set_visible(False)
    ticks = np.arange(P)
    size = SMALL if P <= 30 else 5.0
    ax.set_xticks(ticks, labels[order], rotation=90, fontsize=size)
    ax.set_yticks(ticks, labels[order], fontsize=size)
    ax.tick_params(length=0)
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.8, pad=0.02)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=SMALL)
    bar.set_label(label, fontsize=SMALL + 1)
    return ax


def _clustered(probability: Float[ndarray, "P P"]) -> Int[ndarray, " P"]:
    distance = 1.0 - probability
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform(distance, checks=False), "average", optimal_ordering=True)
    return leaves_list(tree)


def _line(
    x: Float[ndarray, " P"], p: int, values: Float[ndarray, " n"]
) -> Float[ndarray, "n P"]:
    out = np.tile(x, (len(values), 1))
    out[:, p] = values
    return out


def _largest(spread: Float[ndarray, " P"], top: int, room: int) -> Int[ndarray, " k"]:
    """Return the coordinates to show; where some are left out, a note needs a panel.

    Raises:
        ArgumentError: If there is no room for one of them and the note.
    """
    P = len(spread)
    if min(top, room) >= P:
        return np.arange(P)
    count = min(top, room - 1)
    if count < 1:
        msg = f"axes hold {room} axes for {P} coordinates. Pass at least 2."
        raise ArgumentError(msg)
    return np.argsort(-spread, kind="stable")[:count]


def _limits(
    mean: Float[ndarray, "k n"], half: Float[ndarray, "k n"]
) -> tuple[float, float]:
    low, high = float((mean - half).min()), float((mean + half).max())
    pad = 0.05 * (high - low) or 1.0
    return low - pad, high + pad


def _require_positive(value: int, name: str) -> None:
    if value < 1:
        raise ArgumentError(f"{name}={value!r} is not positive. Pass 1 or more.")


def _shortened(label: str) -> str:
    return label if len(label) <= 28 else f"{label[:26]}…"
