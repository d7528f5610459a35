"""Names of types that every layer shares."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

__all__ = [
    "Bool",
    "Domain",
    "Float",
    "Group",
    "Groups",
    "GroupsLike",
    "Int",
    "ndarray",
]

Group = tuple[int, ...]
Groups = tuple[Group, ...]
GroupsLike = Sequence[Sequence[int | np.integer]]


@runtime_checkable
class Domain(Protocol):
    """What a method may know of the search space: the unit cube and its blocks."""

    @property
    def dim(self) -> int:
        """The number of unit-cube coordinates P."""
        ...

    @property
    def blocks(self) -> Groups:
        """The coordinates of each parameter; one-hot parameters have several."""
        ...

    def snap(self, U: Float[ndarray, "n P"]) -> Float[ndarray, "n P"]:
        """Return the nearest representable points (integers, one-hot corners)."""
        ...
