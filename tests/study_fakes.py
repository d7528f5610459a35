"""Designs and runners for the tests of the study; importable by child processes."""

import contextlib
import ctypes
import os
import resource
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from sumbo.rng import rng_at
from sumbo.study.design import Cell, Design
from sumbo.study.storage import Record, encode, read_records, write_design, write_record

RUNNER = "study_fakes:fake_run"

# The lowest value, a scale, and how far each method gets within 100 evaluations.
_PROBLEMS = {"ackley2": (0.0, 3.7), "levy5": (0.0, 21.0), "rastrigin10": (-20.0, 17.0)}
_PROBLEMS |= {"push": (-11.072737, 9.0), "rover": (-4.5593, 23.0), "desi": (0.54, 2e4)}
_SPEED = {"ts": 0.050, "ats": 0.047, "alcb2": 0.062, "uniform": 0.012, "dumbo": 0.041}
_SPEED |= {"qff": 0.025, "max": 0.036, "struct": 0.031}


def design(**changes) -> Design:
    """A study of 2 problems, 3 methods and 3 replicates, with irregular numbers."""
    base = Design(
        name="toy",
        seed=71,
        problems=("ackley2", "levy5"),
        methods={1: ("ts", "ats"), 3: ("ts", "ats", "alcb2")},
        replicates=3,
        n_init=4,
        acquisitions=7,
        preset="paper",
        settings={"alcb2": {"beta": 1.7}},
    )
    out = replace(base, **changes)
    kept = {m: s for m, s in out.settings.items() if m in out.method_names}
    return replace(out, settings=kept)


def fake_run(cell: Cell) -> Record:
    """A plausible record at no cost, or the mischief that the method is named for."""
    if cell.method == "slow":
        time.sleep(0.3)
    elif cell.method in _MISCHIEF:
        _MISCHIEF[cell.method]()
    return fake_record(cell)


def fake_record(cell: Cell) -> Record:
    dim = int("".join(c for c in cell.problem if c.isdigit()) or 7) % 61
    lowest, scale = _PROBLEMS.get(cell.problem, (0.31, 5.3))
    shared = rng_at(cell.seed, cell.problem, cell.replicate)
    own = rng_at(cell.seed, cell.problem + cell.method, cell.batch, cell.replicate)
    # The initial data come from ``shared``: they are the same for every method.
    y0 = lowest + scale * shared.gamma(3.1, 0.4, cell.n_init)
    k = np.arange(cell.acquisitions) // cell.batch * cell.batch
    rate = _SPEED.get(cell.method, 0.03) * np.exp(0.3 * own.normal())
    y1 = lowest + scale * np.exp(-rate * k) * own.gamma(2.3, 0.3, cell.acquisitions)
    asks = -(-cell.acquisitions // cell.batch)
    ask = own.gamma(9.0, 0.02, asks) * (1 + np.arange(asks) / 50)
    return Record(
        cell=cell,
        dim=dim,
        seed=int(own.integers(2**32)),
        problem_seed=int(shared.integers(2**32)),
        best_known=None if cell.problem.startswith("desi") else lowest,
        exact=cell.problem not in {"rover", "lunar", "desi"},
        y=np.concatenate([y0, y1]),
        x=own.random((cell.n_init + cell.acquisitions, dim)),
        fit_cpu_s=0.7 * ask,
        ask_cpu_s=ask,
        eval_s=own.gamma(2.0, 1e-4, cell.n_init + cell.acquisitions),
        seconds=time.perf_counter() % 1.0,
        started="2025-03-04T05:06:07+00:00",
        host="test",
        revision="0123456789abcdef",
        versions={"python": "3.11.2", "numpy": "2.4.1", "sumbo": "0.1.0"},
    )


def write_study(folder: Path, study: Design, keep=lambda cell: True) -> None:
    """Write the fake records of a study (those for which ``keep`` holds)."""
    write_design(folder, study)
    for cell in study.all_cells():
        if keep(cell):
            write_record(folder, cell, encode(fake_record(cell)))


def results_of(folder: Path) -> dict[str, dict]:
    """The records by file name, without what may differ between two runs."""
    varying = ("fit_cpu_s", "ask_cpu_s", "eval_s", "seconds", "started", "host")
    out = {}
    for record in read_records(folder):
        values = {k: v for k, v in vars(record).items() if k not in varying}
        values["x"] = values["x"].tolist()
        values["y"] = values["y"].tolist()
        del values["versions"]
        out[record.cell.name] = values
    return out


@contextlib.contextmanager
def largest_file(size: int):
    """Within it, writing more than ``size`` bytes to a file fails like a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def _raise():
    raise ZeroDivisionError("the method divides by zero")


def _hang_holding_the_lock():
    # A C call that never returns and keeps the interpreter lock.
    ctypes.PyDLL(None).sleep(3600)


def _killed_from_outside_once():
    marker = Path(os.environ["SUMBO_TEST_MARKER"])
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)


def _fail_once():
    marker = Path(os.environ["SUMBO_TEST_MARKER"])
    if not marker.exists():
        marker.touch()
        raise OSError("the licence server is busy")


_MISCHIEF = {
    "raises": _raise,
    "hangs": lambda: time.sleep(3600),
    "hangs-in-c": _hang_holding_the_lock,
    "exits": lambda: os._exit(3),
    "leaves": lambda: sys.exit(5),
    "crashes": lambda: ctypes.string_at(0),
    "prints": lambda: os.write(1, b"noise on the standard output\n"),
    "shaky": _fail_once,
    "unlucky": _killed_from_outside_once,
}
