"""Objectives of the command line: a Python function, or any program."""

import importlib
import shlex
import string
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sumbo.errors import ArgumentError, EvaluationError
from sumbo.space import Space


def load_function(spec: str) -> Callable[[Any], float]:
    """Return the function that ``package.module:function`` names.

    Raises:
        ArgumentError: If the module or the function is not there.
    """
    module_name, colon, name = spec.partition(":")
    if not colon or not name:
        msg = f"{spec!r} is not of the form package.module:function."
        raise ArgumentError(msg)
    sys.path.insert(0, str(Path.cwd()))  # as ``python -m`` does
    try:
        function = importlib.import_module(module_name)
    except ImportError as error:
        msg = f"module {module_name!r} cannot be imported: {error}."
        raise ArgumentError(msg) from error
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
            ArgumentError: If it is empty or names a parameter that does not exist.
        """
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
        return cls(words=words, space=space, timeout=timeout)

    def __call__(self, x: Any) -> float:
        """Return the value that the program prints last.

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
            done = subprocess.run(
                words,
                capture_output=True,
                text=True,
                timeout=self.timeout,
                check=False,
                stdin=subprocess.DEVNULL,
            )
        except subprocess.TimeoutExpired as error:
            msg = f"{words[0]} took longer than {self.timeout:g} s"
            raise EvaluationError(msg) from error
        except OSError as error:
            msg = f"{words[0]} cannot be started: {error.strerror or error}"
            raise EvaluationError(msg) from error
        if done.returncode != 0:
            last = _last_line(done.stderr) or _last_line(done.stdout)
            msg = f"{words[0]} ended with exit code {done.returncode}: {last or '…'}"
            raise EvaluationError(msg)
        line = _last_line(done.stdout)
        try:
            return float(line)
        except ValueError as error:
            msg = f"the last line that {words[0]} printed is {line!r}, not a number"
            raise EvaluationError(msg) from error


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
