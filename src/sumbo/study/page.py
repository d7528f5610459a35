"""Pieces of HTML for the report: one page, no script, nothing from the network."""

import base64
from collections.abc import Sequence
from html import escape
from pathlib import Path

_STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff;
       max-width: 64rem; margin: 0 auto; padding: 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: .5rem 0; }
h2 { font-size: 1.25rem; margin: 2.2rem 0 .6rem; border-bottom: 1px solid #ccc; }
h3 { font-size: 1rem; margin: 1.4rem 0 .4rem; }
nav a { display: inline-block; margin-right: 1rem; padding: .15rem 0; }
a { color: #00508a; }
.answer { font-size: 1.15rem; border-left: 4px solid #0072B2; padding: .3rem .8rem; }
.notice { background: #fff3d6; border-left: 4px solid #b36b00; padding: .5rem .8rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85rem; margin: .3rem 0 .8rem;
        font-variant-numeric: tabular-nums; overflow-wrap: normal; }
.caption { font-size: .87rem; color: #444; margin: 1.2rem 0 0; }
th, td { padding: .2rem .5rem; text-align: right; border-bottom: 1px solid #e3e3e3;
         white-space: nowrap; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0;
                                background: #fff; }
.text { text-align: left; white-space: normal; min-width: 12rem; }
figure { margin: 1.2rem 0; break-inside: avoid; }
figure .scroll { display: block; cursor: zoom-in; }
figure input { position: absolute; opacity: 0; width: 1px; height: 1px; }
figure img { display: block; width: 100%; height: auto; }
figure input:focus-visible + img { outline: 2px solid #0072B2; }
figure input:checked + img { width: 64rem; max-width: none; cursor: zoom-out; }
figcaption { font-size: .87rem; color: #444; }
pre { white-space: pre-wrap; font-size: .8rem; background: #f5f5f5; padding: .6rem; }
@media (max-width: 40rem) { .text { min-width: 7rem; } }
@media print {
  body { max-width: none; font-size: 10pt; padding: 0; }
  nav { display: none; }
  .scroll { overflow: visible; }
  table { font-size: 8pt; }
  details > pre { font-size: 7pt; }
}
"""


def page(name: str, body: Sequence[str]) -> str:
    """Return a complete HTML document."""
    parts = "\n".join(body)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{escape(name)}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n{parts}\n</body>\n</html>\n"
    )


def title(text: str) -> str:
    """Return the title of the page."""
    return f"<h1>{escape(text)}</h1>"


def heading(text: str, anchor: str) -> str:
    """Return a heading of a section that the table of contents can point to."""
    return f'<h2 id="{escape(anchor)}">{escape(text)}</h2>'


def contents(sections: Sequence[tuple[str, str]]) -> str:
    """Return links to (anchor, title) of all sections."""
    links = (f'<a href="#{escape(a)}">{escape(t)}</a>' for a, t in sections)
    return f'<nav aria-label="Contents">{" ".join(links)}</nav>'


def paragraph(text: str, kind: str = "") -> str:
    """Return a paragraph, with ``kind`` as its class."""
    attribute = f' class="{escape(kind)}"' if kind else ""
    return f"<p{attribute}>{_escaped(text)}</p>"


def table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    caption: str = "",
    bold: Sequence[tuple[int, int]] = (),
    text: Sequence[int] = (),
) -> str:
    """Return a table; ``bold`` cells are (row, column), ``text`` columns wrap."""
    marked, wrap = set(bold), ' class="text"'
    head = "".join(
        f'<th scope="col"{wrap if j in text else ""}>{escape(name)}</th>'
        for j, name in enumerate(header)
    )
    head = f"<thead><tr>{head}</tr></thead>" if any(header) else ""
    lines = []
    for i, row in enumerate(rows):
        cells = []
        for j, value in enumerate(row):
            shown = _escaped(value)
            shown = f"<strong>{shown}</strong>" if (i, j) in marked else shown
            cells.append(f"<td{wrap if j in text else ''}>{shown}</td>")
        lines.append(f"<tr>{''.join(cells)}</tr>")
    above = paragraph(caption, "caption") if caption else ""
    return (
        f'{above}<div class="scroll"><table>{head}'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def figure(image: Path, name: str, caption: str) -> str:
    """Return the figure in ``image``.svg, inline; it grows when it is touched."""
    data = base64.b64encode(Path(f"{image}.svg").read_bytes()).decode()
    return (
        f'<figure><label class="scroll"><input type="checkbox" '
        f'aria-label="enlarge: {escape(name)}">'
        f'<img alt="{escape(name)}" src="data:image/svg+xml;base64,{data}"></label>'
        f"<figcaption><strong>{escape(name)}.</strong> {_escaped(caption)}</figcaption>"
        "</figure>"
    )


def folded(summary: str, text: str) -> str:
    """Return a text that opens when its summary is clicked."""
    return (
        f"<details><summary>{escape(summary)}</summary>"
        f"<pre>{escape(text)}</pre></details>"
    )


def verbatim(text: str) -> str:
    """Return a text as it is, in a fixed-width font."""
    return f"<pre>{escape(text)}</pre>"


def _escaped(text: str) -> str:
    """Return text for HTML, in which a number and its percent sign stay together."""
    return escape(text).replace(" %", "&nbsp;%")
