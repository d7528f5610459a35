"""A child process that answers requests, each in a line of JSON."""

import json
import os
import queue
import signal
import subprocess
import threading
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

TAIL = 12  # lines of its messages that an error shows


class Process:
    """A child process spoken to in lines, which ends with this object."""

    def __init__(self, command: list[str], env: dict[str, str] | None = None) -> None:
        # In a session of its own it ends together with its children, and a keyboard
        # interrupt does not reach it in the middle of an evaluation.
        self._child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
            env=env,
        )
        self._owner = os.getpid()
        self.end = weakref.finalize(self, _end, self._child, self._owner)
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._messages: deque[str | None] = deque(maxlen=TAIL + 1)
        # Both are read all the time, so that the child never waits for a reader.
        _pump(self._child.stdout, self._lines.put)
        self._listener = _pump(self._child.stderr, self._messages.append)

    def alive(self) -> bool:
        """Return whether it runs, as a child of this process and not of a parent."""
        return self._owner == os.getpid() and self._child.poll() is None

    def ask(self, request: dict[str, Any], timeout: float) -> str:
        """Return the line that answers a request.

        Raises:
            EOFError: If the process has ended.
            TimeoutError: If no answer comes in time.
        """
        try:
            if self._child.stdin is not None:
                self._child.stdin.write(json.dumps(request) + "\n")
                self._child.stdin.flush()
            answer = self._lines.get(timeout=timeout)
        except OSError as error:
            raise EOFError from error
        except queue.Empty as error:
            raise TimeoutError from error
        if answer is None:
            raise EOFError
        return answer

    def last_words(self) -> str:
        """Return how it ended and its last messages; it is killed if it runs yet."""
        with suppress(subprocess.TimeoutExpired):
            self._child.wait(timeout=0.2)  # its output ends a moment before it does
        code = self._child.poll()
        self.end()
        self._listener.join(timeout=1.0)
        lines = [line.rstrip() for line in list(self._messages) if line is not None]
        end = "It was stopped." if code is None else f"It ended with code {code}."
        return "\n".join([f"{end} Its last messages:", *lines])


def _pump(stream: Any, put: Callable[[str | None], None]) -> threading.Thread:
    """Return a started thread that puts every line of a stream, and None at the end."""

    def run() -> None:
        with stream:
            for line in stream:
                put(line)
        put(None)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def _end(child: subprocess.Popen[str], owner: int) -> None:
    if os.getpid() != owner:
        child.returncode = 0  # in a fork: it is the parent's to end and to wait for
        return
    if child.poll() is None:
        with suppress(OSError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    if child.stdin is not None:
        with suppress(OSError):  # a request that was never read
            child.stdin.close()
