"""Tables of evaluations as CSV files: earlier ones read, those of a run written."""

import csv
import io
import reprlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sumbo.errors import ArgumentError
from sumbo.optimizer.result import Result, columns_of
from sumbo.space import Categorical, Integer, Parameter, Space

VALUE = "value"  # the column of the values, as ``Result.to_frame`` writes it
_KNOWN = (VALUE, "failed", "noise")


def read_rows(
    path: Path, space: Space, outcomes: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """Return the evaluations of a CSV file as dictionaries.

    It needs a column per parameter and one called ``value``. The columns ``failed``
    and ``noise`` and those of outcomes are read too if they are there, others are not.

    Raises:
        ArgumentError: If the file cannot be read, lacks a column, or holds a value
            that is none.
    """
    option = f"--data {str(path)!r}"
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            rows, found = list(reader), reader.fieldnames or []
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise ArgumentError(f"{option} cannot be read: {reason}.") from error
    missing = [name for name in (*space.names, VALUE) if name not in found]
    if missing or VALUE in space.names:
        what = f"lacks the columns {missing}" if missing else "has a parameter 'value'"
        msg = f"{option} {what}; it has {reprlib.repr(list(found))}. Name one column "
        raise ArgumentError(f"{msg}per parameter, and 'value'.")
    known = [name for name in (*_KNOWN, *outcomes) if name not in space.names]
    return [
        _row(row, space, known, f"{option}, row {i}") for i, row in enumerate(rows, 1)
    ]


def csv_text(result: Result) -> str:
    """Return a CSV file, one row per evaluation, with the columns of ``to_frame``."""
    columns = columns_of(result["optimizer"])
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        # NaN is an empty cell: a failed evaluation, or a noise that is not known.
        writer.writerow(["" if cell != cell else cell for cell in row])
    return file.getvalue()


def _row(
    row: dict[str, Any], space: Space, known: Sequence[str], where: str
) -> dict[str, Any]:
    out: dict[str, Any] = {
        p.name: _cell(p, row[p.name], where) for p in space.parameters
    }
    failed = (row.get("failed") or "").strip()
    for name in known:
        text = (row.get(name) or "").strip()
        if name == "failed":
            continue
        if text:
            out[name] = _number(text, f"{where}, {name}")
        elif name == VALUE and failed.lower() not in ("true", "1"):
            msg = f"{where} has no value. Write true in a column 'failed', or leave the"
            raise ArgumentError(f"{msg} row out.")
        else:
            out[name] = float("nan")
    out["failed"] = failed
    return out


def _cell(p: Parameter, text: Any, where: str) -> Any:
    """Return a cell as a value of its parameter; the space checks it."""
    text = (text or "").strip()
    if isinstance(p, Categorical):
        named = {str(choice): choice for choice in p.choices}
        if text not in named:
            msg = f"{where}: {p.name}={text!r} is no choice. Use one of {p.choices}."
            raise ArgumentError(msg)
        return named[text]
    number = _number(text, f"{where}, {p.name}")
    return int(number) if isinstance(p, Integer) and number.is_integer() else number


def _number(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise ArgumentError(f"{where}: {text!r} is not a number.") from error
