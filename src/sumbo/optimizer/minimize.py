"""``minimize``: the whole run in one call."""

import inspect
import math
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from sumbo.errors import (
    CheckpointError,
    EvaluationError,
    ExhaustedError,
    UnusableObjectiveError,
)
from sumbo.lock import exclusive
from sumbo.methods import Method, require_settings
from sumbo.optimizer.asktell import Optimizer
from sumbo.optimizer.engine import as_count
from sumbo.optimizer.evaluation import (
    as_evaluation,
    check_run,
    executor_of,
    shortened,
)
from sumbo.optimizer.result import (
    INTERRUPTED,
    STOPPED,
    Result,
    call_back,
    result_of,
)
from sumbo.optimizer.resume import start_or_resume
from sumbo.optimizer.stopping import as_tolerance, is_due, remaining_gain
from sumbo.optimizer.violation import best_of
from sumbo.rng import Seed
from sumbo.typing import ndarray


def minimize(
    fun: Callable[[ndarray], float],
    bounds: Any,
    *,
    budget: int = 120,
    method: str | Method = "logei",
    batch: int = 1,
    groups: Any = None,
    seed: Seed = None,
    n_init: int = 20,
    x0: Any = None,
    y0: Any = None,
    callback: Callable[..., Any] | None = None,
    progress: bool = False,
    workers: Any = 1,
    checkpoint: str | Path | None = None,
    on_error: str = "raise",
    retries: int = 0,
    stop: float | None = None,
    maximize: bool = False,
    constraints: Any = (),
    choices: Any = None,
    repeats: bool | None = None,
    **settings: Any,
) -> Result:
    """Return the best point found within a budget of evaluations.

    Args:
        fun: The objective. It takes a point (K,) and returns a number to be minimised.
        bounds: The search space; see ``Optimizer``.
        budget: Observations in all, earlier data included.
        method: A name from ``sumbo.methods.names()``, or an instance.
        batch: Number of points asked at once. All of them are evaluated before the next
            ones are asked.
        groups: The additive structure; see ``Optimizer``.
        seed: A number, or a ``Generator`` that gives one, makes the run reproducible.
        n_init: Number of observations before the model takes over. If the budget is
            smaller, it is half of the budget.
        x0: Earlier points, with their values ``y0``. Without ``y0`` they are evaluated
            first, as for a good guess.
        y0: The values at ``x0``, or the name of their column in a table ``x0``.
        callback: A function that is called with the result so far after every
            evaluation. To stop the run, it raises ``StopIteration``.
        progress: Whether to show a progress bar with the best value so far.
        workers: How evaluations run in parallel: a number of threads, a
            ``concurrent.futures`` executor such as a process pool, or a Dask client.
            Unless ``batch`` > 1, the next point is asked as soon as a worker is free.
        checkpoint: A file that is written after every evaluation. If it exists, the run
            continues from it. One process at a time may use it.
        on_error: What happens if an evaluation raises or returns no finite number.
            ``"raise"`` raises an EvaluationError whose ``result`` holds all values.
            ``"skip"`` records the point as failed, and the search avoids it.
        retries: How often an evaluation that failed is repeated, before ``on_error``
            applies. The reasons are in the result's ``failures``.
        stop: The run stops when the expected remaining gain is below this number, in
            the units of the objective. By default it uses the whole budget.
        maximize: Whether values are maximised; ``sumbo.maximize`` sets it.
        constraints: What may be asked; see ``Optimizer``.
        choices: A table of whole points, of which the next ones are chosen; see
            ``Optimizer.choose``. The run ends when no row is left.
        repeats: Whether a point, or a row of ``choices``, may be evaluated more than
            once. By default points may if values are noisy, and rows may not.
        settings: ``preset``, ``transform``, ``init``, and settings of the method.

    Returns:
        A ``scipy.optimize.OptimizeResult`` with ``x, fun, nfev, nit, x_iters,
        func_vals, success, status, message``, and ``failed`` (points),
        ``failures`` (attempts that failed, with reasons), ``transform`` (what the
        model did to the values, in words), ``model`` (the posterior in the unit cube,
        or None), ``space``, ``seed``. All values are in your sign. ``to_frame()`` is a
        DataFrame of all evaluations.

    Examples:
        >>> import sumbo
        >>> def bowl(x):
        ...     return (x[0] - 0.4) ** 2 + x[1]
        >>> r = sumbo.minimize(bowl, [(0.1, 0.9), (2, 3)], budget=14, n_init=6, seed=1)
        >>> r.nfev, round(r.fun, 2)
        (14, 2.0)

    Raises:
        ArgumentError: If an argument has a value that cannot be used.
        CheckpointError: If the checkpoint is in use by another process, or cannot be
            read or written; in the middle of a run, its ``result`` holds all values.
    """
    check_run(fun, callback, budget, batch, on_error)
    _require_known(method, settings)
    wanted, n_init = n_init, shortened(n_init, budget)
    retries = as_count("retries", retries, 0)
    options = {"method": method, "groups": groups, "n_init": n_init, **settings}
    options |= {"maximize": maximize, "constraints": constraints, "repeats": repeats}
    with ExitStack() as stack:
        stack.enter_context(
            nullcontext() if checkpoint is None else exclusive(checkpoint)
        )
        opt = start_or_resume(
            bounds,
            seed=seed,
            x0=x0,
            y0=y0,
            checkpoint=checkpoint,
            wanted_n_init=wanted,
            options=options,
        )
        run = _Run(opt, fun, budget, batch, callback, checkpoint, on_error, retries)
        run.stop = as_tolerance(stop, opt)
        executor, slots = stack.enter_context(executor_of(workers))
        run.choices, run.repeats = choices, bool(repeats)
        run.bar = stack.enter_context(_bar(progress, budget, opt))
        try:
            run.loop(executor, slots)
        except StopIteration:
            run.status, run.message = STOPPED, "stopped by the callback"
        except KeyboardInterrupt:
            run.status, run.message = INTERRUPTED, run.interrupted()
            run.save()  # it may have come between a tell and its save
    return run.result()


