"""All evaluations of a study as one table, in Parquet or CSV."""

import glob
import tempfile
from pathlib import Path

from sumbo.errors import ArgumentError, MissingExtraError, StudyError
from sumbo.study.storage import read_records

# DuckDB reads the records itself. All lists have one item per evaluation k before
# they are unnested together. The values of a batch become known with its last point;
# the time of an ask is shared by the points it chose.
_QUERY = """
WITH runs AS (
    SELECT id, dim, seed, cell.*, x, y, eval_s, fit_cpu_s, ask_cpu_s,
        range(1, len(y) + 1) AS evals
    FROM read_json(
        getvariable('records'),
        maximum_object_size = 1000000000,
        columns = {
            id: 'VARCHAR', dim: 'INTEGER', seed: 'UBIGINT',
            cell: 'STRUCT(problem VARCHAR, method VARCHAR, batch INTEGER,
                          replicate INTEGER, n_init INTEGER, acquisitions INTEGER)',
            x: 'DOUBLE[][]', y: 'DOUBLE[]', eval_s: 'DOUBLE[]',
            fit_cpu_s: 'DOUBLE[]', ask_cpu_s: 'DOUBLE[]'
        }
    )
), counted AS (
    SELECT *,
        list_transform(evals, lambda k: list_min(y[1:
            CASE WHEN k <= n_init OR k = len(y) THEN k
                 ELSE n_init + (k - n_init) // batch * batch END])) AS best,
        list_transform(evals, lambda k:
            CASE WHEN k > n_init THEN (k - n_init - 1) // batch + 1 END) AS ask,
        list_transform(ask, lambda a:
            least(batch, acquisitions - (a - 1) * batch)) AS size
    FROM runs
)
SELECT problem, dim, method, batch, replicate,
    unnest(evals) AS eval, unnest(x) AS x, unnest(y) AS y, unnest(best) AS best,
    unnest(list_transform(ask, lambda a, k: fit_cpu_s[a] / size[k])) AS fit_cpu_s,
    unnest(list_transform(ask, lambda a, k: ask_cpu_s[a] / size[k])) AS ask_cpu_s,
    unnest(eval_s) AS eval_s, seed, id AS cell
FROM counted
ORDER BY problem, batch, method, replicate, eval
"""


def export(folder: str | Path, out: str | Path) -> Path:
    """Return the path of a table with one row per evaluation.

    The suffix of ``out`` chooses the format: .parquet or .csv. In a CSV file the point
    x is one field, written as a list.

    Columns: problem, dim, method, batch, replicate, eval, x, y, best, fit_cpu_s,
    ask_cpu_s, eval_s, seed, cell. Times of asks are per point, and null for the
    initial points.

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
    # Every record is checked in full before any is exported.
    if not sum(1 for _ in read_records(folder)):
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
            unfinished = Path(private) / "table"
            records = f"{glob.escape(str(folder))}/records/*.json"
            connection.execute("SET VARIABLE records = ?", [records])
            table = connection.sql(_QUERY)
            if out.suffix.lower() == ".csv":
                table.write_csv(str(unfinished), header=True)
            else:
                table.write_parquet(str(unfinished), compression="zstd")
            unfinished.replace(out)
    except (OSError, duckdb.Error) as error:
        msg = f"{out} cannot be written: {error}"
        raise StudyError(msg) from error
    return out
