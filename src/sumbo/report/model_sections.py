"""The sections of a report that show the model."""

import numpy as np

from sumbo.report import charts, html, maps
from sumbo.report.content import Content, Findings
from sumbo.report.model import FAIR, GOOD, IDLE, LEVELS
from sumbo.report.numbers import distinct, percent, short, shown, span
from sumbo.report.sections import NARROW
from sumbo.typing import Float, ndarray

# Bars and rows of the matrix that are shown at once.
MOST_BARS, MOST_ROWS = 20, 20
# Rows of parameters that do next to nothing.
MOST_IDLE = 3


def distance(c: Content, m: Findings) -> str:
    """Return how far from done the run is: where the optimum may be."""
    if c.best is None:
        return ""
    o = m.optimum
    low, high = o.interval()
    value = float(c.opt.y[c.best])
    places = [value]
    if c.recommended is not None and np.isfinite(c.recommended.sd):
        places.append(c.recommended.mean)
    texts = distinct(places)
    marks = [(value, f"best so far {texts[0]}", "bestmark")]
    if len(places) > 1:
        marks.append((places[1], f"recommended {texts[1]}", "recmark"))
    wide, narrow = (charts.histogram(o.values, marks, width=w) for w in (760.0, NARROW))
    word = "larger" if c.opt.maximize else "smaller"
    said = (
        f"With 95 % probability the best possible value lies in {span(low, high)}. "
        f"The expected optimum is {shown(o.gain, 2)} {word} than the value expected at "
        "the recommended point. So much improvement is still expected."
    )
    if o.gain == 0:
        said = said.split(". ")[0] + ". The model expects no further gain."
    body = [html.paragraph(said), html.both(wide, narrow)]
    if not m.check.usable:
        text = "The model predicts poorly (see the model check): do not rely on this."
        body.insert(0, html.note(text))
    if c.opt.limits:
        text = "Limits of measured outcomes are not taken into account here."
        body.append(html.paragraph(text))
    lead = (
        f"{len(o.values)} functions that fit the data were drawn from the model, and "
        "the optimum of each one was computed. The interval is as good as the model; "
        "see the model check. With many parameters it is too optimistic, because the "
        "model cannot exclude good regions that it has not seen."
    )
    return html.section("distance", "How far from done?", lead, body)


def importance(c: Content, m: Findings) -> str:
    """Return the Sobol shares as bars with intervals."""
    idle = [int(k) for k in m.order if m.importance.upper[k] < IDLE]
    bars = [_bar(c, m, int(k)) for k in m.order if int(k) not in idle]
    listing = f'<div class="bars">{"".join(bars[:MOST_BARS])}</div>'
    if len(bars) > MOST_BARS:
        rest = "".join(bars[MOST_BARS:])
        listing += (
            f"<details><summary>{len(bars) - MOST_BARS} more parameters</summary>"
            f'<div class="bars">{rest}</div></details>'
        )
    scale = "" if m.units.linear else " (of the logarithm of the value)"
    lead = (
        f"The share of the variation of the value{scale} that would remain if all "
        "other parameters were held fixed: the total Sobol share. The dark part is due "
        "to the parameter alone, the pale part to interactions with others. The line "
        f"is the {m.importance.level:.0%} interval.".replace("%", " %")
    )
    body = [listing]
    if idle:
        s = "" if len(idle) == 1 else "s"
        text = f"{len(idle)} parameter{s} with less than 1 %, interval included"
        chips = "".join(f'<li class="idle">{html.name(c.names[k])}</li>' for k in idle)
        opened = " open" if len(idle) <= MOST_BARS else ""
        body.append(
            f"<details{opened}><summary>{text}</summary>"
            f'<ul class="chips">{chips}</ul></details>'
        )
    return html.section("importance", "What matters", lead, body)


def _bar(c: Content, m: Findings, k: int) -> str:
    i = m.importance
    total, first = float(i.total[k]), float(i.first[k])
    low, high = float(i.lower[k]), float(min(i.upper[k], 1.0))
    idle = " idle" if high < IDLE else ""
    return (
        f'<div class="n{idle}">{html.name(c.names[k])}</div>'
        f'<div class="b"><i style="width:{100 * min(total, 1):.1f}%"></i>'
        f'<b style="width:{100 * min(first, 1):.1f}%"></b>'
        f'<u style="left:{100 * low:.1f}%;width:{100 * (high - low):.1f}%"></u></div>'
        f'<div class="v"><b>{percent(total)}</b> ({percent(low)} to {percent(high)})'
        "</div>"
    )


