"""Names of types that every layer shares."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

__all__ = [
    "Bool",
    "Domain",
    "Edge",
    "Float",
    "Group",
    "Groups",
    "GroupsLike",
    "Int",
    "Region",
    "ndarray",
]

Group = tuple[int, ...]
Edge = tuple[int, int]
Groups = tuple[Group, ...]
GroupsLike = Sequence[Sequence[int | np.integer]]


@runtime_checkable
class Region(Protocol):
    """The feasible points of a domain or of some of its coordinates."""

    @property
    def coupled(self) -> Groups:
        """Coordinates that constraints couple, one group for each constraint."""
        ...

    @property
    def limits(self) -> tuple[Float[ndarray, " m"], Float[ndarray, " m"]]:
        """Lower and upper limits of ``rows``; equal ones are an equation."""
        ...

    def rows(
        self, u: Float[ndarray, " P"]
    ) -> tuple[Float[ndarray, " m"], Float[ndarray, "m P"]]:
        """Return the smooth constraints at a point, and their gradients."""
        ...

    def part(self, coordinates: Group) -> "Region | None":
        """Return the region of some coordinates, None if no constraint is theirs."""
        ...

    def feasible(self, U: Float[ndarray, "n P"]) -> Bool[ndarray, " n"]:
        """Return which points, rounded to representable ones, are feasible."""
        ...

    def draw(self, rng: np.random.Generator, n: int) -> Float[ndarray, "n P"]:
        """Return n feasible representable points, close to uniform."""
        ...

    def nearest(
        self, U: Float[ndarray, "n P"], anchors: Float[ndarray, "a P"] | None = None
    ) -> Float[ndarray, "n P"]:
        """Return feasible points near some points; feasible ones stay."""
        ...

    def towards(
        self, anchors: Float[ndarray, "n P"], U: Float[ndarray, "n P"]
    ) -> Float[ndarray, "n P"]:
        """Return the feasible points closest to U on the way from feasible anchors."""
        ...


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

    @property
    def region(self) -> Region | None:
        """The feasible points; None if all are."""
        ...

    def snap(self, U: Float[ndarray, "n P"]) -> Float[ndarray, "n P"]:
        """Return the nearest representable points (integers, one-hot corners)."""
        ...
