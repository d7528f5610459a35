"""Runs a program to its end, or ends it with everything that it started."""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

_TAIL_BYTES = 1 << 16  # kept of each stream; the value is on the last line
_CHUNK_BYTES = 1 << 16


@dataclass(frozen=True, kw_only=True)
class Finished:
    """What a program left behind."""

    code: int
    output: str  # the end of it, as of errors
    errors: str


class _Tail:
    """The end of a stream, read in a thread so that the program never waits."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._bytes = b""
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def closed(self, seconds: float | None) -> bool:
        """Return whether the stream ended within so many seconds."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def text(self) -> str:
        return self._bytes.decode(errors="replace")

    def _read(self) -> None:
        with self._stream:
            while chunk := self._stream.read(_CHUNK_BYTES):
                self._bytes = (self._bytes + chunk)[-_TAIL_BYTES:]


_running: set[subprocess.Popen[bytes]] = set()


def run(words: Sequence[str], timeout: float | None) -> Finished:
    """Return what a program left behind, once it ended and closed its streams.

    Raises:
        TimeoutError: If it took longer; it was killed, with all its descendants in
            its process group.
        OSError: If it cannot be started.
    """
    process = subprocess.Popen(
        words,
        bufsize=0,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,  # a process group of its own, which can be killed
    )
    _running.add(process)
    try:
        finished = _finished(process, timeout)
    except BaseException:  # too late, or Ctrl-C: nobody waits for it any more
        _kill(process)
        raise
    finally:
        stopped = process not in _running
        _running.discard(process)
    if stopped:
        raise KeyboardInterrupt
    return finished


def stop_all() -> None:
    """Kill all programs that run, in whichever thread; ``run`` is interrupted there."""
    while _running:
        _kill(_running.pop())


def _finished(process: subprocess.Popen[bytes], timeout: float | None) -> Finished:
    deadline = None if timeout is None else time.monotonic() + timeout
    streams = (process.stdout, process.stderr)
    tails = [_Tail(stream) for stream in streams if stream is not None]
    for tail in tails:
        if not tail.closed(_left(deadline)):
            raise TimeoutError
    try:
        code = process.wait(_left(deadline))
    except subprocess.TimeoutExpired:
        raise TimeoutError from None
    output, errors = (tail.text() for tail in tails)
    return Finished(code=code, output=output, errors=errors)


def _left(deadline: float | None) -> float | None:
    return None if deadline is None else max(0.0, deadline - time.monotonic())


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(AttributeError, OSError):  # Windows has no groups
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(OSError):
        process.kill()
    process.wait()
