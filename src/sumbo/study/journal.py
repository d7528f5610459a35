"""Slow evaluations of a cell that has not finished, so that they are not repeated.

A cell that is run again asks the same points: they follow from its seed and from the
values before. So the method runs again, which takes seconds, and an evaluation whose
point is in the journal is read instead of repeated. Fast evaluations are not worth a
line, and noise may depend on how often a problem was called, so neither is written.

``unfinished/`` of a study's folder holds one file per cell, removed when the record is
written. Its first line says which software made it. Each further line is one
evaluation; one that was cut off by the end of the process is ignored.
"""

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sumbo.problems import Problem
from sumbo.study.design import Cell
from sumbo.study.storage import filename
from sumbo.typing import Float, ndarray

FOLDER = "unfinished"
SLOW = 1.0  # seconds from which an evaluation is written down

# The folder of the study whose cells keep journals; None where they keep none.
_study: ContextVar[Path | None] = ContextVar("_study", default=None)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One evaluation: its point, its value, and the wall-clock time it took."""

    x: list[float]
    y: float
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Journal:
    """The evaluations that are known of a cell, and where new ones are written."""

    path: Path | None  # None: nothing is written
    software: Mapping[str, Any] = field(default_factory=dict)
    known: Mapping[int, Entry] = field(default_factory=dict)

    def evaluate(
        self, problem: Problem, x: Float[ndarray, " P"], number: int
    ) -> tuple[float, float]:
        """Return the value of evaluation ``number`` and the seconds that it took."""
        entry = self.known.get(number)
        if entry is not None and entry.x == x.tolist():
            return entry.y, entry.seconds
        clock = time.perf_counter()
        y = problem(x)
        seconds = time.perf_counter() - clock
        if self.path is not None and seconds >= SLOW and not problem.noise:
            self._append(self.path, [number, x.tolist(), y, seconds])
        return y, seconds

    def _append(self, path: Path, line: list[Any]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            if file.tell() == 0:
                file.write(json.dumps(self.software))
            # A line break comes first: the last line may have been cut off.
            file.write("\n" + json.dumps(line))


@contextmanager
def journals_in(study: Path | None) -> Iterator[None]:
    """Within it, cells keep their journals in the folder of a study."""
    token = _study.set(study)
    try:
        yield
    finally:
        _study.reset(token)


def journal_of(cell: Cell, software: Mapping[str, Any]) -> Journal:
    """Return the journal of a cell; one that other software made is removed."""
    study = _study.get()
    if study is None:
        return Journal(path=None)
    path = _path(study, cell)
    lines = _lines(path)
    if lines and lines[0] != json.loads(json.dumps(software)):
        path.unlink(missing_ok=True)
        lines = []
    known = {
        line[0]: Entry(x=line[1], y=line[2], seconds=line[3]) for line in lines[1:]
    }
    return Journal(path=path, software=software, known=known)


def remove_journal(study: Path, cell: Cell) -> None:
    """Remove the journal of a cell that has a record now."""
    _path(study, cell).unlink(missing_ok=True)


def unfinished(study: Path, cells: Iterable[Cell]) -> tuple[tuple[Cell, int], ...]:
    """Return which of the cells have journals, and of how many evaluations."""
    if not (study / FOLDER).is_dir():
        return ()
    counts = ((cell, _lines(_path(study, cell))[1:]) for cell in cells)
    return tuple((c, len({line[0] for line in lines})) for c, lines in counts if lines)


def _path(study: Path, cell: Cell) -> Path:
    return (study / FOLDER / filename(cell)).with_suffix(".jsonl")


def _lines(path: Path) -> list[Any]:
    """Return the lines of a journal: the software, then complete evaluations."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    lines = []
    for line in text.splitlines():
        try:
            lines.append(json.loads(line))
        except ValueError:  # cut off
            lines.append(None)
    return lines[:1] + [line for line in lines[1:] if _is_evaluation(line)]


def _is_evaluation(line: Any) -> bool:
    return isinstance(line, list) and len(line) == 4
