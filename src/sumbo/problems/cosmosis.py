"""Problems that the user's own CosmoSIS evaluates, in a worker process.

CosmoSIS and its standard library are installed as CosmoSIS documents it, in any
interpreter. Two environment variables say where:

    COSMOSIS_STANDARD_LIBRARY   the checkout of cosmosis-standard-library
    SUMBO_COSMOSIS_PYTHON       the interpreter with CosmoSIS; default: the current one
"""

import json
import logging
import math
import os
import shutil
import subprocess
import sys
import threading
import tomllib
from dataclasses import dataclass, field
from functools import partial
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np

from sumbo.errors import ArgumentError, ProblemError
from sumbo.problems.base import Problem, problem
from sumbo.problems.cosmosis_process import Process
from sumbo.typing import Float, ndarray

LIBRARY = "COSMOSIS_STANDARD_LIBRARY"
PYTHON = "SUMBO_COSMOSIS_PYTHON"

# The value where the pipeline fails, and the ceiling of all other values.
PENALTY = 1e10

# By how much the log-likelihood at the start point may differ from the expected one.
# Versions of CAMB differ by less; a pipeline that does not work differs by more.
SELF_CHECK = 0.5

REMEDIES = {
    "import": "it cannot import cosmosis. Install CosmoSIS for it as documented there, "
    f"or set {PYTHON} to the interpreter that has it",
    "parameters": "the pipeline has other parameters than this problem. Set "
    f"{LIBRARY} to a current checkout of cosmosis-standard-library",
    "pipeline": "the pipeline cannot be built. Make it run with the cosmosis command",
}

logger = logging.getLogger("sumbo")


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """A CosmoSIS pipeline and the coordinates it takes."""

    ini: str  # below the standard library
    start: float  # log-likelihood at the start point of the files
    parameters: tuple[tuple[str, str, float, float], ...]  # section, name, box
    cost: str = ""
    description: str = ""
    cite: str = ""


@dataclass(kw_only=True)
class Link:
    """The process of one problem, if it was started; copies have their own."""

    process: Process | None = None
    lock: Any = field(default_factory=threading.Lock)

    def __reduce__(self) -> tuple[Any, ...]:
        return Link, ()


@dataclass(frozen=True, kw_only=True, eq=False)
class Cosmosis(Problem):
    """Minus the log-likelihood that a CosmoSIS pipeline computes; priors are flat.

    Where the pipeline fails the value is `PENALTY`. The first evaluation starts the
    worker process; a copy of the problem, in whatever process, starts its own.
    """

    pipeline: Pipeline
    python: str
    library: str
    timeout: float  # seconds that one evaluation may take
    link: Link = field(default_factory=Link, init=False, repr=False)

    def evaluate(self, X: Float[ndarray, "n P"]) -> Float[ndarray, " n"]:
        """Return the values of the rows, one run of the pipeline each."""
        with self.link.lock:
            loglikes = np.array([self._loglike(x.tolist()) for x in X], dtype=float)
        values = np.where(np.isfinite(loglikes), -loglikes, PENALTY)
        return np.minimum(values, PENALTY)

    def _loglike(self, x: list[float]) -> float:
        """Return the log-likelihood at x, -inf where the pipeline fails.

        Raises:
            ProblemError: If the worker dies at x twice, does not answer, or not as it
                should.
        """
        words = ""
        for _ in range(2):
            process = self._running()
            try:
                return _value(self._ask(process, {"x": x}))
            except EOFError:
                words = process.last_words()
                logger.warning("The worker of %s died at x=%r. %s", self.name, x, words)
        raise self._error(f"died twice at x={x}. {words}")

    def _running(self) -> Process:
        """Return the worker; a new one, set up and checked, if none runs.

        Raises:
            ProblemError: If it cannot be started or set up, or fails the self-check.
        """
        link = self.link
        if link.process is not None and link.process.alive():
            return link.process
        link.process = None
        if reason := obstacle(self.python, self.library, self.pipeline.ini):
            raise ProblemError(f"problem {self.name!r} cannot run: {reason}")
        setup = {
            "library": self.library,
            "ini": self.pipeline.ini,
            "parameters": self.pipeline.parameters,
        }
        with as_file(files("sumbo.problems") / "cosmosis_worker.py") as script:
            try:
                process = Process([self.python, str(script)], environment(self.python))
            except OSError as error:
                raise self._error(f"cannot be started ({error})") from error
            try:
                reply = self._ask(process, setup)
            except EOFError as error:
                raise self._error(f"died at once. {process.last_words()}") from error
        if fault := self._fault(reply):
            raise self._error(f"{fault}. {process.last_words()}")
        link.process = process
        return process

    def _ask(self, process: Process, request: dict[str, Any]) -> dict[str, Any]:
        """Return the reply to a request; without one the process is ended.

        Raises:
            EOFError: If the process died.
            ProblemError: If it does not answer, or not as it should.
        """
        line = ""
        try:
            line = process.ask(request, self.timeout)
            reply = json.loads(line)
            if isinstance(reply, dict) and reply.keys() & {"loglike", "error"}:
                return reply
            msg = f"answered {line[:200]!r}, which is no reply"
        except ValueError:
            msg = f"answered {line[:200]!r}, which is not JSON"
        except TimeoutError:
            msg = f"gave no reply for timeout={self.timeout:g} s. Raise it if too short"
        except BaseException:
            # An interrupt, too: its reply would be taken for that to the next request.
            process.end()
            raise
        raise self._error(f"{msg}. {process.last_words()}")

    def _fault(self, reply: dict[str, Any]) -> str:
        """Return what is wrong with the reply to the set-up, or ""."""
        if "error" in reply:
            remedy = REMEDIES.get(str(reply["error"]), "it cannot be set up")
            return f"does not work: {remedy} ({reply.get('message')})"
        start, expected = _value(reply), self.pipeline.start
        if abs(start - expected) <= SELF_CHECK:
            return ""
        reason = f" ({reply['reason']})" if reply.get("reason") else ""
        return (
            f"fails the self-check: the log-likelihood at the start point is {start}"
            f"{reason}, not {expected} ± {SELF_CHECK}. A camb that does not suit the "
            "standard library is the usual cause: install one that does. CosmoSIS 3.26 "
            "needs numpy < 2.4, and scipy < 1.17 for hsc-y3-shear"
        )

    def _error(self, what: str) -> ProblemError:
        return ProblemError(
            f"the worker of problem {self.name!r} ({self.python}, "
            f"{self.library}/{self.pipeline.ini}) {what}"
        )


