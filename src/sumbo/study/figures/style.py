"""The page of a study's figures: size, margins, lines and their labels."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from sumbo.drawing import RC, label, look
from sumbo.errors import MissingExtraError
from sumbo.typing import Float, ndarray

WIDTH = 7.2  # inches: a page, and legible when a phone shows it


_RC: Any = RC | {
    "axes.formatter.useoffset": False,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.hashsalt": "sumbo",  # the same data give the same bytes
}


@contextmanager
def canvas(rows: int, columns: int, height: float) -> Iterator[tuple[Any, Any]]:
    """Yield a figure of the page's width and its axes, a (rows, columns) array.

    Raises:
        MissingExtraError: If matplotlib is not installed.
    """
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        msg = 'figures need matplotlib. Run: pip install "sumbo[study]"'
        raise MissingExtraError(msg) from error
    with mpl.rc_context(_RC):
        # Not through pyplot: no global state, and nothing to close.
        figure = Figure(figsize=(WIDTH, height))
        yield figure, figure.subplots(rows, columns, squeeze=False)


def save(figure: Any, path: Path) -> None:
    """Write the figure as ``path``.png and ``path``.svg."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(f"{path}.png", dpi=150)
    figure.savefig(f"{path}.svg", metadata={"Date": None})


def margins(
    figure: Any, *, left: float, right: float, top: float, bottom: float, **gaps: float
) -> None:
    """Set the margins in inches, whatever the height of the figure."""
    width, height = figure.get_size_inches()
    figure.subplots_adjust(
        left=left / width,
        right=1 - right / width,
        top=1 - top / height,
        bottom=bottom / height,
        **gaps,
    )


def draw_line(
    axes: Any,
    x: Float[ndarray, " T"],
    y: Float[ndarray, " T"],
    method: str,
    position: float,
) -> None:
    """Draw a method's line; ``position`` in [0, 1) staggers the markers of several."""
    style = look(method)
    step = max(1, len(x) // 6)
    axes.plot(
        x,
        y,
        drawstyle="steps-post",
        color=style.color,
        marker=style.marker,
        markevery=(int(position * step), step),
        markeredgecolor="white",
        markeredgewidth=0.4,
    )


def label_ends(axes: Any, ends: Mapping[str, float]) -> None:
    """Write each method's label to the right of where its line ends."""
    if not ends:
        return
    to_axes = axes.transData + axes.transAxes.inverted()
    right = axes.get_xlim()[1]
    names = list(ends)
    at = [float(to_axes.transform((right, ends[name]))[1]) for name in names]
    height = axes.get_position().height * axes.figure.get_size_inches()[1]
    places = spread(np.clip(at, 0.0, 1.0), gap=9.0 / 72.0 / height)
    for name, start, place in zip(names, at, places, strict=True):
        style = look(name)
        axes.annotate(
            label(name),
            xy=(1.0, min(max(start, 0.0), 1.0)),
            xytext=(1.06, place),
            xycoords="axes fraction",
            textcoords="axes fraction",
            color=style.color,
            va="center",
            fontsize=8,
            arrowprops={
                "arrowstyle": "-",
                "color": style.color,
                "linewidth": 0.5,
                "relpos": (0.0, 0.5),
                "shrinkA": 0.0,
                "shrinkB": 1.0,
            },
            annotation_clip=False,
        )


def spread(at: Sequence[float] | ndarray, gap: float) -> Float[ndarray, " n"]:
    """Return positions in [0, 1] at least ``gap`` apart, in order, close to ``at``.

    Neighbours that are too close are merged into a block centred on the mean of its
    members, blocks that then touch are merged again. More labels than fit in [0, 1]
    keep their distance and stick out at both ends.
    """
    order = np.argsort(at, kind="stable")
    blocks: list[tuple[float, int]] = []  # mean of the members, their number
    for value in np.asarray(at, dtype=float)[order]:
        block = (float(value), 1)
        while blocks and _inside(block, gap) - _inside(blocks[-1], gap) < (
            gap * (block[1] + blocks[-1][1]) / 2 - 1e-12
        ):
            before = blocks.pop()
            count = before[1] + block[1]
            total = before[0] * before[1] + block[0] * block[1]
            block = (total / count, count)
        blocks.append(block)
    places = [
        _inside(block, gap) + gap * (i - (block[1] - 1) / 2)
        for block in blocks
        for i in range(block[1])
    ]
    out = np.empty(len(order))
    out[order] = places
    return out


def log_axis(axes: Any, low: float, high: float) -> None:
    """Make the y axis logarithmic; over few decades, with numbers at 1, 2 and 5."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axes.set_yscale("log")
    axes.set_ylim(low, high)
    if high / low < 500.0:
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter(NullFormatter())


def _inside(block: tuple[float, int], gap: float) -> float:
    half = gap * (block[1] - 1) / 2
    return 0.5 if half > 0.5 else min(max(block[0], half), 1.0 - half)
