"""Ranks of the methods: boxes over problems at the end, mean against evaluations."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sumbo.study.charts import Ranks
from sumbo.study.figures.boxes import draw_box_row
from sumbo.study.figures.style import canvas, draw_line, label_ends, margins, save


def draw_ranks(charts: Sequence[Ranks], path: Path) -> None:
    """Draw one row per batch size."""
    with canvas(len(charts), 2, 0.3 + 2.5 * len(charts)) as (figure, grid):
        margins(
            figure, left=0.5, right=1.0, top=0.3, bottom=0.45, wspace=0.25, hspace=0.55
        )
        for (left, right), chart in zip(grid, charts, strict=True):
            worst = len(chart.final)
            draw_box_row(left, chart.final)
            left.set_title(f"batch {chart.batch}: at the end", loc="left")
            left.set_ylabel("rank of the median")
            right.set_title(f"batch {chart.batch}: mean over problems", loc="left")
            right.set_xlabel("evaluations")
            right.set_xlim(chart.x[0], 1.01 * chart.x[-1])
            for axes in (left, right):
                # Rank 1 is best and belongs to the top.
                axes.set_ylim(worst + 0.3, 0.7)
                axes.set_yticks(np.arange(1, worst + 1))
                axes.grid(visible=True, axis="y")
            for i, (method, mean) in enumerate(chart.mean.items()):
                draw_line(right, chart.x, mean, method, i / worst)
            label_ends(right, {m: float(mean[-1]) for m, mean in chart.mean.items()})
        save(figure, path)
