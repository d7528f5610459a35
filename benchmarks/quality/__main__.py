"""Run the quality benchmark, or write its report.

    .venv-rivals/bin/python -m benchmarks.quality run --replicates 0:5 --batch 1
    .venv-rivals/bin/python -m benchmarks.quality report

The benchmark compares the values that sumbo, Optuna, BoTorch and a trust region find.
It is a study like any other, described by a file in ``designs``. Every finished run is
one file, so a stopped benchmark continues where it was, and the report can be written
at any time. Methods whose library is not installed are skipped. If such a method is
named with ``--methods``, the command stops instead.
"""

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.quality.report import report
from benchmarks.quality.rivals import lacking
from sumbo.errors import SumboError
from sumbo.study.design import Design, select
from sumbo.study.engine import Summary, run, status
from sumbo.study.reading import load_design
from sumbo.study.storage import filename

DESIGN = Path(__file__).parent / "designs" / "quality.toml"
FOLDER = Path("runs/quality")


def selected(given: argparse.Namespace) -> Design:
    """Return the part of the design that was selected and can run on this machine.

    Raises:
        SystemExit: If a method is named whose library is missing.
    """
    design = load_design(given.design)
    methods = given.methods
    for method in sorted(design.method_names if methods is None else methods):
        missing = lacking(method)
        if missing and methods is not None:
            msg = f"{method} needs {missing}, which is not installed. Run: make rivals"
            raise SystemExit(msg)
        if missing:
            print(f"skipped: {method} needs {missing}, which make rivals installs")
    if methods is None:
        methods = [m for m in sorted(design.method_names) if not lacking(m)]
    return select(
        design,
        problems=given.problems,
        methods=methods,
        batch=given.batch,
        replicates=given.replicates,
    )


def archive(design: Design, folder: Path) -> int:
    """Return how many records of the selected cells were moved to ``replaced``.

    A record is never overwritten. Its cell runs again once the record has moved. This
    is needed when a method of sumbo has changed; the records of the rivals stay.
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
    """Return the summary of the runs, after running the selected cells."""
    design = selected(given)
    if given.again:
        print(f"{archive(design, given.out)} records moved to replaced; they run again")
    return run(
        design,
        given.out,
        jobs=given.jobs,
        timeout=given.timeout,
        retry_failed=given.retry_failed,
        done=[folder for folder in given.done if folder.exists()],
    )


def arguments(words: Sequence[str]) -> argparse.Namespace:
    """Return the parsed command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality")
    commands = parser.add_subparsers(dest="command", required=True)
    runner = commands.add_parser("run", help="run all cells that have no record")
    writer = commands.add_parser("report", help="write tables and figures")
    for command in (runner, writer):
        command.add_argument("--out", type=Path, default=FOLDER, help="folder of runs")
        command.add_argument("--methods", type=_names, help="a,b; default all")
        command.add_argument("--problems", type=_names, help="a,b; default all")
    runner.add_argument("--design", type=Path, default=DESIGN, help="a TOML file")
    runner.add_argument("--batch", type=int, help="one batch size; default all")
    runner.add_argument("--replicates", help="for example 0:5; default all")
    runner.add_argument("--jobs", type=int, default=1, help="number of processes")
    runner.add_argument(
        "--done",
        type=Path,
        nargs="*",
        default=[],
        help="folders of rows whose runs are not repeated",
    )
    runner.add_argument("--timeout", type=float, help="limit for one run, in seconds")
    runner.add_argument(
        "--retry-failed", action="store_true", help="also run cells that failed"
    )
    runner.add_argument(
        "--again", action="store_true", help="also run cells that have a record"
    )
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> None:
    """Run the benchmark or write its report, as the command line says.

    Raises:
        SystemExit: If the command cannot be carried out.
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
        f"{done.before} had a record; the study has {state.done} of {state.cells}."
    )
    for problem, reason in done.skipped:
        print(f"skipped: {problem}: {reason}")


def _names(text: str) -> list[str]:
    return [name for name in re.split(r"[,\s]+", text) if name]


if __name__ == "__main__":
    main()
