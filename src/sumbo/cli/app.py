"""The ``sumbo`` command and its sub-commands."""

import sys
from typing import Annotated

import typer

import sumbo
from sumbo.cli import demo, listings, minimize, output, study
from sumbo.cli.parameters import Ordered
from sumbo.errors import SumboError


class _Typer(typer.Typer):
    """A Typer whose commands end with one line when something is refused."""

    def __call__(self, *args: object, **kwargs: object) -> object:
        output.survive_odd_text()
        try:
            return super().__call__(*args, **kwargs)
        except (SumboError, OSError, MemoryError) as error:
            reason = str(error) or type(error).__name__
            line = output.marked("Error:", "bold red", reason)
            output.console(stderr=True, soft_wrap=True).print(line)
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
