"""The additive lower confidence bound."""

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from sumbo.acquisition.bound import Bound
from sumbo.acquisition.feasibility import LogFeasibility
from sumbo.data import Data
from sumbo.errors import ArgumentError, require_number
from sumbo.gp import Posterior
from sumbo.methods.base import METHODS, CandidateSearch, Info
from sumbo.rng import split
from sumbo.search import (
    GridCost,
    Parts,
    Table,
    draw_candidates,
    feasible_components,
    free_coordinates,
    pick,
    search_sum,
)
from sumbo.search.constrained import joint_candidates
from sumbo.search.limited import Limited, best_row, minimise_limited
from sumbo.search.separable import sum_and_gradient
from sumbo.search.whole import search_whole
from sumbo.surrogate import AdditiveState, AveragedModel, Surrogate
from sumbo.typing import Float, Int, ndarray

# Descents towards a point that is probably feasible, while none is known.
FEASIBILITY_STARTS = 6


@METHODS.register("alcb2")
@dataclass(frozen=True, kw_only=True)
class AdditiveLCB(AveragedModel, CandidateSearch):
    """Return the minimiser of Σ_m μ_m − β σ_m; [kandasamy2015] with constant β.

    Where more than one structure is plausible, the bound is averaged over them.
    Batches and pending points are fantasised: each posterior observes its own mean
    there, so the mean stays and the variance shrinks; [desautels2014].

    A fantasised point shrinks the variance although nothing was observed there, so the
    bound may be too high. GP-BUCB compensates with a larger factor, β e^C, where C is
    an upper bound on the information, in nats, that the values at the fantasised points
    hold of the function: then σ before and after differ by a factor of e^C at most;
    [desautels2014].

    Attributes:
        beta: The factor β of the standard deviation.
        inflation: The constant C of points that are chosen while others are fantasised;
            0.0 leaves β as it is.
    """

    cite: ClassVar[str] = "kandasamy2015"
    label: ClassVar[str] = "aLCB (β = 2)"
    look: ClassVar = ("#009E73", "^")
    ignores_covariance: ClassVar[bool] = True
    takes_outcomes: ClassVar[bool] = True

    beta: float = 2.0
    inflation: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        number = isinstance(self.beta, int | float) and np.isfinite(self.beta)
        if not number or self.beta < 0:
            msg = f"beta={self.beta!r} is not a finite number, 0 or more."
            raise ArgumentError(msg)
        # e^20 is a factor of 5e8: nothing but the variance would count.
        require_number("inflation", self.inflation, high=20.0)

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
            out[i], cost = self._minimise(streams.candidates, surrogate)
            costs.append(cost)
            if i + 1 < q:
                surrogate = surrogate.fantasised(out[i : i + 1])
        return out, state, replace(info, search=GridCost.of(costs))

    def choose(
        self,
        rng: np.random.Generator,
        state: AdditiveState | None,
        data: Data,
        table: Table,
        q: int,
    ) -> tuple[Int[ndarray, " q"], AdditiveState, Info]:
        """Return where the bound is least, each with the earlier ones fantasised."""
        surrogate, state = self.update(split(rng).structure, state, data, q)
        info = Info.of(surrogate)
        listed = table.parts(surrogate.posteriors)
        pending = data.pending
        left, out = table.open.copy(), np.empty(q, dtype=int)
        for i in range(q):
            if len(pending):
                surrogate = surrogate.fantasised(pending)
                listed = [
                    parts.given(post)
                    for parts, post in zip(listed, surrogate.posteriors, strict=True)
                ]
            bound, beta = np.zeros(len(table.U)), self._factor(surrogate)
            for weight, parts in zip(surrogate.weights, listed, strict=True):
                bound += weight * (parts.mean - beta * parts.deviations())
            out[i] = pick(left, bound)
            left[out[i]], pending = table.repeats, table.U[out[i : i + 1]]
        return out, state, info

    def _factor(self, surrogate: Surrogate) -> float:
        """Return β, inflated where points are fantasised."""
        fantasised = len(surrogate.data.y) < surrogate.posterior.N
        return self.beta * math.exp(self.inflation if fantasised else 0.0)

    def _minimise(
        self, rng: np.random.Generator, surrogate: Surrogate
    ) -> tuple[Float[ndarray, " P"], GridCost | None]:
        data = surrogate.data
        models = list(zip(surrogate.weights, surrogate.posteriors, strict=True))
        bound = Bound(models=models, beta=self._factor(surrogate))
        if surrogate.outcomes:
            return self._minimise_constrained(rng, surrogate, bound), None
        parts = feasible_components(bound.groups, data.domain)
        Z = draw_candidates(rng, data, parts, self.candidates, self.spread)
        values = [
            np.sum(
                [
                    bound.value(i, Zc[:, list(columns)])
                    for i, columns in zip(part.groups, part.columns, strict=True)
                ],
                axis=0,
            )
            for part, Zc in zip(parts, Z, strict=True)
        ]
        functions = (
            Parts(bound.value, bound.gradient, bound.lines, bound.line_gradients)
            if self.refine
            else None
        )
        free = free_coordinates(data)
        return search_sum(parts, Z, values, data.domain.dim, functions, free)

    def _minimise_constrained(
        self, rng: np.random.Generator, surrogate: Surrogate, bound: Bound
    ) -> Float[ndarray, " P"]:
        """Return the point found of least bound whose predicted outcomes are in limits.

        Until a feasible point is known, the one that is most probably feasible. With
        optimistic bounds μ ± βσ of the outcomes instead, the minimum lies on the edge
        of what may be feasible, and nearly all points of a run are infeasible.
        """
        data, models = surrogate.data, surrogate.outcomes
        post = surrogate.posterior
        if not surrogate.feasible_rows(post).any():
            return search_whole(
                rng,
                LogFeasibility(models=models),
                post,
                data,
                per_part=self.candidates,
                starts=FEASIBILITY_STARTS,
            )
        U = joint_candidates(rng, post, data, self)
        parts = Parts(bound.value, bound.gradient, bound.lines, bound.line_gradients)
        objective = sum_and_gradient(bound.groups, parts)
        limited = [
            Limited(
                function=partial(_predicted, model.surrogate.posterior),
                lower=model.lower,
                upper=model.upper,
            )
            for model in models
        ]
        violation = np.sum([one.violation(U) for one in limited], axis=0)
        values = objective(U)[0]
        if not self.refine:
            return U[best_row(violation, values)]
        free, region = free_coordinates(data), data.domain.region
        return minimise_limited(objective, limited, violation, values, U, free, region)


def _predicted(
    post: Posterior, U: Float[ndarray, "b P"]
) -> tuple[Float[ndarray, " b"], Float[ndarray, "b P"]]:
    """Return the mean and its gradient at points of the cube."""
    mean, _, pullback = post.sum_moments_pullback(U)
    return post.gp.mean + mean, pullback(np.ones_like(mean), np.zeros_like(mean))
