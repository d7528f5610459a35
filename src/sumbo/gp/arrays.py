"""Checks of arrays where they enter the model: right shape, finite, never changed."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sumbo.errors import ArgumentError
from sumbo.typing import Float, Groups, ndarray
from sumbo.values import aligned, as_floats, without_labels

LARGEST = 1e150


def as_matrix(X: Any, columns: int, name: str = "X") -> Float[ndarray, "n P"]:
    """Return ``X`` as a finite float array with that many columns.

    Raises:
        ArgumentError: If the shape is wrong, or a value is missing or infinite.
    """
    X = as_floats(without_labels(X, name), name)
    if X.ndim != 2 or X.shape[1] != columns:
        msg = (
            f"{name} has shape {X.shape}; the model has {columns} coordinates. "
            f"Pass an array of shape (n, {columns})."
        )
        raise ArgumentError(msg)
    _require_finite(X, name)
    return X


def as_data(
    X: Any, y: Any, columns: int
) -> tuple[Float[ndarray, "N P"], Float[ndarray, " N"]]:
    """Return checked inputs and outputs of the same length, at least one.

    Raises:
        ArgumentError: If shapes do not fit, or a value is missing or infinite.
    """
    y = aligned(X, y)  # by the index that X loses below
    X = as_matrix(X, columns)
    y = as_floats(y, "y")
    if y.shape != (len(X),):
        msg = f"y has shape {y.shape}; X has {len(X)} rows. Pass y of shape ({len(X)},)"
        raise ArgumentError(msg + ".")
    if len(X) == 0:
        msg = "X has no rows. Pass at least one observation."
        raise ArgumentError(msg)
    _require_finite(y, "y")
    return X, y


def as_variances(
    noise: Any, X: Any, name: str = "noise"
) -> Float[ndarray, " N"] | None:
    """Return the known noise variance of each row of ``X``; None if there is none.

    Raises:
        ArgumentError: If their number is wrong, or one is negative or not finite.
    """
    if noise is None:
        return None
    noise = as_floats(aligned(X, noise, name), name)
    if noise.shape != (len(X),):
        msg = f"{name} has shape {noise.shape}; X has {len(X)} rows. Pass one variance"
        raise ArgumentError(f"{msg} per row, 0 where nothing is known.")
    _require_finite(noise, name)
    if (noise < 0).any():
        msg = f"{name} holds {noise.min()}. Pass variances, 0 or more."
        raise ArgumentError(msg)
    return noise


def as_candidates(Z: Any, groups: Groups) -> list[Float[ndarray, "..."]]:
    """Return one finite candidate array per group, of shape (B_m, d_m), B_m ≥ 1.

    Raises:
        ArgumentError: If a set is missing, empty, of the wrong width or not finite.
    """
    if not isinstance(Z, Sequence) and not (isinstance(Z, ndarray) and Z.ndim == 3):
        msg = f"Z is a {type(Z).__name__}. Pass a list with one array per group."
        raise ArgumentError(msg)
    if len(Z) != len(groups):
        msg = f"Z has {len(Z)} candidate sets for {len(groups)} groups. Pass one each."
        raise ArgumentError(msg)
    out = [
        as_matrix(Zm, len(group), f"Z[{m}] (group {group})")
        for m, (Zm, group) in enumerate(zip(Z, groups, strict=True))
    ]
    for m, Zm in enumerate(out):
        if len(Zm) == 0:
            msg = f"Z[{m}] has no rows. Pass at least one candidate per group."
            raise ArgumentError(msg)
    return out


def require_count(name: str, value: Any) -> None:
    """Check an argument that counts something.

    Raises:
        ArgumentError: If it is not an integer, 1 or more.
    """
    integer = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not integer or value < 1:
        msg = f"{name}={value!r} is not a positive integer."
        raise ArgumentError(msg)


def require_rows(X: Float[ndarray, "n P"], name: str) -> Float[ndarray, "n P"]:
    """Return the points, at least one.

    Raises:
        ArgumentError: If there is none.
    """
    if len(X) == 0:
        raise ArgumentError(f"{name} has no rows. Pass at least one point.")
    return X


def require_no_contradictions(
    X: Float[ndarray, "N P"],
    y: Float[ndarray, " N"],
    noise: Float[ndarray, " N"] | None = None,
) -> None:
    """Check that equal rows have equal values: without noise no other function fits.

    Rows with a known ``noise`` contradict nothing.

    Raises:
        ArgumentError: If two equal rows have different values.
    """
    seen: dict[bytes, int] = {}
    exact = np.ones(len(y), dtype=bool) if noise is None else noise == 0
    for i, row in enumerate(X + 0.0):  # −0.0 and 0.0 are the same point
        if not exact[i]:
            continue
        first = seen.setdefault(row.tobytes(), i)
        if y[first] != y[i]:
            msg = (
                f"noise=0, but rows {first} and {i} of X are equal and y differs "
                f"({y[first]:g}, {y[i]:g}). Pass a positive noise."
            )
            raise ArgumentError(msg)


def _require_finite(A: Float[ndarray, "..."], name: str) -> None:
    fine = np.abs(A) <= LARGEST
    if not fine.all():
        bad = np.argwhere(~fine)
        where = tuple(int(i) for i in bad[0])
        remedy = (
            f"Rescale them to at most {LARGEST:g}, so that squares do not overflow."
            if np.isfinite(A[where])
            else "Remove or replace those rows."
        )
        msg = f"{name} holds {A[where]} at {list(where)} ({len(bad)} such values). "
        raise ArgumentError(msg + remedy)
