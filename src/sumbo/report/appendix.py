"""The last sections of a report: failures, settings, all evaluations, references."""

from html import escape
from typing import Any

import numpy as np

from sumbo.methods import METHODS
from sumbo.report import html
from sumbo.report.content import Content, as_texts
from sumbo.report.numbers import moment, shown
from sumbo.report.references import SOFTWARE, reference
from sumbo.report.run import parameter_rows, settings_changed, versions

# Failures that are listed.
MOST_FAILURES = 50
# What is printed of the table of all evaluations: rows, and columns of parameters.
PRINTED_ROWS, PRINTED_COLUMNS = 30, 6


def failures(c: Content) -> str:
    """Return the failed evaluations and attempts, with reasons."""
    e, space = c.evaluations, c.opt.space
    lost = np.flatnonzero(np.isnan(e.y))
    noted = c.opt.failures
    if not len(lost) and not noted:
        return ""
    reasons: dict[tuple[float, ...], list[str]] = {}
    for f in noted:
        reasons.setdefault(f.x, []).append(f.reason)
    rows = []
    for i in lost:
        said = reasons.pop(tuple(e.X[i].tolist()), ["no reason was noted"])
        rows.append((str(i + 1), e.X[i], "; ".join(said)))
    rows += [("repeated", np.array(x), "; ".join(said)) for x, said in reasons.items()]
    shown_rows = [
        [number, html.name(why), html.name(_point_text(space, x))]
        for number, x, why in rows[:MOST_FAILURES]
    ]
    body = [html.table(["no.", "reason", "point"], shown_rows, text=3)]
    if len(rows) > MOST_FAILURES:
        body.append(html.paragraph(f"{len(rows) - MOST_FAILURES} more are not listed."))
    lead = (
        "Evaluations that gave no value. The model avoids their neighbourhood, and "
        "they are not asked again; “repeated” attempts succeeded or wait for another."
    )
    return html.section("failures", "Failures", lead, body)


def _point_text(space: Any, x: Any) -> str:
    pairs = zip(space.names, as_texts(space, x), strict=True)
    return ", ".join(f"{n} = {v}" for n, v in pairs)


def problem(c: Content) -> str:
    """Return what was asked for: space, method, seed, versions."""
    opt = c.opt
    rows = [
        [html.name(n), escape(k), html.name(r)] for n, k, r in parameter_rows(opt.space)
    ]
    listing = html.table(["parameter", "kind", "range"], rows, text=3)
    if len(rows) > 25:
        listing = (
            f"<details><summary>{len(rows)} parameters</summary>{listing}</details>"
        )
    label = (
        METHODS.get(opt.method_name).label if opt.method_name in METHODS.names() else ""
    )
    settings = [
        ("direction", "maximise" if opt.maximize else "minimise"),
        ("method", f"{opt.method_name} ({label})" if label else opt.method_name),
        ("seed", str(opt.seed)),
        ("initial design", f"{opt.n_init} points, {opt.init}"),
        ("transform of values", opt.transform),
    ]
    if c.model is not None:
        seen = c.model.units.transform.describe(negated=opt.maximize)
        settings.append(("what the model sees", seen))
    settings += settings_changed(opt)
    made = ", ".join(f"{k} {v}" for k, v in versions())
    settings.append(("report made with", made))
    lead = "What was optimised, with which method, and how to repeat it."
    return html.section(
        "problem", "The problem and the settings", lead, [listing, html.facts(settings)]
    )


def evaluations(c: Content) -> str:
    """Return the table of all evaluations."""
    e, space = c.evaluations, c.opt.space
    if not len(e.y):
        return ""
    timed = bool(np.isfinite(e.times).any())
    heads = ["no.", "value", "state", *space.names, *e.outcomes]
    heads += ["time (UTC)"] if timed else []
    hidden = _unprinted(c)
    top = "".join(
        f'<th scope="col"{_off(j, hidden)}><button type="button">{html.name(h)}'
        "</button></th>"
        for j, h in enumerate(heads)
    )
    sign = -1.0 if c.opt.maximize else 1.0
    best = np.argsort(np.where(e.feasible, sign * e.y, np.inf), kind="stable")
    printed = set(best[:PRINTED_ROWS].tolist())
    status, lines = e.status, []
    for i in range(len(e.y)):
        cells = [str(i + 1), shown(float(e.y[i]), 6), status[i]]
        cells += as_texts(space, e.X[i])
        cells += [shown(float(v[i]), 5) for v in e.outcomes.values()]
        cells += [moment(float(e.times[i]))] if timed else []
        kinds = ["top"] * (i == c.best) + ["off"] * (i not in printed)
        kind = f' class="{" ".join(kinds)}"' if kinds else ""
        row = "".join(
            f"<td{_off(j, hidden)}>{escape(t)}</td>" for j, t in enumerate(cells)
        )
        lines.append(f'<tr data-i="{i}"{kind}>{row}</tr>')
    kind = ' class="timed"' if timed else ""
    lead = (
        "Click a heading to sort. The file has all digits, with the columns of "
        "to_frame()."
    )
    body = [
        '<p><button type="button" class="button" id="csv">Download as CSV</button></p>',
        f'<div class="all" tabindex="0"><table{kind}><thead><tr>{top}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>",
    ]
    if hidden or len(printed) < len(lines):
        text = (
            "On paper, only the best evaluations and the most important parameters are "
            "listed; the file holds all of them."
        )
        body.append(html.paragraph(text, "only-print"))
    return html.section("evaluations", "All evaluations", lead, body)


def _unprinted(c: Content) -> set[int]:
    """Return the columns that paper has no room for."""
    order = range(len(c.names)) if c.model is None else c.model.order.tolist()
    return {3 + k for k in list(order)[PRINTED_COLUMNS:]}


def _off(j: int, hidden: set[int]) -> str:
    return ' class="off"' if j in hidden else ""


def citing(c: Content) -> str:
    """Return how to cite sumbo and the method."""
    cls = (
        METHODS.get(c.opt.method_name) if c.opt.method_name in METHODS.names() else None
    )
    keys = ["wycoff2025"] + ([cls.cite] if cls and cls.cite != "wycoff2025" else [])
    entries = [SOFTWARE, *(reference(key) for key in keys)]
    body = [f"<pre>{escape(chr(10).join(entry for entry in entries if entry))}</pre>"]
    lead = "If these results are published, please cite the software and the method."
    return html.section("cite", "How to cite", lead, body)
