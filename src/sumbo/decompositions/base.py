"""What a decomposition is, and the explicit one."""

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from sumbo.data import Data
from sumbo.registry import Registry
from sumbo.structure import as_groups
from sumbo.typing import Groups, State


@runtime_checkable
class Decomposition(Protocol):
    """A source of groups of parameters; register one with ``DECOMPOSITIONS``."""

    # Whether asking again can give other groups, so that each refit should ask.
    changes: ClassVar[bool]

    def propose(
        self, rng: np.random.Generator, state: State, data: Data
    ) -> tuple[Groups, State]:
        """Return groups of parameters, and what to remember for the next time.

        A fit of the groups starts from the log-parameters ``log_theta`` and the
        ``mean`` in what is remembered, if they are there; what comes out of it takes
        their places, next to the ``kernel`` that was kept.
        """
        ...


DECOMPOSITIONS: Registry[type[Decomposition]] = Registry(
    "groups", "sumbo.decompositions"
)


@dataclass(frozen=True)
class Explicit:
    """The groups that the user gave."""

    groups: Groups
    changes: ClassVar[bool] = False

    def propose(
        self, rng: np.random.Generator, state: State, data: Data
    ) -> tuple[Groups, State]:
        """Return the groups, checked against the number of parameters."""
        del rng, state
        return as_groups(self.groups, len(data.domain.blocks)), {}


def resolve(groups: Any) -> Decomposition:
    """Return the decomposition of that name, or the explicit groups as one."""
    if isinstance(groups, str):
        return DECOMPOSITIONS.get(groups)()
    return Explicit(as_groups(groups))
