"""Finished runs as rows of Parquet files: small enough to lie in a repository.

A folder of rows is a study, too::

    designs/   as in every study
    rows/      one file per block: runs of one method, a row each

A block is never changed: a study that grows adds blocks.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from sumbo.errors import StudyError
from sumbo.study import statistics
from sumbo.study.blocks import Row, asks, read_block, write_block
from sumbo.study.storage import (
    Record,
    finished,
    read_designs,
    read_records,
    study_cells,
    write_design,
)

FOLDER = "rows"
BLOCK = 10  # replicates per block


def row_of(record: Record) -> Row:
    """Return the row of a record."""
    cell = record.cell
    curve = statistics.best_so_far(
        record.y[None], n_init=cell.n_init, batch=cell.batch
    )[0]
    ends = np.minimum(np.arange(asks(cell) + 1) * cell.batch, cell.acquisitions)
    same = ("cell", "dim", "seed", "problem_seed", "best_known", "exact", "fit_cpu_s")
    same += ("ask_cpu_s", "seconds", "started", "revision", "host")
    return Row(
        **{name: getattr(record, name) for name in same},
        best=curve[ends],
        eval_s=float(record.eval_s.sum()),
        versions=dict(record.versions),
    )


def read_runs(folder: Path) -> Iterator[Row]:
    """Return all finished runs of a study, from its rows and from its records.

    Raises:
        StudyError: If a file is damaged or of another study, or holds a run that
            another file holds, too.
    """
    seen = set()
    for row in read_rows(folder):
        seen.add(row.cell.id)
        yield row
    for record in read_records(folder, points=False):
        if record.cell.id in seen:
            msg = (
                f"{folder} holds the run {record.cell.name} as a record and as a row "
                "of a block. Remove the record."
            )
            raise StudyError(msg)
        yield row_of(record)


def read_rows(folder: Path) -> Iterator[Row]:
    """Return the rows of all blocks in ``folder``, every one checked.

    Raises:
        StudyError: If a block is damaged, has other columns or belongs to another
            study, or two blocks hold the same run.
    """
    known = study_cells(read_designs(folder))
    seen: dict[str, Path] = {}
    for path in _parts(folder):
        for row in read_block(path):
            cell = row.cell
            if cell.id not in known:
                msg = (
                    f"{path} belongs to another study: {cell.name} with these settings "
                    "is no cell of the designs in this folder. Move it away."
                )
                raise StudyError(msg)
            if cell.id in seen:
                where = f"{seen[cell.id]} and {path}"
                msg = f"{where} hold the same run, {cell.name}. Remove one of them."
                raise StudyError(msg)
            seen[cell.id] = path
            yield row


def settled(folder: Path) -> set[str]:
    """Return the identities of the finished cells, of rows and of records."""
    return finished(folder) | {row.cell.id for row in read_rows(folder)}


def export_rows(folder: str | Path, out: str | Path) -> tuple[Path, ...]:
    """Return the blocks that were written: the runs of a study that ``out`` lacks.

    Blocks that lie in ``out`` are not touched. A new block holds runs of one method
    within a block of ten replicates, so that a study that grows adds files.

    Raises:
        MissingExtraError: If duckdb is not installed.
        StudyError: If ``out`` holds another study or another result of the same run,
            or cannot be written.
    """
    folder, out = Path(folder), Path(out)
    for design in read_designs(folder):
        write_design(out, design)
    there = {row.cell.id: row for row in read_rows(out)}
    blocks: dict[tuple[str, int], list[Row]] = {}
    for row in read_runs(folder):
        cell = row.cell
        if cell.id not in there:
            key = (cell.method, cell.replicate // BLOCK)
            blocks.setdefault(key, []).append(row)
        elif not np.array_equal(there[cell.id].best, row.best):
            msg = (
                f"{out} holds another result of {cell.name} than {folder}. Were they "
                "computed by different code? Choose another folder."
            )
            raise StudyError(msg)
    return tuple(write_block(out / FOLDER, rows) for _, rows in sorted(blocks.items()))


def _parts(folder: Path) -> list[Path]:
    rows = folder / FOLDER
    if not rows.is_dir():
        return []
    return sorted(path for path in rows.iterdir() if not path.name.startswith("."))
