"""One process per run: a lock beside a file, with the name of its owner.

The lock is ``flock`` on Unix, by the package filelock. The operating system releases it
when its owner dies, however that happens, so a dead owner blocks nobody. Processes that
the owner forks do not inherit it.
"""

import contextlib
import hashlib
import json
import os
import platform
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from sumbo.errors import CheckpointError, require_path

# An owner has no name for a moment after it takes the lock, and before it ends.
_NAMELESS_S, _LOOKS = 0.05, 40
# Longer names, in bytes, leave no room for an ending: file systems take 255.
_LONGEST_NAME = 200


def beside(target: Path, ending: str) -> Path:
    """Return the path of a hidden file that belongs to ``target``."""
    name = target.name
    if len(os.fsencode(name)) > _LONGEST_NAME:
        digest = hashlib.blake2b(os.fsencode(name), digest_size=16)
        name = digest.hexdigest()
    return target.with_name(f".{name}{ending}")


@contextlib.contextmanager
def exclusive(path: str | os.PathLike[str]) -> Iterator[None]:
    """Hold the run in ``path`` for this process alone.

    Raises:
        CheckpointError: If another process holds it, or the lock cannot be made.
        ArgumentError: If it is no path.
    """
    require_path("checkpoint", path)
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():  # filelock would make it
        msg = f"path={str(path)!r}: the folder {str(target.parent)!r} does not exist."
        raise CheckpointError(f"{msg} Create it first.")
    place = beside(target, ".lock")
    lock = FileLock(place, timeout=0)
    try:
        owner = _acquire(lock, place)
    except OSError as error:
        msg = f"checkpoint {str(path)!r} cannot be locked ({error}). Pass a path in a "
        raise CheckpointError(f"{msg}folder that exists and is writable.") from error
    if owner is not None:
        msg = f"checkpoint {str(path)!r} is in use by {owner}. Wait until it ends, or "
        raise CheckpointError(f"{msg}pass another path.")
    try:
        _sign(place)
        yield
    finally:
        with contextlib.suppress(OSError):
            os.truncate(place, 0)
        lock.release()


@contextlib.contextmanager
def waiting(place: Path, seconds: float = 300.0) -> Iterator[None]:
    """Hold a lock file for a moment, after waiting for those before.

    Raises:
        CheckpointError: If it is not free in time.
    """
    try:
        with FileLock(place, timeout=seconds):
            yield
    except Timeout as error:
        msg = f"{str(place)!r} was locked for {seconds:g} s. Is another process stuck?"
        raise CheckpointError(msg) from error


def _acquire(lock: FileLock, place: Path) -> str | None:
    """Take the lock and return None, or return who holds it."""
    for _ in range(_LOOKS):
        try:
            lock.acquire()
        except Timeout:
            owner = _owner(place)
            if owner is not None:
                return owner
            time.sleep(_NAMELESS_S)
        else:
            return None
    return "another process"


def _sign(place: Path) -> None:
    owner = {
        "host": platform.node(),
        "pid": os.getpid(),
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    # On a full disk the lock holds all the same; only its owner has no name then.
    with contextlib.suppress(OSError):
        place.write_text(json.dumps(owner), encoding="utf-8")


def _owner(place: Path) -> str | None:
    """Return the owner in words, None if it has no name at the moment."""
    try:
        owner = json.loads(place.read_text(encoding="utf-8"))
        return f"process {owner['pid']} on host {owner['host']}, since {owner['since']}"
    except (OSError, ValueError, LookupError, TypeError):
        return None