def maximize(fun: Callable[[ndarray], float], bounds: Any, **options: Any) -> Result:
    """Return the point with the largest value found within a budget of evaluations.

    It takes the arguments of ``minimize`` and returns the same result. Values are in
    your sign everywhere: in the result, callbacks, progress, checkpoints and plots of
    the model.

    Examples:
        >>> import sumbo
        >>> def hill(x):
        ...     return 3.7 - (x[0] - 0.4) ** 2
        >>> r = sumbo.maximize(hill, [(0.1, 0.9)], budget=12, n_init=6, seed=1)
        >>> round(r.fun, 3)
        3.7
    """
    return minimize(fun, bounds, **{**options, "maximize": True})


def _require_known(method: Any, settings: dict[str, Any]) -> None:
    """Check that settings belong to the method or to ``Optimizer``.

    Raises:
        ArgumentError: If one does not; names of arguments are suggested too.
    """
    own = [*inspect.signature(minimize).parameters][2:-1]  # not fun, bounds, settings
    others = [*inspect.signature(Optimizer).parameters][1:-1]
    rest = {name: v for name, v in settings.items() if name not in others}
    if isinstance(method, str):
        require_settings(method, rest, (*own, *others))


@dataclass
class _Run:
    """One run of ``minimize`` on its way."""

    opt: Optimizer
    fun: Callable[[ndarray], float]
    budget: int
    batch: int
    callback: Callable[..., Any] | None
    checkpoint: str | Path | None
    on_error: str
    retries: int
    choices: Any = None
    repeats: bool = False
    stop: float | None = None
    bar: Any = None
    status: int = 0
    message: str = "budget used"
    nit: int = 0
    gains: dict[int, float] = field(default_factory=dict)  # by number of observations
    attempts: dict[tuple, int] = field(default_factory=dict)  # failed, by point

    def loop(self, executor: Any, slots: int) -> None:
        """Evaluate what is pending, then ask and evaluate until the budget is used."""
        # Asked by a run that is resumed and never told, or x0 without y0.
        queue = list(self.opt.pending)[: max(0, self.budget - len(self.opt.y))]
        flying: dict[Future, ndarray] = {}
        try:
            while True:
                self._ask(queue, flying, slots)
                if executor is None:
                    if not queue:
                        return
                    x = queue.pop(0)
                    if self._failed_once_more(x, lambda x=x: self.fun(x.copy())):
                        queue.insert(0, x)
                    continue
                while queue and len(flying) < slots:
                    x = queue.pop(0)
                    flying[self._submit(executor, x)] = x
                if not flying:
                    return
                done, _ = wait(flying, return_when=FIRST_COMPLETED)
                for future in [f for f in flying if f in done]:
                    x = flying.pop(future)
                    if self._failed_once_more(x, future.result):
                        queue.insert(0, x)
        finally:
            for future in flying:
                future.cancel()

    def _submit(self, executor: Any, x: ndarray) -> Future:
        try:
            return executor.submit(self.fun, x.copy())
        except RuntimeError as error:  # shut down, or its processes died
            what = f"workers={executor!r} take no more work: {error}"
            raise self._ended(what, "Pass an executor that runs.") from error

    def _ask(self, queue: list, flying: dict, slots: int) -> None:
        if self._gains_too_little():
            return
        waiting = len(queue) + len(flying)
        left = self.budget - len(self.opt.y) - waiting
        if self.batch > 1:
            wanted = min(self.batch, left) if waiting == 0 else 0
            if wanted > 0:
                found = self._next(wanted)
                queue.extend(found)
                self.nit += bool(found)
            return
        # One at a time: later points see the earlier ones pending.
        for _ in range(min(slots - waiting, left)):
            found = self._next(1)
            queue.extend(found)
            self.nit += len(found)

    def _next(self, n: int) -> list[ndarray]:
        """Return the next points: n, or as many as ``choices`` still have."""
        if self.choices is None:
            return list(self.opt.ask(n))
        try:
            self.opt.choose(self.choices, n, repeats=self.repeats)
        except ExhaustedError as error:
            self.message = "all choices are evaluated"
            n = error.left
            if n:
                self.opt.choose(self.choices, n)
        return list(self.opt.pending[len(self.opt.pending) - n :])

    def _gains_too_little(self) -> bool:
        """Return whether the run stops because little is left to gain."""
        N = len(self.opt.y)
        if self.stop is None or self.budget <= N:
            return False
        if N not in self.gains and is_due(self.opt, self.batch):
            self.gains[N] = remaining_gain(self.opt)
        gain = min(self.gains.values(), default=math.inf)
        if gain >= self.stop:
            return False
        self.message = f"expected remaining gain {gain:.3g} below stop={self.stop:g}"
        return True

    def _failed_once_more(self, x: ndarray, evaluate: Callable[[], Any]) -> bool:
        """Return whether the point must be evaluated again; it is told otherwise."""
        try:
            value, outcomes = as_evaluation(evaluate(), self.opt.limits)
        except Exception as error:
            self.opt.note_failure(x, f"{type(error).__name__}: {error}")
            if isinstance(error, UnusableObjectiveError):
                raise self._ended(str(error), "Repair the objective.") from error
            point = tuple(x.tolist())
            self.attempts[point] = self.attempts.get(point, 0) + 1
            if self.attempts[point] <= self.retries:
                return True
            self._fail(x, error, self.attempts.pop(point))
        else:
            self.opt.tell(x, value, outcomes=outcomes)
        self._told()
        return False

    def _told(self) -> None:
        self.save()
        if self.bar is not None:
            self.bar.update(1)
            best = best_of(self.opt)
            shown = {} if best is None else {"best": f"{best[1]:.6g}"}
            if self.opt.limits or self.opt.space.constraints:
                shown["feasible"] = f"{int(np.isfinite(self.opt.feasible_y).sum())}"
            self.bar.set_postfix(shown)
        if self.callback is not None:
            call_back(self.callback, self.result())

    def _fail(self, x: ndarray, error: Exception, attempts: int) -> None:
        if self.on_error == "skip":
            self.opt.tell(x, failed=True)
            return
        point = self.opt.space.as_dict(x)
        often = f" {attempts} times" if attempts > 1 else ""
        reason = f"{type(error).__name__}: {error}"
        what = f"the objective failed{often} at {point}: {reason}"
        remedy = 'Pass on_error="skip" to go on without such points.'
        raise self._ended(what, remedy) from error

    def _ended(self, what: str, remedy: str) -> EvaluationError:
        self.save()
        N = len(self.opt.y)
        kept = f"The {N} earlier values are in this error's result. " if N else ""
        error = EvaluationError(f"{what.rstrip('.')}. {kept}{remedy}")
        error.result = self.result()
        return error

    def interrupted(self) -> str:
        """Return how far the run came, and how to go on."""
        message = f"interrupted after {len(self.opt.y)} of {self.budget} evaluations"
        if self.checkpoint is None:
            return message
        return f"{message}; run the same again to go on from {self.checkpoint}"

    def save(self) -> None:
        """Write the checkpoint, if one is wanted.

        Raises:
            CheckpointError: If it cannot be written; its ``result`` holds all values.
        """
        if self.checkpoint is None:
            return
        try:
            self.opt.save(self.checkpoint)
        except CheckpointError as error:
            error.result = self.result()
            raise

    def result(self) -> Result:
        """Return what is known now."""
        return result_of(
            self.opt, nit=self.nit, status=self.status, message=self.message
        )


@contextmanager
def _bar(show: bool, budget: int, opt: Optimizer) -> Iterator[Any]:
    if not show:
        yield None
        return
    with tqdm(total=budget, initial=len(opt.y), unit="eval", desc="sumbo") as bar:
        yield bar
