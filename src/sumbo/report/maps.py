"""Pictures made of cells: a prediction over two parameters, a matrix of pairs."""

import json
from html import escape

import numpy as np

from sumbo.report.charts import axis_range, choice_ticks, value_range, value_text
from sumbo.report.lines import Axis
from sumbo.report.model import Contour
from sumbo.report.numbers import percent, short, shown
from sumbo.report.svg import Plot, plot, png
from sumbo.typing import Bool, Float, ndarray

PALE, DEEP = (247, 251, 255), (8, 64, 129)
SHADES = 12
PIXELS = 192


def contour(
    c: Contour, names: tuple[str, str], sign: float, *, log: bool = False
) -> str:
    """Return the prediction over two parameters: bands of colour, numbers on them."""
    (x, x_log), (y, y_log) = axis_range(c.x), axis_range(c.y)
    p = plot(
        460.0,
        380.0,
        x,
        y,
        f"Prediction over {names[0]} and {names[1]}",
        x_log=x_log,
        y_log=y_log,
        margins=(22.0, 74.0, 40.0, 70.0),
    )
    level = np.log10(c.mid) if log else c.mid
    low, high = value_range(level.ravel(), maximize=sign < 0)
    shade = (_stretched(c, level) - low) / ((high - low) or 1.0)
    shade = np.clip(shade, 0.0, 1.0 - 1e-9)
    deep = 1.0 - shade if sign > 0 else shade
    index = np.floor(np.clip(deep, 0, 1 - 1e-9) * SHADES).astype(int)
    index = np.where(_stretched_mask(c), index, SHADES)[::-1]
    image = png(index, [*_palette(), (226, 226, 226)])
    w, h = p.x.b - p.x.a, p.y.a - p.y.b
    shown_x, shown_y = (short((n,), 40)[0] for n in names)
    y_ticks = choice_ticks(c.y)
    if y_ticks is not None:
        words = short(tuple(name for _, name in y_ticks), 10)
        y_ticks = [(v, word) for (v, _), word in zip(y_ticks, words, strict=True)]
    p.axes(shown_x, "", choice_ticks(c.x), 5, y_ticks)
    p.text(2, 11, shown_y, "name")
    p.add(
        f'<image href="{image}" x="{p.x.a:.1f}" y="{p.y.b:.1f}" width="{w:.1f}" '
        f'height="{h:.1f}" preserveAspectRatio="none"/>'
    )
    star = (float(p.x(c.at[0])), float(p.y(c.at[1])))
    p.add(f'<circle class="here" cx="{star[0]:.1f}" cy="{star[1]:.1f}" r="5.5"/>')
    _key(p, low, high, sign, log=log)
    p.attributes = _grid_attribute(p, c)
    return p.svg()


def _grid_attribute(p: Plot, c: Contour) -> str:
    data = {
        "x": [round(v, 1) for v in np.atleast_1d(p.x(c.x.values)).tolist()],
        "y": [round(v, 1) for v in np.atleast_1d(p.y(c.y.values)).tolist()],
        "n": [c.x.name, c.y.name],
        "a": [value_text(c.x, g) for g in range(len(c.x.values))],
        "b": [value_text(c.y, g) for g in range(len(c.y.values))],
        "v": [[shown(v, 4) for v in row] for row in c.mid.tolist()],
    }
    return f' data-g="{escape(json.dumps(data))}"'


def _key(p: Plot, low: float, high: float, sign: float, *, log: bool) -> None:
    left, step = p.x.b + 16, (p.y.a - p.y.b) / SHADES
    for s, (r, g, b) in enumerate(_palette()):
        level = s if sign < 0 else SHADES - 1 - s
        top = p.y.a - (level + 1) * step
        p.add(
            f'<rect x="{left:.1f}" y="{top:.1f}" width="10" height="{step + 0.4:.1f}" '
            f'fill="rgb({r},{g},{b})"/>'
        )
    for v, py in ((low, p.y.a), ((low + high) / 2, None), (high, p.y.b)):
        at = (p.y.a + p.y.b) / 2 if py is None else py
        p.text(left + 14, at + 3.5, shown(10.0**v if log else v, 3), "tick")


