"""Contexts: parameters whose values are given this time, while the others are asked."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Shaped

from sumbo.errors import ArgumentError
from sumbo.registry import nearest
from sumbo.space import Space
from sumbo.typing import Bool, Float, Group, Groups, Region, ndarray


@dataclass(frozen=True, kw_only=True, eq=False)
class Context:
    """The search space with some parameters held at given values.

    It is a domain whose ``snap`` sets them, so that every search keeps to them.

    Attributes:
        space: The whole search space.
        numbers: The given values as plain numbers, by the number of the parameter.
        given: The coordinates of these parameters.
        values: Their values in the unit cube.
    """

    space: Space
    numbers: Mapping[int, float]
    given: Group
    values: Float[ndarray, " g"]

    @classmethod
    def of(cls, context: Any, space: Space) -> "Context":
        """Return the context that a mapping from names to values describes.

        Raises:
            ArgumentError: If it is empty, names something that is no parameter, gives
                a value outside the space, or leaves nothing to ask.
        """
        if not isinstance(context, Mapping):
            msg = f"context={context!r} is no mapping. Pass names with values, as in "
            raise ArgumentError(f"{msg}context={{{space.names[0]!r}: …}}.")
        if space.region is not None:
            msg = f"context={dict(context)!r} cannot be combined with constraints. "
            raise ArgumentError(f"{msg}Leave one of the two out.")
        for name in context:
            if name not in space.names:
                msg = (
                    f"context={dict(context)!r} names {name!r}, which is no parameter. "
                )
                raise ArgumentError(msg + nearest(str(name), space.names))
        if not 0 < len(context) < len(space.names):
            msg = (
                f"context={dict(context)!r} gives {len(context)} of "
                f"{len(space.names)} parameters. Give at least one, and leave one."
            )
            raise ArgumentError(msg)
        numbers, given, values = {}, [], []
        for k, parameter in enumerate(space.parameters):
            if parameter.name in context:
                one = Space(parameters=(parameter,))
                try:
                    u = one.encode([[context[parameter.name]]])[0]
                except ArgumentError as error:
                    msg = f"context={dict(context)!r} cannot be used: {error}"
                    raise ArgumentError(msg) from error
                numbers[k] = float(one.numbers([[context[parameter.name]]])[0, 0])
                given.extend(space.blocks[k])
                values.extend(u)
        return cls(
            space=space,
            numbers=numbers,
            given=tuple(given),
            values=np.array(values, dtype=np.float64),
        )

    @property
    def dim(self) -> int:
        """The number of unit-cube coordinates, those that are given included."""
        return self.space.dim

    @property
    def blocks(self) -> Groups:
        """The coordinates of each parameter."""
        return self.space.blocks

    @property
    def region(self) -> Region | None:
        """None: a context is refused where there are constraints."""
        return None

    def snap(self, U: Float[ndarray, "n P"]) -> Float[ndarray, "n P"]:
        """Return the nearest representable points that have the given values."""
        out = self.space.snap(U)
        out[:, list(self.given)] = self.values
        return out

    def decode(self, U: Float[ndarray, "n P"]) -> Shaped[ndarray, "n K"]:
        """Return the points in user units, with the given values exactly."""
        return self.space.points(self.moved(self.space.numbers(self.space.decode(U))))

    def moved(self, X: Float[ndarray, "n K"]) -> Float[ndarray, "n K"]:
        """Return points, as plain numbers, with the given values instead of theirs."""
        out = X.copy()
        out[:, list(self.numbers)] = list(self.numbers.values())
        return out

    def matches(self, X: Float[ndarray, "n K"]) -> Bool[ndarray, " n"]:
        """Return which points, as plain numbers, have the given values."""
        columns = list(self.numbers)
        return (X[:, columns] == np.array(list(self.numbers.values()))).all(axis=1)
