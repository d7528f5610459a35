"""Best value against evaluations, one panel per batch size."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sumbo.drawing import plain
from sumbo.study.charts import Convergence
from sumbo.study.figures.style import (
    canvas,
    draw_line,
    label_ends,
    log_axis,
    look,
    margins,
    save,
)


def draw_convergence(chart: Convergence, path: Path) -> None:
    """Draw medians solid and their intervals dotted, one panel per batch size."""
    draw_family([chart], path)


def draw_family(charts: Sequence[Convergence], path: Path) -> None:
    """Draw several problems in one figure: a row each, a column per batch size."""
    batches = sorted({batch for chart in charts for batch in chart.panels})
    rows, columns = len(charts), max(2, len(batches))
    with canvas(rows, columns, 0.35 + 2.25 * rows) as (figure, grid):
        margins(
            figure,
            left=0.62,
            right=1.0,
            top=0.3,
            bottom=0.42,
            wspace=0.62,
            hspace=0.3,
        )
        for row, chart in zip(grid, charts, strict=True):
            for axes in row:
                axes.set_axis_off()
            for axes, batch in zip(row, batches, strict=False):
                if batch in chart.panels:
                    axes.set_axis_on()
                    _draw_panel(axes, chart, batch)
            row[0].set_ylabel(chart.ylabel)
        for axes in grid[-1]:
            axes.set_xlabel("evaluations")
        save(figure, path)


def _draw_panel(axes: Any, chart: Convergence, batch: int) -> None:
    curves = chart.panels[batch]
    low, high = _limits(chart)
    axes.set_title(f"{plain(chart.problem)}, batch {batch}", loc="left")
    if chart.log:
        log_axis(axes, low, high)
    else:
        axes.set_ylim(low, high)
    for i, (method, curve) in enumerate(curves.items()):
        style = {
            "color": look(method).color,
            "linewidth": 0.8,
            "drawstyle": "steps-post",
        }
        axes.plot(curve.x, curve.low, linestyle=":", **style)
        axes.plot(curve.x, curve.high, linestyle=":", **style)
        draw_line(axes, curve.x, curve.median, method, i / len(curves))
        axes.set_xlim(curve.x[0], 1.01 * curve.x[-1])
    axes.grid(visible=True, axis="y")
    label_ends(axes, {m: float(c.median[-1]) for m, c in curves.items()})


def _limits(chart: Convergence) -> tuple[float, float]:
    # The intervals of the first evaluations would flatten everything that follows.
    curves = [c for panel in chart.panels.values() for c in panel.values()]
    low = min(float(c.low.min()) for c in curves)
    high = max(
        float(max(c.median.max(), c.high[len(c.high) // 10 :].max())) for c in curves
    )
    if chart.log:
        return low / 1.15, high * 1.15
    room = 0.04 * (high - low) or max(1e-12, 0.04 * np.abs(high))
    return low - room, high + room
