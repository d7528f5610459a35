"""The next points from a list of whole points, such as a catalogue."""

import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sumbo.errors import ArgumentError, ExhaustedError
from sumbo.linalg import one_blas_thread
from sumbo.methods import Info
from sumbo.optimizer.engine import Engine, Snapshot
from sumbo.optimizer.history import History
from sumbo.rng import rng_at
from sumbo.search import Table, pick_each
from sumbo.search.table import TableMemory
from sumbo.space import Space
from sumbo.typing import Bool, Float, Int, ndarray

# Rows that a list may have at most.
MOST_ROWS = 100_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Choices:
    """A list of whole points, read and checked once.

    Attributes:
        digest: Says whether a list is the same one.
        space: The search space.
        X: Its rows as plain numbers, one per parameter.
        U: Its distinct rows in the unit cube.
        first: The row of each distinct one that comes first.
        which: The distinct row of each row.
        memory: What methods keep from one ask to the next.
    """

    digest: bytes
    space: Space
    X: Float[ndarray, "R K"]
    U: Float[ndarray, "B P"]
    first: Int[ndarray, " B"]
    which: Int[ndarray, " R"]
    memory: TableMemory

    @classmethod
    def of(cls, C: Any, space: Space, known: "Choices | None" = None) -> "Choices":
        """Return the list, ``known`` itself if it is the same one.

        Raises:
            ArgumentError: If it is empty or too long, or if a row is no point of the
                space.
        """
        listed = hasattr(C, "__len__") and not isinstance(C, str | Mapping)
        if not listed or len(C) == 0:
            msg = f"choices={C!r} hold no rows. Pass one row per point."
            raise ArgumentError(msg)
        if len(C) > MOST_ROWS:
            msg = f"choices have {len(C)} rows. Pass at most {MOST_ROWS}."
            raise ArgumentError(msg)
        try:
            X = space.numbers(C)
            digest = hashlib.blake2b(X.tobytes() + str(X.shape).encode()).digest()
            if known is not None and known.digest == digest:
                return known
            U = space.encode(C)
        except ArgumentError as error:
            msg = f"choices cannot be used: {error}"
            raise ArgumentError(msg) from error
        found: dict[bytes, int] = {}
        which = np.array([found.setdefault(k, len(found)) for k in _keys(X)])
        first = np.unique(which, return_index=True)[1]
        return cls(
            digest=digest,
            space=space,
            X=X,
            U=U[first],
            first=first,
            which=which,
            memory=TableMemory(),
        )

    def open(self, history: History, *, repeats: bool) -> Bool[ndarray, " B"]:
        """Return which distinct rows may be chosen.

        Without repeats these are the rows that were neither told nor asked; rows that
        break known constraints never are among them.
        """
        region = self.space.region
        good = (
            np.ones(len(self.U), dtype=bool)
            if region is None
            else region.feasible(self.U)
        )
        if repeats:
            return good
        seen = {*_keys(history.X), *_keys(history.pending_X)}
        keys = _keys(self.X[self.first])
        return good & np.array([key not in seen for key in keys], dtype=bool)


def choose(
    engine: Engine, now: Snapshot, choices: Choices, q: int, *, repeats: bool
) -> tuple[Int[ndarray, " q"], Snapshot, Info]:
    """Return the numbers of q rows, what is known then, and what was done.

    Raises:
        ArgumentError: If outcomes have limits.
        ExhaustedError: If fewer rows are left.
    """
    begin = time.process_time()
    if engine.limits:
        msg = f"choose cannot take limits of outcomes, and there is {engine.limits[0]}."
        raise ArgumentError(f"{msg} Use ask, or leave the limits out.")
    left = choices.open(now.history, repeats=repeats)
    if left.sum() < (1 if repeats else q):
        msg = (
            f"choices have {left.sum()} rows left that were not asked yet and meet the "
            f"constraints, and n={q} are wanted. Pass repeats=True, or "
            "another list."
        )
        error = ExhaustedError(msg)
        error.left = int(left.sum())
        raise error
    table = Table(U=choices.U, open=left, repeats=repeats, memory=choices.memory)
    rows, state, info, asked = _propose(engine, now, table, q)
    numbers = choices.first[rows]
    after = replace(
        now,
        history=now.history.asked(choices.X[numbers], choices.U[rows]),
        state=state,
        steps=now.steps + q,
        asks=now.asks + asked,
    )
    return numbers, after, replace(info, ask_cpu_s=time.process_time() - begin)


def _propose(
    engine: Engine, now: Snapshot, table: Table, q: int
) -> tuple[Int[ndarray, " q"], Any, Info, bool]:
    """Return rows, state and info, and whether the method was asked."""
    start = engine.initial_count(now, q)
    steps = range(now.steps, now.steps + start)
    # One generator per point: the design does not depend on how it is asked for.
    scores = [
        rng_at(engine.seed, "choose design", t).random(len(table.U)) for t in steps
    ]
    first = pick_each(table, np.array(scores).reshape(start, len(table.U)))
    if start == q:
        return first, now.state, Info(), False
    left = table.open.copy()
    left[first] = table.repeats
    data = engine.data(now).with_pending(table.U[first])
    rng = rng_at(engine.seed, "choose", now.steps)
    with one_blas_thread():
        rows, state, info = engine.method.choose(
            rng, now.state, data, replace(table, open=left), q - start
        )
    return np.concatenate([first, rows]), state, info, True


def _keys(X: Float[ndarray, "n K"]) -> list[bytes]:
    """Return what is equal for equal rows only; −0.0 equals 0.0."""
    return [row.tobytes() for row in np.ascontiguousarray(X + 0.0)]
