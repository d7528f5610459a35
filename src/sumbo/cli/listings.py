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
from sumbo.problems.base import available, info
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
            table.add_row(key, cls.label, _summary(cls), cls.cite)
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
    plot: Annotated[bool, typer.Option("--plot", help="Draw it (see --out).")] = False,
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
    row = info(name)
    ready, reason = available(name)
    table = Table(title=name, show_header=False)
    for field in dataclasses.fields(row):
        table.add_row(field.name, str(getattr(row, field.name)))
    table.add_row("installed", "yes" if ready else f"no: {reason}")
    shown.print(table)
    if plot:
        path = out or Path(f"{file_stem(name)}.png")
        _require_picture(path)
        _draw(name, seed, path)
        shown.print(f"wrote {path}")


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
