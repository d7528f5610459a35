"""The trials of a shared run: taken, finished, handed back, repeated.

A worker takes a trial under the lock of the storage, before it chooses a point. So no
more trials are started than the budget allows, however many workers there are. A trial
whose worker died is failed, and its point is queued again as another trial; the failed
one no longer counts. On databases Optuna's heartbeat finds dead workers. Journals have
no heartbeat, so that workers look for dead processes of their own machine.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import optuna
from optuna.exceptions import UpdateFinishedTrialError
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState

from sumbo.errors import StorageError
from sumbo.integrations.optuna_trials import HISTORY, replaced
from sumbo.integrations.shared_processes import is_dead, this_process
from sumbo.integrations.shared_storage import (
    MOST_RETRIES,
    PREFIX,
    STORAGE_ERRORS,
    WORKER,
    SharedStorage,
    fail_stale_trials,
    retry,
)

ATTEMPTS = f"{PREFIX}attempts"  # why attempts to evaluate a trial failed, in order
REASON = f"{PREFIX}reason"  # why it failed for good; without one, its worker died
LATE = f"{PREFIX}late value of trial "
DIED = f"the process that evaluated the point ended, {MOST_RETRIES + 1} times"
# Attributes of a database may be limited to 64 kB.
_LONGEST_REASON = 5_000
# What a storage that cannot be reached or locked raises, and the seconds to wait after
# each attempt.
_UNREACHABLE = (StorageError, *STORAGE_ERRORS)
_PAUSES_S = (0.5, 1, 2, 4, 8, 16)

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a run is, all workers together.

    Attributes:
        finished: Trials that were evaluated, with or without success.
        running: Trials that are evaluated now.
    """

    finished: tuple[FrozenTrial, ...]
    running: tuple[FrozenTrial, ...]


