"""``sumbo report``: the page of a run, once or whenever the run goes on."""

from pathlib import Path
from typing import Annotated

import typer

from sumbo.cli.output import console, require_writable
from sumbo.errors import ArgumentError


def report(
    run: Annotated[
        Path, typer.Argument(help="File of a run, from --checkpoint or Optimizer.save.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="File of the page; default RUN.html beside the run."),
    ] = None,
    title: Annotated[str, typer.Option(help="The heading of the page.")] = "",
    watch: Annotated[
        bool,
        typer.Option(
            "--watch",
            help="Write the page again whenever the run changes, until Ctrl-C. An "
            "open page reloads itself.",
        ),
    ] = False,
) -> None:
    """Write one HTML page on a run, finished or not, for others to read.

    \b
    sumbo report run.npz --out report.html
    sumbo report run.npz --out report.html --watch   # beside a run that goes on
    """  # noqa: D301 (\b keeps the lines of the example apart)
    # Imported here, because the other commands do not need it.
    from sumbo.report import files

    target = out or run.with_suffix(".html")
    if target.resolve() == run.resolve():
        msg = f"--out {str(target)!r} is the run itself. Choose another file."
        raise ArgumentError(msg)
    require_writable("--out", target)
    shown = console()
    if watch:
        files.watch(run, target, title=title, said=shown.print)
        return
    files.report_file(run, target, title=title)
    shown.print(f"wrote {target}")
