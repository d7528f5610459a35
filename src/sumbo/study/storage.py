"""One immutable JSON file per finished cell: present means done.

Folder of a study::

    designs/     what the study consists of; one file per design that was run here
    records/     one file per finished cell
    failed/      one file per cell that failed, removed when a retry succeeds
    unfinished/  slow evaluations of cells that are not finished
    rows/        finished runs without their points, in parts; see `sumbo.study.rows`
    report/      written by `report`

A record holds one field per line and ends with a digest of all bytes before it, so
that a truncated or edited file is recognised without being parsed.
"""

import contextlib
import hashlib
import json
import os
import re
import secrets
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sumbo.errors import StudyError
from sumbo.study.consistency import contradiction
from sumbo.study.design import Cell, Design, digest
from sumbo.study.reading import design_from
from sumbo.typing import Float, ndarray

FORMAT = 1
_SEAL = re.compile(rb'"digest": "([0-9a-f]{32})"\n}\n\Z')
_UNSAFE = re.compile(r"^\.|[^A-Za-z0-9._-]")  # a leading dot would hide the file
_STALE_AFTER = 3600.0  # seconds; no write takes this long
_ARRAYS = ("y", "fit_cpu_s", "ask_cpu_s", "eval_s")


@dataclass(frozen=True, kw_only=True)
class Record:
    """All that is known of a finished cell."""

    cell: Cell
    dim: int
    seed: int  # of the optimizer
    problem_seed: int | None  # None where the problem has no random part
    best_known: float | None  # lowest value known of the problem
    exact: bool  # whether that is its minimum
    y: Float[ndarray, " N"]
    x: Float[ndarray, "N P"] | None  # None if it was not asked for
    fit_cpu_s: Float[ndarray, " A"]  # per ask; one ask chooses a whole batch
    ask_cpu_s: Float[ndarray, " A"]  # the fit included
    eval_s: Float[ndarray, " N"]  # wall clock, per evaluation
    seconds: float  # wall clock, the whole cell
    started: str
    host: str
    revision: str
    versions: Mapping[str, str]
    failures: tuple[str, ...] = ()  # reasons of the attempts before this one


@dataclass(frozen=True, kw_only=True)
class FailedCell:
    """A cell that gave no record, and why."""

    cell: Cell
    reason: str
    traceback: str
    host: str
    failures: tuple[str, ...] = ()  # reasons of the attempts before the last one


def file_stem(name: str) -> str:
    """Return ``name`` as part of a file name, different for every name."""
    safe = _UNSAFE.sub("_", name)
    return name if safe == name else f"{safe}-{digest(name)}"


def filename(cell: Cell) -> str:
    """Return the file name of a cell: readable, and unique by its identity."""
    return f"{_UNSAFE.sub('_', cell.name)}-{cell.id}.json"


def encode(record: Record) -> str:
    """Return the text of a record, sealed by its digest.

    Raises:
        StudyError: If the record holds a number that is not finite.
    """
    values = vars(record) | {"cell": asdict(record.cell)}
    values = {"format": FORMAT, "id": record.cell.id} | values
    for name in (*_ARRAYS, "x"):
        if values[name] is not None:
            values[name] = np.asarray(values[name]).tolist()
    try:
        return _sealed(values)
    except ValueError as error:
        msg = f"the record of {record.cell.name} holds a number that is not finite."
        raise StudyError(msg) from error


def decode(text: bytes, path: Path, *, points: bool = True) -> Record:
    """Return the record in ``text``; without ``points`` the field x is not parsed.

    Raises:
        StudyError: If the text is not a complete record of this version.
    """
    values = _unsealed(text, path, skip=None if points else "x")
    values["cell"] = _cell(values, path)
    for name in ("format", "id", "digest"):
        del values[name]
    try:
        for name in _ARRAYS:
            values[name] = np.asarray(values[name], dtype=float)
        x = values.get("x")
        values["x"] = None if x is None else np.asarray(x, dtype=float)
        values["failures"] = tuple(values.get("failures", ()))
        wrong = contradiction(values["cell"], values)
        if not wrong:
            return Record(**values)
    except (LookupError, TypeError, ValueError, OverflowError) as error:
        wrong = str(error)
    msg = f"{path} is not a consistent record of a study: {wrong}. Move it away."
    raise StudyError(msg)


