"""One run of many processes, which share a storage of Optuna."""

import contextlib
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait as wait_for
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from optuna.trial import FrozenTrial, Trial, TrialState
from scipy.optimize import OptimizeResult

from sumbo.errors import EvaluationError, StorageError
from sumbo.integrations.shared_plan import Plan, join
from sumbo.integrations.shared_storage import (
    HEARTBEAT,
    STORAGE_ERRORS,
    open_storage,
)
from sumbo.integrations.shared_trials import SharedTrials, reasons_of
from sumbo.methods import Method
from sumbo.optimizer.asktell import Optimizer
from sumbo.optimizer.engine import as_count
from sumbo.optimizer.evaluation import as_value, check_run, executor_of, shortened
from sumbo.optimizer.result import INTERRUPTED, STOPPED, call_back, result_of
from sumbo.rng import Seed
from sumbo.space import Categorical, Integer
from sumbo.typing import ndarray

__all__ = ["minimize_shared", "open_storage"]

# Seconds between two looks at what other workers do: first, and at most.
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 5.0


def minimize_shared(
    fun: Callable[[ndarray], float],
    bounds: Any,
    *,
    storage: str,
    study: str,
    budget: int = 120,
    method: str | Method = "logei",
    groups: Any = None,
    seed: Seed = None,
    n_init: int = 20,
    constraints: Any = (),
    maximize: bool = False,
    callback: Callable[..., Any] | None = None,
    workers: Any = 1,
    on_error: str = "raise",
    retries: int = 0,
    heartbeat: int = HEARTBEAT,
    wait: bool = True,
    **settings: Any,
) -> OptimizeResult:
    """Return the best point of a run that other processes may work on as well.

    Call it with the same arguments in as many processes as there are, at any time. The
    first one starts the study, the others join it; later calls continue it. A worker
    sees the points that run elsewhere as pending. The budget is used once.

    Args:
        fun: The objective; see ``sumbo.minimize``.
        bounds: The search space, of real, integer and categorical parameters.
        storage: The address of the storage; see ``open_storage``.
        study: The name of the study in it.
        budget: Evaluations in all, those of other workers and failed ones included.
        method: A name from ``sumbo.methods.names()``, or an instance.
        groups: The additive structure; see ``sumbo.Optimizer``.
        seed: A number; random numbers belong to trials, not to workers. Without one
            the study's is used, and the first worker draws it.
        n_init: Trials before the model takes over, running ones included.
        constraints: What is known about feasible points; see ``sumbo.minimize``. Limits
            of measured outcomes are refused.
        maximize: Whether values are maximised; they are stored in your sign.
        callback: Called with the result so far when a value arrived here or
            elsewhere; raise ``StopIteration`` to stop this worker.
        workers: Evaluations at a time in this process; see ``sumbo.minimize``.
        on_error: When an evaluation fails: ``"raise"`` an EvaluationError in this
            worker, or ``"skip"`` it. It is stored as a failed trial either way.
        retries: How often an evaluation that failed is repeated.
        heartbeat: Seconds between two signs of life; see ``open_storage``.
        wait: At the end, wait for trials that run elsewhere, and repeat those of
            workers that die.
        settings: ``preset``, ``transform``, and settings of the method.

    Returns:
        The result of all workers, as ``sumbo.minimize`` returns it; points are in the
        order in which they were started.

    Examples:
        >>> from sumbo.integrations.shared import minimize_shared
        >>> r = minimize_shared(
        ...     lambda x: (x[0] - 0.3) ** 2,
        ...     [(-1, 2)],
        ...     storage="journal:run.log",
        ...     study="first",
        ...     budget=6,
        ...     n_init=4,
        ...     seed=1,
        ... )
        >>> r.nfev
        6

    Raises:
        ArgumentError: If an argument cannot be used, or is not that of the study.
        StorageError: If the storage cannot be used; what was stored stays there.
    """
    check_run(fun, callback, budget, 1, on_error)
    n_init = shortened(n_init, budget)
    retries = as_count("retries", retries, 0)
    plan = Plan.of(
        bounds, method, groups, seed, n_init, constraints, maximize, settings
    )
    shared = open_storage(storage, heartbeat=heartbeat)
    joined, plan = join(shared, study, plan)
    trials = SharedTrials(shared, joined, budget)
    run = _Run(plan, trials, fun, budget, callback, on_error, retries, wait=wait)
    with ExitStack() as stack:
        stack.enter_context(trials.signs_of_life())
        stack.callback(_hand_back, trials)
        executor, slots = stack.enter_context(executor_of(workers))
        try:
            run.loop(executor, slots)
        except StopIteration:
            run.status, run.message = STOPPED, "stopped by the callback"
        except KeyboardInterrupt:
            run.status = INTERRUPTED
            run.message = "interrupted; run the same command again to go on"
    return run.result()


def _hand_back(trials: SharedTrials) -> None:
    # A storage that is not there now: the trials count as those of a dead worker.
    with contextlib.suppress(StorageError, *STORAGE_ERRORS):
        trials.hand_back()


# ---------------------------------------------------------------------- the run
@dataclass
class _Flight:
    """A trial that is evaluated here, and why attempts failed so far."""

    trial: Trial
    x: ndarray
    attempts: list[str] = field(default_factory=list)


