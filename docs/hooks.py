"""What MkDocs does on the way: missing pages leave the nav, tables are filled in.

A comment such as ``<!-- table: methods -->`` in a page is replaced by a list of what is
registered, so that no list is written twice.
"""

import dataclasses
import html
import inspect
import re
from pathlib import Path

from sumbo import problems
from sumbo.decompositions import DECOMPOSITIONS
from sumbo.kernels import KERNELS
from sumbo.methods import METHODS, Method

DOCS = Path(__file__).parent
BIBLIOGRAPHY = DOCS.parent / "references.bib"
TOOLS = ("optuna", "shared", "sklearn", "botorch")
LATEX = {
    r"{\'o}": "ó",
    r"{\'a}": "á",
    r"{\'y}": "ý",
    r"{\'i}": "í",
    r"\&": "&",
    "--": "–",
}


# ---------------------------------------------------------------- what MkDocs calls


def on_config(config):
    config["nav"] = present(config["nav"])
    return config


def on_page_markdown(markdown, page, **_):
    def fill(found):
        return TABLES[found[1]](page.file.src_uri)

    return typeset(re.sub(r"<!-- table: (\w+) -->", fill, markdown))


def on_page_content(html, page, **_):
    if page.file.src_uri == "references.md":
        return html
    here = page.url.count("/")
    return linked(html, "../" * here + "references/")


# ---------------------------------------------------------------- formulas


def typeset(markdown):
    """Return a page marked ``<!-- formulas -->`` with LaTeX turned into MathML.

    Browsers show MathML by themselves: nothing is fetched, no script runs. Formulas
    stand between dollars, displayed ones between double dollars. Code is left alone.
    """
    if "<!-- formulas -->" not in markdown:
        return markdown
    from latex2mathml.converter import convert

    def formula(found):
        display = found[1] is not None
        latex = " ".join((found[1] or found[2]).split())
        math = convert(latex, display="block" if display else "inline")
        if "\\" in math:  # a command that the converter does not know stays as text
            raise ValueError(f"{latex} cannot be shown: {math}")
        math = math.replace("\n", "")
        # A line that begins with <math> would be taken for a block of HTML.
        return math if display else f"<span>{math}</span>"

    pieces = re.split(r"(```.*?```|`[^`]*`)", markdown, flags=re.DOTALL)
    pieces[::2] = [
        re.sub(r"\$\$(.+?)\$\$|\$([^$]+?)\$", formula, piece, flags=re.DOTALL)
        for piece in pieces[::2]
    ]
    return "".join(pieces)


# ---------------------------------------------------------------- nav and citations


def present(nav):
    """Return the nav without pages that are not written yet, and without empty parts.

    The order of the pages is decided in one place, whoever writes them, and when.
    """
    kept = []
    for entry in nav:
        if isinstance(entry, dict):
            [(title, target)] = entry.items()
            if isinstance(target, list):
                target = present(target)
            if target and (isinstance(target, list) or (DOCS / target).exists()):
                kept.append({title: target})
        elif (DOCS / entry).exists():
            kept.append(entry)
    return kept


def linked(text, page):
    """Return HTML whose citations, such as [wycoff2025], link to the references."""
    keys = "|".join(entry["key"] for entry in entries())
    # Code keeps its brackets: only what lies between code elements is looked at.
    pieces = re.split(r"(<(?:pre|code)\b.*?</(?:pre|code)>)", text, flags=re.DOTALL)
    pieces[::2] = [
        re.sub(rf"\[({keys})\](?!\()", rf'<a href="{page}#\1">[\1]</a>', piece)
        for piece in pieces[::2]
    ]
    return "".join(pieces)


def entries():
    """Return the entries of the bibliography as dictionaries, in its order."""
    out = []
    for block in re.split(r"\n(?=@)", BIBLIOGRAPHY.read_text("utf-8").strip()):
        key = re.match(r"@\w+\{\s*([^,\s]+)", block)[1]
        # A value has braces inside braces at most twice: {{DESI} 2024}, {P{\'o}czos}.
        inner = r"\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}"
        fields = {
            name: _plain(v) for name, v in re.findall(rf"(\w+)\s*=\s*{inner}", block)
        }
        out.append({"key": key, **fields})
    return out


def _plain(text):
    for latex, sign in LATEX.items():
        text = text.replace(latex, sign)
    return re.sub(r"\s+", " ", text.replace("{", "").replace("}", ""))


# ---------------------------------------------------------------- tables


def methods_table(page):
    rows = []
    for name in METHODS.names():
        cls = METHODS.get(name)
        rows.append(
            (_method_link(name, page), cls.label, summary(cls), f"[{cls.cite}]")
        )
    return table(("name", "label", "what it proposes", "source"), rows)


