"""Random decompositions with an additive confidence bound."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from sumbo.acquisition.bound import Bound
from sumbo.data import Data
from sumbo.errors import ArgumentError, require_number, require_positive_integer
from sumbo.methods.base import METHODS, Info, Method
from sumbo.rng import split
from sumbo.search import (
    Component,
    GridCost,
    Parts,
    draw_candidates,
    feasible_components,
    free_coordinates,
    minimise_on_grid,
    minimise_sum,
)
from sumbo.surrogate import AdditiveModel, AdditiveState, Surrogate
from sumbo.typing import Float, ndarray

# Feasible candidates of coordinates that constraints couple: they form no grid.
CANDIDATES = 200


@METHODS.register("rducb")
@dataclass(frozen=True, kw_only=True)
class RandomDecompositionUCB(AdditiveModel, Method):
    """Return the minimiser of a bound on a random forest of pairs; [ziomek2023].

    At every ask with new observations a forest is drawn, without regard to the data,
    and the model is fitted to it. At ask t, the bound Σ_m μ_m − β σ_m with
    β = 0.5 log 2t is minimised over levels of all parameters: exactly, by elimination,
    because the parts form a forest. Other ``groups`` are eliminated on a junction
    tree; [rolland2018].

    Deviations from [ziomek2023]: Matérn-5/2 instead of squared-exponential parts, a
    MAP fit with estimated noise, and gradient steps that leave the grid. Batches and
    pending points are fantasised as in [desautels2014]; the points of a batch share a
    forest. Constraints couple coordinates, which are then searched among candidates.

    Attributes:
        groups: Groups of parameters, or a decomposition or its name.
        kernel: The kernel of every part, or ``"auto"``.
        refit: Minimum number of new observations before the next forest.
        growth: Minimum relative growth of the data set before the next forest.
        beta: The factor of the standard deviation; None for 0.5 log 2t.
        levels: Levels per parameter of the grid.
        refine: Whether gradient steps leave the grid.
    """

    cite: ClassVar[str] = "ziomek2023"
    label: ClassVar[str] = "RDUCB"
    look: ClassVar = ("#6B4C1E", "d")
    takes_context: ClassVar[bool] = True
    ignores_covariance: ClassVar[bool] = True
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        name: {"kernel": "rbf", "levels": 150, "refine": False}
        for name in ("paper", "paper-author")
    }

    groups: Any = "random_tree"
    kernel: str = "matern52"
    refit: int = 1
    growth: float = 0.0
    beta: float | None = None
    levels: int = 40
    refine: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive_integer("levels", self.levels)
        if self.levels == 1:
            msg = "levels=1 leaves nothing to choose. Pass two or more."
            raise ArgumentError(msg)
        if self.beta is not None:
            require_number("beta", self.beta)

    def propose(
        self, rng: np.random.Generator, state: AdditiveState | None, data: Data, q: int
    ) -> tuple[Float[ndarray, "q P"], AdditiveState, Info]:
        """Return q minimisers, each chosen with the earlier ones fantasised."""
        streams = split(rng)
        surrogate, state = self.update(streams.structure, state, data, q)
        info, costs = Info.of(surrogate), []
        surrogate = surrogate.fantasised(data.pending)
        out = np.empty((q, data.domain.dim))
        for i in range(q):
            beta = self._beta(data.asks + 1)
            out[i], cost = self._minimise(streams.candidates, surrogate, beta)
            costs += cost
            if i + 1 < q:
                surrogate = surrogate.fantasised(out[i : i + 1])
        return out, state, replace(info, search=GridCost.of(costs))

    def _beta(self, t: int) -> float:
        return 0.5 * math.log(2 * t) if self.beta is None else self.beta

    def _minimise(
        self, rng: np.random.Generator, surrogate: Surrogate, beta: float
    ) -> tuple[Float[ndarray, " P"], list[GridCost]]:
        data = surrogate.data
        models = list(zip(surrogate.weights, surrogate.posteriors, strict=True))
        bound = Bound(models=models, beta=beta)
        functions = Parts(
            bound.value, bound.gradient, bound.lines, bound.line_gradients
        )
        costs: list[GridCost] = []
        parts = feasible_components(bound.groups, data.domain)
        free = [part for part in parts if part.region is None]
        u = _among_candidates(
            rng,
            [part for part in parts if part.region is not None],
            functions if self.refine else None,
            bound,
            data,
        )
        for part in free:
            z, cost = minimise_on_grid(
                rng, part, functions, data, self.levels, self.refine
            )
            costs.append(cost)
            u[list(part.coordinates)] = z
        return u, costs


def _among_candidates(
    rng: np.random.Generator,
    parts: list[Component],
    functions: Parts | None,
    bound: Bound,
    data: Data,
) -> Float[ndarray, " P"]:
    """Return a point whose coordinates in components with constraints are searched."""
    Z = draw_candidates(rng, data, parts, CANDIDATES)
    values = [
        np.sum(
            [
                bound.value(m, np.ascontiguousarray(Zc[:, list(columns)]))
                for m, columns in zip(part.groups, part.columns, strict=True)
            ],
            axis=0,
        )
        for part, Zc in zip(parts, Z, strict=True)
    ]
    free = free_coordinates(data)
    return minimise_sum(parts, Z, values, data.domain.dim, functions, free)
