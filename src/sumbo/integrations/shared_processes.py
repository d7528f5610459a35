"""Processes that share a run: their names, and which of them ended."""

import os
import platform
from pathlib import Path
from typing import Any


def this_process() -> dict[str, Any]:
    """Return what identifies this process to others, as a JSON value."""
    pid = os.getpid()
    return {"host": _host(), "pid": pid, "since": _started(pid)}


def is_dead(owner: Any) -> bool:
    """Return whether a process is known to have ended; False on another machine."""
    try:
        host, pid, since = owner["host"], owner["pid"], owner["since"]
        if host != _host():
            return False
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (OSError, LookupError, TypeError, ValueError, OverflowError):
        return False
    return _started(pid) != since  # its number belongs to another process now


def _host() -> str:
    """Return a name of the machine; each container is a machine of its own."""
    try:
        return f"{platform.node()} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return platform.node()


def _started(pid: int) -> str:
    """Return when a process started; "" if it ended, or the system does not say."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8", errors="replace")
        # Fields 3 and 22 of proc(5), counted from behind the name in parentheses.
        fields = stat.rpartition(")")[2].split()
        state, ticks = fields[0], fields[19]
    except (OSError, IndexError):
        return ""
    return "" if state in "ZX" else f"{boot} {ticks}"  # a zombie has ended
