"""The sections of a report on the run itself: its points, values and constraints."""

from html import escape
from typing import Any

import numpy as np

from sumbo.report import charts, html
from sumbo.report.content import Content, as_texts
from sumbo.report.numbers import moment, percent, shown, span, with_error
from sumbo.report.run import (
    constraint_rows,
    limit_text,
)

WIDE, NARROW = 1030.0, 350.0
# An interval with this share of the range, in percent, says nothing.
ANYWHERE = 80.0
# One with less than this, in percent, is shown as one value.
NARROWEST = 0.2


def head(c: Content) -> str:
    """Return the title, one line on the state of the run, and its key numbers."""
    e, opt = c.evaluations, c.opt
    count = len(e.y)
    failed = int(np.isnan(e.y).sum())
    broken = e.status.count("infeasible")
    parts = [f"{count} evaluation{'s' if count != 1 else ''}"]
    parts += [f"{failed} failed"] if failed else []
    parts += [f"{broken} break a constraint"] if broken else []
    parts += [f"{len(e.pending)} pending"] if len(e.pending) else []
    goal = "maximised" if opt.maximize else "minimised"
    text = f"{', '.join(parts)}. The value is {goal}. Report of {moment(c.made)} UTC."
    ending = f" {c.message[0].upper()}{c.message[1:]}." if c.message else ""
    tiles = [html.tile("best value", _best(c), "key")]
    r = c.recommended
    if r is not None and c.model is not None and np.isfinite(r.sd):
        label = "recommended point: expected value"
        tiles.append(html.tile(label, with_error(r.mean, r.sd)))
    if c.model is not None and c.best is not None and c.model.check.usable:
        low, high = c.model.optimum.interval()
        tiles.append(html.tile("optimum, 95 % interval", span(low, high)))
        label = "expected gain that is left"
        tiles.append(html.tile(label, shown(c.model.optimum.gain, 2)))
    return (
        f"<h1>{html.name(c.title)}</h1>"
        f'<p class="status">{escape(text + ending)}</p>'
        f'<div class="tiles">{"".join(tiles)}</div>'
    )


def _best(c: Content) -> str:
    return "none yet" if c.best is None else shown(float(c.opt.y[c.best]), 6)


def remarks(c: Content) -> list[str]:
    """Return what a reader must know before anything else."""
    e, out = c.evaluations, []
    if c.why:
        out.append(html.note(f"{c.why} Pictures of the model are left out."))
    elif len(e.y) < c.opt.n_init:
        text = (
            f"The run is still in its initial design: {len(e.y)} of {c.opt.n_init} "
            "evaluations. What the model says below is provisional."
        )
        out.append(html.note(text))
    if len(e.y) and c.best is None:
        text = "No evaluation so far succeeded and meets all constraints."
        out.append(html.note(text))
    if c.model is not None and not c.model.check.usable:
        text = (
            "The model predicts values that it has not seen poorly: see the model "
            "check. What it says below may be wrong."
        )
        out.append(html.note(text))
    if c.model is not None and c.model.stand_in:
        text = (
            f"The method {c.opt.method_name} has no model of its own. The pictures "
            "below show sumbo's default model, fitted to the same values."
        )
        out.append(html.note(text, good=True))
    if c.missing:
        text = (
            f"The run has constraints that are Python functions "
            f"({', '.join(c.missing)}), which no file holds. This report treats them "
            "as met, and does not say what would be tried next."
        )
        out.append(html.note(text))
    return out


def best(c: Content) -> str:
    """Return the best and the recommended point, and where the optimum may lie."""
    if c.best is None:
        return ""
    space, e = c.opt.space, c.evaluations
    columns = [as_texts(space, e.X[c.best])]
    r = c.recommended
    same = r is None or np.array_equal(space.numbers(r.x)[0], e.X[c.best])
    heads = ["parameter", "best" if r is None or not same else "best, recommended"]
    if r is not None and c.model is not None and not same:
        heads.append("recommended")
        columns.append(as_texts(space, space.numbers(r.x)[0]))
    cells = [[escape(t) for t in column] for column in columns]
    if c.model is not None:
        heads.append("optimum, 90 %")
        cells.append([_where(c, k) for k in range(len(space.names))])
    order = range(len(space.names)) if c.model is None else c.model.order.tolist()
    rows = [
        [html.name(space.names[k]), *(column[k] for column in cells)] for k in order
    ]
    lead = (
        "The best point is the one with the best value so far. The recommended point "
        "is the evaluated one that the model expects to be best; with noisy values it "
        "is the safer choice."
    )
    said = [f"The best value is {_best(c)} (evaluation {c.best + 1})."]
    if r is not None and c.model is not None:
        which = "the same point" if same else "another point"
        said.append(
            f"The recommended point is {which}; its expected value is "
            f"{with_error(r.mean, r.sd)}."
        )
    if c.model is not None:
        said.append(
            "The last column is where the optimum lies with 90 % probability; the red "
            "mark is the best point. Parameters are ordered by importance."
        )
    more = "less important parameters"
    points = html.folded(heads, rows, "point", more)
    body = [html.paragraph(" ".join(said)), points]
    return html.section("best", "Best and recommended point", lead, body)


