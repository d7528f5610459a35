"""What a decomposition is, and the explicit one."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from sumbo.data import Data
from sumbo.errors import ArgumentError
from sumbo.gp import AdditiveGP
from sumbo.registry import Registry, nearest
from sumbo.state import State
from sumbo.structure import as_groups, co_membership_matrix
from sumbo.typing import Float, Groups, ndarray

S = TypeVar("S")


class Weighted(NamedTuple):
    """A model with its probability."""

    weight: float
    gp: AdditiveGP


@dataclass(frozen=True, kw_only=True, eq=False)
class Proposal:
    """The groups that a decomposition proposes for the next fit.

    Attributes:
        groups: Groups of parameters.
        memory: What to hand over at the next refit; None if there is nothing.
        start: A model of these groups, in unit-cube coordinates, whose parameters the
            fit starts from. None: the fit starts from the last model's.
        others: Models of other plausible groups. What their weights leave is the
            probability of ``groups``.
        fits: How many fits it took to choose the groups.
    """

    groups: Groups
    memory: State | None = None
    start: AdditiveGP | None = None
    others: tuple[Weighted, ...] = ()
    fits: int = 0


class Decomposition(ABC):
    """A source of groups of parameters; register one with ``DECOMPOSITIONS``.

    A subclass is a frozen dataclass whose fields are its settings.
    """

    # The class of what it remembers, None if it remembers nothing.
    remembers: ClassVar[type[State] | None] = None

    @abstractmethod
    def propose(
        self,
        rng: np.random.Generator,
        memory: Any,
        data: Data,
        last: AdditiveGP | None,
    ) -> Proposal:
        """Return groups for the next fit.

        Args:
            rng: The only source of randomness.
            memory: What the last proposal remembered; None at first.
            data: All observations, values in model units.
            last: The model that was last fitted, in unit-cube coordinates.
        """

    def restore(self, packed: Any) -> State | None:
        """Return the memory that a checkpoint holds."""
        if packed is None or self.remembers is None:
            return None
        return self.remembers.unpack(packed)

    def structures(self, memory: Any) -> tuple[Groups, ...]:
        """Return groups of parameters that were visited lately, the last ones last."""
        del memory
        return ()

    def co_membership(self, memory: Any) -> Float[ndarray, "K K"] | None:
        """Return how probable it is that two parameters share a group, if learned."""
        structures = self.structures(memory)
        return co_membership_matrix(structures) if structures else None


DECOMPOSITIONS: Registry[type[Decomposition]] = Registry(
    "groups", "sumbo.decompositions"
)


@dataclass(frozen=True)
class Explicit(Decomposition):
    """The groups that the user gave."""

    groups: Groups

    def propose(
        self,
        rng: np.random.Generator,
        memory: Any,
        data: Data,
        last: AdditiveGP | None,
    ) -> Proposal:
        """Return the groups, checked against the number of parameters."""
        del rng, memory, last
        return Proposal(groups=as_groups(self.groups, len(data.domain.blocks)))


def resolve(groups: Any) -> Decomposition:
    """Return the decomposition: itself, that of a name, or explicit groups as one.

    Examples:
        >>> import sumbo
        >>> sumbo.decompositions.resolve(((0, 1), (2,))).groups
        ((0, 1), (2,))
    """
    if isinstance(groups, Decomposition):
        return groups
    if isinstance(groups, str):
        return DECOMPOSITIONS.get(groups)()
    return Explicit(as_groups(groups))


def as_settings(name: str, value: Any, cls: type[S]) -> S:
    """Return settings inside of others, which a file holds as a table.

    Raises:
        ArgumentError: If the value is neither of the class nor a table of its fields.
    """
    if isinstance(value, cls):
        return value
    if not isinstance(value, Mapping):
        msg = f"{name}={value!r} is not a {cls.__name__}. Pass {cls.__name__}(...)."
        raise ArgumentError(msg)
    known = [f.name for f in fields(cls)]  # pyright: ignore[reportArgumentType]
    for key in value:
        if key not in known:
            msg = f"{name} has no setting {key!r}. {nearest(str(key), known)}"
            raise ArgumentError(msg)
    # Files know lists, settings are tuples.
    plain = {k: tuple(v) if isinstance(v, list) else v for k, v in value.items()}
    return cls(**plain)
