"""Processes that are started to be killed."""

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

# A fork starts at once, everything imported: the kills hit the run, not the imports.
FORK: Any = multiprocessing.get_context("fork")


def start(target: Callable[..., None], *arguments: Any) -> Any:
    """Return a new process that calls ``target``, in a group of its own."""
    process = FORK.Process(target=_alone, args=(target, arguments))
    process.start()
    return process


def kill(process: Any) -> bool:
    """Kill a process with all it started; return whether it still ran."""
    running = process.is_alive()
    if running:
        below = descendants(process.pid)
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
        for pid in below:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    process.join()
    return running


def descendants(pid: int) -> list[int]:
    """Return the processes that a process started, and those that they started."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            fields = _status(int(entry.name))
            if fields is not None:
                children.setdefault(int(fields[1]), []).append(int(entry.name))
    found, todo = [], [pid]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


def alive(pid: int) -> bool:
    """Return whether a process runs; one that ended and was not collected does not."""
    fields = _status(pid)
    return fields is not None and fields[0] != "Z"


def _status(pid: int) -> list[str] | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return text.rpartition(") ")[2].split()


def _alone(target: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    os.setsid()
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 2)  # what a killed run complains of is not of interest
    target(*arguments)
