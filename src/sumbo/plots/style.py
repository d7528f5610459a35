"""One look for all pictures, and the way to axes: given ones, or a new figure.

The colours are those of `sumbo.drawing`; draws also differ by their dashes and heat
maps grow lighter monotonically, so that a grey print says the same.
"""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from sumbo import drawing
from sumbo.drawing import GREEN, GREY, ORANGE, PURPLE
from sumbo.errors import ArgumentError, MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
else:
    Axes = Any  # matplotlib is optional, so annotations cannot name its classes

# Draw k has the k-th colour and dashes; no two of the first nine have both alike.
_DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1)))
DRAWS = tuple(
    ((ORANGE, GREEN, PURPLE)[k % 3], _DASHES[(k + k // 3) % 3]) for k in range(9)
)
HEAT = "viridis"
SMALL = 7.0
RC: dict[str, Any] = drawing.RC | {"figure.dpi": 110, "savefig.dpi": 150}
# Half the width of a central 95 % interval of a normal distribution, in sd.
Z95 = 1.959963984540054


def pyplot() -> Any:
    """Return ``matplotlib.pyplot``, imported now.

    Raises:
        MissingExtraError: If matplotlib is not installed; the message names the extra.
    """
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        msg = 'plots need matplotlib. Run: pip install "sumbo[plots]"'
        raise MissingExtraError(msg) from error
    return plt


def one_axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Return ``ax``, or the axes of a new figure of that size in inches."""
    if ax is not None:
        return ax
    plt = pyplot()
    with plt.rc_context(RC):
        new = plt.subplots(figsize=size, layout="constrained")[1]
    # Ticks are made late, when the settings above are no longer in force.
    new.tick_params(labelsize=RC["xtick.labelsize"])
    return new


def some_axes(
    axes: Any, count: int, panel: tuple[float, float], columns: int | None = None
) -> Any:
    """Return a flat array of ``count`` axes, the given ones or those of a new figure.

    ``panel`` is the size of one panel in inches; of given axes the first are used.

    Raises:
        ArgumentError: If fewer axes are given than there are panels.
    """
    if axes is not None:
        flat = flat_axes(axes)
        if len(flat) < count:
            msg = f"axes hold {len(flat)} axes for {count} panels. Pass {count}."
            raise ArgumentError(msg)
        return flat[:count]
    plt = pyplot()
    columns = columns or _columns(count)
    rows = math.ceil(count / columns)
    # A small panel alone would be a stamp, and leave a legend no room.
    scale = max(1.0, 3.7 / (columns * panel[0]))
    size = (scale * columns * panel[0], scale * rows * panel[1])
    with plt.rc_context(RC):
        figure, grid = plt.subplots(
            rows, columns, figsize=size, layout="constrained", squeeze=False
        )
    for surplus in grid.ravel()[count:]:
        figure.delaxes(surplus)
    for ax in grid.ravel()[:count]:
        ax.tick_params(labelsize=RC["xtick.labelsize"])
    return grid.ravel()[:count]


def _columns(count: int) -> int:
    """Return the number of columns that leaves the fewest cells of a grid empty."""
    if count <= 4:
        return count
    wanted = math.sqrt(1.4 * count)  # a little wider than high
    return min(
        range(3, max(4, round(wanted) + 2)),
        key=lambda c: (-count % c) + 0.9 * abs(c - wanted),
    )


def flat_axes(axes: Any) -> Any:
    """Return axes in any nesting as a flat array of objects."""
    return np.asarray(axes, dtype=object).ravel()


def legend_above(used: Any) -> None:
    """Write one legend above a grid of axes for what its panels have in common."""
    entries: dict[str, Any] = {}
    for ax in used:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    figure = used[0].figure
    figure.legend(
        entries.values(),
        entries.keys(),
        loc="outside upper center",
        ncols=min(len(entries), int(figure.get_figwidth() / 0.9)),
        frameon=False,
        fontsize=RC["legend.fontsize"],
        handlelength=1.8,
        columnspacing=1.4,
    )


def note(ax: Axes, text: str) -> None:
    """Make a panel a place for words, with nothing drawn in it."""
    ax.set_axis_off()
    ax.text(
        0.5,
        0.5,
        text,
        transform=ax.transAxes,
        ha="center",
        va="center",
        color=GREY,
        fontsize=8.5,
        linespacing=1.5,
    )


def title(ax: Axes, left: str, right: str = "") -> None:
    """Write a title at the left end of the axes, and a remark at the right end."""
    ax.set_title(left, loc="left", fontsize=RC["axes.titlesize"])
    if right:
        ax.set_title(right, loc="right", color=GREY, fontsize=SMALL)


def percent(share: float) -> str:
    """Return a fraction as a percentage with two digits where they matter."""
    value = 100 * float(share)
    if 0 < value < 0.05:
        return "< 0.1 %"
    return f"{value:.0f} %" if value >= 9.5 else f"{value:.1f} %"


def is_first(ax: Axes) -> bool:
    """Return whether the axes are at the left of their grid, where labels belong."""
    spec = ax.get_subplotspec()
    return spec is None or spec.is_first_col()


def require_positive(value: int, name: str) -> None:
    """Check a number of bars or panels.

    Raises:
        ArgumentError: If it is not positive.
    """
    if value < 1:
        raise ArgumentError(f"{name}={value!r} is not positive. Pass 1 or more.")
