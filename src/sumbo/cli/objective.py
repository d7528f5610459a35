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
from sumbo.errors import ArgumentError, EvaluationError, UnusableObjectiveError
from sumbo.registry import import_named
from sumbo.space import Space

_SHOWN = 200  # characters of a program's last line, in an error


def load_function(spec: str) -> Callable[[Any], float]:
    """Return the function that ``package.module:function`` or ``file.py:f`` names.

    Raises:
        ArgumentError: If the module or the function is not there.
    """
    module_name, _, name = spec.rpartition(":")
    words = name.split(".")
    if not module_name.endswith(".py"):
        words += module_name.split(".")
    if not all(word.isidentifier() for word in words):
        msg = f"{spec!r} is not of the form package.module:function or file.py:function"
        raise ArgumentError(f"{msg}.")
    function = _imported(module_name)
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


def _imported(name: str) -> Any:
    """Return a module, given by name or as a file.

    Raises:
        ArgumentError: If there is none, or it cannot be imported.
    """
    path = Path(name)
    in_file = path.suffix == ".py"
    if in_file and not path.is_file():
        raise ArgumentError(f"module {name!r} cannot be imported: no such file.")
    folder = path.resolve().parent if in_file else Path.cwd()
    sys.path.insert(0, str(folder))  # as ``python file.py`` and ``python -m`` do
    try:
        # A file of that name is found first, unless such a module was imported before.
        module = import_named(path.stem if in_file else name)
    finally:
        sys.path.remove(str(folder))
    found = getattr(module, "__file__", None)
    if in_file and (found is None or Path(found).resolve() != path.resolve()):
        msg = f"module {name!r} has the name of another one, {found}. Rename the file."
        raise ArgumentError(msg)
    return module


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

    def require_all_used(self) -> None:
        """Check that the program gets every parameter.

        Raises:
            ArgumentError: If it does not use one.
        """
        words = " ".join(self.words)
        fields = {field for _, field, _, _ in string.Formatter().parse(words)}
        unused = [name for name in self.space.names if name not in fields]
        if unused:
            msg = f"--command does not use {', '.join(unused)}. Write {{{unused[0]}}}"
            raise ArgumentError(f"{msg} where its value belongs, or do not declare it.")

    def __call__(self, x: Any) -> float | tuple[float, dict[str, float]]:
        """Return the value that the program prints last, with outcomes if it does.

        Raises:
            UnusableObjectiveError: If the program cannot be started; no other point
                will change that.
            EvaluationError: If it takes too long, fails, or prints no number last.
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
            raise UnusableObjectiveError(msg) from error
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
