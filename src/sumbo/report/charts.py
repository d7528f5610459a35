"""The pictures of a report, from its content; nothing is computed here but pixels."""

import json
import math
from html import escape
from typing import Any

import numpy as np

from sumbo.report.lines import Axis
from sumbo.report.model import NOMINAL, Check, Slice
from sumbo.report.numbers import distinct, duration, percent, short, shown
from sumbo.report.run import BROKEN, Evaluations
from sumbo.report.svg import Number, Plot, padded, plot, steps
from sumbo.report.units import Band
from sumbo.space import Outcome
from sumbo.typing import Bool, Float, ndarray

PANEL = (320.0, 210.0)
# Up to so many choices are named below a picture.
NAMED = 14
# Values further from the best than this many times the central range are cut off.
FAR = 2.5
# Ticks of evaluations that can be told apart.
MOST_TICKS = 200


def hover(pairs: list[tuple[float, float, str]]) -> str:
    """Return an attribute with what a curve says where it is pointed at."""
    rows = [[round(x, 1), round(y, 1), t] for x, y, t in pairs]
    return f' data-h="{escape(json.dumps(rows))}"'


# ---------------------------------------------------------------- the run
def convergence(
    e: Evaluations, *, width: float, by_time: bool, log: bool, maximize: bool
) -> str:
    """Return all values and the best one so far, by number or by time."""
    height = 300.0 if width > 500 else 240.0
    number = np.arange(1, len(e.y) + 1, dtype=float)
    x, unit = (number, "") if not by_time else _since_start(e.times)
    name = f"time since the first value, {unit}" if by_time else "evaluation"
    y = np.where(np.isfinite(x), e.y, np.nan)
    low, high = value_range(y, maximize=maximize)
    log = log and low > 0
    ends = (low, high) if log else padded(low, high)
    hi = float(np.nanmax(x))
    start = 0.0 if by_time else 0.5
    p = plot(
        width,
        height,
        (start, hi + (0.5 if not by_time else 0.02 * hi or 1.0)),
        ends,
        f"Values by {name}",
        y_log=log,
    )
    count = 8 if width > 500 else 4
    whole = [(v, shown(v)) for v in p.x.ticks(count) if by_time or v == round(v)]
    p.axes(name, "value", whole, count)
    if not by_time and 0 < e.initial < len(e.y):
        px = float(p.x(e.initial + 0.5))
        p.add(f'<path class="mark" d="M{px:.1f} {p.y.b:.1f}V{p.y.a:.1f}"/>')
        late = px > 0.7 * width
        anchor = "end" if late else "start"
        px += -5 if late else 5
        py = p.y.a - 6 if maximize else p.y.b + 9
        p.text(px, py, "model begins", "tick", text_anchor=anchor)
    known = np.isfinite(e.best) & np.isfinite(x)
    if known.any():
        p.line(*steps(x[known], np.clip(e.best[known], ends[0], ends[1])), "best")
    rows = np.flatnonzero(np.isfinite(y))
    kinds = _kinds(e, rows)
    p.dots(rows, x[rows], np.clip(y[rows], float(low), float(high)), kinds)
    failed = np.flatnonzero(~np.isfinite(e.y) & np.isfinite(x))
    bottom = np.full(len(failed), ends[1] if maximize is False else ends[0])
    p.dots(failed, x[failed], bottom, ["failed"] * len(failed))
    return p.svg()


def value_range(y: Float[ndarray, " N"], *, maximize: bool) -> tuple[float, float]:
    """Return the range that is shown: values far from the best are cut off."""
    known = np.sort(y[np.isfinite(y)])
    if len(known) == 0:
        return 0.0, 1.0
    worst, best = float(known[0]), float(known[-1])
    if not maximize:
        worst, best = best, worst
    common = float(np.quantile(known, 0.1 if maximize else 0.9))
    edge = best + FAR * (common - best)
    if edge != best and abs(edge - best) < abs(worst - best):
        worst = edge
    return min(worst, best), max(worst, best)


