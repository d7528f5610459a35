"""Thompson sampling in one trust region, as a baseline.

Our implementation of the idea of [eriksson2019]. A Gaussian process is fitted to the
points since the last restart. The sides of the region are proportional to the
length-scales. Candidates differ from the best point in some coordinates only. The
region doubles after successes and halves after failures. When it is too small, the
search restarts with uniform points.
"""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.stats import qmc

from sumbo.data import Data
from sumbo.gp import AdditiveGP, Posterior
from sumbo.linalg import cholesky
from sumbo.methods.base import METHODS, Info, Method
from sumbo.state import State
from sumbo.typing import Float, ndarray

# Smallest improvement that is a success, in standard deviations of the values.
_PROGRESS = 1e-3
# Largest mean number of coordinates in which a candidate differs from the best point.
_PERTURBED = 20.0


@dataclass(frozen=True, kw_only=True, eq=False)
class RegionState(State):
    """Where the search is.

    Attributes:
        begin: The number of observations at the last restart.
        seen: The number of observations at the last ask.
        won: Successive improvements.
        lost: Successive failures to improve.
        length: The side of the region.
        theta: Logarithms of the hyperparameters, the last ones.
    """

    begin: int
    seen: int
    won: int = 0
    lost: int = 0
    length: float
    theta: Float[ndarray, " p"] | None = None


@METHODS.register("trust-region")
@dataclass(frozen=True, kw_only=True)
class TrustRegion(Method):
    """Minimise posterior draws over candidates of a trust region.

    Attributes:
        length: Initial side of the region, in the unit cube.
        longest: Largest side.
        shortest: The search restarts when the side is below this.
        successes: Number of successive improvements after which the side doubles.
        candidates: Largest number of candidates; there are about 100 per coordinate.
        fresh: Largest number of uniform points after a restart; there are two per
            coordinate.
    """

    length: float = 0.8
    longest: float = 1.6
    shortest: float = 0.5**7
    successes: int = 3
    candidates: int = 2048
    fresh: int = 20

    cite: ClassVar[str] = "eriksson2019"
    label: ClassVar[str] = "Trust region"
    remembers: ClassVar[type[State] | None] = RegionState

    def propose(
        self, rng: np.random.Generator, state: RegionState | None, data: Data, q: int
    ) -> tuple[Float[ndarray, "q P"], RegionState, Info]:
        """Return q points of the region, or uniform points after a restart."""
        state = self.updated(state, data, q) if state else self._start(0, len(data.y))
        U, y = data.U[state.begin :], data.y[state.begin :]
        P = data.domain.dim
        if len(y) < (min(2 * P, self.fresh) if state.begin else 1):
            return rng.random((q, P)), state, Info()
        post, state = _fitted(rng, state, U, y)
        Z = self._region(rng, post, state.length, U[int(np.argmin(y))], data)
        return _minimisers(rng, post, Z, q), state, Info(refitted=True)

    def updated(self, state: RegionState, data: Data, q: int) -> RegionState:
        """Return the state, updated with the values observed since the last ask."""
        before, new = data.y[state.begin : state.seen], data.y[state.seen :]
        state = replace(state, seen=len(data.y))
        if not len(before) or not len(new):
            return state
        margin = _PROGRESS * float(np.std(data.y[state.begin :]))
        if new.min() < before.min() - margin:
            state = replace(state, won=state.won + 1, lost=0)
        else:
            state = replace(state, won=0, lost=state.lost + 1)
        if state.won >= self.successes:
            state = replace(state, won=0, length=min(2.0 * state.length, self.longest))
        elif state.lost >= math.ceil(max(4.0, data.domain.dim) / q):
            state = replace(state, lost=0, length=state.length / 2.0)
        if state.length < self.shortest:
            return self._start(len(data.y), len(data.y))
        return state

    def _start(self, begin: int, seen: int) -> RegionState:
        return RegionState(begin=begin, seen=seen, length=self.length)

    def _region(
        self,
        rng: np.random.Generator,
        post: Posterior,
        length: float,
        best: Float[ndarray, " P"],
        data: Data,
    ) -> Float[ndarray, "B P"]:
        """Return candidates of the region around the best point."""
        P = data.domain.dim
        scales = np.log(np.asarray(post.gp.lengthscales))
        half = 0.5 * length * np.exp(scales - scales.mean())  # the volume is unchanged
        low, high = np.clip(best - half, 0.0, 1.0), np.clip(best + half, 0.0, 1.0)
        power = math.ceil(math.log2(min(100 * P, self.candidates)))
        sobol = qmc.Sobol(P, rng=rng).random_base2(power)
        differs = rng.random(sobol.shape) < min(1.0, _PERTURBED / P)
        unchanged = np.flatnonzero(~differs.any(axis=1))
        differs[unchanged, rng.integers(P, size=len(unchanged))] = True
        Z = np.where(differs, low + (high - low) * sobol, best)
        for block in data.domain.blocks:
            if len(block) > 1:  # a choice has no neighbourhood: draw any
                changed = np.flatnonzero(rng.random(len(Z)) < 0.5 * min(1.0, length))
                chosen = rng.integers(len(block), size=len(changed))
                Z[np.ix_(changed, np.array(block))] = np.eye(len(block))[chosen]
        return np.unique(data.domain.snap(Z), axis=0)


def _fitted(
    rng: np.random.Generator,
    state: RegionState,
    U: Float[ndarray, "N P"],
    y: Float[ndarray, " N"],
) -> tuple[Posterior, RegionState]:
    sd = float(y.std())
    z = (y - y.mean()) / (sd if sd > 0 else 1.0)
    gp = AdditiveGP(groups=(tuple(range(U.shape[1])),))
    if state.theta is not None:
        last = gp.hyperparameters().from_log(state.theta, mean=0.0)
        gp = gp.with_hyperparameters(last)
    gp = gp.fit(U, z, spans=1.0, starts=2, seed=int(rng.integers(2**31)))
    return gp.condition(U, z), replace(state, theta=gp.hyperparameters().log())


def _minimisers(
    rng: np.random.Generator, post: Posterior, Z: Float[ndarray, "B P"], q: int
) -> Float[ndarray, "q P"]:
    """Return the minimisers of q joint draws, distinct if Z has q rows or more."""
    mean, cov = post.parts([Z])[0]
    L = cholesky(cov, scale=float(post.gp.variances.sum())).L
    draws = mean[:, None] + L @ rng.standard_normal((len(Z), q))
    taken: list[int] = []
    for draw in draws.T:
        if len(taken) < len(Z):
            draw[taken] = np.inf
        taken.append(int(np.argmin(draw)))
    return Z[taken]
