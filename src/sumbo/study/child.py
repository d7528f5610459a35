"""The process in which cells run: it may hang, crash or exit without harm to others.

Started by `sumbo.study.guard`. It reads one JSON request per line and answers each
with one JSON line, on private copies of its standard streams. It ends itself with
everything it started as soon as the other end of its input closes, so no cell outlives
a worker that was killed.
"""

import contextlib
import faulthandler
import importlib
import json
import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from sumbo.errors import StudyError
from sumbo.study.design import Cell
from sumbo.study.journal import journals_in, remove_journal
from sumbo.study.storage import Record, encode, write_record


def main() -> None:
    """Answer requests until the input closes."""
    faulthandler.enable()  # a crash or an abort leaves a traceback in the log
    requests, answers = _private_streams()
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests, lines), daemon=True).start()
    _send(answers, {"ready": True})
    while True:
        _send(answers, _answer(json.loads(lines.get())))


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    # A cell may raise anything, SystemExit included; it must cost its own cell only.
    # After an ordinary exception the process is as good as before.
    folder = None if request["folder"] is None else Path(request["folder"])
    try:
        cell = Cell(**request["cell"])
        for module in request["modules"]:
            importlib.import_module(module)
        with journals_in(folder):
            record = _runner(request["runner"])(cell)
        text = encode(replace(record, failures=tuple(request["failures"])))
    except BaseException as error:  # noqa: BLE001
        reason = "".join(traceback.format_exception_only(error)).strip()
        last = not isinstance(error, Exception) or isinstance(error, MemoryError)
        return {"reason": reason, "traceback": traceback.format_exc(), "last": last}
    if folder is None:
        return {"record": text}
    try:
        write_record(folder, cell, text)
    except StudyError as error:
        return {"fatal": str(error)}
    remove_journal(folder, cell)
    return {"record": None}


def _runner(name: str) -> Callable[[Cell], Record]:
    module, _, function = name.partition(":")
    return getattr(importlib.import_module(module), function)


def _private_streams() -> tuple[BinaryIO, BinaryIO]:
    # Libraries print and read as they like: their output goes to the log, their
    # input is empty, and the conversation with the guard stays undisturbed.
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    return requests, answers


def _listen(requests: BinaryIO, lines: queue.SimpleQueue[bytes]) -> None:
    for line in requests:
        lines.put(line)
    with contextlib.suppress(AttributeError, OSError):  # Windows has no groups
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(0)


def _send(answers: BinaryIO, message: dict[str, Any]) -> None:
    sys.stdout.flush()
    answers.write(json.dumps(message).encode() + b"\n")
    answers.flush()