def write_record(folder: Path, cell: Cell, text: str) -> Path:
    """Return the path of the record, written unless it is there already."""
    path = folder / "records" / filename(cell)
    if not path.exists():
        write_atomically(path, text)
    return path


def write_failure(folder: Path, failure: FailedCell) -> None:
    """Write down that a cell failed; an older failure of the cell is replaced."""
    values = vars(failure) | {"cell": asdict(failure.cell)}
    values = {"format": FORMAT, "id": failure.cell.id} | values
    write_atomically(folder / "failed" / filename(failure.cell), _sealed(values))


def forget_failure(folder: Path, cell: Cell) -> None:
    """Remove the failure of a cell that has a record now."""
    (folder / "failed" / filename(cell)).unlink(missing_ok=True)


def write_design(folder: Path, design: Design) -> None:
    """Store the whole of ``design`` as part of the study in ``folder``.

    Raises:
        StudyError: If the folder holds another study.
    """
    for path, stored in _designs(folder):
        difference = design.contradiction(stored)
        if difference:
            msg = f"{path} is of another study: {difference}. Choose another folder."
            raise StudyError(msg)
    values = asdict(design)
    del values["selection"]
    values["methods"] = {str(batch): m for batch, m in design.methods.items()}
    design_from(values, source="design")  # one built in code may hold anything
    path = folder / "designs" / f"{design.name}-{digest(values)}.json"
    if not path.exists():
        write_atomically(path, _sealed({"format": FORMAT, **values}))


def read_designs(folder: Path) -> tuple[Design, ...]:
    """Return all designs that were run into ``folder``.

    Raises:
        StudyError: If there is none, or they contradict each other.
    """
    stored = tuple(_designs(folder))
    for path, design in stored[1:]:
        difference = stored[0][1].contradiction(design)
        if difference:
            msg = (
                f"{path} and {stored[0][0]} are of different studies: {difference}. "
                "Move one of them away, with its runs."
            )
            raise StudyError(msg)
    designs = tuple(design for _, design in stored)
    if not designs:
        msg = f"{folder} holds no study. Run one: sumbo study run DESIGN.toml -o DIR."
        raise StudyError(msg)
    return designs


def study_cells(designs: tuple[Design, ...]) -> dict[str, Cell]:
    """Return the cells of all ``designs`` by their identity."""
    return {cell.id: cell for design in designs for cell in design.all_cells()}


def read_records(folder: Path, *, points: bool = True) -> Iterator[Record]:
    """Return the records of a study one by one, every one checked."""
    known = study_cells(read_designs(folder))
    for path, text in _files(folder / "records"):
        record = decode(text, path, points=points)
        _check_place(record.cell, path, known)
        yield record


def finished(folder: Path) -> set[str]:
    """Return the identities of the cells with a complete record in ``folder``."""
    known = study_cells(read_designs(folder))
    done = set()
    for path, text in _files(folder / "records"):
        cell = _cell(_unsealed(text, path, skip=("x", *_ARRAYS)), path)
        _check_place(cell, path, known)
        done.add(cell.id)
    return done


def read_failures(folder: Path) -> list[FailedCell]:
    """Return the cells that failed, in order of their names.

    Raises:
        StudyError: If a file is not a complete failure of this study.
    """
    known = study_cells(read_designs(folder))
    failures = []
    for path, text in _files(folder / "failed"):
        values = _unsealed(text, path, skip=None)
        cell = _cell(values, path)
        _check_place(cell, path, known)
        texts = ("reason", "traceback", "host")
        rest = {name: str(values.get(name, "")) for name in texts}
        before = values.get("failures", ())
        before = tuple(map(str, before)) if isinstance(before, list) else ()
        failures.append(FailedCell(cell=cell, failures=before, **rest))
    return failures


