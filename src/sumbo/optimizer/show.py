"""Runs as text and as HTML: what a terminal and a notebook show of them."""

from html import escape
from typing import Any

import numpy as np

from sumbo.optimizer.view import RunView
from sumbo.optimizer.violation import best_of

CELL = "text-align: left; padding: 0.15em 1em 0.15em 0"


def number(value: Any) -> str:
    """Return a value as text: six digits of a float, anything else as it is."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def point_text(point: dict[str, Any]) -> str:
    """Return a point in one line, with six digits."""
    return ", ".join(f"{name}={number(value)}" for name, value in point.items())


def run_line(run: RunView) -> str:
    """Return a run in one line."""
    best = best_of(run)
    found = "no value" if best is None else f"best {best[1]:.6g}"
    sense = "maximize, " if run.maximize else ""
    waiting = f", {len(run.pending)} pending" if len(run.pending) else ""
    return (
        f"Optimizer({len(run.space.names)} parameters, {run.method_name!r}, {sense}"
        f"seed {run.seed}: {counts(run)}{waiting}, {found})"
    )


def counts(run: RunView) -> str:
    """Return how many evaluations there are, and how many did not help."""
    failed = int(np.isnan(run.y).sum())
    broken = len(run.y) - failed - int(np.isfinite(run.feasible_y).sum())
    notes = [f"{failed} failed"] * bool(failed)
    notes += [f"{broken} infeasible"] * bool(broken)
    noun = "evaluation" if len(run.y) == 1 else "evaluations"
    return f"{len(run.y)} {noun}" + (f" ({', '.join(notes)})" if notes else "")


def run_text(run: RunView, message: str = "") -> str:
    """Return the best value, the best point by name, and what was done."""
    title, point = _found(run)
    width = max((len(name) for name in point), default=0)
    rows = [f"  {name:<{width}}  {number(value)}" for name, value in point.items()]
    return "\n".join([title, *rows, _summary(run, message)])


def run_html(run: RunView, message: str = "") -> str:
    """Return the same as HTML; names and values are escaped."""
    title, point = _found(run)
    rows = "".join(
        f'<tr><th scope="row" style="{CELL}">{escape(name)}</th>'
        f'<td style="{CELL}">{escape(number(value))}</td></tr>'
        for name, value in point.items()
    )
    return (
        f"<div><strong>{escape(title)}</strong><table>{rows}</table>"
        f"<small>{escape(_summary(run, message))}</small></div>"
    )


def _found(run: RunView) -> tuple[str, dict[str, Any]]:
    best = best_of(run)
    if best is None:
        return "no feasible value yet", {}
    which = "largest value" if run.maximize else "best value"
    return f"{which} {best[1]:.10g}", run.space.as_dict(best[0])


def _summary(run: RunView, message: str) -> str:
    about = [counts(run), f"method {run.method_name!r}", f"seed {run.seed}"]
    about += [f"{len(run.pending)} pending"] * bool(len(run.pending))
    return "; ".join([*about, *([message] if message else [])])