def _palette() -> list[tuple[int, int, int]]:
    out = []
    for s in range(SHADES):
        t = (s / (SHADES - 1)) ** 1.2
        r, g, b = (round(a + t * (d - a)) for a, d in zip(PALE, DEEP, strict=True))
        out.append((r, g, b))
    return out


def _places(axis: Axis) -> tuple[Float[ndarray, " p"], bool]:
    """Return the fractional grid index of each pixel column, and whether it steps."""
    t = (np.arange(PIXELS) + 0.5) / PIXELS
    n = len(axis.values)
    if axis.kind != "real":
        return np.clip(np.floor(t * n), 0, n - 1), True
    return t * (n - 1), False


def _stretched(c: Contour, f: Float[ndarray, "Y X"]) -> Float[ndarray, "h w"]:
    """Return the prediction at every pixel, by bilinear interpolation."""
    (u, _), (v, _) = _places(c.x), _places(c.y)
    i, j = (np.clip(np.floor(a).astype(int), 0, None) for a in (v, u))
    i2, j2 = (
        np.minimum(i + 1, len(c.y.values) - 1),
        np.minimum(j + 1, len(c.x.values) - 1),
    )
    s, t = (v - i)[:, None], (u - j)[None]
    top = f[np.ix_(i, j)] * (1 - t) + f[np.ix_(i, j2)] * t
    return top * (1 - s) + (f[np.ix_(i2, j)] * (1 - t) + f[np.ix_(i2, j2)] * t) * s


def _stretched_mask(c: Contour) -> Bool[ndarray, "h w"]:
    (u, _), (v, _) = _places(c.x), _places(c.y)
    i, j = np.round(v).astype(int), np.round(u).astype(int)
    return c.allowed[np.ix_(i, j)]


def matrix(
    names: list[str], together: Float[ndarray, "k k"], idle: Bool[ndarray, " k"]
) -> str:
    """Return how probable it is that two parameters act together, as a half matrix."""
    k = len(names)
    cell, left = 26.0, 150.0
    width, height = left + cell * k + 10, cell * k + 30
    out = []
    for i in range(k):
        grey = " idle" if idle[i] else ""
        y = 6 + cell * i
        out.append(
            f'<text class="name{grey}" x="{left - 30:.0f}" y="{y + 17:.0f}" '
            f'text-anchor="end">{escape(names[i])}</text>'
            f'<text class="tick{grey}" x="{left - 8:.0f}" y="{y + 17:.0f}" '
            f'text-anchor="end">{i + 1}</text>'
            f'<text class="tick{grey}" x="{left + cell * (i + 0.5):.0f}" '
            f'y="{height - 8:.0f}" text-anchor="middle">{i + 1}</text>'
        )
        for j in range(i + 1):
            x, share = left + cell * j, float(together[i, j])
            if i == j:
                fill = "#eef0f2"
            elif idle[i] or idle[j]:
                fill = "#f6f7f8"
            else:
                r, g, b = (
                    round(a + share * (d - a)) for a, d in zip(PALE, DEEP, strict=True)
                )
                fill = f"rgb({r},{g},{b})"
            said = f"{names[i]} and {names[j]}: {percent(share)}" if i != j else ""
            out.append(
                f'<rect x="{x:.0f}" y="{y:.0f}" width="{cell - 2:.0f}" '
                f'height="{cell - 2:.0f}" rx="2" fill="{fill}">'
                f"<title>{escape(said)}</title></rect>"
            )
    return (
        f'<svg class="matrix" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        f'aria-label="Which parameters act together" '
        f'style="max-width:{width:.0f}px">{"".join(out)}</svg>'
    )
