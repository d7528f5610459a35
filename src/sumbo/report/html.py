"""Pieces of HTML. Everything that comes from a user is escaped here."""

import re
from collections.abc import Sequence
from html import escape

# Characters from which a text may be broken inside a word, and rows shown unfolded.
LONG, MOST_ROWS = 24, 20


def name(text: str) -> str:
    """Return a name of the user's, whatever direction it is written in."""
    return f"<bdi>{escape(text)}</bdi>"


def paragraph(text: str, kind: str = "") -> str:
    """Return a paragraph of text that is not yet escaped."""
    return f"<p{_class(kind)}>{escape(text)}</p>"


def note(text: str, *, good: bool = False) -> str:
    """Return a remark that must not be overlooked."""
    return paragraph(text, "note good" if good else "note")


def section(anchor: str, title: str, lead: str, parts: Sequence[str]) -> str:
    """Return a section: its title, one sentence on what it says, and its parts."""
    return (
        f'<section id="{escape(anchor)}"><h2>{escape(title)}</h2>'
        f"{paragraph(lead, 'lead')}{''.join(parts)}</section>"
    )


def figure(picture: str, caption: str = "", small: str = "") -> str:
    """Return a picture with the caption above it; the caption is HTML."""
    more = f"<small>{escape(small)}</small>" if small else ""
    head = f"<figcaption>{caption}{more}</figcaption>" if caption or more else ""
    return f"<figure>{head}{picture}</figure>"


def grid(figures: Sequence[str], columns: int) -> str:
    """Return pictures side by side, as many as fit."""
    return f'<div class="grid{columns}">{"".join(figures)}</div>'


def both(wide: str, narrow: str) -> str:
    """Return a picture in two shapes: for desks and paper, and for telephones."""
    return f'<div class="wide">{wide}</div><div class="narrow">{narrow}</div>'


def tile(label: str, value: str, kind: str = "") -> str:
    """Return a box with one number."""
    more = f" {kind}" if kind else ""
    return (
        f'<div class="tile{more}"><span>{escape(label)}</span>'
        f"<b>{escape(value)}</b></div>"
    )


def table(
    head: Sequence[str], rows: Sequence[Sequence[str]], kind: str = "", text: int = 1
) -> str:
    """Return a table of cells that are HTML; the first columns hold text."""
    top = "".join(
        f'<th scope="col"{_class("t" if j < text else "")}>{escape(h)}</th>'
        for j, h in enumerate(head)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f"<td{_class(_kind(c, text=j < text))}{_label(head[j])}>{c}</td>"
            for j, c in enumerate(row)
        )
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll"><table{_class(kind)}><thead><tr>{top}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def folded(
    head: Sequence[str], rows: Sequence[Sequence[str]], kind: str, more: str
) -> str:
    """Return a table of which the rows after the first ones are folded away."""
    if len(rows) <= MOST_ROWS + 2:
        return table(head, rows, kind)
    rest = table(head, rows[MOST_ROWS:], kind)
    said = f"{len(rows) - MOST_ROWS} {more}"
    return (
        f"{table(head, rows[:MOST_ROWS], kind)}"
        f"<details><summary>{escape(said)}</summary>{rest}</details>"
    )


def _kind(cell: str, *, text: bool) -> str:
    """Return the class of a cell: text, and text that may be broken anywhere."""
    long = len(re.sub("<[^>]*>", "", cell)) > LONG
    return " ".join(["t"] * text + ["long"] * long)


def facts(rows: Sequence[tuple[str, str]]) -> str:
    """Return a table of names and texts that are not yet escaped."""
    body = "".join(
        f'<tr><th scope="row">{escape(k)}</th><td>{name(v)}</td></tr>' for k, v in rows
    )
    return f'<table class="facts"><tbody>{body}</tbody></table>'


def _label(text: str) -> str:
    """Return the heading as an attribute, which narrow screens show in the cell."""
    return f' data-l="{escape(text)}"' if text else ""


def _class(kind: str) -> str:
    return f' class="{escape(kind)}"' if kind else ""