def _since_start(times: Float[ndarray, " N"]) -> tuple[Float[ndarray, " N"], str]:
    since = times - np.nanmin(times)
    longest = float(np.nanmax(since))
    for size, unit in ((86_400.0, "days"), (3_600.0, "h"), (60.0, "min")):
        if longest >= 2 * size:
            return since / size, unit
    return since, "s"


def _kinds(e: Evaluations, rows: Any) -> list[str]:
    status = e.status
    return [
        "broken" if status[i] == BROKEN else "first" if i < e.initial else "asked"
        for i in rows
    ]


def outcome(e: Evaluations, limit: Outcome, *, width: float) -> str:
    """Return the measured values of an outcome with its limits."""
    values = e.outcomes[limit.name]
    limits = [v for v in (limit.lower, limit.upper) if v is not None]
    known = values[np.isfinite(values)]
    both = np.concatenate([known, limits])
    p = plot(
        width,
        230.0,
        (0.5, len(values) + 0.5),
        padded(float(both.min()), float(both.max())),
        f"Measured values of {limit.name}",
    )
    p.axes("evaluation", "", None, 6)
    for v in limits:
        py = float(p.y(v))
        p.add(f'<path class="limit" d="M{p.x.a:.1f} {py:.1f}H{p.x.b:.1f}"/>')
        p.text(p.x.b, py - 4, f"limit {shown(v)}", "tick", text_anchor="end")
    rows = np.flatnonzero(np.isfinite(values))
    low = -math.inf if limit.lower is None else limit.lower
    high = math.inf if limit.upper is None else limit.upper
    good = (values[rows] >= low) & (values[rows] <= high)
    kinds = ["asked" if g else "broken" for g in good]
    p.dots(rows, rows + 1.0, values[rows], kinds)
    return p.svg()


# ---------------------------------------------------------------- curves
def axis_range(axis: Axis) -> tuple[tuple[float, float], bool]:
    """Return the ends of a horizontal axis, and whether it is logarithmic."""
    if axis.kind == "choice":
        return (-0.5, axis.hi + 0.5), False
    if axis.kind == "integer":
        return (axis.lo - 0.5, axis.hi + 0.5), axis.log
    return (axis.lo, axis.hi), axis.log


