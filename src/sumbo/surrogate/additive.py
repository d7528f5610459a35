"""The additive model of logei, ts, ats and alcb2: what a refit chooses, and when.

A refit chooses, in this order and on the same observations,

1. the transform of the values (``transform``),
2. the groups (the decomposition, which may compare fits of several structures),
3. the hyperparameters (a MAP fit, or the paper's Adam), and
4. the kernel (another fit with every other kernel).

All comparisons are of the same number, the log posterior density of a fit. Between
refits everything that was chosen stands, constants of the transform included, and the
model is conditioned on the new observations.
"""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sumbo.data import Data, Transform
from sumbo.decompositions import Decomposition, resolve
from sumbo.errors import ArgumentError, require_number, require_positive_integer
from sumbo.gp import AdditiveGP
from sumbo.gp.observed import fit_to
from sumbo.kernels import KERNELS
from sumbo.registry import require_one_of
from sumbo.rng import rng_at
from sumbo.state import SAVED_IF_SET, UNSAVED, State
from sumbo.structure import expand
from sumbo.surrogate.base import Fit, OutcomeModel, Surrogate
from sumbo.surrogate.large import MANY, SolverMemory, condition, fitted_part
from sumbo.surrogate.transform import Scale, rescale
from sumbo.typing import Float, Groups, ndarray

# What ``kernel="auto"`` chooses from; runs begin with the first.
KERNEL_CHOICES = ("matern52", "matern32")

# The model of [wycoff2025], with our choices for what the paper does not say.
PAPER = {
    "groups": "random",
    "kernel": "matern52",
    "fit": "adam",
    "refit": 10,
    "growth": 0.0,
}
# The same with the kernel exp(−Σ_j d_j²/0.1), variance 1 and noise variance 1e-4 of
# public code by the same author, as starting values of Adam.
PAPER_AUTHOR = {
    **PAPER,
    "kernel": "rbf",
    "start_lengthscale": math.sqrt(0.05),
    "start_variance": 1.0,
    "start_noise": 1e-4,
}


@dataclass(frozen=True, kw_only=True, eq=False)
class AdditiveState(State):
    """What the last refit chose.

    Attributes:
        fitted_at: The number of observations then.
        scale: The transform.
        drawn: The model of the structure that was drawn.
        others: Models of other plausible structures, with their weights.
        memory: What the decomposition remembers.
        outcomes: What the last refits of the models of outcomes chose.
        solvers: The factors of the last ask. They only save time.
    """

    fitted_at: int
    scale: Scale
    drawn: Fit
    others: tuple[Fit, ...] = ()
    memory: State | None = None
    outcomes: tuple["AdditiveState", ...] = field(default=(), metadata=SAVED_IF_SET)
    solvers: SolverMemory = field(default_factory=SolverMemory, metadata=UNSAVED)


