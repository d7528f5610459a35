"""A table of whole points from a CSV file."""

import csv
from pathlib import Path
from typing import Any

from sumbo.errors import ArgumentError
from sumbo.space import Categorical, Space


def read_choices(path: Path, space: Space) -> list[dict[str, Any]]:
    """Return the rows of a file as points; columns of other names are not read.

    Raises:
        ArgumentError: If the file cannot be read, misses a parameter, or holds
            something that is no value of one.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            rows, columns = list(reader), reader.fieldnames or []
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        msg = f"--choices {path} cannot be read: {error}."
        raise ArgumentError(msg) from error
    missing = [name for name in space.names if name not in columns]
    if missing:
        msg = f"--choices {path} has the columns {columns} and misses {missing}."
        raise ArgumentError(f"{msg} Name a column after each parameter.")
    return [_point(row, i, space, path) for i, row in enumerate(rows, start=2)]


def _point(row: dict[str, Any], line: int, space: Space, path: Path) -> dict[str, Any]:
    point = {}
    for parameter in space.parameters:
        text = row[parameter.name]
        try:
            point[parameter.name] = _value(parameter, text)
        except (TypeError, ValueError) as error:
            msg = f"--choices {path} holds {text!r} for {parameter.name!r} in line "
            msg += f"{line}, which is no value of this parameter. Correct it."
            raise ArgumentError(msg) from error
    return point


def _value(parameter: Any, text: str) -> Any:
    if isinstance(parameter, Categorical):
        named = {str(choice): choice for choice in parameter.choices}
        if text not in named:
            raise ValueError(text)
        return named[text]
    return float(text)
