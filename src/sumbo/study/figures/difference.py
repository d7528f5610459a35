"""The paired difference of two methods: against evaluations, and its histogram."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sumbo.drawing import plain
from sumbo.study.charts import Difference, MedianCurve
from sumbo.study.figures.style import canvas, margins, save

_PAIRS = 3  # problems per row; each has two panels
_COLOR = "#0072B2"


def draw_differences(charts: Sequence[Difference], label: str, path: Path) -> None:
    """Draw median difference with interval, and all final differences beside it."""
    rows = -(-len(charts) // _PAIRS)
    with canvas(rows, 2 * _PAIRS, 0.3 + 1.9 * rows) as (figure, grid):
        margins(
            figure, left=0.6, right=0.15, top=0.3, bottom=0.42, wspace=0.25, hspace=0.55
        )
        # A histogram belongs to the curve on its left: no gap between them, but room
        # for the numbers of the next problem.
        _pair_up(grid)
        pairs = grid.reshape(-1, 2)
        for (left, right), chart in zip(pairs, charts, strict=False):
            curve = chart.curve
            left.set_title(plain(f"{chart.problem}: {label}"), loc="left")
            left.axhline(0.0, color="#555555", linewidth=0.8)
            style = {"color": _COLOR, "drawstyle": "steps-post"}
            left.plot(curve.x, curve.median, **style)
            left.plot(curve.x, curve.low, linestyle=":", linewidth=0.9, **style)
            left.plot(curve.x, curve.high, linestyle=":", linewidth=0.9, **style)
            left.set_xlim(curve.x[0], curve.x[-1])
            left.set_ylim(*_limits(curve))
            left.set_xlabel("evaluations")
            left.locator_params(nbins=4)
            right.hist(chart.final, bins=_bins(chart.final), color=_COLOR, alpha=0.75)
            right.axvline(0.0, color="#555555", linewidth=0.8)
            right.axvline(curve.median[-1], color="black", linestyle="--", linewidth=1)
            right.set_yticks([])
            right.spines["left"].set_visible(False)
            right.set_xlabel("at the end")
            right.locator_params(axis="x", nbins=2)
            right.xaxis.set_major_formatter("{x:g}")
        for left, right in pairs[len(charts) :]:
            left.set_axis_off()
            right.set_axis_off()
        save(figure, path)


def _pair_up(grid: np.ndarray) -> None:
    for row in grid:
        for column, axes in enumerate(row):
            box = axes.get_position()
            move = 0.25 * box.width * (0.35 if column % 2 == 0 else -0.35)
            axes.set_position([box.x0 + move, box.y0, box.width * 0.95, box.height])


def _limits(curve: MedianCurve) -> tuple[float, float]:
    # The first evaluations differ by far more than anything that follows.
    start = len(curve.x) // 5
    low = min(0.0, float(curve.low[start:].min()), float(curve.median.min()))
    high = max(0.0, float(curve.high[start:].max()), float(curve.median.max()))
    room = 0.06 * (high - low) or 1.0
    return low - room, high + room


def _bins(values: np.ndarray) -> np.ndarray:
    # A bin edge at zero, so that no bar hides which of the two was better.
    low, high = min(0.0, float(values.min())), max(0.0, float(values.max()))
    width = (high - low) / 16 or 1.0
    return width * np.arange(np.floor(low / width), np.ceil(high / width) + 1)
