"""Distributions of the final values, one panel per problem."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sumbo.drawing import look, plain
from sumbo.study.charts import Boxes
from sumbo.study.figures.style import canvas, margins, save
from sumbo.typing import Float, ndarray

_COLUMNS = 3


def draw_boxes(charts: Sequence[Boxes], path: Path) -> None:
    """Draw one box per method in the panel of each problem."""
    rows = -(-len(charts) // _COLUMNS)
    with canvas(rows, _COLUMNS, 0.3 + 2.0 * rows) as (figure, grid):
        margins(
            figure, left=0.6, right=0.1, top=0.3, bottom=0.45, wspace=0.45, hspace=0.6
        )
        panels = list(grid.flat)
        for axes, chart in zip(panels, charts, strict=False):
            axes.set_title(plain(chart.title), loc="left")
            axes.set_ylabel(chart.label)
            axes.grid(visible=True, axis="y")
            if chart.log:
                axes.set_yscale("log")
            draw_box_row(axes, chart.values)
        for axes in panels[len(charts) :]:
            axes.set_axis_off()
        save(figure, path)


def draw_box_row(axes: Any, values: Mapping[str, Float[ndarray, " n"]]) -> None:
    """Draw a labelled box per method, in the method's colour."""
    drawn = axes.boxplot(
        list(values.values()),
        widths=0.6,
        patch_artist=True,
        medianprops={"color": "black", "linewidth": 1.4},
        flierprops={"marker": ".", "markersize": 3, "markeredgecolor": "#555555"},
        boxprops={"linewidth": 0.7},
        whiskerprops={"linewidth": 0.7},
        capprops={"linewidth": 0.7},
    )
    for box, method in zip(drawn["boxes"], values, strict=True):
        box.set_facecolor(look(method).color)
        box.set_alpha(0.75)
    crowded = len(values) > 4
    axes.set_xticks(
        range(1, len(values) + 1),
        [plain(method) for method in values],
        rotation=35 if crowded else 0,
        ha="right" if crowded else "center",
        rotation_mode="anchor",
    )
