"""What Optuna's storage tells: search spaces and trials in the terms of sumbo."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from sumbo.optimizer.duplicates import distinct
from sumbo.optimizer.history import History
from sumbo.space import Categorical, Integer, Outcome, Parameter, Real, Space
from sumbo.space.parameters import LARGEST_INTEGER
from sumbo.typing import Bool, Float, ndarray

SearchSpace = dict[str, BaseDistribution]
# The attribute under which Optuna notes which trials a trial repeats.
HISTORY = "retry_history"


def replaced(trials: Sequence[FrozenTrial]) -> set[int]:
    """Return the numbers of the failed trials whose points were queued again."""
    return {n for t in trials for n in t.system_attrs.get(HISTORY, ())}


@dataclass(frozen=True, kw_only=True, eq=False)
class ObservedTrials:
    """What the storage tells about the other trials, by trial number.

    ``raw`` is to be minimised; NaN where there is no value. A trial in which a
    parameter of the search space is missing, or had another range, is left out. So is
    a trial whose worker died and whose point was queued again.
    """

    space: Space
    X: Float[ndarray, "N K"]
    U: Float[ndarray, "N P"]
    raw: Float[ndarray, " N"]
    pruned: Bool[ndarray, " N"]
    pending_X: Float[ndarray, "Q K"]
    pending_U: Float[ndarray, "Q P"]
    constraints: dict[str, Float[ndarray, " N"]]  # by name; feasible if none is above 0
    known: tuple[str, ...]  # every parameter of any trial
    key: str  # under which workers share their proposals

    @classmethod
    def of(
        cls,
        study: Study,
        trial: FrozenTrial,
        search_space: SearchSpace,
        space: Space | None = None,
    ) -> "ObservedTrials":
        """Return the record of a study, the given trial left out.

        Without a space of the user's own, one is made from the search space.
        """
        # Proposals of a worker that sees another space have another key.
        digest = hashlib.blake2b(repr(search_space).encode(), digest_size=8)
        key = f"sumbo:{digest.hexdigest()}"
        sign = -1.0 if study.directions[0] == StudyDirection.MAXIMIZE else 1.0
        told, raw, pruned, pending = [], [], [], []
        constraints: list[dict[str, float]] = []
        names = set(search_space)
        trials = study.get_trials(deepcopy=False)
        gone = replaced(trials) | {trial.number}
        for t in sorted(trials, key=lambda t: t.number):
            names |= t.distributions.keys()
            row = _row_of(t, search_space, key, stepped=space is None)
            if row is None or t.number in gone:
                continue
            if not t.state.is_finished():  # it runs, or waits with its parameters
                pending.append(row)
            else:
                told.append(row)
                raw.append(np.nan if t.value is None else sign * t.value)
                pruned.append(t.state == TrialState.PRUNED)
                constraints.append(t.constraints)
        space = space or space_of(search_space)
        return cls(
            space=space,
            X=_matrix(told, len(search_space)),
            U=_encoded(space, told),
            raw=np.array(raw, dtype=np.float64),
            pruned=np.array(pruned, dtype=bool),
            pending_X=_matrix(pending, len(search_space)),
            pending_U=_encoded(space, pending),
            constraints=_columns(constraints),
            known=tuple(sorted(names)),
            key=key,
        )

    def values(self, n: int) -> tuple[Float[ndarray, " n"], Bool[ndarray, " n"]]:
        """Return the values of the first n trials, and which of them failed.

        A pruned trial has its last report, but counts as no better than the median of
        the completed ones: reports may be on another scale than results. An infinitely
        good value counts as the best finite one, an infinitely bad one as failed.
        """
        y, pruned = self.raw[:n].copy(), self.pruned[:n]
        completed = y[~pruned & np.isfinite(y)]
        if len(completed):
            y[y == -np.inf] = completed.min()
            y[pruned] = np.maximum(y[pruned], np.median(completed))
        return y, ~np.isfinite(y)

    def history(self, n: int, *, pending: bool) -> History:
        """Return what a run has seen after the first n trials."""
        y, failed = self.values(n)
        rows = slice(None) if pending else slice(0)
        columns = [values[:n] for values in self.constraints.values()]
        outcomes = np.array(columns).reshape(len(columns), n).T
        return History(
            X=self.X[:n],
            U=self.U[:n],
            y=np.where(failed, np.nan, y),
            failed=failed,
            outcomes=np.where(failed[:, None], np.nan, outcomes),
            noise=np.full(n, np.nan),
            times=np.full(n, np.nan),
            pending_X=self.pending_X[rows],
            pending_U=self.pending_U[rows],
        )

    def content(self, n: int) -> bytes:
        """Return bytes that differ if the first n trials do."""
        measured = [values[:n] for values in self.constraints.values()]
        arrays = (self.U[:n], self.raw[:n], self.pruned[:n], *measured)
        return repr(self.space).encode() + b"".join(a.tobytes() for a in arrays)

    @property
    def limits(self) -> tuple[Outcome, ...]:
        """The constraints of the trials: values above 0 are infeasible."""
        return tuple(Outcome(name, upper=0.0) for name in self.constraints)

    def unseen(self, rng: np.random.Generator, numbers: list[float]) -> list[float]:
        """Return the point, moved if another trial has it."""
        U = _encoded(self.space, [numbers])
        moved = distinct(rng, self.space, U, np.vstack([self.U, self.pending_U]))
        if np.array_equal(moved, U):
            return numbers
        return self.space.numbers(self.space.decode(moved))[0].tolist()

    def share(self, study: Study, trial: FrozenTrial, numbers: list[float]) -> None:
        """Tell other workers the point before its parameters are stored one by one."""
        storage, number = study._storage, trial._trial_id  # pyright: ignore[reportPrivateUsage]
        storage.set_trial_system_attr(number, self.key, json.dumps(numbers))


# ---------------------------------------------------------------------- spaces
def space_of(search_space: SearchSpace) -> Space:
    """Return the space of numbers that stand for parameters, see ``number_of``."""
    pairs = search_space.items()
    return Space(parameters=tuple(_parameter_of(name, d) for name, d in pairs))


def _parameter_of(name: str, d: Any) -> Parameter:
    if isinstance(d, CategoricalDistribution):
        # By position: choices may be equal to each other, NaN, or any object.
        return Categorical(name, tuple(range(len(d.choices))))
    if d.step is None or d.log:
        lo, hi = d.low, d.high
    else:
        lo, hi = 0, round((d.high - d.low) / d.step)
    whole = d.step is not None and hi <= LARGEST_INTEGER
    return (Integer if whole else Real)(name, lo, hi, log=d.log)


def number_of(d: Any, value: Any, *, stepped: bool = True) -> float:
    """Return a choice as its position, a stepped value as the count of its steps.

    In a space of the user's own (``stepped=False``), a number stands for itself.
    """
    number = float(d.to_internal_repr(value))
    if isinstance(d, CategoricalDistribution) or d.step is None or d.log:
        return number
    return (number - d.low) / d.step if stepped else number


def value_of(d: Any, number: float, *, stepped: bool = True) -> Any:
    """Return the parameter, a Python value inside the range, for its number."""
    if isinstance(d, CategoricalDistribution):
        return d.choices[int(number)]
    if d.step is not None:
        counted = stepped and not d.log
        number = d.low + round(number) * d.step if counted else round(number)
    return min(max(number, d.low), d.high)


def distribution_of(p: Parameter) -> BaseDistribution:
    """Return the distribution that is uniform on a parameter of sumbo."""
    if isinstance(p, Categorical):
        return CategoricalDistribution(p.choices)
    if isinstance(p, Integer):
        return IntDistribution(p.lo, p.hi, log=p.log)
    return FloatDistribution(p.lo, p.hi, log=p.log)


def _row_of(
    t: FrozenTrial, search_space: SearchSpace, key: str, *, stepped: bool
) -> list[float] | None:
    """Return a trial's parameters as numbers, None if one is not known."""
    shared = json.loads(t.system_attrs.get(key, "null"))
    row: list[Any] = shared or [None] * len(search_space)
    for j, (name, d) in enumerate(search_space.items()):
        if name in t.params:
            same = t.distributions[name] == d
            value = t.params[name]
            row[j] = number_of(d, value, stepped=stepped) if same else None
    return None if None in row else row


def _columns(rows: list[dict[str, float]]) -> dict[str, Float[ndarray, " N"]]:
    """Return constraint values by name, NaN in trials without; infinite ones moved.

    An infinite value becomes the worst or the best finite one.
    """
    out = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        values = np.array([row.get(name, np.nan) for row in rows], dtype=np.float64)
        finite = values[np.isfinite(values)]
        if len(finite):
            values = np.where(
                np.isinf(values), np.clip(values, finite.min(), finite.max()), values
            )
            out[name] = values
    return out


def _matrix(rows: list[list[float]], columns: int) -> Float[ndarray, "n K"]:
    return np.array(rows, dtype=np.float64).reshape(len(rows), columns)


def _encoded(space: Space, rows: list[list[float]]) -> Float[ndarray, "n P"]:
    if not rows:
        return np.empty((0, space.dim))
    # A value that was enqueued may lie outside its range: the nearest one counts.
    return space.encode_any(space.points(_matrix(rows, len(rows[0]))))[0]
