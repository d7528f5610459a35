"""``sumbo study``: run, watch, report and export an experiment."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from sumbo import study
from sumbo.cli.output import console, marked, require_writable
from sumbo.errors import ArgumentError
from sumbo.study import tables

app = typer.Typer(
    help="Run, watch, report and export a study.",
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Folder = Annotated[Path, typer.Argument(help="The study's folder.")]


@app.command()
def run(
    design: Annotated[
        Path, typer.Argument(help="A design, such as studies/paper.toml.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the records.")],
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", help="Number of processes; default all cores."),
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler to run on.")
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(help="Seconds that one cell may take.")
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Try failed cells again.")
    ] = False,
    retries: Annotated[
        int, typer.Option(help="How often a failed cell is repeated.")
    ] = 0,
    problems: Annotated[
        str | None, typer.Option(help="Problems to run, such as ackley2,levy5.")
    ] = None,
    methods: Annotated[str | None, typer.Option(help="Methods to run.")] = None,
    batch: Annotated[str | None, typer.Option(help="Batch sizes to run.")] = None,
    replicates: Annotated[
        str | None, typer.Option(help="Replicates to run, such as 0:10 or 3,5.")
    ] = None,
    done: Annotated[
        list[Path] | None,
        typer.Option(help="Folder of rows whose runs are not repeated; repeatable."),
    ] = None,
    quiet: Annotated[bool, typer.Option(help="Show no progress bar.")] = False,
) -> None:
    """Run the cells of a design that are not done yet; safe to interrupt."""
    chosen = study.select(
        study.load_design(design),
        problems=_words(problems),
        methods=_words(methods),
        batch=_sizes(batch),
        replicates=replicates,
    )
    summary = study.run(
        chosen,
        out,
        jobs=jobs,
        scheduler=scheduler,
        timeout=timeout,
        retry_failed=retry_failed,
        retries=retries,
        progress=not quiet,
        done=tuple(done or ()),
    )
    shown = console()
    for problem, reason in summary.skipped:
        shown.print(marked("skipped", "yellow", f"{problem}: {reason}"))
    shown.print(
        f"{summary.done} cells done, {summary.failed} failed, {summary.before} done "
        f"before, of {summary.cells}; {summary.seconds:.0f} s. Next: "
        f"sumbo study report {out}"
    )
    if summary.failed:
        raise typer.Exit(1)


@app.command()
def status(folder: Folder) -> None:
    """Show how far a study is, and what failed."""
    now = study.status(folder)
    shown = console()
    shown.print(
        f"{now.name}: {now.done} of {now.cells} cells done, {len(now.failures)} "
        f"failed, {now.left} left"
    )
    for cell, known in now.unfinished:
        of = cell.n_init + cell.acquisitions
        shown.print(f"unfinished {cell.name}: {known} of {of} evaluations")
    for failure in now.failures:
        reason = f"{failure.cell.name}: {failure.reason}"
        shown.print(marked("failed", "red", reason))


@app.command()
def report(folder: Folder) -> None:
    """Draw the figures and write the report, a single HTML page."""
    show(folder, console())


@app.command()
def export(
    folder: Folder,
    out: Annotated[
        Path | None,
        typer.Option(help="A .parquet or .csv file with one row per evaluation."),
    ] = None,
    rows: Annotated[
        Path | None,
        typer.Option(help="Folder for small files with one row per run."),
    ] = None,
) -> None:
    """Write all evaluations into one table, or add new runs to a folder of rows."""
    shown = console()
    if out is None and rows is None:
        msg = "--out and --rows are both missing. Name a file or a folder."
        raise ArgumentError(msg)
    if out is not None:
        require_writable("--out", out)
        shown.print(f"wrote {study.export(folder, out)}")
    if rows is not None:
        blocks = study.export_rows(folder, rows)
        for block in blocks:
            shown.print(f"wrote {block}")
        if not blocks:
            shown.print(f"{rows} holds all runs already")


def show(folder: Path, shown: Console) -> Path:
    """Return the path of the report after writing it and printing its main table."""
    path = study.report(folder, extra_figures=_illustrations())
    results = study.load(folder)
    for batch in results.batches:
        header, rows, _ = tables.medians(results, batch)
        table = Table(*header, title=f"median best value, batch {batch}")
        for row in rows:
            table.add_row(*[str(cell) for cell in row])
        shown.print(table)
    for answer in study.verdicts(results):
        shown.print(answer.headline)
    shown.print(f"report: {path}")
    return path


def _illustrations() -> list[tuple[str, str, Callable[[Path], Any]]]:
    """Return the two pictures of the model that the report shows."""
    import matplotlib.pyplot as plt

    from sumbo.plots import illustrations

    def drawn_by(draw: Callable[[], Any]) -> Callable[[Path], Any]:
        def save(path: Path) -> None:
            figure = draw().flat[0].figure
            figure.savefig(path, dpi=150, bbox_inches="tight")
            plt.close(figure)

        return save

    return [
        (
            "Exact against additive",
            "A two-dimensional additive Ackley function: truth and posterior mean; "
            "variance with and without bilateral terms; one draw of each kind.",
            drawn_by(illustrations.bilateral),
        ),
        (
            "Bilateral uncertainty",
            "Two parts at one point each: strongly correlated given the data, "
            "independent given the residual.",
            drawn_by(illustrations.conditional_independence),
        ),
    ]


def _sizes(text: str | None) -> tuple[int, ...] | None:
    try:
        return None if text is None else tuple(int(word) for word in text.split(","))
    except ValueError as error:
        msg = f"--batch {text!r} is not a list of batch sizes, as in 1,10."
        raise ArgumentError(msg) from error


def _words(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(word.strip() for word in text.split(","))
