"""``sumbo minimize``: a black box in any language, with progress and resume."""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from sumbo.cli import program, storage as storage_options
from sumbo.cli.choices import read_choices
from sumbo.cli.objective import Command, load_function
from sumbo.cli.output import console, marked, require_writable
from sumbo.cli.parameters import (
    declared,
    groups_from_text,
    outcome_of,
    settings_of,
    space_of,
)
from sumbo.cli.results import STANDARD_OUTPUT, explain, present
from sumbo.cli.tables import VALUE, read_rows
from sumbo.errors import ArgumentError, CheckpointError, EvaluationError
from sumbo.optimizer.evaluation import as_evaluation
from sumbo.optimizer.show import point_text
from sumbo.space import Outcome, Space

_INTERRUPTED = 130  # as shells count it: 128 + SIGINT


def minimize(
    ctx: typer.Context,
    function: Annotated[
        str | None,
        typer.Argument(help="The objective: package.module:function or file.py:f."),
    ] = None,
    command: Annotated[
        str | None,
        typer.Option(
            help="A program as the objective, with {name} for each parameter. It runs "
            "without a shell. The last line that it prints is the value."
        ),
    ] = None,
    bounds: Annotated[
        list[str] | None,
        typer.Option(help="LO:HI of a real parameter, or LO:HI*TIMES. Repeatable."),
    ] = None,
    real: Annotated[
        list[str] | None,
        typer.Option(help="Real parameter NAME:LO:HI[:log]. Repeatable."),
    ] = None,
    integer: Annotated[
        list[str] | None,
        typer.Option(help="Integer parameter NAME:LO:HI[:log]. Repeatable."),
    ] = None,
    choice: Annotated[
        list[str] | None,
        typer.Option(help="Categorical parameter NAME:A,B,C. Repeatable."),
    ] = None,
    simplex: Annotated[
        list[str] | None,
        typer.Option(
            help="Mixture NAME:K of the shares NAME0, NAME1, …, whose sum is one. "
            "Repeatable."
        ),
    ] = None,
    constraint: Annotated[
        list[str] | None,
        typer.Option(help="Linear constraint, such as 'a + 2*b <= 1'. Repeatable."),
    ] = None,
    outcome: Annotated[
        list[str] | None,
        typer.Option(
            help="Limits NAME:LOWER:UPPER of a measured outcome, such as stress::200. "
            "Repeatable."
        ),
    ] = None,
    maximize: Annotated[
        bool, typer.Option("--maximize", help="Search for the largest value.")
    ] = False,
    budget: Annotated[int, typer.Option(help="Number of evaluations in all.")] = 120,
    stop: Annotated[
        float | None,
        typer.Option(help="Stop when the expected remaining gain is below this."),
    ] = None,
    method: Annotated[str, typer.Option(help="Name from `sumbo methods`.")] = "logei",
    batch: Annotated[int, typer.Option(help="Number of points asked at once.")] = 1,
    groups: Annotated[
        str | None,
        typer.Option(
            help="auto (learned), tree, singletons, one, random, or groups as 'a,b;c'."
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Makes the run repeatable.")] = None,
    n_init: Annotated[
        int, typer.Option(help="Random evaluations before the model.")
    ] = 20,
    workers: Annotated[int, typer.Option(help="Number of evaluations at a time.")] = 1,
    timeout: Annotated[
        float | None, typer.Option(help="Seconds after which --command is ended.")
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="File that keeps the run. If it exists, the run continues from it."
        ),
    ] = None,
    on_error: Annotated[
        str, typer.Option(help="What happens after a failed evaluation: skip or raise.")
    ] = "skip",
    retries: Annotated[
        int, typer.Option(help="How often a failed evaluation is repeated.")
    ] = 0,
    choices: Annotated[
        Path | None,
        typer.Option(
            help="CSV file of designs, with a column per parameter; only its rows "
            "are evaluated."
        ),
    ] = None,
    repeats: Annotated[
        bool, typer.Option(help="Whether rows of --choices may be evaluated again.")
    ] = False,
    preset: Annotated[
        str | None,
        typer.Option(help="'paper' or 'paper-author': settings as in the paper."),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", help="Setting KEY=VALUE of the method. Repeatable."),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="CSV file of earlier evaluations, with a column 'value'."),
    ] = None,
    csv_file: Annotated[
        Path | None, typer.Option("--csv", help="CSV file for all evaluations.")
    ] = None,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", help="JSON file for the result; - for standard output."),
    ] = None,
    quiet: Annotated[bool, typer.Option(help="Show no progress and no table.")] = False,
    storage: Annotated[
        str | None,
        typer.Option(
            help="Share the run with other processes: sqlite:///run.db, "
            "postgresql://…, mysql://…, or journal:run.log."
        ),
    ] = None,
    study: Annotated[
        str | None, typer.Option(help="Name of the run in the storage.")
    ] = None,
    heartbeat: Annotated[
        int,
        typer.Option(
            help="With a database: seconds between two signs of life. A worker that is "
            "silent for three times as long counts as dead."
        ),
    ] = 30,
    wait: Annotated[
        bool,
        typer.Option(help="With a storage: at the end, wait for other workers."),
    ] = True,
) -> None:
    """Minimise, or maximise, a Python function or a program.

    \b
    sumbo minimize mypackage.model:loss --bounds 0:1*5 --budget 60
    sumbo minimize ./model.py:loss --bounds 0:1*5 --csv evaluations.csv
    sumbo minimize --command './simulate --a {a} --b {b}' \\
        --real a:0:1 --real b:1e-4:1:log --workers 4 --checkpoint run.npz
    sumbo minimize mypackage.model:loss --bounds 0:1*5 \\
        --storage sqlite:///run.db --study run1   # in as many processes as you like
    A function gets the parameters in the order of the options.
    """  # noqa: D301 (\b keeps the lines of the example apart)
    minimiser = storage_options.minimiser(storage, study, heartbeat, wait=wait)
    space = space_of(
        declared(
            ctx,
            bounds=bounds,
            real=real,
            integer=integer,
            choice=choice,
            simplex=simplex,
        )
    )
    objective = _objective(function, command, space, timeout)
    if json_file is not None and str(json_file) not in STANDARD_OUTPUT:
        require_writable("--json", json_file)
    if csv_file is not None:
        require_writable("--csv", csv_file)
    limits = [outcome_of(text) for text in outcome or []]
    options: dict[str, Any] = {
        **_earlier(data, space, limits),
        "maximize": maximize,
        "budget": budget,
        "stop": stop,
        "method": method,
        "batch": batch,
        "groups": groups_from_text(groups),
        "seed": seed,
        "n_init": n_init,
        "workers": workers,
        "checkpoint": checkpoint,
        "on_error": on_error,
        "retries": retries,
        "choices": None if choices is None else read_choices(choices, space),
        "repeats": repeats or None,  # otherwise noise decides
        "preset": preset,
        "constraints": [*(constraint or []), *limits],
        **settings_of(setting or []),
    }
    out = console(stderr=True, quiet=quiet)
    try:
        checked = _checked(objective, limits)
        result = _run(minimiser, checked, space, options, out)
    except (EvaluationError, CheckpointError) as error:
        if error.result is not None:  # the values so far, which nobody else has
            present(error.result, json_file, csv_file, quiet=quiet)
        raise
    present(result, json_file, csv_file, quiet=quiet)
    if checkpoint is not None and result.nit == 0 and result.nfev >= budget:
        out.print(
            f"{checkpoint} holds a finished run of {result.nfev} evaluations. Pass a "
            "larger --budget to continue it."
        )
    if result.status == _INTERRUPTED:
        _end_now()
    if not result.success:
        if quiet:  # otherwise the table says so, and failures were shown
            explain(result)
        raise typer.Exit(1)


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Within it, a signal that would end this process ends the run in good order."""
    names = ("SIGTERM", "SIGHUP")  # of the system's shutdown, and of a closed terminal
    signals = [getattr(signal, name) for name in names if hasattr(signal, name)]
    taken = [s for s in signals if signal.getsignal(s) is signal.SIG_DFL]
    if threading.current_thread() is not threading.main_thread():
        taken = []
    for number in taken:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)
        program.stop_all()  # those of other threads; nobody waits for them any more


def _end_now() -> None:
    """End with the exit code of an interrupt, though evaluations may still run.

    Raises:
        Exit: If nothing runs any more.
    """
    current = threading.current_thread()
    if any(t is not current and not t.daemon for t in threading.enumerate()):
        # A Python function cannot be stopped, and the interpreter would wait for it.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(_INTERRUPTED)
    raise typer.Exit(_INTERRUPTED)


def _objective(
    function: str | None, command: str | None, space: Space, timeout: float | None
) -> Any:
    if (function is None) == (command is None):
        msg = "pass either package.module:function or --command, not both or neither."
        raise ArgumentError(msg)
    if command is not None:
        program_of = Command.of(command, space, timeout)
        program_of.require_all_used()
        return program_of
    if timeout is not None:
        msg = "--timeout works with --command only: a function cannot be stopped."
        raise ArgumentError(msg)
    return load_function(str(function))


def _checked(objective: Any, limits: Sequence[Outcome]) -> Any:
    """Return the objective, with an error where it returns what cannot be used.

    The run would note the same error; here it is shown when it happens.
    """

    def evaluate(x: Any) -> Any:
        returned = objective(x)
        as_evaluation(returned, limits)
        return returned

    return evaluate


def _earlier(
    data: Path | None, space: Space, limits: Sequence[Outcome]
) -> dict[str, Any]:
    """Return earlier evaluations as arguments of ``minimize``."""
    names = [limit.name for limit in limits]
    rows = [] if data is None else read_rows(data, space, names)
    return {"x0": rows, "y0": VALUE} if rows else {}


def _run(
    minimiser: Any, objective: Any, space: Space, options: dict[str, Any], shown: Any
) -> Any:
    columns = (
        TextColumn("{task.description}", style="bold", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("best {task.fields[best]}{task.fields[feasible]}"),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    progress = Progress(*columns, console=shown)
    unknown: dict[str, Any] = {"best": "–", "feasible": "", "rate": ""}
    task = progress.add_task(options["method"], total=options["budget"], **unknown)
    with _interruptible(), contextlib.ExitStack() as stack:
        stack.callback(lambda: progress.live.is_started and progress.stop())

        def evaluate(x: Any) -> Any:
            progress.start()  # not before: a wrong argument is reported without a bar
            try:
                return objective(x)
            except Exception as error:
                where = point_text(space.as_dict(x))
                shown.print(marked("failed", "red", f"at {where}: {error}"))
                raise

        def show(result: Any) -> None:
            progress.update(task, completed=result.nfev, **_state(result))
            speed = progress.tasks[task].speed
            progress.update(task, rate=rate_text(speed))

        return minimiser(evaluate, space, callback=show, **options)


def _state(result: Any) -> dict[str, Any]:
    """Return what the progress line says of a run: best value, feasible points."""
    best = "–" if result.x is None else f"{result.fun:.6g}"
    opt = result.get("optimizer")
    if opt is None or not (opt.limits or opt.space.constraints):
        return {"best": best, "feasible": ""}
    feasible = int(np.isfinite(opt.feasible_y).sum())
    return {"best": best, "feasible": f", {feasible} feasible"}


def rate_text(speed: float | None) -> str:
    """Return evaluations per second, or seconds per evaluation where that is longer."""
    if not speed:
        return ""
    return f"{speed:.3g}/s" if speed >= 1 else f"{1 / speed:.3g} s each"
