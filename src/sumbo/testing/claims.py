"""How a check fails: an AssertionError that names the claim."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from sumbo.checkpoint import split_state
from sumbo.typing import ndarray


@contextmanager
def claim(what: str) -> Iterator[None]:
    """Turn every error inside into an AssertionError that begins with the claim.

    Raises:
        AssertionError: If something inside raises.
    """
    try:
        yield
    except AssertionError as error:
        raise AssertionError(f"{what}: {error}") from error
    except Exception as error:
        raise AssertionError(f"{what}: {type(error).__name__}: {error}") from error


def require(holds: Any, message: str) -> None:
    """Check that something holds.

    Raises:
        AssertionError: If it does not; with the message.
    """
    if not holds:
        raise AssertionError(message)


def require_same_bits(here: Any, there: Any, what: str) -> None:
    """Check that two arrays are equal, bit for bit.

    Raises:
        AssertionError: If they differ.
    """
    a, b = np.asarray(here), np.asarray(there)
    same = a.shape == b.shape and (
        a.tolist() == b.tolist()
        if object in {a.dtype, b.dtype}
        else np.array_equal(a, b, equal_nan=True)
    )
    require(same, f"{what}: {here!r} differs from {there!r}")


def require_in_cube(U: Any, shape: tuple[int, ...]) -> None:
    """Check that ``U`` is a float array of that shape in the unit cube.

    Raises:
        AssertionError: If it is not.
    """
    require(isinstance(U, ndarray), f"returned a {type(U).__name__}, not an array")
    require(U.shape == shape, f"returned shape {U.shape}, not {shape}")
    require(U.dtype == np.float64, f"returned dtype {U.dtype}, not float64")
    inside = np.isfinite(U).all() and (U >= 0).all() and (U <= 1).all()
    require(inside, f"returned points outside the unit cube: {U!r}")


def fingerprint(state: Any) -> tuple[str, dict[str, bytes]]:
    """Return what a checkpoint would hold of a state, to be compared."""
    part, arrays = split_state(state)
    return repr(part), {
        name: repr((a.dtype, a.shape)).encode() + a.tobytes()
        for name, a in arrays.items()
    }


def read_only(state: Any) -> Any:
    """Return a copy of a state in which no array can be written to."""
    if isinstance(state, ndarray):
        array = state.copy()
        array.setflags(write=False)
        return array
    if isinstance(state, dict):
        return {key: read_only(value) for key, value in state.items()}
    if isinstance(state, list | tuple):
        return type(state)(read_only(value) for value in state)
    return state
