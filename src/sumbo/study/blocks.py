"""One file of rows: its columns, its digest, and what a row must fulfil.

The name of a block ends in the digest of its bytes, so that a damaged or edited file is
recognised. A row keeps the best value after every ask, the CPU time of every ask,
seeds, versions and revision. It keeps no points and no host.
"""

import hashlib
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sumbo.errors import MissingExtraError, StudyError
from sumbo.study.design import Cell
from sumbo.study.storage import file_stem
from sumbo.typing import Float, ndarray

# CPU times are kept to 0.1 ms: the digits below are noise, and most of a file's size.
_TICK = 100  # microseconds
_COLUMNS = {
    "cell": "VARCHAR",
    "problem": "VARCHAR",
    "method": "VARCHAR",
    "batch": "INTEGER",
    "replicate": "INTEGER",
    "study_seed": "UBIGINT",
    "n_init": "INTEGER",
    "acquisitions": "INTEGER",
    "preset": "VARCHAR",
    "settings": "VARCHAR",  # JSON
    "common_random_numbers": "BOOLEAN",
    "dim": "INTEGER",
    "seed": "UBIGINT",
    "problem_seed": "UBIGINT",
    "best_known": "DOUBLE",
    "exact": "BOOLEAN",
    "best": "DOUBLE[]",
    "fit_cpu_us": "INTEGER[]",
    "ask_cpu_us": "INTEGER[]",
    "eval_s": "DOUBLE",
    "seconds": "DOUBLE",
    "started": "VARCHAR",
    "revision": "VARCHAR",
    "versions": "VARCHAR",  # JSON
}
# Columns with the name and the value of a field.
_OF_CELL = ("problem", "method", "batch", "replicate", "n_init", "acquisitions")
_OF_CELL += ("preset", "common_random_numbers")
_OF_ROW = ("dim", "seed", "problem_seed", "best_known", "exact", "eval_s", "seconds")
_OF_ROW += ("started", "revision")


@dataclass(frozen=True, kw_only=True)
class Row:
    """What statistics need of a finished run."""

    cell: Cell
    dim: int
    seed: int  # of the optimizer
    problem_seed: int | None
    best_known: float | None
    exact: bool
    best: Float[ndarray, " asks"]  # after the initial points, then after every ask
    fit_cpu_s: Float[ndarray, " A"]
    ask_cpu_s: Float[ndarray, " A"]
    eval_s: float  # wall clock, all evaluations
    seconds: float  # wall clock, the whole cell
    started: str
    revision: str
    versions: dict[str, str]
    host: str = ""  # rows do not keep it

    @property
    def curve(self) -> Float[ndarray, " T"]:
        """The best value known after 0, 1, … acquired evaluations."""
        acquired = np.arange(self.cell.acquisitions + 1)
        asks = acquired // self.cell.batch
        asks[-1] = len(self.best) - 1  # a shorter last batch ends earlier
        return self.best[asks]


