"""What ``sumbo minimize`` shows and writes at the end of a run."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import typer
from rich.table import Table

from sumbo.cli.output import console, marked, write_text
from sumbo.cli.tables import csv_text
from sumbo.errors import ArgumentError, StudyError
from sumbo.optimizer.recommend import Recommendation
from sumbo.space import Space

STANDARD_OUTPUT = ("-", "/dev/stdout")


def explain(result: Any) -> None:
    """Say why a run has no result."""
    first = [f"the first failure: {f.reason}" for f in result.failures[:1]]
    reason = f"{'; '.join([result.message, *first])}."
    console(stderr=True, soft_wrap=True).print(marked("Error:", "bold red", reason))


def present(
    result: Any, json_file: Path | None, csv_file: Path | None, *, quiet: bool
) -> None:
    """Show the result, and write it if that was asked for.

    Raises:
        ArgumentError: If it cannot be written; it was printed as JSON then.
    """
    if not quiet:
        # Standard output is for the JSON when that was asked for.
        shown = console(stderr=str(json_file) in STANDARD_OUTPUT)
        recommended = _other_recommended(result)
        shown.print(_table(result, recommended))
        shown.print(_ending(result, recommended), markup=False, highlight=False)
    if csv_file is not None:
        _write("--csv", csv_file, csv_text(result))
    if json_file is not None and str(json_file) in STANDARD_OUTPUT:
        typer.echo(_as_json(result))
    elif json_file is not None:
        _write("--json", json_file, f"{_as_json(result)}\n")


def _write(option: str, path: Path, text: str) -> None:
    """Write a file.

    Raises:
        ArgumentError: If it cannot be written; the text was printed then.
    """
    try:
        write_text(path, text)
    except (OSError, StudyError) as error:
        typer.echo(text)
        msg = f"{option} {str(path)!r} cannot be written ({error}). The result is "
        raise ArgumentError(f"{msg}printed instead.") from error


def _table(result: Any, recommended: Recommendation | None) -> Table:
    table = Table(title=f"best value {result.fun:.10g}", title_justify="left")
    columns = [] if result.x is None else [result.x]
    if recommended is not None:
        columns.append(recommended.x)
    table.add_column("parameter")
    table.add_column("value", justify="right")
    if recommended is not None:
        table.add_column("recommended", justify="right")
    points = [result.space.as_dict(x) for x in columns]
    for name in result.space.names if points else ():
        table.add_row(name, *[_shown(point[name]) for point in points])
    return table


def _ending(result: Any, recommended: Recommendation | None) -> str:
    # Not the caption of the table, which would be broken at the width of the table.
    failed = f", {len(result.failed)} failed" if len(result.failed) else ""
    done = f"{result.nfev} evaluations{failed}; {result.message}; seed {result.seed}"
    if recommended is None:
        return done
    mean, sd = f"{recommended.mean:.4g}", f"{recommended.sd:.2g}"
    return f"{done}\nrecommended: expected value {mean}, standard deviation {sd}"


def _shown(value: Any) -> str:
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _other_recommended(result: Any) -> Recommendation | None:
    """Return what the model recommends, None if that is the best point or unknown."""
    if result.x is None:
        return None
    found = result.recommended
    known = np.isfinite(found.sd) and not np.array_equal(found.x, result.x)
    return found if known else None


def _as_json(result: Any) -> str:
    space: Space = result.space
    found = result.x is not None
    outcomes = result["optimizer"].outcomes
    measured = [
        {name: _number(column[i]) for name, column in outcomes.items()}
        for i in range(result.nfev)
    ]
    value = {
        "x": space.as_dict(result.x) if found else None,
        "fun": result.fun if found else None,
        "recommended": _recommended(result) if found else None,
        "nfev": result.nfev,
        "success": bool(result.success),
        "message": result.message,
        "method": result.method,
        "seed": result.seed,
        "evaluations": [
            {
                "x": space.as_dict(x),
                "y": _number(y),
                **({"outcomes": own} if own else {}),
            }
            for x, y, own in zip(
                result.x_iters, result.func_vals, measured, strict=True
            )
        ],
    }
    return json.dumps(value, indent=1)


def _recommended(result: Any) -> dict[str, Any]:
    x, mean, sd = result.recommended
    return {"x": result.space.as_dict(x), "mean": mean, "sd": _number(sd)}


def _number(value: float) -> float | None:
    """Return a number as JSON holds it."""
    return float(value) if np.isfinite(value) else None
