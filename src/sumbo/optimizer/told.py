"""What a user tells, checked and as arrays: nothing is added before all of it is."""

import reprlib
import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from sumbo.errors import ArgumentError
from sumbo.space import Space
from sumbo.typing import Bool, Float, ndarray
from sumbo.values import aligned, as_floats, is_frame

# Columns of a table that say more about a value, as ``Result.to_frame`` writes them.
FAILED, NOISE = "failed", "noise"
# What a column of failures holds in a file or a frame.
_TRUTH = {"true": True, "1": True, "false": False, "0": False, "": False}


class Told(NamedTuple):
    """Points with their values, as numbers of the user and in the unit cube.

    Attributes:
        X: The points, a choice as its position.
        U: The points in the unit cube.
        y: The values, in the user's sign; NaN where the evaluation failed.
        failed: Whether the evaluation failed.
        noise: Standard deviations of the values; NaN where they are not known.
    """

    X: Float[ndarray, "n K"]
    U: Float[ndarray, "n P"]
    y: Float[ndarray, " n"]
    failed: Bool[ndarray, " n"]
    noise: Float[ndarray, " n"]


def read_told(
    space: Space, x: Any, y: Any, noise: Any, *, failed: bool, earlier: bool
) -> Told:
    """Return the observations that were given, checked.

    Raises:
        ArgumentError: If a value is not a finite number, shapes do not fit, a point
            lies outside the box, or a noise is negative.
    """
    lost: Any = failed
    if isinstance(y, str) and _is_table(x):
        x, columns = split_table(x, space.names, (y, FAILED, NOISE))
        y, noise = columns[y], columns.get(NOISE, noise)
        lost = _as_flags(columns.get(FAILED, np.zeros(len(y), dtype=bool)))
    U = _encode(space, x, earlier=earlier)
    X = space.numbers(x)
    lost = np.broadcast_to(lost, len(X)).copy()
    if not isinstance(failed, bool | np.bool_):
        msg = f"failed={failed!r} is neither True nor False. Tell failures apart."
        raise ArgumentError(msg)
    values = _as_values(aligned(x, y), lost, all_failed=bool(failed))
    deviations = _as_noise(aligned(x, noise, "noise"), lost)
    return Told(X, U, values, lost, deviations)


def outcomes_of_table(
    space: Space, x: Any, y: Any, names: tuple[str, ...], *, earlier: bool
) -> dict[str, Any] | None:
    """Return the columns of a table that hold outcomes, None if there is no table.

    An outcome that earlier data lack is NaN in all rows.
    """
    if not (names and isinstance(y, str) and _is_table(x)):
        return None
    _, columns = split_table(x, space.names, (y, *names))
    found = {name: columns[name] for name in names if name in columns}
    if earlier:
        unknown = np.full(len(columns[y]), np.nan)
        found = {name: found.get(name, unknown) for name in names}
    return found


def split_table(
    table: Any, names: tuple[str, ...], columns: tuple[str, ...]
) -> tuple[Any, dict[str, Any]]:
    """Return the points of a table, and those of the other columns that it has.

    A table is a DataFrame, a dictionary or a list of dictionaries. The first of
    ``columns`` must be there.

    Raises:
        ArgumentError: If the table lacks a parameter or the first of ``columns``, or
            one of them has the name of a parameter.
    """
    wanted = columns[0]
    if wanted in names:
        msg = f"y={wanted!r} is a parameter. Name the column of the values."
        raise ArgumentError(msg)
    if is_frame(table):
        found = [str(column) for column in table.columns]
        known = table.set_axis(found, axis=1)
        rows = None
    else:
        rows = [table] if isinstance(table, Mapping) else list(table)
        found = [key for key in rows[0] if all(key in row for row in rows)]
        known = {key: [row[key] for row in rows] for key in found}
    missing = [name for name in (*names, wanted) if name not in found]
    if missing:
        msg = f"x is a table with the columns {reprlib.repr(found)}, without {missing}."
        raise ArgumentError(f"{msg} Name one column per parameter, and that of y.")
    others = {
        c: known[c] if rows is None else np.array(known[c], dtype=object)
        for c in columns
        if c in found and c not in names
    }
    if rows is None:
        return known[list(names)], others
    return [{name: row[name] for name in names} for row in rows], others


