"""The ``sumbo`` command and its sub-commands."""

import importlib
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

import sumbo
from sumbo.cli import output

# Sub-commands in the order of the help page: where they are, and their first line.
# They are imported when they are called, so that the help page needs none of them.
COMMANDS = {
    "minimize": (
        "sumbo.cli.minimize:minimize",
        "Minimise, or maximise, a Python function or a program.",
    ),
    "report": (
        "sumbo.cli.report:report",
        "Write one HTML page on a run, finished or not, for others to read.",
    ),
    "methods": (
        "sumbo.cli.listings:methods",
        "List the methods, or the settings of one.",
    ),
    "problems": (
        "sumbo.cli.listings:problems",
        "List the test problems, or describe and draw one.",
    ),
    "demo": (
        "sumbo.cli.demo:demo",
        "Minimise the cost of a simulated kiln, then run a small study.",
    ),
    "study": ("sumbo.cli.study:app", "Run, watch, report and export a study."),
}
_SETTINGS = {"help_option_names": ["-h", "--help"]}


class _Deferred(TyperGroup):
    """A group whose commands are imported when one of them is called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the name, the command and the arguments that are left."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, None if name is None else command(name), rest


def command(name: str) -> Any:
    """Return the sub-command of that name, imported now."""
    module, _, attribute = COMMANDS[name][0].partition(":")
    found = getattr(importlib.import_module(module), attribute)
    if isinstance(found, typer.Typer):
        return get_command(found)
    from sumbo.cli.parameters import Ordered

    single = typer.Typer(add_completion=False, context_settings=_SETTINGS)
    single.command(name, cls=Ordered)(found)
    return get_command(single)


class _Typer(typer.Typer):
    """A Typer whose commands end with one line when something is refused."""

    def __call__(self, *args: object, **kwargs: object) -> object:
        output.survive_odd_text()
        try:
            return super().__call__(*args, **kwargs)
        except Exception as error:
            from sumbo.errors import SumboError  # after NumPy, which help needs not

            if not isinstance(error, SumboError | OSError | MemoryError):
                raise
            reason = str(error) or type(error).__name__
            line = output.marked("Error:", "bold red", reason)
            output.console(stderr=True, soft_wrap=True).print(line)
            sys.exit(2)


app = _Typer(
    name="sumbo",
    cls=_Deferred,
    help="Bayesian optimization for functions that are (nearly) sums of parts.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings=_SETTINGS,
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
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Show the version."
        ),
    ] = False,
) -> None:
    """Bayesian optimization for functions that are (nearly) sums of parts."""
    del version


def _placeholder() -> None:
    """Stand for a command that is not imported yet."""


for _name, (_, _line) in COMMANDS.items():
    app.command(_name, help=_line)(_placeholder)