class SharedTrials:
    """The trials of one study, as one process sees and changes them."""

    def __init__(self, shared: SharedStorage, study: Study, budget: int) -> None:
        self._shared = shared
        self._storage = shared.storage
        self._study = study
        self._study_id = shared.storage.get_study_id_from_name(study.study_name)
        self._budget = budget
        self._held: set[int] = set()  # trials that this process evaluates
        self._loose: set[int] = set()  # taken, though the storage did not confirm it

    # ------------------------------------------------------------------ look
    def progress(self) -> Progress:
        """Return what was evaluated so far, and what is evaluated now."""
        trials = self._patiently("the trials could not be read", self._counted)
        finished = [t for t in trials if t.state.is_finished() and not _is_due(t)]
        running = [t for t in trials if t.state == TrialState.RUNNING]
        return Progress(finished=tuple(finished), running=tuple(running))

    # ------------------------------------------------------------------ take, finish
    def take(self) -> Trial | None:
        """Return the next trial to evaluate, None if the budget is used up."""
        return self._patiently("no trial could be started", self._take)

    def complete(self, trial: Trial, value: float, attempts: Sequence[str]) -> None:
        """Store a value, and why earlier attempts failed."""
        what = f"the value {value!r} of trial {trial.number} could not be stored"

        def store() -> None:
            self._note(trial, ATTEMPTS, list(attempts))
            self._finish(trial, TrialState.COMPLETE, [value])

        try:
            self._patiently(what, store)
        except UpdateFinishedTrialError:
            # It was stored, though the storage did not say so; or others took this
            # process for dead.
            if self._storage.get_trial(_id(trial)).state == TrialState.FAIL:
                self._patiently(what, lambda: self._keep_late(trial, value))
            self._held.discard(_id(trial))

    def fail(self, trial: Trial, attempts: Sequence[str]) -> None:
        """Store that all attempts failed, and why."""

        def store() -> None:
            self._note(trial, ATTEMPTS, list(attempts))
            self._note(trial, REASON, attempts[-1])
            self._finish(trial, TrialState.FAIL, None)

        # If another worker took this one for dead, it repeats the point: no news.
        with contextlib.suppress(UpdateFinishedTrialError):
            self._patiently(
                f"the failure of trial {trial.number} was not stored", store
            )

    def hand_back(self) -> None:
        """Let other workers evaluate the trials that this process has not finished."""
        held = self._held | self._loose
        self._held, self._loose = set(), set()
        with self._shared.alone():
            for trial_id in held:
                self._release(trial_id)

    @contextlib.contextmanager
    def signs_of_life(self) -> Iterator[None]:
        """Within it, the trials that this process evaluates do not become stale."""
        if self._shared.heartbeat is None:
            yield
            return
        ended = threading.Event()
        thread = threading.Thread(target=self._beat, args=(ended,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    # ------------------------------------------------------------------ inside
    def _counted(self) -> list[FrozenTrial]:
        """Return the trials without those that others replaced."""
        trials = self._storage.get_all_trials(self._study_id, deepcopy=False)
        gone = replaced(trials)
        return [t for t in trials if t.number not in gone]

    def _take(self) -> Trial | None:
        with self._shared.alone():
            while self._loose:
                self._release(self._loose.pop())
            self._revive()
            trials = self._counted()
            started = sum(t.state != TrialState.WAITING for t in trials)
            if started >= self._budget:
                return None
            trial_id = self._waiting(trials)
            # Nothing below is seen half done: a trial that waits is there to be taken,
            # and one that runs has a sign of life.
            if self._shared.heartbeat is not None:
                self._beat_once(trial_id)
            self._loose.add(trial_id)
            self._storage.set_trial_state_values(trial_id, TrialState.RUNNING)
        self._loose.discard(trial_id)
        self._held.add(trial_id)
        return Trial(self._study, trial_id)

    def _waiting(self, trials: list[FrozenTrial]) -> int:
        """Return the identity of a trial that waits and is marked as our own."""
        for t in trials:
            if t.state == TrialState.WAITING:
                self._storage.set_trial_user_attr(_id(t), WORKER, this_process())
                return _id(t)
        fresh = optuna.trial.create_trial(
            state=TrialState.WAITING, user_attrs={WORKER: this_process()}
        )
        return self._storage.create_new_trial(self._study_id, template_trial=fresh)

    def _revive(self) -> None:
        """Queue again what dead workers left unfinished."""
        if self._shared.heartbeat is not None:
            fail_stale_trials(self._study)
        else:
            for t in self._counted():
                owner = t.user_attrs.get(WORKER)
                if t.state == TrialState.RUNNING and is_dead(owner):
                    self._storage.set_trial_state_values(_id(t), TrialState.FAIL)
        # On databases too: a worker may die between failing a trial and queueing it.
        for t in self._counted():
            if _is_due(t):
                retry(self._study, t)

    def _finish(self, trial: Trial, state: TrialState, values: Any) -> None:
        with self._shared.alone():
            self._storage.set_trial_state_values(_id(trial), state, values)
        self._held.discard(_id(trial))

    def _keep_late(self, trial: Trial, value: float) -> None:
        """Keep the value of a worker that others took for dead."""
        with self._shared.alone():
            for t in self._counted():
                repeats = trial.number in t.system_attrs.get(HISTORY, ())
                if repeats and t.state == TrialState.WAITING:
                    for state in (TrialState.RUNNING, TrialState.COMPLETE):
                        values = [value] if state.is_finished() else None
                        self._storage.set_trial_state_values(_id(t), state, values)
                    return
        # The point is being evaluated once more. Both values are in the storage then.
        self._study.set_user_attr(f"{LATE}{trial.number}", value)

    def _note(self, trial: Trial, key: str, value: Any) -> None:
        if isinstance(value, str):
            value = value[:_LONGEST_REASON]
        else:
            value = [reason[:_LONGEST_REASON] for reason in value]
        if value:
            self._storage.set_trial_user_attr(_id(trial), key, value)

    def _release(self, trial_id: int) -> None:
        with contextlib.suppress(UpdateFinishedTrialError):
            self._storage.set_trial_state_values(trial_id, TrialState.WAITING)

    def _beat(self, ended: threading.Event) -> None:
        while not ended.wait(self._shared.heartbeat):
            for trial_id in list(self._held):
                # A sign that could not be stored may be missing: the next one counts.
                with contextlib.suppress(*STORAGE_ERRORS):
                    self._beat_once(trial_id)

    def _beat_once(self, trial_id: int) -> None:
        storage: Any = self._storage
        storage.record_heartbeat(trial_id)

    def _patiently(self, what: str, request: Callable[[], T]) -> T:
        """Return the answer to a request, repeated while the storage is not there.

        Raises:
            StorageError: If it does not come back.
        """
        for pause in _PAUSES_S:
            try:
                return request()
            except _UNREACHABLE:
                time.sleep(pause)
        try:
            return request()
        except _UNREACHABLE as error:
            reason = error.__cause__ or error
            msg = f"{what}: storage {self._shared.name!r} fails: {reason}."
            raise StorageError(msg) from error


def _id(trial: Any) -> int:
    """Return the identity of a trial in its storage, which holds several studies."""
    return trial._trial_id


def reasons_of(trial: FrozenTrial) -> list[str]:
    """Return why attempts to evaluate a trial failed, in order."""
    attempts = list(trial.user_attrs.get(ATTEMPTS, ()))
    return attempts + ([DIED] if _left_unfinished(trial) else [])


def _left_unfinished(trial: FrozenTrial) -> bool:
    attrs = trial.user_attrs
    failed = trial.state == TrialState.FAIL
    return failed and WORKER in attrs and REASON not in attrs


def _is_due(trial: FrozenTrial) -> bool:
    """Return whether a trial that nobody replaced yet is to be repeated."""
    often = len(trial.system_attrs.get(HISTORY, ()))
    return _left_unfinished(trial) and often < MOST_RETRIES
