"""How good the answers are, against Optuna, BoTorch and a trust region.

    .venv-rivals/bin/python -m benchmarks.quality run --replicates 0:5 --batch 1
    .venv-rivals/bin/python -m benchmarks.quality report

A study like any other (`quality.toml`): every finished run is a file, a run
that was stopped continues, and the report may be written at any time. Methods whose
library is not installed are left out unless they are named.
"""

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.quality.report import report
from benchmarks.quality.rivals import lacking
from sumbo.errors import SumboError
from sumbo.study.design import Design, load_design, select
from sumbo.study.engine import Summary, run, status
from sumbo.study.storage import filename

DESIGN = Path(__file__).parent / "designs" / "quality.toml"
FOLDER = Path("runs/quality")


def selected(given: argparse.Namespace) -> Design:
    """Return the part of the design that the arguments choose and that can run here.

    Raises:
        SystemExit: If a method is named whose library is missing.
    """
    design = load_design(given.design)
    methods = given.methods
    for method in sorted(design.method_names if methods is None else methods):
        missing = lacking(method)
        if missing and methods is not None:
            msg = f"{method} needs {missing}, which is not installed: make rivals"
            raise SystemExit(msg)
        if missing:
            print(f"left out: {method}, which needs {missing} (make rivals)")
    if methods is None:
        methods = [m for m in sorted(design.method_names) if not lacking(m)]
    return select(
        design,
        problems=given.problems,
        methods=methods,
        batch=given.batch,
        replicates=given.replicates,
    )


def put_away(design: Design, folder: Path) -> int:
    """Return how many records of the selected cells were moved out of the way.

    They are kept in the folder "replaced": a record is never overwritten, and
    sumbo's own methods change while their rivals' results stay.
    """
    moved = 0
    for cell in design.cells():
        path = folder / "records" / filename(cell)
        if path.exists():
            old = folder / "replaced"
            old.mkdir(exist_ok=True)
            count = len(list(old.glob(f"{path.stem}*")))
            path.rename(old / f"{path.stem}.{count}.json")
            moved += 1
    return moved


def measure(given: argparse.Namespace) -> Summary:
    """Return what was done to bring the chosen runs into the folder."""
    design = selected(given)
    if given.again:
        print(f"{put_away(design, given.out)} records are put away and run again")
    return run(
        design,
        given.out,
        jobs=given.jobs,
        timeout=given.timeout,
        retry_failed=given.retry_failed,
    )


def arguments(words: Sequence[str]) -> argparse.Namespace:
    """Return the parsed command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality")
    commands = parser.add_subparsers(dest="command", required=True)
    runner = commands.add_parser("run", help="run what is not yet there")
    writer = commands.add_parser("report", help="write tables and figures")
    for command in (runner, writer):
        command.add_argument("--out", type=Path, default=FOLDER, help="the folder")
        command.add_argument("--methods", type=_names, help="some, with commas")
        command.add_argument("--problems", type=_names, help="some, with commas")
    runner.add_argument("--design", type=Path, default=DESIGN)
    runner.add_argument("--batch", type=int, help="one batch size; default all")
    runner.add_argument("--replicates", help="such as 0:5; default all")
    runner.add_argument("--jobs", type=int, default=1, help="processes")
    runner.add_argument("--timeout", type=float, help="seconds for one run")
    runner.add_argument("--retry-failed", action="store_true")
    runner.add_argument(
        "--again", action="store_true", help="also what is there: the code has changed"
    )
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> None:
    """Run, or write the report.

    Raises:
        SystemExit: If what the arguments ask for cannot be done.
    """
    given = arguments(sys.argv[1:] if words is None else words)
    try:
        if given.command == "report":
            print(report(given.out, methods=given.methods, problems=given.problems))
            return
        done = measure(given)
        state = status(given.out)
    except SumboError as error:
        raise SystemExit(str(error)) from error
    print(
        f"{done.done} runs done in {done.seconds:.0f} s, {done.failed} failed, "
        f"{done.before} were there; the study has {state.done} of {state.cells}."
    )
    for problem, reason in done.skipped:
        print(f"left out: {problem}: {reason}")


def _names(text: str) -> list[str]:
    return [name for name in re.split(r"[,\s]+", text) if name]


if __name__ == "__main__":
    main()