def choice_ticks(axis: Axis) -> list[tuple[Number, str]] | None:
    """Return ticks for choices; None for numbers."""
    if axis.kind != "choice":
        return None
    if len(axis.labels) > NAMED:
        return []
    width = max(4, 52 // len(axis.labels))
    return list(enumerate(short(axis.labels, max(8, width))))


def value_text(axis: Axis, g: int) -> str:
    """Return a value of an axis as text."""
    return axis.labels[g] if axis.labels else shown(float(axis.values[g]), 4)


def curve(
    axis: Axis,
    band: Band,
    ends: tuple[float, float],
    *,
    y_name: str,
    allowed: Bool[ndarray, " G"] | None = None,
    point: tuple[float, float] | None = None,
    rug: Any = (),
    y_log: bool = False,
) -> str:
    """Return one curve with its band: a line, steps, or a mark per choice."""
    x, log = axis_range(axis)
    many = axis.kind == "choice" and len(axis.labels) > 4
    margins = (22.0, 12.0, 66.0 if many else 30.0, 52.0)
    height = PANEL[1] + (36.0 if many else 0.0)
    inset = 0.0 if axis.kind == "choice" else 4.0
    p = plot(
        PANEL[0],
        height,
        x,
        ends,
        f"{axis.name}: {y_name}",
        x_log=log,
        y_log=y_log,
        margins=margins,
        inset=inset,
    )
    ticks = choice_ticks(axis)
    if axis.kind == "integer":
        whole = [v for v in p.x.ticks(6) if v == round(v)]
        ticks = [(v, shown(v)) for v in whole]
    if many:
        p.axes("", y_name, [])
        for v, name in ticks or []:
            at = f"rotate(-38 {float(p.x(v)):.1f} {p.y.a + 12:.1f})"
            p.text(
                float(p.x(v)), p.y.a + 12, name, "tick", text_anchor="end", transform=at
            )
    else:
        p.axes("", y_name, ticks, 4)
    low, high = (np.clip(v, *ends) for v in (band.low, band.high))
    mid = np.clip(band.mid, *ends)
    _rug(p, rug)
    _marks(p, axis, mid, low, high, allowed)
    if point is not None:
        px, py = float(p.x(point[0])), float(p.y(np.clip(point[1], *ends)))
        p.add(f'<circle class="here" cx="{px:.1f}" cy="{py:.1f}" r="4.5"/>')
    said = [
        f"{value_text(axis, g)}: {shown(m, 4)} ({shown(a, 4)} to {shown(b, 4)})"
        for g, (m, a, b) in enumerate(zip(band.mid, band.low, band.high, strict=True))
    ]
    pixels = zip(p.x(axis.values).tolist(), p.y(mid).tolist(), said, strict=True)
    p.attributes = hover(list(pixels))
    return p.svg()


def _rug(p: Plot, rug: Any) -> None:
    if 0 < len(rug) <= MOST_TICKS:
        ticks = "".join(f"M{v:.1f} {p.y.a - 5:.1f}v5" for v in p.x(rug).tolist())
        p.add(f'<path class="rug" d="{ticks}"/>')


def _marks(p: Plot, axis: Axis, mid: Any, low: Any, high: Any, allowed: Any) -> None:
    if axis.kind == "choice":
        for g, v in enumerate(axis.values):
            px, a, b = float(p.x(v)), float(p.y(low[g])), float(p.y(high[g]))
            p.add(f'<path class="whisker" d="M{px:.1f} {a:.1f}V{b:.1f}"/>')
            py = float(p.y(mid[g]))
            p.add(f'<circle class="choice" cx="{px:.1f}" cy="{py:.1f}" r="5"/>')
        return
    x = axis.values
    if axis.kind == "integer" and len(x) == round(axis.hi - axis.lo) + 1:
        x = np.concatenate([[v - 0.5, v + 0.5] for v in x])
        mid, low, high = (np.repeat(v, 2) for v in (mid, low, high))
        allowed = None if allowed is None else np.repeat(allowed, 2)
    p.area(x, low, high, "band")
    if allowed is None or allowed.all():
        p.line(x, mid, "mean")
        return
    p.line(x, mid, "mean out")
    p.line(x, np.where(allowed, mid, np.nan), "mean")


def shared_range(bands: list[Band], *, log: bool = False) -> tuple[float, float]:
    """Return a vertical range for several curves: all means, and most of the bands."""
    if log:
        # In logarithms; what is not positive is far below.
        each = [[_logs(v) for v in (b.mid, b.low, b.high)] for b in bands]
        bands = [Band(mid=m, low=lo, high=hi) for m, lo, hi in each]
        low, high = shared_range(bands)
        return 10.0**low, 10.0**high
    low = min(float(np.min(b.mid)) for b in bands)
    high = max(float(np.max(b.mid)) for b in bands)
    reach = 0.6 * (high - low)
    low = max(min(float(np.min(b.low)) for b in bands), low - reach)
    high = min(max(float(np.max(b.high)) for b in bands), high + reach)
    return padded(low, high, 0.04)


# ---------------------------------------------------------------- the model's worth
def predicted(check: Check, *, log: bool = False) -> str:
    """Return predictions against values, with intervals."""
    low, high = float(check.observed.min()), float(check.observed.max())
    ends = (low / 1.3, high * 1.3) if log else padded(low, high)
    name = "Predicted against observed values"
    p = plot(430.0, 360.0, ends, ends, name, x_log=log, y_log=log)
    p.axes("observed value", "predicted without it")
    corner = (p.x(ends[0]), p.y(ends[0]), p.x(ends[1]), p.y(ends[1]))
    p.add('<path class="mark" d="M{:.1f} {:.1f}L{:.1f} {:.1f}"/>'.format(*corner))
    band = check.band
    x = np.clip(check.observed, *ends)
    low_y, high_y, mid = (np.clip(v, *ends) for v in (band.low, band.high, band.mid))
    lines = zip(p.x(x).tolist(), p.y(low_y).tolist(), p.y(high_y).tolist(), strict=True)
    p.add(
        '<path class="whiskers" d="'
        + "".join(f"M{a:.1f} {b:.1f}V{c:.1f}" for a, b, c in lines)
        + '"/>'
    )
    outside = (check.observed < band.low) | (check.observed > band.high)
    kinds = ["outside" if o else "asked" for o in outside]
    p.dots(check.rows, x, mid, kinds, 3.0)
    return p.svg()


def calibration(check: Check) -> str:
    """Return how many values lie inside their intervals, against how many should."""
    name, margins = "Calibration of the intervals", (22.0, 24.0, 38.0, 52.0)
    p = plot(430.0, 360.0, (0.0, 1.0), (0.0, 1.0), name, margins=margins)
    quarters = [(q / 4, f"{25 * q} %") for q in range(5)]
    p.axes("probability of the interval", "values inside", quarters)
    n = len(check.levels)
    half = 1.96 * np.sqrt(NOMINAL * (1 - NOMINAL) / n)
    p.area(
        NOMINAL, np.maximum(NOMINAL - half, 0), np.minimum(NOMINAL + half, 1), "pale"
    )
    p.line([0.0, 1.0], [0.0, 1.0], "mark")
    inside = check.coverage(NOMINAL)
    p.line(NOMINAL, inside, "mean")
    said = [
        f"{percent(q)} intervals hold {percent(c)} of the values"
        for q, c in zip(NOMINAL.tolist(), inside.tolist(), strict=True)
    ]
    pixels = zip(p.x(NOMINAL).tolist(), p.y(inside).tolist(), said, strict=True)
    p.attributes = hover(list(pixels))
    return p.svg()


def histogram(
    values: Float[ndarray, " n"], marks: list[tuple[float, str, str]], *, width: float
) -> str:
    """Return where draws lie, with marked values: (value, name, kind)."""
    low, high = np.quantile(values, [0.01, 0.99])
    low = min(float(low), *(v for v, _, _ in marks)) if marks else float(low)
    high = max(float(high), *(v for v, _, _ in marks)) if marks else float(high)
    ends = padded(low, high, 0.08)
    counts, edges = np.histogram(np.clip(values, *ends), bins=28, range=ends)
    p = plot(
        width,
        190.0,
        ends,
        (0.0, 1.25 * float(counts.max() or 1)),
        "Where the optimum may be",
        margins=(40.0, 16.0, 34.0, 16.0),
    )
    for c, a, b in zip(counts.tolist(), edges[:-1], edges[1:], strict=True):
        if c:
            x, y = float(p.x(a)), float(p.y(c))
            w = float(p.x(b)) - x - 1
            p.add(
                f'<rect class="bar" x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" '
                f'height="{p.y.a - y:.1f}"/>'
            )
    p.add(f'<path class="axis" d="M{p.x.a:.1f} {p.y.a:.1f}H{p.x.b:.1f}"/>')
    places = p.x.ticks(5 if width > 500 else 3)
    for v, said in zip(places, distinct(places), strict=True):
        p.text(float(p.x(v)), p.y.a + 16, said, "tick", text_anchor="middle")
    for k, (v, name, kind) in enumerate(marks):
        px = float(p.x(v))
        p.add(f'<path class="{kind}" d="M{px:.1f} {26 + 12 * k}V{p.y.a:.1f}"/>')
        right = px > (p.x.a + p.x.b) / 2
        if len(marks) == 2 and p.x.a + 140 < px < p.x.b - 140:
            right = v <= marks[1 - k][0] if v != marks[1 - k][0] else k == 0
        anchor = "end" if right else "start"
        px += -5 if right else 5
        p.text(px, 34 + 13 * k, name, "name", text_anchor=anchor)
    return p.svg()


def pace(times: Float[ndarray, " N"]) -> str:
    """Return from when to when values came in, in words; "" if it is not known."""
    known = times[np.isfinite(times)]
    if len(known) < 2:
        return ""
    return f"{len(known)} values came in within {duration(float(np.ptp(known)))}"


def slice_range(slices: list[Slice], *, log: bool) -> tuple[float, float]:
    """Return the vertical range that all slices share."""
    return shared_range([s.band for s in slices], log=log)


def _logs(v: Float[ndarray, " n"]) -> Float[ndarray, " n"]:
    return np.log10(np.maximum(v, 1e-300))
