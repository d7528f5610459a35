"""One line per method and one panel per batch size: solved targets, ask times."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sumbo.study.charts import Lines
from sumbo.study.figures.style import (
    canvas,
    draw_line,
    label_ends,
    log_axis,
    margins,
    save,
)


def draw_solved(charts: Sequence[Lines], path: Path) -> None:
    """Draw the share of solved targets against evaluations."""
    with canvas(1, max(2, len(charts)), 2.6) as (figure, grid):
        for axes in grid[0]:
            axes.set_ylim(0.0, 1.0)
        _draw(figure, grid[0], charts)
        grid[0][0].set_ylabel("share of targets solved")
        save(figure, path)


def draw_ask_time(charts: Sequence[Lines], path: Path) -> None:
    """Draw CPU seconds per acquired point against evaluations."""
    values = np.concatenate([y for chart in charts for y in chart.lines.values()])
    positive = values[values > 0]
    with canvas(1, max(2, len(charts)), 2.6) as (figure, grid):
        for axes in grid[0]:
            if len(positive):
                log_axis(axes, 0.8 * positive.min(), 1.25 * positive.max())
        _draw(figure, grid[0], charts)
        grid[0][0].set_ylabel("CPU seconds per point")
        save(figure, path)


def _draw(figure: Any, row: Any, charts: Sequence[Lines]) -> None:
    margins(figure, left=0.62, right=1.0, top=0.3, bottom=0.42, wspace=0.62)
    for axes, chart in zip(row, charts, strict=False):
        axes.set_title(f"batch {chart.batch}", loc="left")
        axes.set_xlabel("evaluations")
        axes.set_xlim(chart.x[0], 1.01 * chart.x[-1])
        axes.grid(visible=True, axis="y")
        for i, (method, y) in enumerate(chart.lines.items()):
            draw_line(axes, chart.x, y, method, i / len(chart.lines))
        label_ends(axes, {m: float(y[-1]) for m, y in chart.lines.items()})
    for axes in row[len(charts) :]:
        axes.set_axis_off()
