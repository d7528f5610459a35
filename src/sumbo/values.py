"""Numbers as users pass them, refused where NumPy would drop something in silence.

NumPy reads the data below a mask, drops imaginary parts with a warning, and reads
pandas objects by position. Here masked and complex values are refused, and labels are
used, or refused where the model has none.
"""

import reprlib
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from sumbo.errors import ArgumentError
from sumbo.typing import Float, ndarray


def as_floats(value: Any, name: str) -> Float[ndarray, "..."]:
    """Return a copy of ``value`` as an array of floats.

    Raises:
        ArgumentError: If it holds masked or complex values, or is not numeric.
    """
    require_real(value, name)
    try:
        return np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        msg = f"{name} is not an array of numbers: {error}. Pass numbers, in rows of "
        raise ArgumentError(f"{msg}equal length, not {reprlib.repr(value)}.") from error


def require_real(value: Any, name: str) -> None:
    """Check that nothing in ``value`` is masked or complex.

    Raises:
        ArgumentError: If something is.
    """
    if type(value) is ndarray and value.dtype.kind in "fiub":  # nearly always
        return
    if holds_masked(value):
        msg = f"{name}={reprlib.repr(value)} holds masked values, which are no numbers."
        raise ArgumentError(f"{msg} Leave those entries out, or fill them.")
    if _holds_complex(value):
        msg = f"{name}={reprlib.repr(value)} is complex; its imaginary part would be "
        raise ArgumentError(f"{msg}lost. Pass real numbers, such as {name}.real.")


def holds_masked(value: Any) -> bool:
    """Return whether a value, or something in it, is masked."""
    if isinstance(value, np.ma.MaskedArray):
        return bool(np.ma.getmaskarray(value).any())
    if isinstance(value, ndarray):
        # Only an array of objects can hold another array.
        return value.dtype == object and any(holds_masked(v) for v in value.flat)
    return isinstance(value, list | tuple) and any(holds_masked(v) for v in value)


def _holds_complex(value: Any) -> bool:
    if isinstance(value, ndarray) and value.dtype == object:
        return any(_holds_complex(v) for v in value.flat)
    if isinstance(value, list | tuple):
        return any(_holds_complex(v) for v in value)
    if isinstance(value, float | int | str | None):  # most items of long lists
        return False
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    return kind == "c" or isinstance(value, complex)


def is_frame(value: Any) -> bool:
    """Return whether ``value`` is a pandas DataFrame."""
    return _is_pandas(value, "DataFrame")


def is_series(value: Any) -> bool:
    """Return whether ``value`` is a pandas Series."""
    return _is_pandas(value, "Series")


def _is_pandas(value: Any, kind: str) -> bool:
    # Whoever passes such an object has imported pandas; sumbo need not.
    cls = getattr(sys.modules.get("pandas"), kind, None)
    return cls is not None and isinstance(value, cls)


def is_numbered(labels: Any) -> bool:
    """Return whether labels are 0, 1, 2, …, as pandas gives where there are none."""
    return list(labels) == list(range(len(labels)))


def by_labels(value: Any, labels: Sequence[str], name: str) -> Any:
    """Return a pandas object with its labels in that order, as an array.

    The labels of a Series are its index, those of a DataFrame its columns. Labels that
    are 0, 1, 2, … name nothing; everything else is returned as it is.

    Raises:
        ArgumentError: If the labels are others, or one of them occurs twice.
    """
    if not (is_frame(value) or is_series(value)):
        return value
    found = list(value.columns if is_frame(value) else value.index)
    if is_numbered(found):
        return value.to_numpy()
    if sorted(map(str, found)) != sorted(labels):
        kind = "columns" if is_frame(value) else "index"
        msg = f"{name} is a pandas object with the {kind} {reprlib.repr(found)}, which "
        remedy = (
            f"Name exactly {reprlib.repr(tuple(labels))}, or pass {name}.to_numpy()"
        )
        raise ArgumentError(f"{msg}are not the parameters. {remedy}.")
    order = [list(map(str, found)).index(label) for label in labels]
    return (value.iloc[:, order] if is_frame(value) else value.iloc[order]).to_numpy()


def without_labels(value: Any, name: str) -> Any:
    """Return ``value``, a pandas object as an array, for a model without names.

    Raises:
        ArgumentError: If it is a Series or DataFrame with labels of its own.
    """
    if not (is_frame(value) or is_series(value)):
        return value
    found = list(value.columns if is_frame(value) else value.index)
    if not is_numbered(found):
        msg = (
            f"{name} is a pandas object labelled {reprlib.repr(found)}, but the model "
        )
        remedy = "Bring it into the right order and pass"
        raise ArgumentError(f"{msg}numbers what it has. {remedy} {name}.to_numpy().")
    return value.to_numpy()


def aligned(x: Any, y: Any, name: str = "y") -> Any:
    """Return ``y`` with its values in the order of the rows of ``x``.

    Only a Series ``y`` beside a DataFrame ``x`` is changed: rows belong together by
    their index.

    Raises:
        ArgumentError: If the two have different indices.
    """
    if not (is_series(y) and is_frame(x)) or len(x) != len(y):
        return y.to_numpy() if is_series(y) else y
    if x.index.equals(y.index):
        return y.to_numpy()
    if not (y.index.is_unique and x.index.is_unique and set(x.index) == set(y.index)):
        msg = f"{name} has the index {reprlib.repr(list(y.index))}, the points have "
        msg += f"{reprlib.repr(list(x.index))}. Give both the same index, or pass "
        raise ArgumentError(f"{msg}{name}.to_numpy() to match them by position.")
    return y.loc[x.index].to_numpy()
