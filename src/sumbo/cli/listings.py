"""``sumbo methods`` and ``sumbo problems``: what there is, and what it needs."""

import dataclasses
import inspect
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from sumbo import problems as all_problems
from sumbo.cli.output import console, require_writable
from sumbo.errors import ArgumentError
from sumbo.methods import METHODS
from sumbo.optimizer import minimize
from sumbo.problems.base import Problem, available, info
from sumbo.problems.shear.files import locate
from sumbo.study.storage import file_stem


def methods(
    name: Annotated[
        str | None, typer.Argument(help="Show this method's settings.")
    ] = None,
) -> None:
    """List the methods, or the settings of one."""
    shown = console()
    if name is None:
        table = Table("method", "label", "what it returns", "cite")
        for key in METHODS.names():
            cls = METHODS.get(key)
            shown_as = f"{key} (default)" if key == _default_method() else key
            table.add_row(shown_as, cls.label, _summary(cls), cls.cite)
        shown.print(table)
        return
    cls = METHODS.get(name)
    shown.print(inspect.getdoc(cls) or "")
    columns = [f"preset {preset}" for preset in cls.presets]
    table = Table("setting", "default", *columns, title=f"settings of {name}")
    for field in dataclasses.fields(cls):  # pyright: ignore[reportArgumentType]
        presets = [
            repr(settings[field.name]) if field.name in settings else ""
            for settings in cls.presets.values()
        ]
        table.add_row(field.name, repr(field.default), *presets)
    shown.print(table)


def problems(
    name: Annotated[
        str | None,
        typer.Argument(help="Describe this problem, or `fetch` to download data."),
    ] = None,
    of: Annotated[
        str | None, typer.Argument(help="After fetch: whose data to download.")
    ] = None,
    plot: Annotated[
        bool, typer.Option("--plot", help="Draw the problem (see --out).")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="File of the picture; default NAME.png.")
    ] = None,
    seed: Annotated[
        int, typer.Option(help="Instance to draw, for problems that have several.")
    ] = 0,
) -> None:
    """List the test problems, or describe and draw one."""
    shown = console()
    if name is None:
        table = Table("problem", "dim", "cost", "needs", "installed", "what it is")
        for key in all_problems.names():
            row = info(key)
            ready = "yes" if available(key)[0] else "no"
            table.add_row(
                key, str(row.dim), row.cost, row.needs or "–", ready, row.description
            )
        shown.print(table)
        return
    if name == "fetch":
        _fetch(of, shown)
        return
    table = Table(title=name, show_header=False)
    for what, text in _described(name, seed):
        table.add_row(what, text)
    shown.print(table)
    if plot:
        path = out or Path(f"{file_stem(name)}.png")
        _require_picture(path)
        _draw(name, seed, path)
        shown.print(f"wrote {path}")


def _described(name: str, seed: int) -> list[tuple[str, str]]:
    """Return what a user wants to know of a problem, as pairs of texts."""
    row = info(name)
    ready, reason = available(name)
    about = [("what it is", row.description)]
    if ready:
        p = all_problems.get(name, **({"seed": seed} if row.seeded else {}))
        about += [("parameters", _parameters(p)), ("groups", _groups(p))]
        about.append(("minimum", _minimum(p)))
    elif row.dim is not None:
        about.append(("parameters", f"{row.dim}"))
    settings = ", ".join(f"{k}={v!r}" for k, v in row.settings.items())
    about += [("settings", settings or "none"), ("cost", f"{row.cost} per evaluation")]
    needs = f'pip install "sumbo[{row.needs}]"' if row.needs else "nothing more"
    about += [("needs", needs), ("cite", f"{row.cite}, see the page References")]
    return [*about, ("installed", "yes" if ready else f"no: {reason}")]


def _parameters(p: Problem) -> str:
    """Return names and bounds, one line each, or one line if all are alike."""
    rows = [f"[{lo:g}, {hi:g}]" for lo, hi in p.bounds]
    if len(set(rows)) == 1:
        first, last = p.parameters[0], p.parameters[-1]
        return f"{p.dim}, {first} to {last}, all in {rows[0]}"
    width = max(len(name) for name in p.parameters)
    pairs = zip(p.parameters, rows, strict=True)
    return "\n".join(f"{name:<{width}}  {row}" for name, row in pairs)


def _groups(p: Problem) -> str:
    if p.groups is None:
        return "not known"
    if all(len(group) == 1 for group in p.groups):
        return "every parameter alone: a sum of functions of one parameter"
    named = (", ".join(p.parameters[i] for i in group) for group in p.groups)
    return "; ".join(named)


def _minimum(p: Problem) -> str:
    if p.best_known is None:
        return "not known"
    return f"{p.best_known:.10g}, {'exact' if p.exact else 'the lowest value found'}"


def _default_method() -> str:
    return inspect.signature(minimize).parameters["method"].default


def _fetch(name: str | None, shown: Console) -> None:
    if name is None:
        shown.print("Name a problem: sumbo problems fetch kids-1000")
        raise typer.Exit(2)
    for file in info(name).data:
        shown.print(f"{locate(file, problem=name)}", soft_wrap=True)
    if not info(name).data:
        shown.print(f"{name} needs no data files.")


def _require_picture(path: Path) -> None:
    from matplotlib.figure import Figure

    known = Figure().canvas.get_supported_filetypes()
    if path.suffix.lower().removeprefix(".") not in known:
        msg = f"--out {str(path)!r} does not end as a picture does. Choose .png, .svg "
        raise ArgumentError(f"{msg}or .pdf.")
    require_writable("--out", path)


def _draw(name: str, seed: int, path: Path) -> None:
    import matplotlib.pyplot as plt

    from sumbo import plots

    settings: dict[str, Any] = {"seed": seed} if info(name).seeded else {}
    figure: Any = plots.problem(all_problems.get(name, **settings)).figure
    figure.savefig(path, dpi=150, bbox_inches="tight")
    plt.close(figure)


def _summary(cls: type) -> str:
    first = (inspect.getdoc(cls) or "").splitlines()[0]
    return first.removeprefix("Return").partition("; [")[0].strip(" ,.")
