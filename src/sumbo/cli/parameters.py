"""Parameters, groups and settings as they are written on the command line."""

import json
from collections.abc import Callable, Sequence
from functools import partial
from inspect import signature
from typing import Any

import typer
from typer.core import TyperCommand

from sumbo.errors import ArgumentError
from sumbo.optimizer import minimize
from sumbo.space import (
    Categorical,
    Integer,
    Outcome,
    Parameter,
    Real,
    Simplex,
    Space,
)

_MOST_PARAMETERS = 100_000  # more are a slip, and would fill the memory
_GIVEN = "sumbo.given"  # names of the options, in a context's meta


class Ordered(TyperCommand):
    """A command that remembers the order of all its options, whatever their kind.

    Typer hands over one list per option. A function takes its parameters by position,
    so the order across those lists decides what its arguments mean.
    """

    context_class = typer.Context

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Return the arguments left over, after noting the options that were given."""
        _, _, given = self.make_parser(ctx).parse_args(args=list(args))
        ctx.meta[_GIVEN] = [option.name for option in given]
        return super().parse_args(ctx, args)


def declared(ctx: Any, **values: list[str] | None) -> list[tuple[str, str]]:
    """Return (option, text) for the repeatable options ``values``, as they were given.

    ``ctx`` is the context of an ``Ordered`` command.
    """
    texts = {option: iter(given or []) for option, given in values.items()}
    return [(name, next(texts[name])) for name in ctx.meta[_GIVEN] if name in texts]


def space_of(options: Sequence[tuple[str, str]]) -> Space:
    """Return the space that (option, text) pairs declare, in their order.

    Raises:
        ArgumentError: If an option cannot be read, or there is none.
    """
    parameters: list[Parameter | Simplex] = []
    unnamed = 0
    for option, text in options:
        if option == "bounds":
            new = _bounds(text, unnamed)
            unnamed += len(new)
            parameters += new
        else:
            parameters.append(_NAMED[option](text))
    if not parameters:
        msg = "no parameters. Declare some: --bounds 0:1*5, or --real rate:1e-4:1:log."
        raise ArgumentError(msg)
    return Space.of(parameters)


def groups_from_text(text: str | None) -> Any:
    """Return groups from ``a,b;c``, the name of a decomposition as it is."""
    if text is None or not any(mark in text for mark in ",;"):
        return text
    groups = [[word.strip() for word in part.split(",")] for part in text.split(";")]
    return [[int(w) if w.isdecimal() else w for w in g if w] for g in groups]


def settings_of(pairs: list[str]) -> dict[str, Any]:
    """Return method settings from ``key=value`` options; values are read as JSON.

    Raises:
        ArgumentError: If an option has no ``=``, or names what is no setting.
    """
    others = {"preset", *signature(minimize).parameters} - {"settings"}
    out: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            msg = f"--set {pair!r} is not KEY=VALUE, as in candidates=300."
            raise ArgumentError(msg)
        if key.strip() in others:
            msg = f"--set {pair!r}: {key.strip()!r} is no setting of a method. See"
            raise ArgumentError(f"{msg} `sumbo minimize --help` and `sumbo methods`.")
        try:
            out[key.strip()] = json.loads(value)
        except json.JSONDecodeError:
            out[key.strip()] = value
    return out


def _bounds(text: str, first: int) -> list[Parameter]:
    pair, star, times = text.partition("*")
    fields = pair.split(":")
    if len(fields) != 2 or (star and not times.isdecimal()):
        msg = f"--bounds {text!r} is not LO:HI, or LO:HI*TIMES, as in 0:1*10."
        raise ArgumentError(msg)
    lo, hi = (_number(field, "--bounds", text) for field in fields)
    if not 1 <= int(times or 1) <= _MOST_PARAMETERS:
        msg = f"--bounds {text!r}: TIMES is not from 1 to {_MOST_PARAMETERS}."
        raise ArgumentError(msg)
    return [Real(f"x{first + i}", lo, hi) for i in range(int(times or 1))]


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


def _simplex(text: str) -> Simplex:
    name, colon, count = text.partition(":")
    if not colon or not count.isdecimal():
        msg = f"--simplex {text!r} is not NAME:K, as in mix:3."
        raise ArgumentError(msg)
    return Simplex(name, int(count))


_NAMED: dict[str, Callable[[str], Parameter | Simplex]] = {
    "real": partial(_numeric, Real, "--real"),
    "integer": partial(_numeric, Integer, "--integer"),
    "choice": _choice,
    "simplex": _simplex,
}


def _number(field: str, option: str, text: str) -> float:
    try:
        return float(field)
    except ValueError as error:
        msg = f"{option} {text!r}: {field!r} is not a number."
        raise ArgumentError(msg) from error


def outcome_of(text: str) -> Outcome:
    """Return the limits that ``NAME:LOWER:UPPER`` states; either may be empty.

    Raises:
        ArgumentError: If the text has another form, or a limit is no number.
    """
    name, *limits = text.split(":")
    try:
        lower, upper = (float(limit) if limit else None for limit in limits)
    except ValueError as error:
        msg = f"--outcome {text!r} is not NAME:LOWER:UPPER, such as stress::200."
        raise ArgumentError(msg) from error
    return Outcome(name, lower, upper)
