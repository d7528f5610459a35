"""Expected improvement of the whole sum."""

import time
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from sumbo.acquisition.feasibility import LogFeasibility
from sumbo.acquisition.improvement import (
    Averaged,
    Improvement,
    Sum,
    log_improvement,
)
from sumbo.acquisition.mapped import Mapped
from sumbo.data import Data
from sumbo.errors import ArgumentError, require_positive_integer
from sumbo.gp import Posterior
from sumbo.methods.base import METHODS, Info, Method
from sumbo.rng import split
from sumbo.sampling.expansion import JOINT
from sumbo.search import (
    CandidateSettings,
    GridCost,
    Table,
    free_coordinates,
    minimise_draws,
    pick,
    pick_each,
)
from sumbo.search.around import search_around
from sumbo.search.constrained import minimise_constrained_draws
from sumbo.search.whole import search_whole
from sumbo.surrogate import AdditiveState, AveragedModel, Surrogate
from sumbo.surrogate.neighbourhood import Neighbourhood, is_due, neighbourhood
from sumbo.typing import Float, Int, ndarray

# How draws are searched; their candidates are used once.
_SEARCH = CandidateSettings(fresh_candidates=True)


@dataclass(frozen=True, kw_only=True)
class Stagnation:
    """When the search has stagnated, and what the exploration step then asks for.

    All but ``patience`` are in standard deviations of the values. On a function with
    many valleys, the search must not stay in one of them for certain but tiny
    improvements.

    Attributes:
        patience: Number of last values that decide whether the search has stagnated.
        level: Largest distance of these values from the best value.
        gain: Improvement of the best value by these values below which the search has
            stagnated.
        target: Improvement over the incumbent that the exploration step aims at.
    """

    patience: int = 2
    level: float = 1e-2
    gain: float = 2e-3
    target: float = 3e-2


STAGNATION = Stagnation()


