"""Objectives of the command line: a Python function, or any program."""

import contextlib
import math
import shlex
import string
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sumbo.cli import program
from sumbo.errors import ArgumentError, EvaluationError
from sumbo.registry import import_named
from sumbo.space import Space

_SHOWN = 200  # characters of a program's last line, in an error


def load_function(spec: str) -> Callable[[Any], float]:
    """Return the function that ``package.module:function`` names.

    Raises:
        ArgumentError: If the module or the function is not there.
    """
    module_name, _, name = spec.partition(":")
    words = [*module_name.split("."), *name.split(".")]
    if not all(word.isidentifier() for word in words):
        msg = f"{spec!r} is not of the form package.module:function."
        raise ArgumentError(msg)
    sys.path.insert(0, str(Path.cwd()))  # as ``python -m`` does
    try:
        function = import_named(module_name)
    finally:
        sys.path.pop(0)
    for attribute in name.split("."):
        if not hasattr(function, attribute):
            msg = f"module {module_name!r} has no {name!r}."
            raise ArgumentError(msg)
        function = getattr(function, attribute)
    if not callable(function):
        msg = f"{spec!r} is not a function."
        raise ArgumentError(msg)
    loaded: Any = function  # anything callable will do
    return loaded


@dataclass(frozen=True, kw_only=True)
class Command:
    """A program as an objective: the last line that it prints is the value.

    Lines such as ``stress=187`` before it are outcomes.

    The template is split into words once, before values are filled in, and run
    without a shell: nothing in a value can become a word or a command of its own.
    """

    words: tuple[str, ...]
    space: Space
    timeout: float | None = None

    @classmethod
    def of(cls, template: str, space: Space, timeout: float | None) -> "Command":
        """Return the command of a template such as ``./simulate --a {a}``.

        Raises:
            ArgumentError: If it is empty, names a parameter that does not exist, or
                the timeout is not a number of seconds.
        """
        if timeout is not None and not (math.isfinite(timeout) and timeout > 0):
            msg = f"--timeout {timeout:g} is not a positive number of seconds."
            raise ArgumentError(msg)
        try:
            words = tuple(shlex.split(template))
            fields = {
                field
                for word in words
                for _, field, _, _ in string.Formatter().parse(word)
                if field is not None
            }
        except ValueError as error:
            msg = f"--command {template!r} cannot be read: {error}."
            raise ArgumentError(msg) from error
        if not words:
            msg = "--command is empty. Name a program."
            raise ArgumentError(msg)
        unknown = sorted(fields - set(space.names))
        if unknown:
            msg = (
                f"--command names {{{unknown[0]}}}, which is no parameter "
                f"({', '.join(space.names)}). Declare it: --real {unknown[0]}:0:1."
            )
            raise ArgumentError(msg)
        try:
            for word in words:
                word.format(**dict.fromkeys(space.names, "0.5"))
        except (LookupError, ValueError, AttributeError, MemoryError) as error:
            msg = f"--command {template!r} cannot be filled in: {error}. Values are "
            raise ArgumentError(f"{msg}texts; write {{name}} alone.") from error
        return cls(words=words, space=space, timeout=timeout)

    def __call__(self, x: Any) -> float | tuple[float, dict[str, float]]:
        """Return the value that the program prints last, with outcomes if it does.

        Raises:
            EvaluationError: If the program cannot be started, takes too long, fails,
                or prints no number last.
        """
        values = {
            name: repr(v) if isinstance(v, float) else str(v)
            for name, v in self.space.as_dict(x).items()
        }
        words = [word.format(**values) for word in self.words]
        try:
            done = program.run(words, self.timeout)
        except TimeoutError as error:
            msg = f"{words[0]} took longer than {self.timeout:g} s"
            raise EvaluationError(msg) from error
        except (OSError, ValueError) as error:  # a NUL in a word is a ValueError
            reason = getattr(error, "strerror", None) or error
            msg = f"{words[0]} cannot be started: {reason}"
            raise EvaluationError(msg) from error
        if done.code != 0:
            last = _last_line(done.errors) or _last_line(done.output)
            msg = f"{words[0]} ended with exit code {done.code}: {last[:_SHOWN] or '…'}"
            raise EvaluationError(msg)
        line = _last_line(done.output)
        try:
            value, outcomes = float(line), _outcomes(done.output)
            return (value, outcomes) if outcomes else value
        except ValueError as error:
            shown = line[:_SHOWN]
            msg = f"the last line that {words[0]} printed is {shown!r}, not a number"
            raise EvaluationError(msg) from error


def _outcomes(text: str) -> dict[str, float]:
    """Return the numbers of lines such as ``stress=187``; the last of a name counts."""
    found = {}
    for line in text.splitlines():
        name, sign, number = (word.strip() for word in line.partition("="))
        if sign and name.isidentifier():
            with contextlib.suppress(ValueError):
                found[name] = float(number)
    return found


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
