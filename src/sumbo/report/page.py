"""The page of a report: one file that loads nothing and runs no other script.

What comes from users is escaped as text; data for the script are JSON in which no tag
can begin. The content security policy names the one script by its hash and allows no
request at all.
"""

import base64
import hashlib
import json
import math
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np

from sumbo.optimizer.result import columns_of, free_name
from sumbo.report import appendix, model_sections, sections
from sumbo.report.content import Content
from sumbo.report.numbers import moment

NAV = (
    ("best", "Best point"),
    ("progress", "Progress"),
    ("distance", "How far from done"),
    ("importance", "What matters"),
    ("effects", "Effects"),
    ("interactions", "Interactions"),
    ("around", "Around the best point"),
    ("constraints", "Constraints"),
    ("check", "Model check"),
    ("next", "Next"),
    ("failures", "Failures"),
    ("problem", "Settings"),
    ("evaluations", "All evaluations"),
    ("cite", "Cite"),
)


def render(content: Content, *, reload: int = 0) -> str:
    """Return the page; with ``reload`` it reads itself again after so many seconds."""
    model, checked = model_sections.all_of(content)
    body = "".join(
        [
            sections.best(content),
            sections.progress(content),
            model,
            sections.constraints(content),
            checked,
            sections.following(content),
            appendix.failures(content),
            appendix.problem(content),
            appendix.evaluations(content),
            appendix.citing(content),
        ]
    )
    links = "".join(
        f'<a href="#{anchor}">{title}</a>'
        for anchor, title in NAV
        if f'<section id="{anchor}">' in body
    )
    top = sections.head(content)
    if reload:
        live = '<span class="live">live</span>'
        top = top.replace('<p class="status">', f'<p class="status">{live}', 1)
    script = _asset("script.js")
    data = embedded({**data_of(content), "reload": reload})
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy(script)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{escape(content.title)}</title>\n"
        f"<style>{_asset('style.css')}</style>\n</head>\n<body>\n<main>\n"
        f'<header>{top}{"".join(sections.remarks(content))}<nav aria-label="Contents">'
        f"{links}</nav></header>\n{body}\n"
        "<footer>Made by sumbo. This file is complete in itself: it loads nothing "
        "from the network.</footer>\n</main>\n"
        f'<div id="tip" role="status"></div>\n'
        f'<script type="application/json" id="data">{data}</script>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def policy(script: str) -> str:
    """Return a content security policy: no request, and this script only."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; "
        "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    )


def embedded(value: Any) -> str:
    """Return JSON that stays inside a script element: no tag and no comment begins."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def data_of(content: Content) -> dict[str, Any]:
    """Return what the script knows: all evaluations as columns, and their order."""
    opt, e = content.opt, content.evaluations
    columns = {k: [_plain(v) for v in vs] for k, vs in columns_of(opt).items()}
    K = len(content.names)
    for label, values in e.outcomes.items():
        columns[free_name(label, columns)] = [_plain(v) for v in values.tolist()]
    measured = list(range(len(columns) - len(e.outcomes), len(columns)))
    sort = [-1, K, -2, *range(K), *measured]
    timed = bool(np.isfinite(e.times).any())
    if timed:
        sort.append(len(columns))
        told = [moment(t) if math.isfinite(t) else None for t in e.times.tolist()]
        columns[free_name("time", columns)] = told
    order = range(K) if content.model is None else content.model.order.tolist()
    return {
        "names": list(content.names),
        "order": list(order),
        "head": list(columns),
        "columns": list(columns.values()),
        "status": e.status,
        "sort": sort,
        "times": list(columns.values())[-1] if timed else [None] * len(e.y),
    }


def _plain(v: Any) -> Any:
    """Return a value as JSON holds it; what is not finite is unknown."""
    return None if isinstance(v, float) and not math.isfinite(v) else v


def _asset(name: str) -> str:
    return (files("sumbo.report") / name).read_text("utf-8")