@METHODS.register("logei")
@dataclass(frozen=True, kw_only=True)
class LogExpectedImprovement(AveragedModel, Method):
    """Return the maximiser of the log of expected improvement; [ament2023].

    The variance is that of the sum, bilateral covariances included. Parts only guide
    the search. Where more than one structure is plausible, expected improvement is
    averaged over them. When the search has stagnated, the next point is an exploration
    step: it maximises the expectation of a larger improvement.

    With several observations per parameter, a second model describes the neighbourhood
    of the best point. For every second point both models propose the maximiser of their
    expected improvement, and the greater one is taken.

    Batches and pending points are fantasised: each posterior observes its own mean
    there, so that the variance shrinks around them; [desautels2014]. With many
    observations and many pending points, some points minimise joint draws instead,
    which do not depend on fantasised values.

    Attributes:
        descents: Starts of the local search.
        candidates: Candidate points per part; the best of them form starts of the
            local search.
        draw_every: One of this many simultaneously pending points minimises a joint
            draw.
        draw_from: Minimum observations per parameter before joint draws are used.
            With fewer, draws do not improve the search, because some parameters are
            hardly known.
        neighbourhood: Whether a model of the neighbourhood of the best point competes
            for every second point. It needs continuous parameters without constraints.
    """

    cite: ClassVar[str] = "ament2023"
    label: ClassVar[str] = "log EI"
    look: ClassVar = ("#5D3A9B", "<")
    takes_context: ClassVar[bool] = True
    takes_outcomes: ClassVar[bool] = True

    descents: int = 6
    candidates: int = 32
    draw_every: int = 5
    draw_from: int = 12
    neighbourhood: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("descents", "candidates", "draw_every", "draw_from"):
            require_positive_integer(name, getattr(self, name))
        if not isinstance(self.neighbourhood, bool):
            msg = f"neighbourhood={self.neighbourhood!r} is neither True nor False."
            raise ArgumentError(msg)

    def propose(
        self, rng: np.random.Generator, state: AdditiveState | None, data: Data, q: int
    ) -> tuple[Float[ndarray, "q P"], AdditiveState, Info]:
        """Return maximisers, one after the other, then the minimisers of draws."""
        surrogate, state = self.update(rng, state, data, q, projected=True)
        info, data = Info.of(surrogate), surrogate.data
        given, surrogate = surrogate, surrogate.fantasised(data.pending)
        out = np.empty((q, data.domain.dim))
        count = self._draws(data, q)
        target = self._target(data)
        begin = time.process_time()
        near = self._neighbourhood(given, q - count)
        if near is not None:
            took = time.process_time() - begin
            info = replace(info, fits=info.fits + 1, fit_cpu_s=info.fit_cpu_s + took)
        for i in range(q - count):
            if near is not None and is_due(data, i):
                out[i] = self._maximise_either(rng, surrogate, near)
            else:
                out[i] = self._maximise(rng, surrogate, target if i == 0 else 0.0)
            if i + 1 < q - count:
                surrogate = surrogate.fantasised(out[i : i + 1])
                near = near and near.fantasised(out[i : i + 1])
        if count:
            out[q - count :], cost = _draw_minimisers(rng, given, count)
            info = replace(info, search=cost)
        return out, state, info

    def choose(
        self,
        rng: np.random.Generator,
        state: AdditiveState | None,
        data: Data,
        table: Table,
        q: int,
    ) -> tuple[Int[ndarray, " q"], AdditiveState, Info]:
        """Return the rows of greatest log EI, then those of the least joint draws."""
        surrogate, state = self.update(rng, state, data, q)
        info, post, data = Info.of(surrogate), surrogate.posterior, surrogate.data
        rows = table.whitened(surrogate.posteriors, state.fitted_at)
        known = [
            w.moments(p.y) for w, p in zip(rows, surrogate.posteriors, strict=True)
        ]
        surrogate = surrogate.fantasised(data.pending)
        for u in data.pending:
            rows = [w.append(u, w.gp.noise) for w in rows]
        usable = surrogate.feasible_rows(surrogate.posterior)
        usable = usable if usable.any() else np.ones_like(usable)
        bests = [float(p.fitted()[usable].min()) for p in surrogate.posteriors]
        left, count = table.open.copy(), self._draws(data, q)
        target = self._target(data)
        out = np.empty(q, dtype=int)
        for i in range(q - count):
            each = [
                np.log(weight) + log_improvement(best - target, mean, w.variances)
                for weight, best, (mean, _), w in zip(
                    surrogate.weights, bests, known, rows, strict=True
                )
            ]
            k = out[i] = pick(left, -np.logaddexp.reduce(each))
            left[k], target = table.repeats, 0.0
            if i + 1 < q - count:
                # The mean is observed there: it stays, and may be the new incumbent.
                rows = [w.append(table.U[k], w.gp.noise) for w in rows]
                bests = [min(b, m[k]) for b, (m, _) in zip(bests, known, strict=True)]
        if count:
            draws = JOINT.total(split(rng).normals, post, table.U, count)
            out[q - count :] = pick_each(replace(table, open=left), draws)
        return out, state, info

    def _explores(self, data: Data) -> bool:
        """Return whether the next point is an exploration step."""
        # What pending points bring is not known yet, and values of other contexts do
        # not say whether the search of this one has stagnated.
        quiet = len(data.pending) == 0 and not data.given
        return quiet and has_stagnated(feasible_values(data))

    def _target(self, data: Data) -> float:
        """Return the improvement that the next point is to aim at."""
        if not self._explores(data):
            return 0.0
        y = feasible_values(data)
        return STAGNATION.target * float(y[np.isfinite(y)].std())

    def _draws(self, data: Data, q: int) -> int:
        """Return how many of the next q points are to be minimisers of draws."""
        few = len(data.y) < self.draw_from * len(data.domain.blocks)
        if few or q + len(data.pending) < self.draw_every:
            return 0
        # Counted from the first point of the run: results may arrive one by one.
        return (data.step + q) // self.draw_every - data.step // self.draw_every

    def _neighbourhood(self, surrogate: Surrogate, q: int) -> Neighbourhood | None:
        """Return the model of the neighbourhood, if one of q points is chosen with it.

        It observes its own mean at pending points, too.
        """
        data = surrogate.data
        if not (self.neighbourhood and any(is_due(data, i) for i in range(q))):
            return None
        plain = data.domain.region is None and not data.given and not data.outcomes
        if not (plain and free_coordinates(data).all()):
            return None
        found = neighbourhood(surrogate)
        return found and found.fantasised(data.pending)

    def _maximise_either(
        self, rng: np.random.Generator, surrogate: Surrogate, near: Neighbourhood
    ) -> Float[ndarray, " P"]:
        """Return the maximiser under the model whose greatest improvement is greater.

        On a function with many valleys, little may be left to gain in the best one.
        """
        best = float(near.post.fitted().min())
        around = Mapped(
            function=Improvement(post=near.post, best=best),
            centre=near.centre,
            A=near.A,
        )
        observed = surrogate.data.U[surrogate.data.order]
        one = search_around(rng, around, near.A, observed, starts=self.descents)
        other = self._maximise(rng, surrogate, 0.0)
        anywhere = improvement(surrogate, 0.0)
        nearer = around.value(one[None])[0] <= anywhere.value(other[None])[0]
        return one if nearer else other

    def _maximise(
        self, rng: np.random.Generator, surrogate: Surrogate, target: float
    ) -> Float[ndarray, " P"]:
        # The structure that was drawn guides the search.
        return search_whole(
            rng,
            improvement(surrogate, target),
            surrogate.posterior,
            surrogate.data,
            per_part=self.candidates,
            starts=self.descents,
        )


