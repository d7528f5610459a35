"""Optimisers that keep their state in memory, as methods of sumbo.

One run uses one optimiser from beginning to end. A cell runs in one process, and the
state of the method holds the key of its session.
"""

import warnings
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from sumbo.data import Data
from sumbo.errors import SumboError
from sumbo.methods.base import Info, Method
from sumbo.space import Space
from sumbo.state import State
from sumbo.typing import Float, ndarray

# Number of sessions kept in memory. A process runs its cells one by one.
_KEPT = 4


class Session(Protocol):
    """One run of an optimiser."""

    def observe(self, U: Float[ndarray, "n P"], y: Float[ndarray, " n"]) -> None:
        """Take in new values; the initial ones come first."""

    def suggest(self, q: int) -> Float[ndarray, "q P"]:
        """Return q points of the unit cube."""
        ...


@dataclass(frozen=True, kw_only=True)
class SessionKey(State):
    """The key of the session of a run.

    Attributes:
        run: A random number.
        seen: The number of observations that the session has got.
    """

    run: int
    seen: int = 0


_SESSIONS: dict[int, Session] = {}


@dataclass(frozen=True, kw_only=True)
class InMemory(Method):
    """A method that hands the whole run to another optimiser."""

    cite: ClassVar[str] = ""
    label: ClassVar[str] = ""
    remembers: ClassVar[type[State] | None] = SessionKey

    def session(self, seed: int, data: Data) -> Session:
        """Return the optimiser of a new run, which has not seen any value."""
        raise NotImplementedError

    def propose(
        self, rng: np.random.Generator, state: SessionKey | None, data: Data, q: int
    ) -> tuple[Float[ndarray, "q P"], SessionKey, Info]:
        """Return the next q points of the optimiser.

        Raises:
            SumboError: If the run started in another process.
        """
        if state is None:
            state = SessionKey(run=int(rng.integers(2**62)))
            while len(_SESSIONS) >= _KEPT:
                del _SESSIONS[next(iter(_SESSIONS))]
            _SESSIONS[state.run] = self.session(int(rng.integers(2**31)), data)
        if state.run not in _SESSIONS:
            msg = (
                "This run started in another process. "
                "Run it from the beginning in one process."
            )
            raise SumboError(msg)
        session = _SESSIONS[state.run]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the libraries
            session.observe(data.U[state.seen :], data.y[state.seen :])
            asked = session.suggest(q)
        state = SessionKey(run=state.run, seen=len(data.y))
        return data.domain.snap(asked), state, Info()


def space_of(data: Data) -> Space:
    """Return the search space of a run.

    Raises:
        TypeError: If it is something else.
    """
    if not isinstance(data.domain, Space):
        msg = f"data.domain={data.domain!r} is not a Space. Pass a sumbo.space.Space."
        raise TypeError(msg)
    return data.domain
