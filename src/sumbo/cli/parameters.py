"""Parameters, groups and settings as they are written on the command line."""

import json
from typing import Any

from sumbo.errors import ArgumentError
from sumbo.space import Categorical, Integer, Parameter, Real, Space


def space_of(
    bounds: list[str], real: list[str], integer: list[str], choice: list[str]
) -> Space:
    """Return the space that the options declare, numbered bounds first.

    Raises:
        ArgumentError: If an option cannot be read, or there is none.
    """
    parameters: list[Parameter] = []
    for text in bounds:
        pair, _, times = text.partition("*")
        fields = pair.split(":")
        if len(fields) != 2 or (times and not times.isdigit()):
            msg = f"--bounds {text!r} is not LO:HI, or LO:HI*TIMES, as in 0:1*10."
            raise ArgumentError(msg)
        lo, hi = (_number(field, "--bounds", text) for field in fields)
        for _ in range(int(times or 1)):
            parameters.append(Real(f"x{len(parameters)}", lo, hi))
    parameters += [_numeric(Real, "--real", text) for text in real]
    parameters += [_numeric(Integer, "--integer", text) for text in integer]
    parameters += [_choice(text) for text in choice]
    if not parameters:
        msg = "no parameters. Declare some: --bounds 0:1*5, or --real rate:1e-4:1:log."
        raise ArgumentError(msg)
    return Space(parameters=tuple(parameters))


def groups_of(text: str | None) -> Any:
    """Return groups from ``a,b;c``, the name of a decomposition as it is."""
    if text is None or not any(mark in text for mark in ",;"):
        return text
    groups = [[word.strip() for word in part.split(",")] for part in text.split(";")]
    return [[int(w) if w.isdigit() else w for w in g if w] for g in groups]


def settings_of(pairs: list[str]) -> dict[str, Any]:
    """Return method settings from ``key=value`` options; values are read as JSON.

    Raises:
        ArgumentError: If an option has no ``=``.
    """
    out: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            msg = f"--set {pair!r} is not KEY=VALUE, as in candidates=300."
            raise ArgumentError(msg)
        try:
            out[key.strip()] = json.loads(value)
        except json.JSONDecodeError:
            out[key.strip()] = value
    return out


def _numeric(kind: type[Real] | type[Integer], option: str, text: str) -> Parameter:
    fields = text.split(":")
    if len(fields) not in (3, 4) or (len(fields) == 4 and fields[3] != "log"):
        msg = f"{option} {text!r} is not NAME:LO:HI or NAME:LO:HI:log."
        raise ArgumentError(msg)
    lo, hi = (_number(field, option, text) for field in fields[1:3])
    return kind(fields[0], lo, hi, log=len(fields) == 4)


def _choice(text: str) -> Categorical:
    name, colon, choices = text.partition(":")
    if not colon:
        msg = f"--choice {text!r} is not NAME:A,B,C."
        raise ArgumentError(msg)
    return Categorical(name, tuple(c.strip() for c in choices.split(",")))


def _number(field: str, option: str, text: str) -> float:
    try:
        return float(field)
    except ValueError as error:
        msg = f"{option} {text!r}: {field!r} is not a number."
        raise ArgumentError(msg) from error
