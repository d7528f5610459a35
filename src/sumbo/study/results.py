"""The runs of a study as arrays, and the tables that are read off them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sumbo.errors import StudyError
from sumbo.study.design import Design
from sumbo.study.rows import Row, read_runs
from sumbo.study.storage import FailedCell, read_designs, read_failures
from sumbo.typing import Float, Int, ndarray

Key = tuple[str, str, int]  # problem, method, batch


@dataclass(frozen=True, kw_only=True)
class Runs:
    """All finished replicates of one method on one problem at one batch size."""

    problem: str
    method: str
    batch: int
    dim: int
    best_known: float | None
    exact: bool
    replicates: Int[ndarray, " R"]
    best: Float[ndarray, "R T"]  # after 0, 1, … acquired evaluations
    fit_cpu_s: Float[ndarray, "R A"]
    ask_cpu_s: Float[ndarray, "R A"]

    @property
    def final(self) -> Float[ndarray, " R"]:
        """The best value of each run at its end."""
        return self.best[:, -1]


@dataclass(frozen=True, kw_only=True)
class Results:
    """A study, finished or not, in memory; the points themselves are left on disk."""

    designs: tuple[Design, ...]
    runs: Mapping[Key, Runs]
    failures: tuple[FailedCell, ...]
    versions: Mapping[str, int]  # "numpy 2.4.1" -> number of records
    hosts: Mapping[str, int]
    revisions: Mapping[str, int]
    cpu_seconds: float  # of all asks
    wall_seconds: float  # of all cells

    @property
    def design(self) -> Design:
        """The design that says what all of them share."""
        return self.designs[0]

    @property
    def cells(self) -> int:
        """The number of cells of the whole study."""
        return len({cell.id for d in self.designs for cell in d.all_cells()})

    @property
    def done(self) -> int:
        """The number of finished cells."""
        return sum(len(runs.replicates) for runs in self.runs.values())

    @property
    def batches(self) -> tuple[int, ...]:
        """The batch sizes with records, in increasing order."""
        return tuple(sorted({batch for _, _, batch in self.runs}))

    @property
    def problems(self) -> tuple[str, ...]:
        """The problems with records, in the order of the design."""
        return self._present(0, [p for d in self.designs for p in d.problems])

    def methods(self, batch: int | None = None) -> tuple[str, ...]:
        """Return the methods with records, in the order of the design."""
        wanted = [
            m
            for d in self.designs
            for b, methods in d.methods.items()
            if batch in {None, b}
            for m in methods
        ]
        if batch is None:
            return self._present(1, wanted)
        used = {m for _, m, b in self.runs if b == batch}
        return tuple(m for m in dict.fromkeys(wanted) if m in used)

    def of(self, problem: str, batch: int) -> dict[str, Runs]:
        """Return the runs on one problem at one batch size, by method."""
        found = {m: self.runs.get((problem, m, batch)) for m in self.methods(batch)}
        return {method: runs for method, runs in found.items() if runs is not None}

    def _present(self, index: int, wanted: Iterable[str]) -> tuple[str, ...]:
        used = {key[index] for key in self.runs}
        return tuple(name for name in dict.fromkeys(wanted) if name in used)


def load(folder: str | Path) -> Results:
    """Return the study in ``folder`` as arrays, from its records and its rows.

    Raises:
        StudyError: If it holds no finished run yet, or a file is damaged.
    """
    folder = Path(folder)
    designs = read_designs(folder)
    gathered: dict[Key, list[Row]] = {}
    counts: dict[str, dict[str, int]] = {"versions": {}, "hosts": {}, "revisions": {}}
    cpu = wall = 0.0
    done = set()
    for row in read_runs(folder):
        cell = row.cell
        key = (cell.problem, cell.method, cell.batch)
        gathered.setdefault(key, []).append(row)
        done.add(cell.id)
        cpu += float(row.ask_cpu_s.sum())
        wall += row.seconds
        for name, version in row.versions.items():
            _count(counts["versions"], f"{name} {version}")
        if row.host:
            _count(counts["hosts"], row.host)
        _count(counts["revisions"], row.revision[:12] or "not a git checkout")
    if not gathered:
        msg = f"{folder} holds no finished cell yet. Run the study first."
        raise StudyError(msg)
    return Results(
        designs=designs,
        runs={key: _runs(rows) for key, rows in gathered.items()},
        failures=tuple(f for f in read_failures(folder) if f.cell.id not in done),
        cpu_seconds=cpu,
        wall_seconds=wall,
        **counts,
    )


def shared_replicates(
    a: Runs, b: Runs
) -> tuple[Float[ndarray, "R T"], Float[ndarray, "R T"]]:
    """Return the curves of both for the replicates that both have finished."""
    _, i, j = np.intersect1d(a.replicates, b.replicates, return_indices=True)
    return a.best[i], b.best[j]


def medians(results: Results, batch: int) -> dict[str, dict[str, tuple[float, int]]]:
    """Return (median final value, replicates) by problem and method."""
    return {
        problem: {
            method: (float(np.median(runs.final)), len(runs.replicates))
            for method, runs in results.of(problem, batch).items()
        }
        for problem in results.problems
        if results.of(problem, batch)
    }


def complete_problems(results: Results, batch: int) -> tuple[str, ...]:
    """Return the problems on which every method of this batch size has runs.

    Ranks among different sets of methods could not be averaged.
    """
    wanted = set(results.methods(batch))
    return tuple(p for p in results.problems if set(results.of(p, batch)) == wanted)


def _runs(rows: list[Row]) -> Runs:
    rows = sorted(rows, key=lambda row: row.cell.replicate)
    first = rows[0]
    return Runs(
        problem=first.cell.problem,
        method=first.cell.method,
        batch=first.cell.batch,
        dim=first.dim,
        best_known=first.best_known,
        exact=first.exact,
        replicates=np.array([row.cell.replicate for row in rows]),
        best=np.array([row.curve for row in rows]),
        fit_cpu_s=np.array([row.fit_cpu_s for row in rows]),
        ask_cpu_s=np.array([row.ask_cpu_s for row in rows]),
    )


def _count(counts: dict[str, int], key: str) -> None:
    counts[key] = counts.get(key, 0) + 1