def settings_table(page):
    """Return the settings that ts, ats and alcb2 share, logei's among them."""
    del page
    cls = METHODS.get("ts")
    rows = [
        (
            f"`{field.name}`",
            f"`{field.default!r}`",
            *(
                f"`{_short(settings[field.name])}`" if field.name in settings else ""
                for settings in cls.presets.values()
            ),
        )
        for field in dataclasses.fields(cls)
    ]
    columns = (f'preset="{name}"' for name in cls.presets)
    return table(("setting", "default", *columns), rows)


def abilities_table(page):
    """Return what each method can do beside proposing points of a box."""
    rows = []
    for name in METHODS.names():
        cls = METHODS.get(name)
        able = (
            cls.choose is not Method.choose,
            cls.takes_context,
            cls.takes_outcomes,
            cls.uses_noise,
        )
        rows.append((_method_link(name, page), *("yes" if a else "" for a in able)))
    head = (
        "method",
        "tables (`choose`)",
        "contexts",
        "limits of outcomes",
        "noise that you give",
    )
    return table(head, rows)


def problems_table(page):
    del page
    rows = []
    for name in problems.names():
        facts = problems.info(name)
        needs = f"`sumbo[{facts.needs}]`" if facts.modules else facts.needs
        rows.append((f"`{name}`", facts.dim, facts.cost, needs, facts.description))
    head = ("name", "dimension", "CPU per evaluation", "needs", "what it is")
    return table(head, rows)


def kernels_table(page):
    del page
    rows = [
        (f"`{name}`", summary(KERNELS.get(name)), f"[{_cited(KERNELS.get(name))}]")
        for name in KERNELS.names()
    ]
    return table(("name", "correlation of s, the scaled squared distance", ""), rows)


def decompositions_table(page):
    del page
    rows = [
        (f"`{name}`", summary(DECOMPOSITIONS.get(name)))
        for name in DECOMPOSITIONS.names()
    ]
    return table(("name", "groups"), rows)


def references_table(page):
    del page
    lines = []
    for entry in entries():
        where = entry.get("journal") or entry.get("booktitle") or entry.get("publisher")
        where = where or entry.get("note", "")
        volume = f" {entry['volume']}" if "volume" in entry else ""
        cited = (
            f"{entry['author'].replace(' and ', '; ')} ({entry['year']}). "
            f"*{entry['title']}*. {where}{volume}"
        )
        lines.append(
            f'- <a id="{entry["key"]}"></a>**{entry["key"]}**: {cited.strip()}'
        )
    return "\n".join(lines)


def classes(registry):
    """Return a function that lists the registered classes for the reference."""

    def directives(page):
        del page
        items = [registry.get(name) for name in registry.names()]
        names = dict.fromkeys(f"{cls.__module__}.{cls.__qualname__}" for cls in items)
        options = "{ heading_level: 3, members: false }"
        return "\n\n".join(f"::: {name}\n    options: {options}" for name in names)

    return directives


def integrations(page):
    """Return the integrations for the reference, one for each tool that has one."""
    del page
    folder = DOCS.parent / "src" / "sumbo" / "integrations"
    there = [tool for tool in TOOLS if (folder / f"{tool}.py").exists()]
    return "\n\n".join(f"::: sumbo.integrations.{tool}" for tool in there)


TABLES = {
    "methods": methods_table,
    "abilities": abilities_table,
    "settings": settings_table,
    "problems": problems_table,
    "kernels": kernels_table,
    "decompositions": decompositions_table,
    "references": references_table,
    "method_classes": classes(METHODS),
    "kernel_classes": classes(KERNELS),
    "decomposition_classes": classes(DECOMPOSITIONS),
    "integrations": integrations,
}


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(c) for c in line) + " |" for line in lines)


def summary(cls):
    """Return the first line of the docstring, without its citation."""
    first = (inspect.getdoc(cls) or "").splitlines()[0]
    return first.removeprefix("Return").partition("; [")[0].strip(" ,.")


def _method_link(name, page):
    here = "" if page.startswith("methods/") else "methods/"
    if (DOCS / "methods" / f"{name}.md").exists():
        return f"[`{name}`]({here}{name}.md)"
    if f"\n## {name}\n" in (DOCS / "methods" / "index.md").read_text("utf-8"):
        return f"[`{name}`]({here}index.md#{name})"
    return f"`{name}`"


def _short(value):
    return f"{value:.4g}" if isinstance(value, float) else repr(value)


def _cited(cls):
    text = f"{inspect.getmodule(cls).__doc__} {inspect.getdoc(cls)}"
    found = re.search(r"\[(\w+\d{4}\w*)\]", text)
    return found[1] if found else ""


def _cell(value):
    # A bar would end the cell; inside code a backslash would be shown.
    return html.escape(str(value), quote=False).replace("|", "&#124;")