def _where(c: Content, k: int) -> str:
    """Return where the optimum lies along a parameter, as text and bar."""
    if c.model is None or c.best is None:
        return ""
    p = c.opt.space.parameters[k]
    column = c.model.optimum.points[:, k]
    if hasattr(p, "choices"):
        counts = [(float(np.mean(column == j)), ch) for j, ch in enumerate(p.choices)]
        counts.sort(key=lambda pair: -pair[0])
        return ", ".join(
            f"{html.name(str(ch))} ({escape(percent(share))})"
            for share, ch in counts[:3]
            if share > 0.02
        )
    low, high = np.quantile(column, [0.05, 0.95])
    text = span(float(low), float(high))

    def at(v: float) -> float:
        a, b = (np.log([p.lo, p.hi])) if p.log else (p.lo, p.hi)
        return float(np.clip(((np.log(v) if p.log else v) - a) / (b - a), 0, 1)) * 100

    left, width = at(low), max(1.0, at(high) - at(low))
    if width > ANYWHERE:
        text = "anywhere"
    elif at(high) - left < NARROWEST:
        text = shown(float(np.median(column)))
    here = at(float(c.evaluations.X[c.best, k]))
    return (
        f'{escape(text)}<span class="range"><b style="left:{left:.1f}%;'
        f'width:{min(width, 100 - left):.1f}%"></b>'
        f'<i style="left:{here:.1f}%"></i></span>'
    )


def progress(c: Content) -> str:
    """Return all values and the best so far, by number and by time."""
    e = c.evaluations
    if not np.isfinite(e.y).any():
        return ""
    log = c.model is not None and not c.model.units.linear
    panes = [
        html.both(
            *(
                charts.convergence(
                    e, width=w, by_time=t, log=log, maximize=c.opt.maximize
                )
                for w in (WIDE, NARROW)
            )
        )
        for t in ([False, True] if _timed(e) else [False])
    ]
    low, high = charts.value_range(e.y, maximize=c.opt.maximize)
    cut = int(np.sum((e.y < low) | (e.y > high)))
    keys = ['<span><i class="bar"></i>best so far</span>']
    keys += ['<span><i class="first"></i>initial design</span>'] * bool(e.initial)
    keys += ["<span><i></i>chosen by the method</span>"] * (len(e.y) > e.initial)
    if not np.all(e.feasible):
        keys.append('<span><i class="ring"></i>failed, or breaks a constraint</span>')
    body = [f'<p class="key-line">{"".join(keys)}</p>']
    if len(panes) == 1:
        body.append(panes[0])
    else:
        body.append(
            '<div class="tabs"><input type="radio" name="x" id="x1" checked>'
            '<label for="x1">by number</label>'
            '<input type="radio" name="x" id="x2"><label for="x2">by time</label>'
            f'<div class="pane p1">{panes[0]}</div>'
            f'<div class="pane p2">{panes[1]}</div></div>'
        )
    said = charts.pace(e.times)
    said = f"{said}. " if said else ""
    if cut:
        said += f"{cut} values lie beyond the axis and are drawn at its edge. "
    body.append(html.paragraph(said)) if said else None
    lead = (
        "Every dot is one evaluation, the line is the best value so far. Point at a "
        "dot to see the evaluation; click it to mark it in all pictures and the table."
    )
    return html.section("progress", "Progress", lead, body)


def _timed(e: Any) -> bool:
    known = e.times[np.isfinite(e.times) & np.isfinite(e.y)]
    return len(known) >= 3 and float(np.ptp(known)) > 1.0


def constraints(c: Content) -> str:
    """Return the constraints, and measured outcomes with their limits."""
    rows, e = constraint_rows(c.opt), c.evaluations
    if not rows:
        return ""
    body = [
        html.table(
            ["constraint", "kind"],
            [[html.name(t), escape(kind)] for t, kind in rows],
            text=2,
        )
    ]
    figures = []
    for limit in c.opt.limits:
        known = e.outcomes[limit.name]
        known = known[np.isfinite(known)]
        if not len(known):
            continue
        low = -np.inf if limit.lower is None else limit.lower
        high = np.inf if limit.upper is None else limit.upper
        share = float(np.mean((known >= low) & (known <= high)))
        picture = charts.outcome(e, limit, width=500.0)
        small = f"{percent(share)} of {len(known)} measured values are within"
        figures.append(html.figure(picture, html.name(limit_text(limit)), small))
    if figures:
        body.append(html.grid(figures, 2))
    lead = (
        "Known constraints are met by every point that is asked. Measured outcomes are "
        "known only after an evaluation; points outside their limits are marked."
    )
    return html.section("constraints", "Constraints and outcomes", lead, body)


def following(c: Content) -> str:
    """Return what would be tried next, and what is pending."""
    if c.next is None and not len(c.evaluations.pending):
        return ""
    space, body = c.opt.space, []
    points = [(f"pending {i + 1}", x) for i, x in enumerate(c.evaluations.pending[:5])]
    if c.next is not None:
        points.insert(0, ("next", c.next.x))
        if c.next.band is not None:
            b = c.next.band
            low, mid, high = (float(v[0]) for v in (b.low, b.mid, b.high))
            said = (
                f"The model predicts {shown(mid)} there, 95 % interval "
                f"{span(low, high)}."
            )
            body.append(html.paragraph(said))
        if not c.next.exact:
            body.append(
                html.paragraph(
                    "The model may be fitted again before the point is asked, so the "
                    "run may choose another one."
                )
            )
    heads = ["parameter", *(label for label, _ in points)]
    columns = [as_texts(space, x) for _, x in points]
    order = range(len(space.names)) if c.model is None else c.model.order.tolist()
    rows = [
        [html.name(space.names[k]), *(escape(col[k]) for col in columns)] for k in order
    ]
    body.append(html.folded(heads, rows, "", "less important parameters"))
    if len(c.evaluations.pending) > 5:
        more = len(c.evaluations.pending) - 5
        body.append(html.paragraph(f"{more} more points are pending."))
    lead = (
        "The point that the run would ask next, given everything above. Making this "
        "report does not change the run. Pending points were asked and have no value "
        "yet."
    )
    return html.section("next", "What would be tried next", lead, body)