@dataclass(frozen=True, kw_only=True)
class AdditiveModel:
    """Settings of an additive model that is refitted from time to time.

    Attributes:
        groups: Groups of parameters, or a decomposition or its name.
        kernel: The kernel of every part, or ``"auto"``: Matérn-5/2 or Matérn-3/2,
            whichever has the greater posterior density at a refit. With
            ``fit="adam"`` it is Matérn-5/2.
        fit: How hyperparameters are fitted: ``"map"``, or ``"adam"`` as in the paper.
        refit: Minimum number of new observations before the next refit.
        growth: Minimum relative growth of the data set before the next refit. With
            ``growth=0.25`` and a fit at 100 observations, the next refit happens at
            125 or later. It does not apply to batches of ``refit`` points or more,
            because their model is used many times, up to 400 observations.
        starts: Starting points of a MAP fit.
        start_lengthscale: Length-scale of every coordinate at which ``fit="adam"``
            starts; None for 0.3·√d in a group of d coordinates.
        start_variance: Variance of every part at which ``fit="adam"`` starts; None for
            1/M with M parts.
        start_noise: Noise variance at which ``fit="adam"`` starts; None for 0.01.
        orthogonal: Whether every part integrates to zero over the search space, see
            ``AdditiveGP``. Groups are learned with plain parts.
    """

    groups: Any = "auto"
    kernel: str = "auto"
    fit: str = "map"
    refit: int = 5
    growth: float = 0.25
    starts: int = 2
    start_lengthscale: float | None = None
    start_variance: float | None = None
    start_noise: float | None = None
    orthogonal: bool = False

    remembers: ClassVar[type[State] | None] = AdditiveState
    uses_noise: ClassVar[bool] = True
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": PAPER,
        "paper-author": PAPER_AUTHOR,
    }

    def __post_init__(self) -> None:
        # A name, since a checkpoint holds the settings.
        require_one_of("kernel", self.kernel, ("auto", *KERNELS.names()))
        resolve(self.groups)
        require_one_of("fit", self.fit, ("map", "adam"))
        for name in ("refit", "starts"):
            require_positive_integer(name, getattr(self, name))
        number = isinstance(self.growth, (int, float)) and self.growth is not True
        if not (number and 0 <= self.growth < np.inf):
            msg = f"growth={self.growth!r} is not a number from 0 on, such as 0.25."
            raise ArgumentError(msg)
        self._check_starts()
        if not isinstance(self.orthogonal, bool):
            msg = f"orthogonal={self.orthogonal!r} is neither True nor False."
            raise ArgumentError(msg)

    # ------------------------------------------------------------------ the model
    def update(
        self,
        rng: np.random.Generator,
        state: AdditiveState | None,
        data: Data,
        q: int = 1,
        *,
        projected: bool = False,
    ) -> tuple[Surrogate, AdditiveState]:
        """Return the surrogate given all data, refitted if that is due for q points.

        The posteriors depend on the state and the data alone, never on what a resumed
        run would not have, so that resuming is exact. With ``projected`` those of many
        observations are approximations, see ``surrogate.large``.
        """
        if data.outcomes:
            return self._with_outcomes(rng, state, data, q)
        due = state is None or len(data.y) >= self.next_refit(state.fitted_at, q)
        if state is not None and not due:
            return self._condition(state, data, projected=projected), state
        begin = time.process_time()
        state, fits, events = self._refit(rng, state, data)
        took = time.process_time() - begin
        surrogate = replace(
            self._condition(state, data, projected=projected),
            refitted=True,
            fits=fits,
            fit_cpu_s=took,
            events=events,
        )
        return surrogate, state

    def _with_outcomes(
        self, rng: np.random.Generator, state: AdditiveState | None, data: Data, q: int
    ) -> tuple[Surrogate, AdditiveState]:
        """Return the surrogate with models of all outcomes, each refitted when due."""
        streams = rng.spawn(len(data.outcomes))
        surrogate, new = self.update(rng, state, replace(data, outcomes=()), q)
        known = state.outcomes if state else (None,) * len(data.outcomes)
        models, states = [], []
        for stream, last, measured in zip(streams, known, data.outcomes, strict=True):
            own, chosen = self.update(stream, last, data.of_outcome(measured), q)
            models.append(OutcomeModel.of(own, measured))
            states.append(chosen)
        found = [surrogate, *(model.surrogate for model in models)]
        surrogate = replace(
            surrogate,
            data=replace(surrogate.data, outcomes=data.outcomes),
            outcomes=tuple(models),
            fits=sum(s.fits for s in found),
            fit_cpu_s=sum(s.fit_cpu_s for s in found),
            events=tuple(event for s in found for event in s.events),
        )
        return surrogate, replace(new, outcomes=tuple(states))

    def next_refit(self, fitted_at: int, q: int = 1) -> int:
        """Return the number of observations at which q points ask for a refit."""
        growth = self.growth * fitted_at
        if q >= self.refit:
            growth = min(MANY.batch_growth, self.growth) * (fitted_at - MANY.fitted)
        return fitted_at + math.ceil(max(self.refit, growth))

    def surrogate(self, state: AdditiveState | None, data: Data) -> Surrogate | None:
        """Return the surrogate given all data, with what the last refit chose.

        If there was none, as after an initial design only, the model is fitted.
        """
        if (~data.failed).sum() < 2:
            return None
        if state is None:
            return self.update(rng_at(0, "surrogate"), None, data)[0]
        return self._condition(state, data)

    # ------------------------------------------------------------------ the state
    def structures(self, state: AdditiveState | None) -> tuple[Groups, ...]:
        """Return groups of parameters that were learned lately, the last ones last."""
        return self._source.structures(state.memory) if state else ()

    def co_membership(
        self, state: AdditiveState | None
    ) -> Float[ndarray, "K K"] | None:
        """Return how probable it is that two parameters share a group, if learned."""
        return self._source.co_membership(state.memory) if state else None

    def transform(self, state: AdditiveState | None) -> Transform | None:
        """Return the transform that stands until the next refit."""
        return state.scale.transform if state else None

    def restore(self, packed: Any) -> Any:
        """Return the state that a checkpoint holds."""
        return self._restored(self.remembers or AdditiveState, packed)

    def _restored(self, cls: Any, packed: Any) -> Any:
        known = packed if isinstance(packed, Mapping) else {}
        # The class of a memory is known to the decomposition only.
        memory = self._source.restore(known.get("memory"))
        each = [self._restored(AdditiveState, own) for own in known.get("outcomes", ())]
        return cls.unpack(packed, memory=memory, outcomes=tuple(each))

    def _check_starts(self) -> None:
        """Check where Adam starts.

        Raises:
            ArgumentError: If a value is not positive, or if the fit is another one.
        """
        for name in ("start_lengthscale", "start_variance", "start_noise"):
            value = getattr(self, name)
            if value is None:
                continue
            require_number(name, value)
            if value == 0:
                msg = f"{name}=0 has no logarithm. Pass a positive number."
                raise ArgumentError(msg)
            if self.fit != "adam":
                msg = (
                    f"{name}={value!r} is where fit='adam' starts, and the fit is "
                    f"{self.fit!r}. Pass fit='adam', or {name}=None."
                )
                raise ArgumentError(msg)

    @cached_property
    def _source(self) -> Decomposition:
        return resolve(self.groups)

    # ------------------------------------------------------------------ inside
    def _condition(
        self, state: AdditiveState, data: Data, *, projected: bool = False
    ) -> Surrogate:
        data = data.under(state.scale.transform)
        fits = (state.drawn, *state.others)
        posteriors = tuple(
            condition(
                fit.over(data.domain),
                data,
                state.fitted_at,
                state.solvers,
                i,
                projected=projected,
            )
            for i, fit in enumerate(fits)
        )
        return Surrogate(
            posteriors=posteriors,
            weights=np.array([fit.weight for fit in fits]),
            data=data,
            structures=self.structures(state),
            co_membership=self.co_membership(state),
        )

    def _refit(
        self, rng: np.random.Generator, state: AdditiveState | None, data: Data
    ) -> tuple[AdditiveState, int, tuple[str, ...]]:
        """Return what the refit chose, how many fits it took, and their events."""
        data, scale, fits = rescale(data, state.scale if state else None)
        last = state.drawn.gp if state else None
        memory = state.memory if state else None
        proposal = self._source.propose(rng, memory, data, last)
        gp = self._start(proposal.start, proposal.groups, last, data)
        gp = self._made_orthogonal(gp, data)
        fits += proposal.fits + 1
        if self.fit == "adam":
            gp = gp.fit(data.U, data.y, noise=data.noise, how="adam")
        else:
            seed, few = int(rng.integers(2**31)), fitted_part(data)
            gp = fit_to(gp, few, starts=self.starts, seed=seed)
            if self.kernel == "auto":
                gp = with_best_kernel(gp, few, seed)
                fits += len(KERNEL_CHOICES) - 1
        others = tuple(
            Fit.of(self._other(other, data), weight)
            for weight, other in proposal.others
        )
        drawn = Fit.of(gp, 1.0 - sum(fit.weight for fit in others))
        new = AdditiveState(
            fitted_at=len(data.y),
            scale=scale,
            drawn=drawn,
            others=others,
            memory=proposal.memory,
        )
        return new, fits, gp.info.events if gp.info else ()

    def _other(self, gp: AdditiveGP, data: Data) -> AdditiveGP:
        """Return the model of another plausible structure."""
        gp = gp if self.kernel == "auto" else replace(gp, kernel=self.kernel)
        if not self.orthogonal:
            return gp
        return fit_to(self._made_orthogonal(gp, data), fitted_part(data), starts=1)

    def _made_orthogonal(self, gp: AdditiveGP, data: Data) -> AdditiveGP:
        """Return the model with orthogonal parts, if these are wanted."""
        if not self.orthogonal:
            return gp
        return replace(
            without_twins(gp),
            orthogonal=True,
            measure=data.domain,
            constant=1.0,  # the variance of standardised values
            info=None,
        )

    def _start(
        self,
        start: AdditiveGP | None,
        groups: Groups,
        last: AdditiveGP | None,
        data: Data,
    ) -> AdditiveGP:
        """Return the model at the parameters from which the fit starts."""
        coordinates = expand(groups, data.domain.blocks)
        kernel = self.kernel
        if kernel == "auto":
            kernel = last.kernel if last else KERNEL_CHOICES[0]
        if self.fit == "adam":
            return self._start_of_adam(coordinates, kernel)
        if start is not None:
            return replace(Fit.of(start).gp, kernel=kernel)
        gp = AdditiveGP(groups=coordinates, kernel=kernel)
        return warm_start(gp, last) if last else gp

    def _start_of_adam(self, groups: Groups, kernel: str) -> AdditiveGP:
        gp = AdditiveGP(groups=groups, kernel=kernel, variances=self.start_variance)
        if self.start_lengthscale is not None:
            lengthscales = [np.full(len(g), self.start_lengthscale) for g in groups]
            gp = replace(gp, lengthscales=lengthscales)
        return gp if self.start_noise is None else replace(gp, noise=self.start_noise)