def make(
    *, name: str, python: str = "", library: str = "", timeout: float = 600.0
) -> Cosmosis:
    """Return the problem of a pipeline of the CosmoSIS standard library.

    ``python`` and ``library`` replace the environment variables; ``timeout`` limits
    the seconds of one evaluation.

    Raises:
        ArgumentError: If ``timeout`` is not a positive number.
        ProblemError: If the interpreter or the library is not where it should be.
    """
    if not timeout > 0:
        msg = f"timeout={timeout!r} is not a positive number of seconds. Pass 600."
        raise ArgumentError(msg)
    pipeline = PIPELINES[name]
    python, library = _places(python, library)
    if reason := obstacle(python, library, pipeline.ini):
        raise ProblemError(f"problem {name!r} cannot run: {reason}")
    return Cosmosis(
        name=name,
        bounds=np.array([(lo, hi) for _, _, lo, hi in pipeline.parameters]),
        parameters=tuple(name for _, name, _, _ in pipeline.parameters),
        description=pipeline.description,
        cite=pipeline.cite,
        pipeline=pipeline,
        python=python,
        library=library,
        timeout=float(timeout),
    )


def obstacle(python: str, library: str, ini: str) -> str:
    """Return what a pipeline lacks on the disk and what to do about it, or ""."""
    if not library:
        return f"{LIBRARY} is not set. Set it to a cosmosis-standard-library checkout."
    if not Path(library).is_dir():
        return f"{LIBRARY}={library} is no directory. Set it to a checkout."
    if not Path(library, ini).is_file():
        return f"{LIBRARY}={library} has no {ini}. Set it to a current checkout."
    if shutil.which(python) is None:
        return f"{PYTHON}={python} is no program. Set it to a Python with CosmoSIS."
    return ""


def environment(python: str) -> dict[str, str]:
    """Return the environment of a worker, in which CosmoSIS finds its own library.

    The compiled modules of CosmoSIS look for libcosmosis.so by its plain name, in the
    folders of LD_LIBRARY_PATH only.
    """
    code = "import importlib.util as u; print(u.find_spec('cosmosis').origin)"
    try:
        found = subprocess.run(
            [python, "-c", code],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return dict(os.environ)  # the worker says what is wrong
    folder = str(Path(found.stdout.strip()).parent / "datablock")
    before = os.environ.get("LD_LIBRARY_PATH")
    path = folder if not before else os.pathsep.join([folder, before])
    return {**os.environ, "LD_LIBRARY_PATH": path}


def check(ini: str) -> str:
    """Return why a pipeline cannot run in the current environment, or ""."""
    python, library = _places("", "")
    if reason := obstacle(python, library, ini):
        return reason
    code = "import importlib.util as u, sys; sys.exit(u.find_spec('cosmosis') is None)"
    try:
        found = subprocess.run(
            [python, "-c", code],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"{PYTHON}={python} cannot be run ({error}). Set it to a Python."
    return f"{python}: {REMEDIES['import']}." if found.returncode else ""


def _value(reply: dict[str, Any]) -> float:
    value = reply.get("loglike")
    if isinstance(value, (int, float)) and math.isfinite(value):
        return float(value)
    logger.debug("The pipeline failed: %s", reply.get("reason"))
    return -math.inf


def _places(python: str, library: str) -> tuple[str, str]:
    """Return interpreter and library: as given, else by the environment."""
    library = library or os.environ.get(LIBRARY, "")
    python = python or os.environ.get(PYTHON, "") or sys.executable
    return python, str(Path(library).expanduser().absolute()) if library else ""


def _pipelines() -> dict[str, Pipeline]:
    text = (files("sumbo.problems") / "cosmosis.toml").read_text(encoding="utf-8")
    return {
        name: Pipeline(
            parameters=tuple(
                (section, parameter, lo, hi)
                for section, boxes in facts.pop("parameters").items()
                for parameter, (lo, hi) in boxes.items()
            ),
            **facts,
        )
        for name, facts in tomllib.loads(text).items()
    }


PIPELINES = _pipelines()

for _name, _pipeline in PIPELINES.items():
    problem(
        _name,
        dim=len(_pipeline.parameters),
        cost=_pipeline.cost,
        needs="CosmoSIS",
        listed=False,  # each repeats a problem without this suffix
        description=_pipeline.description,
        cite=_pipeline.cite,
        check=partial(check, _pipeline.ini),
    )(partial(make, name=_name))
