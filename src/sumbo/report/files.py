"""Reports as files: written whole, and written again when the run goes on."""

import os
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sumbo import checkpoint
from sumbo.errors import ArgumentError, CheckpointError, require_path
from sumbo.optimizer import Optimizer
from sumbo.optimizer.view import REPORTS
from sumbo.report.content import content_of, require_run
from sumbo.report.page import render
from sumbo.space import Feasible

# Seconds between two looks at a file that is watched, and until a page reads itself.
LOOK, RELOAD = 1.0, 5
# Share of the time that rendering may take while a run goes on.
BUSY = 0.2


@REPORTS.register("html")
def write_report(
    run: Any, path: str | os.PathLike[str], *, title: str = "", message: str = ""
) -> Path:
    """Write the report of a run, or of a result, to an HTML file, and return its path.

    Args:
        run: An ``Optimizer`` or the result of ``minimize``.
        path: The file to write.
        title: The heading of the page.
        message: How the run ended, in words; that of a result by default.
    """
    require_path("path", path)
    if isinstance(run, dict):
        message = message or str(run.get("message", ""))
    content = content_of(require_run(run), title=title, message=message)
    return write_page(path, render(content))


def report_file(
    run: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    title: str = "",
    reload: int = 0,
) -> Path:
    """Write the report of a run's file, and return its path.

    Functions of constraints, which no file holds, are taken as met.

    Raises:
        CheckpointError: If the file is missing, damaged, or something else.
    """
    opt, missing = load_run(run)
    content = content_of(opt, title=title, missing=missing)
    return write_page(out, render(content, reload=reload))


def load_run(path: str | os.PathLike[str]) -> tuple[Optimizer, tuple[str, ...]]:
    """Return the run of a file, and the names of functions that stand for True."""
    header, _ = checkpoint.load(path)
    space = header.get("space")
    entries = space if isinstance(space, list) else []
    names = tuple(
        str(entry.get("name"))
        for entry in entries
        if isinstance(entry, dict) and entry.get("kind") == "Feasible"
    )
    return Optimizer.load(Path(path), [_stand_in(name) for name in names]), names


def _stand_in(name: str) -> Feasible:
    def function(x: Any) -> bool:
        del x
        return True

    function.__qualname__ = name
    return Feasible(function)


def watch(
    run: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    title: str = "",
    said: Callable[[str], Any] | None = None,
    looks: int | None = None,
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Write the report whenever the run's file changes, until interrupted.

    A file that is missing, or is being replaced, is looked at again; the last page
    stays. At the end the page is written once more, and no longer reads itself.

    Args:
        run: The file of the run.
        out: The page.
        title: The heading of the page.
        said: Called with a line about everything that happens.
        looks: How often to look; None for ever.
        pause: Waits so many seconds.
    """
    seen: Any = "nothing"
    problem, count, written = "", 0, False
    tell = said or str
    try:
        while looks is None or count < looks:
            count += 1
            now = _signature(run)
            begin = time.monotonic()
            if now != seen:
                try:
                    report_file(run, out, title=title, reload=RELOAD)
                except (CheckpointError, OSError) as error:
                    if str(error) != problem:
                        problem = str(error)
                        tell(f"waiting: {error}")
                else:
                    seen, problem, written = now, "", True
                    tell(f"wrote {os.fspath(out)}")
            pause(max(LOOK, (time.monotonic() - begin) / BUSY))
    except KeyboardInterrupt:
        pass
    finally:
        if written:
            _finish(run, out, title, tell)


def _finish(
    run: str | os.PathLike[str],
    out: str | os.PathLike[str],
    title: str,
    said: Callable[[str], Any],
) -> None:
    try:
        report_file(run, out, title=title)
    except (CheckpointError, OSError) as error:
        said(f"the last page stays: {error}")


def _signature(path: str | os.PathLike[str]) -> tuple[int, int, int] | None:
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def write_page(path: str | os.PathLike[str], text: str) -> Path:
    """Write a page, whole or not at all, and return its path.

    Raises:
        ArgumentError: If it cannot be written.
    """
    target = Path(os.path.realpath(path))
    partial = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.tmp")
    try:
        partial.write_text(text, encoding="utf-8", errors="replace")
        partial.replace(target)
    except OSError as error:
        msg = (
            f"path={os.fspath(path)!r} cannot be written ({error}). Pass another path."
        )
        raise ArgumentError(msg) from error
    finally:
        partial.unlink(missing_ok=True)
    return Path(path)