def effects(c: Content, m: Findings) -> str:
    """Return the average effect of each parameter."""
    ends = charts.shared_range([e.band for e in m.effects])
    unit = "change of the value" if m.units.linear else "change, log scale"
    figures = []
    for e, k in zip(m.effects, m.order, strict=False):
        rug = [] if e.axis.kind == "choice" else c.evaluations.X[:, k]
        picture = charts.curve(e.axis, e.band, ends, y_name=unit, rug=rug)
        share = f"{percent(float(m.importance.total[k]))} of the variation"
        figures.append(html.figure(picture, html.name(e.axis.name), share))
    lead = (
        "What each parameter does on average, while all others vary over the search "
        "space. The whole curve lies in its band with 95 % probability. All panels "
        "have the same vertical scale."
    )
    body = [html.grid(figures, 3), *_left_out(m, len(figures))]
    if not m.units.linear:
        text = m.units.transform.describe(negated=c.opt.maximize)
        body.insert(0, html.paragraph(f"The model sees transformed values: {text}"))
    return html.section("effects", "Average effects", lead, body)


def _left_out(m: Findings, count: int) -> list[str]:
    rest = m.order[count:]
    if not len(rest):
        return []
    most = percent(float(m.importance.total[rest].max()))
    s = "" if len(rest) == 1 else "s"
    left = f"{len(rest)} less important parameter{s} not drawn"
    text = f"{left}: the largest share is {most}."
    return [html.paragraph(text)]


def interactions(c: Content, m: Findings) -> str:
    """Return which parameters act together."""
    K = len(c.names)
    if K < 2:
        return ""
    idle = m.importance.upper < IDLE
    kept = int((~idle).sum()) + MOST_IDLE
    order = m.order[: min(MOST_ROWS, kept)]
    together = m.together.copy()
    pairs = [
        (float(together[i, j]), int(i), int(j))
        for a, i in enumerate(m.order)
        for j in m.order[a + 1 :]
        if together[i, j] >= 0.2 and not (idle[i] or idle[j])
    ]
    pairs.sort(key=lambda p: (-round(p[0], 2), -min(m.importance.total[[p[1], p[2]]])))
    body = []
    if pairs:
        items = "".join(
            f"<li>{html.name(c.names[i])} × {html.name(c.names[j])}: {percent(p)}</li>"
            for p, i, j in pairs[:12]
        )
        body.append(f'<ul class="chips">{items}</ul>')
    else:
        text = "No two parameters are likely to act together: effects add up."
        body.append(html.paragraph(text))
    picture = maps.matrix(
        short(tuple(c.names[k] for k in order), 16),
        together[np.ix_(order, order)],
        idle[order],
    )
    body.append(html.figure(picture))
    if len(order) < K:
        text = f"The {len(order)} most important parameters are shown."
        body.append(html.paragraph(text))
    body.append(_structure(c, m))
    source = (
        "The probability that two parameters act together, learned from the data"
        if m.learned
        else "The groups of the model behind this report"
    )
    lead = (
        f"{source}. The effect of one then depends on the value of the other; "
        "the darker a square, the more probable this is. "
        "Parameters with almost no effect are grey, because the data do not show with "
        "which others they act."
    )
    return html.section("interactions", "Interactions and structure", lead, body)


def _structure(c: Content, m: Findings) -> str:
    """Return the most probable structure as a list of its parts."""
    weight, groups = m.structures[0]
    K = len(c.names)
    own = [g for g in groups if len(g) < K or K == 1]
    rest = len(groups) > len(own)
    best = {k: r for r, k in enumerate(m.order.tolist())}
    own.sort(key=lambda g: min(best[k] for k in g))
    items = "".join(
        f"<li>{' × '.join(_faint(c, m, k) for k in g)}</li>" for g in own[:40]
    )
    items += f"<li>{len(own) - 40} more</li>" if len(own) > 40 else ""
    items += "<li>a part on all parameters, for what is not additive</li>" * rest
    count = len(m.structures)
    which = (
        "The structure of the model"
        if count == 1
        else f"The most probable of {count} structures ({percent(weight)})"
    )
    said = f"{which}: the value is the sum of these parts."
    if rest:
        said += " The last one holds all other interactions."
    title = "Learned structure" if m.learned else "Structure"
    return f'<h3>{title}</h3>{html.paragraph(said)}<ul class="chips">{items}</ul>'