def has_stagnated(y: Float[ndarray, " N"]) -> bool:
    """Return whether the search has stagnated; see ``Stagnation``.

    Values of infeasible points are inf.
    """
    early, late = y[: -STAGNATION.patience], y[-STAGNATION.patience :]
    if not (np.isfinite(early).any() and np.isfinite(late).all()):
        return False
    best, scale = y.min(), y[np.isfinite(y)].std()
    level = late.max() - best < STAGNATION.level * scale
    return bool(level and early.min() - best < STAGNATION.gain * scale)


def feasible_values(data: Data) -> Float[ndarray, " N"]:
    """Return the values in the order told, inf where a constraint is broken."""
    if data.violation is None:
        return data.y
    return np.where(data.violation == 0, data.y, np.inf)


def improvement(
    surrogate: Surrogate, target: float
) -> Improvement | Averaged | LogFeasibility | Sum:
    """Return expected improvement by ``target`` or more, averaged over structures.

    With outcomes it is multiplied by the probability that they are within their
    limits, which stands alone while no feasible point is known.
    """
    # Use the lowest posterior mean as the incumbent, because a low value may be noise.
    # Fantasised points count as observed, so that the next point looks elsewhere.
    fitted = [_fitted(post, surrogate.data) for post in surrogate.posteriors]
    if surrogate.data.violation is not None:
        rows = surrogate.feasible_rows(surrogate.posterior)
        if surrogate.outcomes and not rows.any():
            return LogFeasibility(models=surrogate.outcomes)
        fitted = [values[rows] if rows.any() else values for values in fitted]
    each = tuple(
        Improvement(post=post, best=float(values.min()) - target)
        for post, values in zip(surrogate.posteriors, fitted, strict=True)
    )
    found: Improvement | Averaged = each[0]
    if len(each) > 1:
        found = Averaged(weights=surrogate.weights, models=each)
    if not surrogate.outcomes:
        return found
    return Sum(terms=(found, LogFeasibility(models=surrogate.outcomes)))


def _fitted(post: Posterior, data: Data) -> Float[ndarray, " n"]:
    """Return the posterior means at the observed points, moved into the context."""
    if not data.given:
        return post.fitted()
    return post.predict_mean(data.domain.snap(post.X))


def _draw_minimisers(
    rng: np.random.Generator, surrogate: Surrogate, count: int
) -> tuple[Float[ndarray, "q P"], GridCost | None]:
    """Return the minimisers of joint draws, and the cost where parts overlap.

    Outcomes are drawn too, if there are any.
    """
    streams = split(rng)
    if surrogate.outcomes:
        U = minimise_constrained_draws(streams, JOINT, surrogate, count, _SEARCH)
        return U, None
    post, data = surrogate.posterior, surrogate.data
    found = minimise_draws(streams, JOINT, post, data, count, _SEARCH)
    return found.points, found.cost