def asks(cell: Cell) -> int:
    """Return the number of asks of a cell."""
    return -(-cell.acquisitions // cell.batch)


def write_block(folder: Path, rows: Sequence[Row]) -> Path:
    """Return the path of a new block that holds the rows of one method.

    Raises:
        MissingExtraError: If duckdb is not installed.
        StudyError: If the folder cannot be written.
    """
    rows = sorted(rows, key=lambda r: (r.cell.problem, r.cell.batch, r.cell.replicate))
    replicates = [row.cell.replicate for row in rows]
    duckdb = _duckdb()
    kinds = ", ".join(f"{name}: '{kind}'" for name, kind in _COLUMNS.items())
    query = f"SELECT * FROM read_json($source, columns = {{{kinds}}})"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (
            tempfile.TemporaryDirectory(prefix=".sumbo-", dir=folder) as private,
            duckdb.connect() as connection,
        ):
            source, unfinished = Path(private) / "block.json", Path(private) / "block"
            lines = [json.dumps(_values(row), allow_nan=False) for row in rows]
            source.write_text("\n".join(lines), encoding="utf-8")
            table = connection.sql(query, params={"source": str(source)})
            table.write_parquet(str(unfinished), compression="zstd")
            span = f"r{min(replicates):03d}-{max(replicates):03d}"
            stem = f"{file_stem(rows[0].cell.method)}-{span}"
            path = folder / f"{stem}-{_digest(unfinished)}.parquet"
            unfinished.replace(path)
    except (OSError, duckdb.Error) as error:
        msg = f"{folder} cannot be written: {error}"
        raise StudyError(msg) from error
    return path


def read_block(path: Path) -> Iterator[Row]:
    """Return the rows of a block, every one checked.

    Raises:
        MissingExtraError: If duckdb is not installed.
        StudyError: If the file is damaged, was changed or has other columns.
    """
    duckdb = _duckdb()
    stem, _, digest = path.stem.rpartition("-")
    if path.suffix != ".parquet" or not stem:
        msg = f"{path} is no block of a study. Move it away."
        raise StudyError(msg)
    if _digest(path) != digest:
        msg = f"{path} is damaged or was changed. Fetch it again or export it again."
        raise StudyError(msg)
    try:
        with duckdb.connect() as connection:
            block = connection.read_parquet(str(path))
            found = dict(zip(block.columns, map(str, block.types), strict=True))
            if found != _COLUMNS:
                names = sorted(set(found.items()) ^ set(_COLUMNS.items()))
                msg = (
                    f"{path} has other columns ({names[0][0]}). Use the version of "
                    "sumbo that wrote it."
                )
                raise StudyError(msg)
            lines = block.fetchall()
    except duckdb.Error as error:
        msg = f"{path} cannot be read: {error}"
        raise StudyError(msg) from error
    for line in lines:
        yield _row(dict(zip(_COLUMNS, line, strict=True)), path)


def _values(row: Row) -> dict[str, Any]:
    cell = row.cell
    same = {name: getattr(cell, name) for name in _OF_CELL}
    same |= {name: getattr(row, name) for name in _OF_ROW}
    return same | {
        "cell": cell.id,
        "study_seed": cell.seed,
        "settings": json.dumps(dict(cell.settings), sort_keys=True),
        "best": row.best.tolist(),
        "fit_cpu_us": _ticks(row.fit_cpu_s),
        "ask_cpu_us": _ticks(row.ask_cpu_s),
        "versions": json.dumps(row.versions, sort_keys=True),
    }


def _row(values: dict[str, Any], path: Path) -> Row:
    cell = Cell(
        **{name: values[name] for name in _OF_CELL},
        seed=values["study_seed"],
        settings=json.loads(values["settings"]),
    )
    best = np.array(values["best"], dtype=float)
    times = [np.array(values[f"{k}_cpu_us"], dtype=float) / 1e6 for k in ("fit", "ask")]
    lengths = [len(best) - 1, *map(len, times)]
    if values["cell"] != cell.id or lengths != [asks(cell)] * 3:
        msg = f"{path} holds a row of {cell.name} that contradicts itself."
        raise StudyError(msg)
    if not np.isfinite(best).all() or np.any(np.diff(best) > 0):
        msg = f"{path}: the best values of {cell.name} are not finite and falling."
        raise StudyError(msg)
    return Row(
        **{name: values[name] for name in _OF_ROW},
        cell=cell,
        best=best,
        fit_cpu_s=times[0],
        ask_cpu_s=times[1],
        versions=json.loads(values["versions"]),
    )


def _ticks(seconds: Float[ndarray, " A"]) -> list[int]:
    return (np.rint(seconds * 1e6 / _TICK).astype(int) * _TICK).tolist()


def _digest(path: Path) -> str:
    try:
        return hashlib.blake2b(path.read_bytes(), digest_size=8).hexdigest()
    except OSError as error:
        msg = f"{path} cannot be read: {error.strerror}. Move it away."
        raise StudyError(msg) from error


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError as error:
        msg = 'rows need duckdb. Run: pip install "sumbo[study]"'
        raise MissingExtraError(msg) from error
    return duckdb