def _faint(c: Content, m: Findings, k: int) -> str:
    text = html.name(c.names[k])
    idle = m.importance.upper[k] < IDLE
    return f'<span class="idle">{text}</span>' if idle else text


def around(c: Content, m: Findings) -> str:
    """Return slices through the recommended point, and the contour of the best pair."""
    log = all(positive(m, s.band.mid) for s in m.slices)
    ends = charts.slice_range(m.slices, log=log)
    figures = []
    for s, k in zip(m.slices, m.order, strict=False):
        here = int(np.argmin(np.abs(s.axis.values - s.at)))
        picture = charts.curve(
            s.axis,
            s.band,
            ends,
            y_name="value",
            allowed=s.allowed,
            point=(s.at, float(s.band.mid[here])),
            y_log=log,
        )
        share = f"at {charts.value_text(s.axis, here)}"
        if s.axis.kind != "choice":
            share = f"at {shown(s.at)}"
        figures.append(html.figure(picture, html.name(c.names[k]), share))
    body = [html.grid(figures, 3), *_left_out(m, len(figures))]
    if m.contour is not None:
        i, j = m.contour.pair
        names = (c.names[i], c.names[j])
        sign = -1.0 if c.opt.maximize else 1.0
        picture = maps.contour(m.contour, names, sign, log=positive(m, m.contour.mid))
        caption = f"{html.name(names[0])} and {html.name(names[1])}"
        small = "predicted value, all other parameters as at the recommended point"
        body.append("<h3>The most important pair</h3>")
        body.append(html.grid([html.figure(picture, caption, small)], 2))
    lead = (
        "The predicted value along each parameter, all others held at the recommended "
        "point (the red dot), with 95 % intervals. A flat curve is a parameter that "
        "may be set for other reasons."
    )
    if not all(s.allowed.all() for s in m.slices):
        lead += " Dotted parts break a constraint."
    return html.section("around", "Around the recommended point", lead, body)


def positive(m: Findings, values: Float[ndarray, "..."]) -> bool:
    """Return whether values are shown on a logarithmic axis, as the model sees them."""
    return not m.units.linear and bool(np.min(values) > 0)


def check(c: Content, m: Findings) -> str:
    """Return the model check: predictions of left-out values, calibration."""
    k = m.check
    verdict, good = _verdict(m)
    rows = [
        [f"{q:.0%}".replace("%", " %"), percent(share)]
        for q, share in zip(LEVELS, k.within, strict=True)
    ]
    body = [
        html.note(verdict, good=good),
        html.grid(
            [
                html.figure(
                    charts.predicted(k, log=positive(m, k.observed)),
                    "Predicted against observed",
                ),
                html.figure(charts.calibration(k), "Calibration"),
            ],
            2,
        ),
        html.table(["interval", "values inside"], rows),
    ]
    how = (
        f"The values are divided into {k.folds} sets. Each set is predicted by a model "
        "that was fitted to the others; only the groups of parameters are the same."
        if k.folds
        else "Each value is predicted from all others."
    )
    lead = (
        f"{how} Dots near the diagonal mean good "
        "predictions. A curve inside the grey area means that the intervals have the "
        "right width."
    )
    del c
    return html.section("check", "Can the model be trusted?", lead, body)


def _verdict(m: Findings) -> tuple[str, bool]:
    k = m.check
    share = max(0.0, k.explained)
    unit = "" if m.units.linear else ", on the logarithmic scale"
    inside = percent(k.within[-1])
    fit = (
        f"The model explains {percent(share)} of the variance of values that it has "
        f"not seen, and {inside} of them lie in their 95 % intervals. Noise is "
        f"estimated to have a standard deviation of {shown(m.noise, 2)}{unit}."
    )
    if k.within[0] > 0.5 + 1.3 / np.sqrt(len(k.rows)):
        fit += " Its intervals are wider than needed: it is cautious."
    if share >= GOOD and k.honest:
        return f"{fit} The model can be trusted within the range of the data.", True
    if share >= FAIR and k.honest:
        return f"{fit} The model shows the main effects; details may be wrong.", True
    if not k.honest:
        return f"{fit} Its intervals are too narrow: read them with care.", False
    return f"{fit} The model predicts poorly: its pictures mean little.", False


def all_of(c: Content) -> tuple[str, str]:
    """Return the sections before and after those on constraints."""
    m = c.model
    if m is None:
        return "", ""
    first = [distance(c, m), importance(c, m), effects(c, m)]
    return "".join([*first, interactions(c, m), around(c, m)]), check(c, m)