class _Run:
    """What one worker does until the budget is used."""

    def __init__(
        self,
        plan: Plan,
        trials: SharedTrials,
        fun: Callable[[ndarray], float],
        budget: int,
        callback: Callable[..., Any] | None,
        on_error: str,
        retries: int,
        *,
        wait: bool,
    ) -> None:
        self._plan, self._trials, self._fun = plan, trials, fun
        self._budget, self._callback = budget, callback
        self._on_error, self._retries, self._wait = on_error, retries, wait
        self._opt = plan.optimizer()  # with what was reported to the callback
        self._reported: set[int] = set()
        self._asks = 0
        self.status, self.message = 0, "budget used"

    def loop(self, executor: Any, slots: int) -> None:
        """Take trials and evaluate them until the budget is used."""
        flying: dict[Future, _Flight] = {}
        pause = _FIRST_PAUSE_S
        try:
            while True:
                flight = self._next() if len(flying) < slots else None
                if flight is not None:
                    self._start(flight, flying, executor)
                    pause = _FIRST_PAUSE_S
                elif flying:
                    # A slot that is free looks for trials of dead workers meanwhile.
                    limit = pause if len(flying) < slots else None
                    done, _ = wait_for(flying, limit, return_when=FIRST_COMPLETED)
                    for future in done:
                        landed = flying.pop(future)
                        if self._again(landed, future.result):
                            self._start(landed, flying, executor)
                elif self._ended():
                    return
                else:
                    time.sleep(pause)
                self._report()
                pause = min(2 * pause, _LONGEST_PAUSE_S)
        finally:
            for future in flying:
                future.cancel()

    def result(self) -> OptimizeResult:
        """Return what all workers know now, in the order of the trials."""
        opt = self._plan.optimizer()
        for trial in self._trials.progress().finished:
            _tell(opt, trial)
        return result_of(opt, nit=self._asks, status=self.status, message=self.message)

    def _next(self) -> _Flight | None:
        """Return the next trial with its point, None if there is none to take."""
        trial = self._trials.take()
        if trial is None:
            return None
        space = self._plan.space
        values = {p.name: _suggested(trial, p) for p in space.parameters}
        self._asks += 1
        return _Flight(trial=trial, x=space.points(space.numbers(values))[0])

    def _start(
        self, flight: _Flight, flying: dict[Future, _Flight], executor: Any
    ) -> None:
        """Evaluate a trial: in the executor, or here and now."""
        if executor is None:
            while self._again(flight, lambda: self._fun(flight.x.copy())):
                pass
            return
        try:
            flying[executor.submit(self._fun, flight.x.copy())] = flight
        except RuntimeError as error:  # shut down, or its processes died
            what = f"workers={executor!r} take no more work: {error}."
            raise self._error(what, "Pass an executor that runs.") from error

    def _again(self, flight: _Flight, evaluate: Callable[[], Any]) -> bool:
        """Return whether to evaluate once more; the outcome is stored otherwise."""
        try:
            value = as_value(evaluate())
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            flight.attempts.append(reason)
            if len(flight.attempts) <= self._retries:
                return True
            self._trials.fail(flight.trial, flight.attempts)
            if self._on_error == "raise":
                point = self._plan.space.as_dict(flight.x)
                what = f"the objective failed at {point}: {reason.rstrip('.')}."
                remedy = 'Pass on_error="skip" to go on without such points.'
                raise self._error(what, remedy) from error
        else:
            self._trials.complete(flight.trial, value, flight.attempts)
        return False

    def _error(self, what: str, remedy: str) -> EvaluationError:
        error = EvaluationError(f"{what} All values so far are in the study. {remedy}")
        error.result = self.result()
        return error

    def _ended(self) -> bool:
        """Return whether nothing is left to do for this worker."""
        progress = self._trials.progress()
        left = self._budget - len(progress.finished)
        if left > 0 and not self._wait:
            self.message = f"budget used, with {left} trials that run elsewhere"
        return left <= 0 or not self._wait

    def _report(self) -> None:
        """Call the callback if a value arrived since it was last called."""
        if self._callback is None:
            return
        finished = self._trials.progress().finished
        fresh = [t for t in finished if t.number not in self._reported]
        for trial in fresh:
            _tell(self._opt, trial)
            self._reported.add(trial.number)
        if fresh:
            now = result_of(
                self._opt, nit=self._asks, status=self.status, message=self.message
            )
            call_back(self._callback, now)


def _tell(opt: Optimizer, trial: FrozenTrial) -> None:
    """Tell an optimizer how a trial ended, unless it has no point of the space."""
    names = opt.space.names
    if any(name not in trial.params for name in names):
        return
    x = opt.space.points(opt.space.numbers({n: trial.params[n] for n in names}))[0]
    for reason in reasons_of(trial):
        opt.note_failure(x, reason)
    value = trial.value if trial.state == TrialState.COMPLETE else None
    failed = value is None or not np.isfinite(value)
    opt.tell(x, None if failed else value, failed=failed, earlier=True)


def _suggested(trial: Trial, p: Any) -> Any:
    if isinstance(p, Categorical):
        return trial.suggest_categorical(p.name, p.choices)
    if isinstance(p, Integer):
        return trial.suggest_int(p.name, int(p.lo), int(p.hi), log=p.log)
    return trial.suggest_float(p.name, p.lo, p.hi, log=p.log)
