"""Every error sumbo raises on purpose: argument, value, remedy."""

import math
import os
from typing import Any

import numpy as np


class SumboError(Exception):
    """Base class of all errors raised by sumbo."""


class ArgumentError(SumboError, ValueError):
    """An argument has a value that cannot be used; the message tells the remedy."""


class ExhaustedError(ArgumentError):
    """Fewer rows of a list are left than were asked for; ``left`` says how many."""

    left: int = 0


class UnknownNameError(ArgumentError, KeyError):
    """A name is not registered; the message lists the nearest ones."""

    def __str__(self) -> str:
        # KeyError would show the repr of the message, quotes and escapes included.
        return Exception.__str__(self)


class NotPositiveDefiniteError(SumboError, np.linalg.LinAlgError):
    """A covariance matrix stayed indefinite after all jitter that was tried."""


class TooLargeError(SumboError, MemoryError):
    """The request would need more memory than the stated limit."""


class CheckpointError(SumboError, ValueError):
    """A saved run cannot be read or written, is in use, or is another one's.

    If a file could not be written in the middle of a run, ``result`` holds all values
    so far, the last one included.
    """

    result: Any = None


class MissingFunctionError(ArgumentError):
    """A saved run needs functions that no file holds; pass its constraints again."""


class StorageError(SumboError, RuntimeError):
    """A storage that processes share cannot be opened, read or written."""


class MissingExtraError(SumboError, ImportError):
    """An optional dependency is not installed; the message names the extra."""


class EvaluationError(SumboError, RuntimeError):
    """The objective failed at a point; ``result`` holds the values observed before."""

    result: Any = None


class UnusableObjectiveError(EvaluationError):
    """The objective cannot be evaluated anywhere.

    An objective raises it to end the run at once, whatever ``on_error`` and
    ``retries`` say.
    """


class ProblemError(SumboError, RuntimeError):
    """A test problem cannot be set up or evaluated; the message tells why."""


class StudyError(SumboError, RuntimeError):
    """A study's files or settings are not usable; nothing was overwritten."""


def require_path(name: str, value: Any) -> None:
    """Check an argument that names a file.

    Raises:
        ArgumentError: If it is neither a string nor a path.
    """
    if not isinstance(value, (str, bytes, os.PathLike)):
        msg = f"{name}={value!r} is not a path. Pass a string, such as 'run.npz'."
        raise ArgumentError(msg)


def require_positive_integer(name: str, value: Any) -> None:
    """Check a setting that counts something.

    Raises:
        ArgumentError: If it is not an integer, 1 or more.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        msg = f"{name}={value!r} is not a positive integer."
        raise ArgumentError(msg)


def require_number(
    name: str, value: Any, low: float = 0.0, high: float = math.inf
) -> None:
    """Check a setting that is a finite number between two limits.

    Raises:
        ArgumentError: If it is not a number, not finite, or not within the limits.
    """
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not (number and math.isfinite(value) and low <= value <= high):
        limits = f"from {low:g} on" if high == math.inf else f"from {low:g} to {high:g}"
        raise ArgumentError(f"{name}={value!r} is not a number {limits}.")
