"""CMA-ES of package ``cma``, with restarts."""

from collections import deque
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from benchmarks.quality.rivals import NEEDS
from benchmarks.suites.sessions import InMemory, space_of
from sumbo.data import Data
from sumbo.methods.base import METHODS
from sumbo.space import Integer, Space
from sumbo.typing import Float, ndarray

SIGMA = 0.2  # of the unit cube


class _Evolution:
    """A run of CMA-ES, started again with a doubled population whenever it stops.

    Integers have a spacing of 1 and are declared as such.
    """

    def __init__(self, space: Space, seed: int) -> None:
        self.space, self.rng = space, np.random.default_rng(seed)
        levels = np.ones(space.dim)
        for parameter, block in zip(space.parameters, space.blocks, strict=True):
            if isinstance(parameter, Integer) and not parameter.log:
                levels[block[0]] = parameter.hi - parameter.lo + 1
        self.levels = levels
        self.offset = np.where(levels > 1, 0.5, 0.0)
        self.strategy: Any = None
        self.population = 0
        self.asked: list[Float[ndarray, " P"]] = []  # of this generation
        self.values: list[float] = []
        self.waiting: deque[Float[ndarray, " P"]] = deque()

    def observe(self, U: Float[ndarray, "n P"], y: Float[ndarray, " n"]) -> None:
        """Take in values; the first ones give the start point only."""
        if self.strategy is None:
            self._start(U[int(np.argmin(y))])
            return
        self.values.extend(y.tolist())
        if len(self.values) >= len(self.asked):
            self.strategy.tell(self.asked, self.values)
            if self.strategy.stop():
                self._start(self.rng.random(self.space.dim))
            else:
                self._generation()

    def suggest(self, q: int) -> Float[ndarray, "q P"]:
        """Return the next points of the generation."""
        rows = [self.waiting.popleft() for _ in range(q)]
        return np.clip((np.array(rows) + self.offset) / self.levels, 0.0, 1.0)

    def _start(self, u: Float[ndarray, " P"]) -> None:
        import cma

        whole = np.flatnonzero(self.levels > 1).tolist()
        options = {
            "bounds": [(-self.offset).tolist(), (self.levels - self.offset).tolist()],
            "CMA_stds": self.levels.tolist(),
            "integer_variables": whole,
            "seed": int(self.rng.integers(1, 2**31)),
            "verbose": -9,
        }
        if self.population:
            options["popsize"] = 2 * self.population
        begin = u * self.levels - self.offset
        self.strategy = cma.CMAEvolutionStrategy(begin, SIGMA, options)
        self.population = self.strategy.popsize
        self._generation()

    def _generation(self) -> None:
        self.asked, self.values = self.strategy.ask(), []
        self.waiting = deque(np.asarray(z) for z in self.asked)


NEEDS["pycma"] = ("cma",)


@METHODS.register("pycma")
@dataclass(frozen=True, kw_only=True)
class PyCMA(InMemory):
    """CMA-ES from the best initial point; restarts double the population.

    A choice is one number per alternative, the largest of which wins.
    """

    cite: ClassVar[str] = "hansen2001"
    label: ClassVar[str] = "pycma"

    def __post_init__(self) -> None:
        import cma  # noqa: F401 - here, because the time of an ask is measured

    def session(self, seed: int, data: Data) -> _Evolution:
        """Return a new run."""
        return _Evolution(space_of(data), seed)