def write_atomically(path: Path, text: str) -> None:
    """Write a file so that it is either absent or complete, whatever happens.

    Raises:
        StudyError: If the disk is full or the folder cannot be written.
    """
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with unfinished.open("x", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)
        msg = (
            f"{path} cannot be written: {error.strerror}. Nothing was overwritten; "
            "make room or choose another folder, then run the same command again."
        )
        raise StudyError(msg) from error


def remove_leftovers(folder: Path) -> None:
    """Remove unfinished files of writers that were killed long ago."""
    for path in folder.glob("*/.*.tmp"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _STALE_AFTER:
                path.unlink()


def _sealed(values: Mapping[str, Any]) -> str:
    lines = [
        f"{json.dumps(key)}: {json.dumps(value, allow_nan=False)}"
        for key, value in values.items()
    ]
    body = "{\n" + ",\n".join(lines) + ",\n"
    return f'{body}"digest": "{_checksum(body.encode())}"\n}}\n'


def _unsealed(text: bytes, path: Path, skip: str | tuple[str, ...] | None) -> Any:
    seal = _SEAL.search(text, max(0, len(text) - 64))
    if seal is None:
        msg = f"{path} is truncated or no file of a study. Delete it to run it again."
        raise StudyError(msg)
    if _checksum(text[: seal.start()]) != seal.group(1).decode():
        msg = f"{path} was changed after it was written. Delete it to run it again."
        raise StudyError(msg)
    if skip is not None:
        # The points are most of a file, and one field is one line.
        names = (skip,) if isinstance(skip, str) else skip
        starts = tuple(f'"{name}": '.encode() for name in names)
        lines = text.splitlines(keepends=True)
        text = b"".join(line for line in lines if not line.startswith(starts))
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        msg = f"{path} is no file of a study: {error}. Move it away."
        raise StudyError(msg) from error
    if type(values.get("format")) is not int or values["format"] != FORMAT:
        msg = (
            f"{path} has the format {values.get('format')!r}, this version of sumbo "
            f"reads {FORMAT}. Use the version that wrote it, or another folder."
        )
        raise StudyError(msg)
    return values


def _checksum(body: bytes) -> str:
    return hashlib.blake2b(body, digest_size=16).hexdigest()


def _cell(values: Mapping[str, Any], path: Path) -> Cell:
    try:
        cell = Cell(**values["cell"])
        known = cell.id  # a hash of all its fields, whatever they hold
    except (KeyError, TypeError, ValueError) as error:
        msg = f"{path} is not a file of a study: it names no cell. Move it away."
        raise StudyError(msg) from error
    if known != values.get("id") or path.name != filename(cell):
        msg = (
            f"{path} holds the cell {cell.name} with id {cell.id}, which is not what "
            "its name says. Rename it back, or delete it to run it again."
        )
        raise StudyError(msg)
    return cell


def _check_place(cell: Cell, path: Path, known: Mapping[str, Cell]) -> None:
    if cell.id not in known:
        msg = (
            f"{path} belongs to another study: {cell.name} with these settings is no "
            "cell of the designs in this folder. Move it away."
        )
        raise StudyError(msg)


def _designs(folder: Path) -> Iterator[tuple[Path, Design]]:
    for path, text in _files(folder / "designs"):
        values = _unsealed(text, path, skip=None)
        table = {k: v for k, v in values.items() if k not in {"format", "digest"}}
        yield path, design_from(table, source=str(path))


def _files(folder: Path) -> Iterator[tuple[Path, bytes]]:
    if not folder.is_dir():
        return
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue  # unfinished, or of the operating system
        try:
            yield path, path.read_bytes()
        except OSError as error:
            msg = f"{path} cannot be read: {error.strerror}. Move it away."
            raise StudyError(msg) from error
