"""Measured outcomes with limits: how they are given, and what models see of them."""

import reprlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sumbo.data import Measured
from sumbo.errors import ArgumentError
from sumbo.methods import Method
from sumbo.methods.base import METHODS
from sumbo.space import Outcome
from sumbo.typing import Bool, Float, ndarray
from sumbo.values import as_floats


def read_outcomes(
    limits: Sequence[Outcome],
    given: Any,
    n: int,
    *,
    failed: Any = False,
    earlier: bool = False,
) -> Float[ndarray, "n O"]:
    """Return what was measured at n points, a column per outcome.

    Args:
        limits: The outcomes that have limits.
        given: A mapping from names to a number or one number per point, or a sequence
            of one mapping per point. Other names than those with limits are left out.
        n: The number of points.
        failed: Whether each evaluation, or all of them, failed; then nothing was
            measured.
        earlier: Whether the data come from elsewhere; then outcomes may be unknown,
            or NaN.

    Raises:
        ArgumentError: If an outcome is missing, or is no finite number.
    """
    out = np.full((n, len(limits)), np.nan)
    lost = np.broadcast_to(failed, n)
    if lost.all() or not limits or (given is None and earlier):
        return out
    names = [limit.name for limit in limits]
    if given is None:
        example = ", ".join(f"{name!r}: …" for name in names)
        msg = f"outcomes are missing; nothing was added. Tell outcomes={{{example}}}."
        raise ArgumentError(msg)
    rows: Any = given if isinstance(given, list | tuple) else [given]
    if rows is given and len(rows) != n:
        msg = f"outcomes has {len(rows)} entries for {n} points. Tell one per point."
        raise ArgumentError(msg)
    for row in rows:
        if not isinstance(row, Mapping):
            msg = (
                f"outcomes={reprlib.repr(given)} is no mapping. Tell {{name: number}}."
            )
            raise ArgumentError(msg)
    unknown = lost | earlier
    for column, name in enumerate(names):
        if rows is given:
            each = zip(rows, unknown, strict=True)
            out[:, column] = [_column(row, name, u[None])[0] for row, u in each]
        else:
            out[:, column] = _column(rows[0], name, unknown)
    out[lost] = np.nan
    return out


def _column(
    given: Mapping[str, Any], name: str, unknown: Bool[ndarray, " n"]
) -> Float[ndarray, " n"]:
    """Return the numbers under a name, finite but where they may be unknown.

    Raises:
        ArgumentError: If there are none.
    """
    if name not in given:
        msg = f"outcomes={reprlib.repr(dict(given))} lack {name!r}, which has limits; "
        raise ArgumentError(f"{msg}nothing was added. Tell it with the value.")
    value = given[name]
    try:
        known = "None" if value is None else value  # NumPy would make it NaN
        numbers = as_floats(known, "outcomes").reshape(-1)
    except (TypeError, ArgumentError) as error:
        msg = f"outcomes: {name}={reprlib.repr(value)} is not a number. Tell a number."
        raise ArgumentError(msg) from error
    n = len(unknown)
    if len(numbers) != n:
        msg = f"outcomes: {name} has {len(numbers)} values for {n} points. Tell one "
        raise ArgumentError(f"{msg}value per point.")
    wrong = ~np.isfinite(numbers) & ~(unknown & np.isnan(numbers))
    if wrong.any():
        bad = numbers[wrong][0]
        msg = f"outcomes: {name}={bad} is not finite; nothing was added. Tell such "
        raise ArgumentError(f"{msg}points with failed=True.")
    return numbers


def measured(
    limits: Sequence[Outcome], values: Float[ndarray, "N O"]
) -> tuple[Measured, ...]:
    """Return the outcomes as models see them."""
    return tuple(
        Measured(
            name=limit.name,
            values=column.copy(),
            lower=-np.inf if limit.lower is None else limit.lower,
            upper=np.inf if limit.upper is None else limit.upper,
        )
        for limit, column in zip(limits, values.T, strict=True)
    )


def require_outcomes_taken(method: Method, limits: Sequence[Outcome]) -> None:
    """Check that a method takes outcomes into account, if there are any.

    Raises:
        ArgumentError: If it does not.
    """
    if not limits or method.takes_outcomes:
        return
    able = [name for name in METHODS.names() if METHODS.get(name).takes_outcomes]
    msg = f"method={METHODS.name_of(type(method))!r} takes no outcome constraints, and "
    msg += f"constraints hold {limits[0]}. Use one of {', '.join(able)}."
    raise ArgumentError(msg)


def limits_to_json(limits: Sequence[Outcome]) -> list[list[Any]]:
    """Return limits as a checkpoint holds them."""
    return [[limit.name, limit.lower, limit.upper] for limit in limits]


def limits_from_json(saved: Any) -> tuple[Outcome, ...]:
    """Return the limits that a checkpoint holds."""
    return tuple(Outcome(name, lower, upper) for name, lower, upper in saved)
