"""The ``sumbo`` command and its sub-commands."""

import sys
from typing import Annotated

import typer
from rich.console import Console

import sumbo
from sumbo.cli import demo, listings, minimize, study
from sumbo.cli.parameters import Ordered
from sumbo.errors import SumboError


class _Typer(typer.Typer):
    """A Typer whose commands end with one line when sumbo refuses something."""

    def __call__(self, *args: object, **kwargs: object) -> object:
        try:
            return super().__call__(*args, **kwargs)
        except SumboError as error:
            console = Console(stderr=True)
            console.print(f"[bold red]Error:[/] {error}", highlight=False)
            sys.exit(2)


app = _Typer(
    name="sumbo",
    help="Bayesian optimization for functions that are (nearly) sums of parts.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(show: bool) -> bool:
    if show:
        typer.echo(f"sumbo {sumbo.__version__}")
        raise typer.Exit
    return show


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show it."),
    ] = False,
) -> None:
    """Bayesian optimization for functions that are (nearly) sums of parts."""
    del version


app.command("minimize", cls=Ordered)(minimize.minimize)
app.command("methods")(listings.methods)
app.command("problems")(listings.problems)
app.command("demo")(demo.demo)
app.add_typer(study.app, name="study")
