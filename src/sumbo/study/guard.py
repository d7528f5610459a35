"""What a worker does: it lets a child process run a cell, and watches it.

Pools of processes break as a whole when one of them dies, and cannot end a task that
hangs. Here the worker itself only waits; the cell runs in a child that can be killed
and replaced. A child serves many cells, so the cost of starting it is paid once.
"""

import contextlib
import json
import os
import platform
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import IO, Any

from sumbo.study.design import Cell

# One BLAS thread per cell; must be set before the libraries are loaded.
_ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "BLIS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NUMEXPR_NUM_THREADS",
    ),
    "1",
)
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from sumbo.study.child import main; main()"
)
_START_SECONDS = 300.0  # importing everything from a slow network disk
_TICK_SECONDS = 0.5  # how often a worker looks whether its driver lives
_LOG_BYTES = 4000
# Nobody kills itself this way: the memory ran out, or somebody stopped the process.
_FROM_OUTSIDE = ("SIGKILL", "SIGTERM")
_TRIES = 3


@dataclass(frozen=True, kw_only=True)
class Task:
    """What a worker needs to know besides the cell."""

    runner: str  # "module:function" that turns a Cell into a Record
    modules: tuple[str, ...]
    folder: str | None  # None: the record is sent back instead of written
    timeout: float | None
    driver: int | None  # its process id if it runs on this machine
    retries: int = 0  # how often a cell that failed is tried again


@dataclass(frozen=True, kw_only=True)
class CellOutcome:
    """What became of a cell."""

    cell: Cell
    record: str | None = None  # the text of the record, if it is not yet written
    reason: str = ""  # "" if the cell succeeded
    traceback: str = ""
    fatal: str = ""  # why the study cannot go on, though the cell is not to blame
    host: str = ""
    failures: tuple[str, ...] = ()  # reasons of the attempts before the last one


class _Child:
    """A child process and the threads that keep its streams flowing."""

    def __init__(self) -> None:
        self.log = tempfile.TemporaryFile("a+b")  # noqa: SIM115
        self.process = subprocess.Popen(
            [sys.executable, "-c", _START, json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            env=os.environ | _ONE_THREAD,
            start_new_session=True,
        )
        self.ready = False
        self.answers: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    def send(self, message: dict[str, Any]) -> None:
        self.log.truncate(0)
        # A child that died meanwhile is noticed by whoever waits for the answer.
        with contextlib.suppress(OSError):
            _pipe(self.process.stdin).write(json.dumps(message).encode() + b"\n")
            _pipe(self.process.stdin).flush()

    def wait(self, seconds: float | None) -> dict[str, Any]:
        """Return the next answer.

        Raises:
            TimeoutError: If there is none in time.
            EOFError: If the child died.
        """
        try:
            line = self.answers.get(timeout=seconds)
        except queue.Empty:
            raise TimeoutError from None
        if line is None:
            raise EOFError
        return json.loads(line)

    def abort(self) -> None:
        """End a child that hangs, so that the log tells where it was."""
        with contextlib.suppress(OSError):
            self.process.send_signal(signal.SIGABRT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=2.0)

    def kill(self) -> str:
        """Return what the child wrote last, after it and all it started ended."""
        with contextlib.suppress(AttributeError, OSError):
            os.killpg(self.process.pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            self.process.kill()
        self.process.wait()
        with contextlib.suppress(OSError):
            _pipe(self.process.stdin).close()
        size = self.log.seek(0, os.SEEK_END)
        self.log.seek(max(0, size - _LOG_BYTES))
        lines = self.log.read().decode(errors="replace").splitlines()
        self.log.close()
        # The list of all compiled modules drowns the traceback above it.
        return "\n".join(x for x in lines if not x.startswith("Extension modules"))

    def _listen(self) -> None:
        with _pipe(self.process.stdout) as stream:
            for line in stream:
                self.answers.put(line)
        self.answers.put(None)


_idle: list[_Child] = []


def guarded(cell: Cell, task: Task) -> CellOutcome:
    """Return what became of ``cell``, whatever it did to its process."""
    watch(task.driver)
    failures: list[str] = []
    innocent, retries = _TRIES - 1, task.retries
    while True:
        outcome, ended_by = _attempt(cell, task, tuple(failures))
        if not outcome.reason:
            return outcome
        if ended_by in _FROM_OUTSIDE and innocent:
            innocent -= 1
        elif retries:
            retries -= 1
        else:
            return replace(outcome, failures=tuple(failures))
        failures.append(outcome.reason)


def watch(driver: int | None) -> None:
    """End this worker soon after its driver, a process id of this machine.

    Every worker calls it when it starts: its driver may die before there is a cell.
    """
    if driver not in {None, os.getpid()}:
        _watch(driver)


def dismiss_children() -> None:
    """End the children of this process that wait for work."""
    while _idle:
        _idle.pop().kill()


@cache
def _watch(driver: int) -> None:
    def wait() -> None:
        while os.getppid() == driver:
            time.sleep(_TICK_SECONDS)
        os._exit(1)  # the children notice that their input closes

    threading.Thread(target=wait, daemon=True).start()


def _attempt(
    cell: Cell, task: Task, failures: tuple[str, ...]
) -> tuple[CellOutcome, str]:
    try:
        child = _idle.pop()
    except IndexError:
        child = _Child()
    try:
        answer = _converse(child, cell, task, failures)
    except TimeoutError:
        child.abort()
        return _lost(child, cell, "timeout", f"ran longer than {task.timeout} s")
    except EOFError:
        return _lost(child, cell, *_cause(child.process.wait()))
    except BaseException:  # the worker is being interrupted
        child.kill()
        raise
    if answer.pop("last", False):
        child.kill()
    else:
        _idle.append(child)
    return CellOutcome(cell=cell, host=platform.node(), **answer), ""


def _converse(
    child: _Child, cell: Cell, task: Task, failures: tuple[str, ...]
) -> dict[str, Any]:
    if not child.ready:
        # Importing takes its time, which is not the cell's.
        child.wait(_START_SECONDS)
        child.ready = True
    request = {
        "cell": asdict(cell),
        "runner": task.runner,
        "modules": task.modules,
        "folder": task.folder,
        "failures": failures,
    }
    child.send(request)
    return child.wait(task.timeout)


def _lost(
    child: _Child, cell: Cell, ended_by: str, reason: str
) -> tuple[CellOutcome, str]:
    log = child.kill()
    host = platform.node()
    if child.ready:
        return CellOutcome(cell=cell, reason=reason, traceback=log, host=host), ended_by
    fatal = f"no cell can run on {host}: a worker process did not start.\n{log}"
    return CellOutcome(cell=cell, fatal=fatal, host=host), ended_by


def _cause(code: int) -> tuple[str, str]:
    if code >= 0:
        return "exit", f"ended its process with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return name, f"its process was ended by {name}"


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        msg = "the process was started without pipes"
        raise RuntimeError(msg)
    return stream
