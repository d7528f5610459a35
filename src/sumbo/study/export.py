"""All evaluations of a study as one table, in Parquet or CSV."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sumbo.errors import ArgumentError, MissingExtraError, StudyError
from sumbo.study import statistics
from sumbo.study.storage import Record, read_records
from sumbo.typing import Float, ndarray

_RUN = {
    "problem": "VARCHAR",
    "dim": "INTEGER",
    "method": "VARCHAR",
    "batch": "INTEGER",
    "replicate": "INTEGER",
}
_EVALUATION = {
    "eval": "INTEGER[]",
    "x": "DOUBLE[][]",
    "y": "DOUBLE[]",
    "best": "DOUBLE[]",
    "fit_cpu_s": "DOUBLE[]",
    "ask_cpu_s": "DOUBLE[]",
    "eval_s": "DOUBLE[]",
}
_ORIGIN = {"seed": "UBIGINT", "cell": "VARCHAR"}
_COLUMNS = _RUN | _EVALUATION | _ORIGIN


def export(folder: str | Path, out: str | Path) -> Path:
    """Return the path of a table with one row per evaluation.

    The suffix of ``out`` chooses the format: .parquet or .csv. In a CSV file the point
    x is one field, written as a list.

    Columns: problem, dim, method, batch, replicate, eval, x, y, best, fit_cpu_s,
    ask_cpu_s, eval_s, seed, cell. The values of a batch become known with its last
    point. Times of asks are per point, and null for the initial points.

    Raises:
        ArgumentError: If the suffix is another.
        MissingExtraError: If duckdb is not installed.
        StudyError: If there is nothing to export or the file cannot be written.
    """
    try:
        import duckdb
    except ImportError as error:
        msg = 'exports need duckdb. Run: pip install "sumbo[study]"'
        raise MissingExtraError(msg) from error
    folder, out = Path(folder), Path(out)
    if out.suffix.lower() not in (".parquet", ".csv"):
        msg = f"out={str(out)!r} ends neither in .parquet nor in .csv. Choose one."
        raise ArgumentError(msg)
    if next(read_records(folder, points=False), None) is None:
        msg = (
            f"{folder} holds no record of a finished cell. Run the study first; rows "
            "keep no single evaluations."
        )
        raise StudyError(msg)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with (
            tempfile.TemporaryDirectory(prefix=".sumbo-", dir=out.parent) as private,
            duckdb.connect() as connection,
        ):
            runs, unfinished = Path(private) / "runs.json", Path(private) / "table"
            with runs.open("w", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in _lines(folder))
            table = connection.sql(_query(), params={"runs": str(runs)})
            if out.suffix.lower() == ".csv":
                table.write_csv(str(unfinished), header=True)
            else:
                table.write_parquet(str(unfinished), compression="zstd")
            unfinished.replace(out)
    except (OSError, duckdb.Error) as error:
        msg = f"{out} cannot be written: {error}"
        raise StudyError(msg) from error
    return out


def _query() -> str:
    """Return a query that turns lists with an item per evaluation into rows."""
    kinds = ", ".join(f"{name}: '{kind}'" for name, kind in _COLUMNS.items())
    columns = [f"unnest({n}) AS {n}" if n in _EVALUATION else n for n in _COLUMNS]
    return (
        f"SELECT {', '.join(columns)} FROM read_json($runs, columns = {{{kinds}}}, "
        "maximum_object_size = 1000000000) "
        "ORDER BY problem, batch, method, replicate, eval"
    )


def _lines(folder: Path) -> Iterator[str]:
    """Yield one JSON object per run, its keys those of the columns."""
    for record in read_records(folder):
        yield json.dumps(_run(record), allow_nan=False)


def _run(record: Record) -> dict[str, Any]:
    cell, count = record.cell, len(record.y)
    known = statistics.best_so_far(
        record.y[None], n_init=cell.n_init, batch=cell.batch
    )[0]
    first = np.minimum.accumulate(record.y[: cell.n_init])
    return {
        "problem": cell.problem,
        "dim": record.dim,
        "method": cell.method,
        "batch": cell.batch,
        "replicate": cell.replicate,
        "eval": list(range(1, count + 1)),
        "x": [None] * count if record.x is None else record.x.tolist(),
        "y": record.y.tolist(),
        "best": [*first.tolist(), *known[1:].tolist()],
        "fit_cpu_s": _per_point(record, record.fit_cpu_s),
        "ask_cpu_s": _per_point(record, record.ask_cpu_s),
        "eval_s": record.eval_s.tolist(),
        "seed": record.seed,
        "cell": cell.id,
    }


def _per_point(record: Record, seconds: Float[ndarray, " A"]) -> list[float | None]:
    """Return the time of each point's ask, divided by its batch."""
    cell = record.cell
    asked = statistics.cpu_per_acquisition(
        seconds[None], batch=cell.batch, acquisitions=cell.acquisitions
    )[0]
    return [None] * cell.n_init + asked.tolist()
