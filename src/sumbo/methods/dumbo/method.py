"""DuMBO: decompositions by Metropolis, one bound for all of them by message passing."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from sumbo.data import Data, Transform
from sumbo.decompositions.random import random_partition
from sumbo.errors import ArgumentError
from sumbo.gp import Posterior
from sumbo.linalg import one_blas_thread
from sumbo.methods.base import METHODS, Info, Method
from sumbo.methods.dumbo.isotropic import (
    NOISE_FLOOR,
    IsotropicEvidence,
    IsotropicFit,
    fit_isotropic,
    isotropic_gp,
    start_raw,
)
from sumbo.methods.dumbo.pooled import minimise_pooled, pool
from sumbo.partitions.metropolis import walk
from sumbo.partitions.partition import canonical, split_or_merge
from sumbo.rng import rng_at
from sumbo.state import State
from sumbo.structure import expand
from sumbo.surrogate import Rescaled, Scale, Surrogate, rescale, single
from sumbo.typing import Float, Groups, ndarray


@dataclass(frozen=True, kw_only=True, eq=False)
class DumboState(State):
    """Where the chain over decompositions is.

    Attributes:
        fitted_at: The number of observations at the last fit.
        scale: The transform then.
        groups: The current decomposition, in parameters.
        raw: Its hyperparameters, as ``fit_isotropic`` moves them.
    """

    fitted_at: int
    scale: Scale
    groups: Groups
    raw: Float[ndarray, " p"]


@METHODS.register("dumbo")
@dataclass(frozen=True, kw_only=True)
class Dumbo(Method):
    """Return the consensus of the factors of several decompositions; [bardou2023].

    Deviation from [bardou2023] and its code, see docs/methods/dumbo.md: noise and mean
    are in the posterior, decompositions are scored by the marginal likelihood, the
    split probability is exact, equal points are kept, repeated states are no
    neighbours, and batches and pending points are fantasised at their mean.

    Attributes:
        states: Decompositions per acquisition: the current one and Metropolis steps.
        max_size: The most parameters of a factor; None for no limit, as in the
            authors' code, where the first decomposition is one factor.
        adam_steps: Steps of Adam in every fit, if it does not arrive earlier.
        adam_step_size: Its step size.
        start_noise: The noise variance at which fits of new decompositions start.
        admm_iterations: Rounds of message passing, at most.
        precision: Copies that differ by less from their average agree.
        penalty: The first penalty on disagreement.
        candidates: Points from which the starts of each factor are chosen.
        starts: Starts per factor in the first round; later rounds have two.
        repeats_are_neighbours: Whether a state that the chain repeats exchanges
            messages with its copies, as in the authors' code; that shrinks the bound's
            standard deviations, most where the chain stands still.
    """

    cite: ClassVar[str] = "bardou2023"
    label: ClassVar[str] = "DuMBO"
    look: ClassVar = ("#CC79A7", "D")
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {},
        "paper-author": {},
    }
    remembers: ClassVar[type[State] | None] = DumboState

    states: int = 5
    max_size: int | None = 5
    adam_steps: int = 200
    adam_step_size: float = 0.1
    start_noise: float = 1e-2
    admm_iterations: int = 10
    precision: float = 0.05
    penalty: float = 1.0
    candidates: int = 512
    starts: int = 20
    repeats_are_neighbours: bool = False

    def __post_init__(self) -> None:
        counts = ["states", "adam_steps", "admm_iterations", "candidates", "starts"]
        if self.max_size is not None:
            counts.append("max_size")
        for name in counts:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ArgumentError(f"{name}={value!r} is not a positive integer.")
        for name in ("adam_step_size", "precision", "penalty"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value > 0):
                raise ArgumentError(f"{name}={value!r} is not a positive number.")
        if not NOISE_FLOOR < self.start_noise < np.inf:
            msg = f"start_noise={self.start_noise!r} is not above {NOISE_FLOOR}, the "
            raise ArgumentError(f"{msg}lowest noise of the model. Pass one like 1e-2.")

    def propose(
        self, rng: np.random.Generator, state: DumboState | None, data: Data, q: int
    ) -> tuple[Float[ndarray, "q P"], DumboState | None, Info]:
        """Return q points, each chosen with the earlier ones fantasised."""
        if len(data.y) == 0:
            return rng.random((q, data.domain.dim)), state, Info()
        with one_blas_thread():
            begin = time.process_time()
            data, scale, fits = self._rescale(state, data)
            posts, counts, state, info = self._structures(rng, state, data, scale)
            took = time.process_time() - begin
            info = replace(info, fit_cpu_s=took, fits=info.fits + fits)
            if len(data.pending):
                posts = _fantasise(posts, counts, data.pending)
            out = np.empty((q, data.domain.dim))
            for i in range(q):
                out[i] = self._minimise(rng, posts, counts, data)
                if i + 1 < q:
                    posts = _fantasise(posts, counts, out[i : i + 1])
        return out, state, info

    def surrogate(self, state: DumboState | None, data: Data) -> Surrogate | None:
        """Return the model of the decomposition where the chain is."""
        if (~data.failed).sum() < 2:
            return None
        if state is None:
            rng = rng_at(0, "surrogate")
            data, scale, _ = self._rescale(None, data)
            state = self._structures(rng, None, data, scale)[2]
        data = data.under(state.scale.transform)
        with one_blas_thread():
            fit = self._fit(state.groups, data, state.raw, steps=0)
            post = _condition(state.groups, fit, data)
        return single(post, data, self.structures(state))

    def structures(self, state: DumboState | None) -> tuple[Groups, ...]:
        """Return the decomposition where the chain is."""
        return (state.groups,) if state else ()

    def transform(self, state: DumboState | None) -> Transform | None:
        """Return the transform of the last fit."""
        return state.scale.transform if state else None

    def next_refit(self, fitted_at: int, q: int = 1) -> int:
        """Return the next number of observations: every new one causes a refit."""
        del q
        return fitted_at + 1

    def _rescale(self, state: DumboState | None, data: Data) -> Rescaled:
        """Return the data under the transform of this fit, which new data change."""
        if state is not None and len(data.y) == state.fitted_at:
            return Rescaled(data.under(state.scale.transform), state.scale, 0)
        return rescale(data, state.scale if state else None)

    def _structures(
        self,
        rng: np.random.Generator,
        state: DumboState | None,
        data: Data,
        scale: Scale,
    ) -> tuple[list[Posterior], list[int], DumboState, Info]:
        """Return the distinct models of the chain with their counts, and its end."""
        current = self._current(rng, state, data)
        fits = {current: self._refit(current, state, data)}

        def score(partition: Groups) -> float:
            # Each decomposition is fitted once per acquisition, so that its score is
            # one number and the chain has a well-defined target.
            if partition not in fits:
                fits[partition] = self._fit(partition, data)
            return fits[partition].log_likelihood

        propose = partial(split_or_merge, max_size=self._limit(data))
        steps = walk(rng, current, score, propose, self.states - 1)
        seen = [step.state for step in steps]
        distinct = list(dict.fromkeys(seen))
        posts = [_condition(partition, fits[partition], data) for partition in distinct]
        last = seen[-1]
        new = DumboState(
            fitted_at=len(data.y), scale=scale, groups=last, raw=fits[last].raw
        )
        accepted = sum(step.accepted for step in steps[1:])
        info = Info(
            refitted=True,
            fits=len(fits),
            groups=posts[distinct.index(last)].gp.groups,
            events=(f"accepted {accepted} of {len(steps) - 1} decompositions",),
        )
        return posts, [seen.count(partition) for partition in distinct], new, info

    def _current(
        self, rng: np.random.Generator, state: DumboState | None, data: Data
    ) -> Groups:
        if state:
            return state.groups
        K, limit = len(data.domain.blocks), self._limit(data)
        if limit >= K:
            return (tuple(range(K)),)
        return canonical(random_partition(rng, K, limit))

    def _limit(self, data: Data) -> int:
        """Return the most parameters of a factor."""
        return len(data.domain.blocks) if self.max_size is None else self.max_size

    def _refit(
        self, current: Groups, state: DumboState | None, data: Data
    ) -> IsotropicFit:
        """Return the current model, refitted from where it was if data came in."""
        if state is None:
            return self._fit(current, data)
        steps = self.adam_steps if len(data.y) != state.fitted_at else 0
        return self._fit(current, data, state.raw, steps)

    def _fit(
        self,
        partition: Groups,
        data: Data,
        raw: Float[ndarray, " p"] | None = None,
        steps: int | None = None,
    ) -> IsotropicFit:
        """Return the fit of a decomposition, by default a new one with all steps."""
        groups = expand(partition, data.domain.blocks)
        evidence = IsotropicEvidence.of(data.U, data.y, groups)
        raw = start_raw(len(groups), self.start_noise) if raw is None else raw
        steps = self.adam_steps if steps is None else steps
        return fit_isotropic(evidence, raw, steps, self.adam_step_size)

    def _minimise(
        self,
        rng: np.random.Generator,
        posts: list[Posterior],
        counts: list[int],
        data: Data,
    ) -> Float[ndarray, " P"]:
        """Return the representable point nearest to the consensus of all factors."""
        # [bardou2023] practical schedule, with the whole dimension
        beta = np.sqrt(0.2 * len(data.domain.blocks) * np.log(2 * len(data.y)))
        factors = pool(
            posts,
            counts,
            float(beta),
            repeats_are_neighbours=self.repeats_are_neighbours,
        )
        agreed = minimise_pooled(
            rng,
            factors,
            data,
            candidates=self.candidates,
            starts=self.starts,
            rounds=self.admm_iterations,
            precision=self.precision,
            penalty=self.penalty,
        )
        return data.domain.snap(agreed.z[None])[0]


def _fantasise(
    posts: list[Posterior], counts: list[int], U: Float[ndarray, "n P"]
) -> list[Posterior]:
    """Return the models with the mean over all states observed at ``U``."""
    weights = np.array(counts) / sum(counts)
    values = sum(w * p.predict(U)[0] for w, p in zip(weights, posts, strict=True))
    return [post.append(U, values) for post in posts]


def _condition(partition: Groups, fit: IsotropicFit, data: Data) -> Posterior:
    groups = expand(partition, data.domain.blocks)
    return isotropic_gp(groups, fit.raw, fit.mean).condition(data.U, data.y)
