"""How a function of one parameter is drawn: a curve, steps, or marks."""

from typing import Any

import numpy as np

from sumbo.drawing import BLUE
from sumbo.plots.coordinates import Coordinate, edges
from sumbo.plots.style import Axes
from sumbo.typing import Float, ndarray


def draw_line(ax: Axes, c: Coordinate, y: Float[ndarray, " G"], **look: Any) -> None:
    """Draw a function of a parameter: a curve, or steps."""
    x = c.user(c.grid())
    if c.kind == "steps":
        ax.step(edges(c, x), np.append(y, y[-1]), where="post", **look)
    else:
        ax.plot(x, y, **look)


def draw_band(
    ax: Axes,
    c: Coordinate,
    mean: Float[ndarray, " G"],
    half: Float[ndarray, " G"] | tuple[Any, Any],
    middle: str = "mean",
) -> None:
    """Draw mean and 95 % band of a function of a parameter, or marks with bars.

    ``half`` is half of the band, or its lower and its upper end; ``middle`` is what
    the legend calls the line.
    """
    low, high = half if isinstance(half, tuple) else (mean - half, mean + half)
    x = c.user(c.grid())
    if c.kind == "marks":
        reach = np.array([mean - low, high - mean])
        bars = ax.errorbar(x, mean, yerr=reach, fmt="none", ecolor=BLUE, elinewidth=5)
        bars.lines[2][0].set(alpha=0.25, label="95 % band")
        ax.plot(x, mean, "o", ms=6, color=BLUE, label=middle)
        return
    band: dict[str, Any] = {"color": BLUE, "alpha": 0.18, "lw": 0}
    if c.kind == "steps":
        low, high = np.append(low, low[-1]), np.append(high, high[-1])
        band["step"] = "post"
    ax.fill_between(edges(c, x), low, high, label="95 % band", **band)
    draw_line(ax, c, mean, color=BLUE, lw=1.8, label=middle)
