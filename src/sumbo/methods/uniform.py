"""Random search."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sumbo.data import Data
from sumbo.methods.base import METHODS, Info, Method
from sumbo.search import Table, pick_each
from sumbo.typing import Float, Int, ndarray


@METHODS.register("uniform")
@dataclass(frozen=True, kw_only=True)
class Uniform(Method):
    """Return uniformly random points: the baseline that every method must beat."""

    cite: ClassVar[str] = "bergstra2012"
    label: ClassVar[str] = "Random search"
    look: ClassVar = ("#7F7F7F", "*")
    takes_context: ClassVar[bool] = True
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {},
        "paper-author": {},
    }
    takes_outcomes: ClassVar[bool] = True

    def propose(
        self, rng: np.random.Generator, state: None, data: Data, q: int
    ) -> tuple[Float[ndarray, "q P"], None, Info]:
        """Return q uniform points, feasible ones under constraints."""
        region = data.domain.region
        if region is not None:
            return region.draw(rng, q), state, Info()
        return rng.random((q, data.domain.dim)), state, Info()

    def choose(
        self, rng: np.random.Generator, state: None, data: Data, table: Table, q: int
    ) -> tuple[Int[ndarray, " q"], None, Info]:
        """Return q uniform rows of those that are open."""
        del data
        return pick_each(table, rng.random((q, len(table.U)))), state, Info()
