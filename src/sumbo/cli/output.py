"""What commands write: text as it is, and files that are tested before a run."""

import os
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text


def console(**settings: Any) -> Console:
    """Return a console that prints text as it is, square brackets included."""
    return Console(markup=False, highlight=False, **settings)


def marked(word: str, style: str, text: str) -> Text:
    """Return ``text`` after a word in a style of its own."""
    return Text.assemble((word, style), " ", text)


def survive_odd_text() -> None:
    """Print characters that the terminal has not as escapes instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def require_writable(option: str, path: Path) -> None:
    """Check before a long run that its result can be written; nothing is changed.

    Raises:
        ArgumentError: If it cannot.
    """
    from sumbo.errors import ArgumentError  # slow to import, as is the study below

    try:
        if path.is_dir():
            raise IsADirectoryError(f"it is a folder: {str(path)!r}")
        if not path.exists():
            path.open("xb").close()
            path.unlink()
        elif not os.access(path, os.W_OK):
            raise PermissionError(f"no permission to write: {str(path)!r}")
    except (OSError, ValueError) as error:
        msg = f"{option} {str(path)!r} cannot be written ({error}). Pass another path."
        raise ArgumentError(msg) from error


def write_text(path: Path, text: str) -> None:
    """Write a file, whole or not at all; a device or a pipe is written directly.

    Raises:
        OSError: If the file cannot be written.
        StudyError: Likewise.
    """
    from sumbo.study.storage import write_atomically

    if path.exists() and not path.is_file():
        path.write_text(text, encoding="utf-8")
    else:
        # What a link points to is replaced, not the link.
        write_atomically(Path(os.path.realpath(path)), text)