def _is_table(x: Any) -> bool:
    if is_frame(x) or isinstance(x, Mapping):
        return True
    rows = isinstance(x, list | tuple) and len(x) > 0
    return rows and all(isinstance(row, Mapping) for row in x)


def _as_flags(column: Any) -> Bool[ndarray, " n"]:
    """Return a column of failures as booleans.

    Raises:
        ArgumentError: If an entry is neither true nor false.
    """
    out = []
    for entry in list(column):
        text = str(entry).strip().lower()
        if text not in _TRUTH:
            msg = f"the column {FAILED!r} holds {entry!r}. Write true or false."
            raise ArgumentError(msg)
        out.append(_TRUTH[text])
    return np.array(out, dtype=bool)


def _encode(space: Space, x: Any, *, earlier: bool) -> Float[ndarray, "n P"]:
    if not earlier:
        return space.encode(x)
    U, moved = space.encode_any(x)
    if moved.any():
        rows = ", ".join(str(i) for i in np.flatnonzero(moved)[:5])
        msg = (
            f"{moved.sum()} earlier points lie outside the box (rows {rows}); the "
            "model sees them at the nearest point of the box."
        )
        warnings.warn(msg, stacklevel=5)
    return U


def _as_values(
    y: Any, failed: Bool[ndarray, " n"], *, all_failed: bool
) -> Float[ndarray, " n"]:
    """Return one finite value per point that did not fail, NaN for the others.

    Raises:
        ArgumentError: If there are fewer or more values, or one is not finite.
    """
    n = len(failed)
    if all_failed:
        if y is not None:
            msg = f"y={y!r} was given for a failed evaluation. Leave y out."
            raise ArgumentError(msg)
        return np.full(n, np.nan)
    remedy = "Tell a number, or failed=True without y."
    if y is None:  # NumPy would make it NaN
        raise ArgumentError(f"y={y!r} is not a number. {remedy}")
    try:
        values = as_floats(y, "y").reshape(-1)
    except ArgumentError as error:
        raise ArgumentError(f"y={y!r} is not a number. {remedy}") from error
    if len(values) != n:
        msg = f"y has {len(values)} values for {n} points. Tell one value per point."
        raise ArgumentError(msg)
    bad = np.flatnonzero(~np.isfinite(values) & ~failed)
    if len(bad):
        msg = (
            f"y={values[bad[0]]} (value {bad[0]}) is not finite; nothing was added. "
            "Tell such points with failed=True, without y."
        )
        raise ArgumentError(msg)
    return np.where(failed, np.nan, values)


def _as_noise(noise: Any, failed: Bool[ndarray, " n"]) -> Float[ndarray, " n"]:
    """Return the standard deviation of each value, NaN where it is not known.

    Raises:
        ArgumentError: If one is negative or infinite, or their number is wrong.
    """
    n = len(failed)
    if noise is None:
        return np.full(n, np.nan)
    deviations = as_floats(noise, "noise").reshape(-1)
    if len(deviations) == 1:
        deviations = np.full(n, deviations[0])
    if len(deviations) != n:
        msg = f"noise has {len(deviations)} values for {n} points. Tell one, or one per"
        raise ArgumentError(f"{msg} point.")
    known = ~np.isnan(deviations)
    bad = np.flatnonzero(known & ~((deviations >= 0) & np.isfinite(deviations)))
    if len(bad):
        msg = f"noise={deviations[bad[0]]} is no standard deviation, 0 or more. Leave "
        raise ArgumentError(f"{msg}it out where it is not known; it is estimated.")
    return np.where(failed, np.nan, deviations)
