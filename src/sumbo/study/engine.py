"""Runs the cells of a study with joblib: on this machine, or on a Dask cluster.

Every finished cell is a file, so a run that was killed continues where it was. What a
cell may do to its process is contained by `sumbo.study.guard`; what happens to workers
from outside is repaired here, by giving their cells to new ones.
"""

import contextlib
import os
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from sumbo import problems
from sumbo.errors import ArgumentError, MissingExtraError, StudyError
from sumbo.optimizer.engine import as_count
from sumbo.study.design import Cell, Design
from sumbo.study.guard import CellOutcome, Task, dismiss_children, guarded, watch
from sumbo.study.journal import unfinished
from sumbo.study.rows import settled
from sumbo.study.storage import (
    FailedCell,
    forget_failure,
    read_designs,
    read_failures,
    remove_leftovers,
    study_cells,
    write_design,
    write_failure,
    write_record,
)

RUNNER = "sumbo.study.cell:run_cell"
# Pools of workers that broke one after the other without finishing a single cell.
_BROKEN_POOLS = 5


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What one call of `run` did."""

    folder: Path
    cells: int  # selected
    done: int  # finished by this call
    failed: int  # failed in this call
    before: int  # finished or failed before it
    skipped: tuple[tuple[str, str], ...]  # problems that were left out, and why
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Status:
    """How far a study is."""

    name: str
    cells: int
    done: int
    left: int
    failures: tuple[FailedCell, ...]
    # Cells left of which slow evaluations are known, and how many.
    unfinished: tuple[tuple[Cell, int], ...] = ()


def run(
    design: Design,
    folder: str | Path,
    *,
    jobs: int | None = None,
    scheduler: str | None = None,
    timeout: float | None = None,
    retry_failed: bool = False,
    retries: int = 0,
    progress: bool = True,
    done: Sequence[str | Path] = (),
    runner: str = RUNNER,
) -> Summary:
    """Return what was done to bring the selected cells into ``folder``.

    ``jobs`` processes run on this machine (all cores by default), or the cells go to
    the Dask cluster at the address ``scheduler``. A cell that takes longer than
    ``timeout`` seconds has failed. A cell that failed is tried again at most
    ``retries`` times; the record, or the failure, keeps the reasons. Cells with a row
    or a record in one of the folders ``done`` are not run. ``runner`` names the
    function that turns a cell into a record, as "module:function".

    Raises:
        StudyError: If the folder holds something else or cannot be written, or the
            workers cannot run at all.
    """
    clock = time.monotonic()
    _check_run(jobs, timeout, retries)
    folder = Path(folder)
    write_design(folder, design)
    remove_leftovers(folder)
    skipped = _skipped(design, cluster=scheduler is not None)
    out = {problem for problem, _ in skipped}
    cells = [cell for cell in design.cells() if cell.problem not in out]
    before = settled(folder).union(*(_done_in(Path(other), design) for other in done))
    if not retry_failed:
        before |= {failure.cell.id for failure in read_failures(folder)}
    todo = [cell for cell in cells if cell.id not in before]
    task = Task(
        runner=runner,
        modules=design.modules,
        folder=str(folder.absolute()) if scheduler is None else None,
        timeout=timeout,
        driver=os.getpid() if scheduler is None else None,
        retries=retries,
    )
    failed = 0
    with _workers(jobs, scheduler) as pool, _bar(len(todo), progress) as bar:
        for outcome in _outcomes(todo, task, pool):
            failed += _settle(outcome, folder)
            bar.set_postfix(failed=failed, refresh=False)
            bar.update()
    return Summary(
        folder=folder,
        cells=len(cells),
        done=len(todo) - failed,
        failed=failed,
        before=len(cells) - len(todo),
        skipped=skipped,
        seconds=time.monotonic() - clock,
    )


def status(folder: str | Path) -> Status:
    """Return how many cells of the study in ``folder`` are done, failed and left."""
    folder = Path(folder)
    designs = read_designs(folder)
    cells, done = study_cells(designs), settled(folder)
    failures = tuple(f for f in read_failures(folder) if f.cell.id not in done)
    return Status(
        name=designs[0].name,
        cells=len(cells),
        done=len(done),
        left=len(cells) - len(done) - len(failures),
        failures=failures,
        unfinished=unfinished(
            folder, (cell for key, cell in cells.items() if key not in done)
        ),
    )


def _done_in(folder: Path, design: Design) -> set[str]:
    """Return the finished cells of another folder of the same study.

    Raises:
        StudyError: If it holds another study.
    """
    for stored in read_designs(folder):
        difference = design.contradiction(stored)
        if difference:
            msg = f"{folder} holds another study: {difference}. Leave it out."
            raise StudyError(msg)
    return settled(folder)


Pool = Callable[[Sequence[Cell], Task], Generator[CellOutcome, None, None]]


def _outcomes(todo: Sequence[Cell], task: Task, pool: Pool) -> Iterator[CellOutcome]:
    """Yield what became of each cell, in any order.

    Raises:
        StudyError: If worker after worker is killed from outside, or the cluster
            is lost.
    """
    left = {cell.id: cell for cell in todo}
    idle = 0  # pools in a row that broke before they finished anything
    while left:
        try:
            with contextlib.closing(pool(tuple(left.values()), task)) as results:
                for outcome in results:
                    left.pop(outcome.cell.id)
                    idle = 0
                    yield outcome
        except _broken_pool_errors() as error:
            # A worker was killed from outside and took the pool with it.
            idle += 1
            if idle == _BROKEN_POOLS:
                msg = (
                    f"workers were killed {idle} times in a row before they finished "
                    f"a cell ({error}). Is there enough memory? Try fewer jobs."
                )
                raise StudyError(msg) from error
        except (CancelledError, TimeoutError) as error:
            msg = (
                f"the cluster is lost or has no workers: {error} Finished cells are "
                "kept; run the same command again."
            )
            raise StudyError(msg) from error


def _settle(outcome: CellOutcome, folder: Path) -> bool:
    """Return whether the cell failed, after its outcome is on disk.

    Raises:
        StudyError: If no further cell can succeed.
    """
    if outcome.fatal:
        raise StudyError(outcome.fatal)
    if outcome.reason:
        failure = FailedCell(
            cell=outcome.cell,
            reason=outcome.reason,
            traceback=outcome.traceback,
            host=outcome.host,
            failures=outcome.failures,
        )
        write_failure(folder, failure)
        return True
    if outcome.record is not None:
        write_record(folder, outcome.cell, outcome.record)
    forget_failure(folder, outcome.cell)
    return False


@contextlib.contextmanager
def _workers(jobs: int | None, scheduler: str | None) -> Iterator[Pool]:
    joblib = _joblib()
    if scheduler is None:
        config: dict[str, Any] = {"backend": "loky", "n_jobs": jobs or -1}
        # From the first moment on: a driver that is killed leaves nothing behind.
        config |= {"initializer": watch, "initargs": (os.getpid(),)}
        ahead = "2 * n_jobs"
        closing = contextlib.nullcontext()
    else:
        closing = _client(scheduler)
        config = {"backend": "dask", "client": closing, "n_jobs": -1}
        ahead = "all"  # workers that join later find something to do

    def pool(cells: Sequence[Cell], task: Task) -> Generator[CellOutcome, None, None]:
        with joblib.parallel_config(**config):
            parallel = joblib.Parallel(
                return_as="generator_unordered", pre_dispatch=ahead, batch_size=1
            )
            calls = (joblib.delayed(guarded)(cell, task) for cell in cells)
            yield from parallel(calls)

    with closing:
        try:
            yield pool
        finally:
            _dismiss_workers(jobs, scheduler)


def _dismiss_workers(jobs: int | None, scheduler: str | None) -> None:
    if scheduler is None and jobs != 1:
        # They would wait five minutes for more work, and their children with them.
        from joblib.externals.loky import get_reusable_executor

        get_reusable_executor().shutdown(wait=True)
    dismiss_children()  # with one job, this process is the worker


def _broken_pool_errors() -> tuple[type[BaseException], ...]:
    from joblib.externals.loky.process_executor import BrokenProcessPool

    errors: list[type[BaseException]] = [BrokenProcessPool]
    if "distributed" in sys.modules:
        errors.append(sys.modules["distributed"].scheduler.KilledWorker)
    return tuple(errors)


def _skipped(design: Design, *, cluster: bool) -> tuple[tuple[str, str], ...]:
    """Return the problems to leave out, and stop where one is missing that should run.

    Raises:
        StudyError: If a problem cannot run here and is not optional.
    """
    named = design.selection.problems
    skipped = []
    for problem in design.problems if named is None else named:
        usable, reason = problems.available(problem)
        if usable:
            continue
        if problem in design.optional and named is None:
            skipped.append((problem, reason))
        elif not cluster:  # the workers of a cluster may have what is missing here
            msg = f"{problem} cannot run here: {reason} Or select other problems."
            raise StudyError(msg)
    return tuple(skipped)


def _check_run(jobs: int | None, timeout: float | None, retries: int) -> None:
    if jobs is not None and jobs < 1:
        msg = f"jobs={jobs} is not a number of processes. Use at least 1."
        raise ArgumentError(msg)
    if timeout is not None and not timeout > 0:
        msg = f"timeout={timeout} is not a positive number of seconds."
        raise ArgumentError(msg)
    as_count("retries", retries, 0)


def _bar(total: int, progress: bool) -> tqdm:
    # On a terminal the bar moves; in a log file a line per minute is enough.
    interval = 0.2 if sys.stderr.isatty() else 60.0
    return tqdm(
        total=total,
        unit="cell",
        disable=not progress or not total,
        mininterval=interval,
    )


def _joblib() -> Any:
    try:
        import joblib
    except ImportError as error:
        msg = 'studies need joblib. Run: pip install "sumbo[study]"'
        raise MissingExtraError(msg) from error
    return joblib


def _client(address: str) -> Any:
    try:
        from distributed import Client
    except ImportError as error:
        msg = 'scheduler needs dask.distributed. Run: pip install "sumbo[cluster]"'
        raise MissingExtraError(msg) from error
    try:
        return Client(address)
    except (OSError, ValueError) as error:
        msg = f"scheduler={address!r} does not answer: {error}. Is it running?"
        raise StudyError(msg) from error