def warm_start(gp: AdditiveGP, last: AdditiveGP) -> AdditiveGP:
    """Return the model at the last parameters, as far as they fit its groups."""
    if last.groups == gp.groups:
        return gp.with_hyperparameters(last.hyperparameters())
    if isinstance(gp.lengthscales, ndarray) and isinstance(last.lengthscales, ndarray):
        return replace(gp, lengthscales=last.lengthscales, noise=last.noise)
    return replace(gp, noise=last.noise)


def without_twins(gp: AdditiveGP) -> AdditiveGP:
    """Return the model without parts on the same coordinates as an earlier part."""
    seen = [frozenset(group) for group in gp.groups]
    kept = [m for m, one in enumerate(seen) if one not in seen[:m]]
    if len(kept) == len(seen):
        return gp
    lengthscales = gp.lengthscales
    if not isinstance(lengthscales, ndarray):
        lengthscales = [lengthscales[m] for m in kept]
    return replace(
        gp,
        groups=tuple(gp.groups[m] for m in kept),
        lengthscales=lengthscales,
        variances=gp.variances[kept],
        info=None,
    )


def with_best_kernel(gp: AdditiveGP, data: Data, seed: int) -> AdditiveGP:
    """Return the fit, or one with another kernel if its posterior density is greater.

    The groups were chosen with the present kernel, so the other one has to be ahead
    with groups that are not its own. Densities compare on the same data only.
    """
    fits = [gp]
    for kernel in KERNEL_CHOICES:
        if kernel != gp.kernel:
            other = replace(gp, kernel=kernel, info=None)
            fits.append(fit_to(other, data, starts=1, seed=seed))
    return max(fits, key=_log_posterior)


def _log_posterior(gp: AdditiveGP) -> float:
    found = gp.info.log_posterior if gp.info else np.nan
    return found if np.isfinite(found) else -np.inf  # a fit may have failed
