"""What a method is, and the model that logei, ts, ats and alcb2 share."""

import dataclasses
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from sumbo.data import Data
from sumbo.decompositions import resolve
from sumbo.errors import ArgumentError, require_positive_integer
from sumbo.gp import AdditiveGP, Posterior
from sumbo.kernels import KERNELS
from sumbo.registry import Registry, nearest
from sumbo.sampling.expansion import Draw, Expansion
from sumbo.sampling.factors import PartFactor
from sumbo.sampling.growth import fresh_factors, grown_factors
from sumbo.search import (
    Parts,
    by_group,
    components,
    draw_candidates,
    minimise_sum,
)
from sumbo.structure import expand
from sumbo.typing import Bool, Float, Groups, State, ndarray


@dataclass(frozen=True, kw_only=True)
class Info:
    """What one ask did; the optimizer adds the time of the whole ask."""

    fit_cpu_s: float = 0.0
    ask_cpu_s: float = 0.0
    refitted: bool = False
    groups: Groups | None = None
    events: tuple[str, ...] = ()


@runtime_checkable
class Method(Protocol):
    """A rule that proposes points; its settings are the fields of its dataclass."""

    cite: ClassVar[str]
    label: ClassVar[str]
    # Named sets of settings: "paper" says what the paper did.
    presets: ClassVar[Mapping[str, Mapping[str, Any]]]

    def propose(
        self, rng: np.random.Generator, state: State, data: Data, q: int
    ) -> tuple[Float[ndarray, "q P"], State, Info]:
        """Return q points of the unit cube, the new state, and what was done."""
        ...


METHODS: Registry[type[Method]] = Registry("method", "sumbo.methods")


def names() -> tuple[str, ...]:
    """Return the names of all methods."""
    return METHODS.names()


def make(name: str, preset: str | None = None, **settings: Any) -> Method:
    """Return the method of that name with its preset and settings.

    Raises:
        ArgumentError: If the preset or a setting is unknown; the nearest names are
            suggested.
    """
    cls = METHODS.get(name)
    if preset not in (None, "default", *cls.presets):
        msg = f"preset={preset!r} is unknown for method {name!r}. "
        raise ArgumentError(msg + nearest(str(preset), ["default", *cls.presets]))
    known = _settings(name)
    for key in settings:
        if key not in known:
            owners = [repr(other) for other in names() if key in _settings(other)]
            hint = nearest(key, known) if known else "It has no settings."
            if owners:
                hint += f" Methods with it: {', '.join(owners)}."
            msg = f"{key}={settings[key]!r} is no setting of method {name!r}. {hint}"
            raise ArgumentError(msg)
    return cls(**{**cls.presets.get(preset or "default", {}), **settings})


# What ``kernel="auto"`` chooses from; runs begin with the first.
KERNEL_CHOICES = ("matern52", "matern32")

# Posteriors of plausible structures, with their probabilities.
Models = list[tuple[float, Posterior]]


@dataclass(frozen=True, kw_only=True)
class AdditiveModel:
    """Settings of an additive model that is refitted now and then.

    Attributes:
        groups: Groups of parameters, or the name of a decomposition.
        kernel: The kernel of every part, or ``"auto"``: Matérn-5/2 or Matérn-3/2,
            whichever has the greater posterior density at a refit. With
            ``fit="adam"`` it stays with the former.
        fit: ``"map"`` or ``"adam"``, the paper's.
        refit: Observations after which structure and parameters are fitted again.
        growth: And the share by which their number must have grown since: many
            observations are not changed much by a few more. A batch of ``refit``
            points or more waits for no such growth: its model is used many times.
        starts: Starting points of a MAP fit.
    """

    groups: Any = "auto"
    kernel: str = "auto"
    fit: str = "map"
    refit: int = 5
    growth: float = 0.25
    starts: int = 2

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {
            "groups": "random",
            "kernel": "matern52",
            "fit": "adam",
            "refit": 10,
            "growth": 0.0,
        }
    }

    def __post_init__(self) -> None:
        # A name, since a checkpoint holds the settings.
        _one_of("kernel", self.kernel, ("auto", *KERNELS.names()))
        resolve(self.groups)
        _one_of("fit", self.fit, ("map", "adam"))
        for name in ("refit", "starts"):
            require_positive_integer(name, getattr(self, name))
        number = isinstance(self.growth, (int, float)) and self.growth is not True
        if not (number and 0 <= self.growth < np.inf):
            msg = f"growth={self.growth!r} is not a number from 0 on, such as 0.25."
            raise ArgumentError(msg)

    def model(
        self, rng: np.random.Generator, state: State, data: Data, q: int = 1
    ) -> tuple[Posterior, State, Info]:
        """Return the posterior given all data, refitted when it is due for q points.

        The posterior is computed from the state and the data alone, never from a
        cache that a resumed run would not have, so that resuming is bit-exact.
        """
        at = state.get("fitted_at", 0)
        growth = self.growth * at if q < self.refit else 0.0
        due = not state or len(data.y) - at >= max(self.refit, growth)
        info = Info()
        if due:
            begin = time.process_time()
            state, info = self._refit(rng, state, data)
            info = replace(info, fit_cpu_s=time.process_time() - begin)
        post = _gp(state, self._kernel(state)).condition(data.U, data.y)
        return post, state, replace(info, groups=post.gp.groups)

    def models(
        self, rng: np.random.Generator, state: State, data: Data, q: int = 1
    ) -> tuple[Models, State, Info]:
        """Return the posteriors of all plausible structures; the drawn one is first.

        Its probability is what the others leave.
        """
        post, state, info = self.model(rng, state, data, q)
        others: Models = []
        for other in state["structure"].get("others", ()):
            groups = tuple(tuple(group) for group in other["groups"])
            blocks = expand(groups, data.domain.blocks)
            theta, mean = other["log_theta"], other["mean"]
            gp = AdditiveGP.from_log(blocks, theta, mean, self._kernel(other))
            others.append((other["weight"], gp.condition(data.U, data.y)))
        drawn = 1.0 - sum(weight for weight, _ in others)
        return [(drawn, post), *others], state, info

    def _refit(
        self, rng: np.random.Generator, state: State, data: Data
    ) -> tuple[State, Info]:
        source = resolve(self.groups)
        groups, remembered = source.propose(rng, state.get("structure", {}), data)
        groups = expand(groups, data.domain.blocks)
        gp = AdditiveGP(groups=groups, kernel=self._kernel(state))
        if self.fit == "adam":
            gp = gp.fit(data.U, data.y, how="adam")
        else:
            if "log_theta" in remembered:
                theta, mean = remembered["log_theta"], remembered["mean"]
                gp = AdditiveGP.from_log(groups, theta, mean, gp.kernel)
            elif state:
                gp = _warm(gp, _gp(state, gp.kernel))
            seed = int(rng.integers(2**31))
            gp = gp.fit(data.U, data.y, spans=1.0, starts=self.starts, seed=seed)
            if self.kernel == "auto":
                gp = _with_best_kernel(gp, data, seed)
            if "log_theta" in remembered:
                remembered = {**remembered, **_stored(gp)}
        new = {
            "fitted_at": len(data.y),
            "groups": [list(group) for group in groups],
            **_stored(gp),
            "structure": remembered,
        }
        events = gp.info.events if gp.info else ()
        return new, Info(refitted=True, events=events)

    def _kernel(self, state: State) -> str:
        """Return the kernel to go on with from a state."""
        if self.kernel != "auto":
            return self.kernel
        return state.get("kernel", KERNEL_CHOICES[0])


@dataclass(frozen=True, kw_only=True)
class CandidateSearch(AdditiveModel):
    """An additive model whose parts are searched among candidates.

    Attributes:
        candidates: Candidate points per component.
        spread: ``"uniform"`` as the paper, or ``"spread"``: Sobol points, and some
            around the best observations.
        refine: Whether the best candidate of each part is refined by its gradient.
        fresh_candidates: Whether every ask draws new candidates, as the paper; else
            they stand until the next refit, which is many times cheaper.
        threads: Over groups; results do not depend on it.
    """

    candidates: int = 200
    spread: str = "spread"
    refine: bool = True
    fresh_candidates: bool = False
    threads: int = 1

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {
            **AdditiveModel.presets["paper"],
            "candidates": 500,
            "spread": "uniform",
            "refine": False,
            "fresh_candidates": True,
        }
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        _one_of("spread", self.spread, ("uniform", "spread"))
        for name in ("candidates", "threads"):
            require_positive_integer(name, getattr(self, name))


Drawing = Callable[
    [np.random.Generator, Posterior, list[PartFactor], int], list[Expansion]
]


def minimise_draws(
    settings: CandidateSearch,
    draw: Drawing,
    rng: np.random.Generator,
    post: Posterior,
    state: State,
    data: Data,
    q: int,
) -> tuple[Float[ndarray, "q P"], State]:
    """Return the minimisers of q draws, all made at the same candidates.

    Candidates stand while the parameters do, unless fresh ones are wanted: their
    factors are then extended by the new observations only.
    """
    parts = components(post.gp.groups)
    if settings.fresh_candidates or "candidates" not in state:
        Z = draw_candidates(rng, data, parts, settings.candidates, settings.spread)
    else:
        Z = list(state["candidates"])
    if settings.fresh_candidates:
        factors = fresh_factors(post, by_group(parts, Z), settings.threads)
    else:
        state = {**state, "candidates": Z}
        base = state["fitted_at"]
        factors = grown_factors(post, by_group(parts, Z), base, settings.threads)
    draws = draw(rng, post, factors, q)
    free = free_coordinates(data)
    out = np.empty((q, data.domain.dim))
    for i in range(q):
        values = [
            np.sum([draws[m].values[i] for m in part.groups], axis=0) for part in parts
        ]
        one = Draw(draws, i)
        functions = Parts(one.value, one.gradient, one.lines, one.line_gradients)
        refined = functions if settings.refine else None
        out[i] = minimise_sum(parts, Z, values, data.domain.dim, refined, free)
    return out, state


def believing(models: Models, U: Float[ndarray, "n P"]) -> Models:
    """Return the posteriors, each with its own mean observed at some points."""
    return [(weight, post.append(U, post.predict(U)[0])) for weight, post in models]


def free_coordinates(data: Data) -> Bool[ndarray, " P"]:
    """Return which coordinates are continuous: snapping leaves them alone."""
    # An irrational-looking probe point: no integer level or one-hot corner is there.
    probe = np.full((1, data.domain.dim), 0.3819660112501051)
    return data.domain.snap(probe)[0] == probe[0]


def _gp(state: State, kernel: str) -> AdditiveGP:
    groups = tuple(tuple(group) for group in state["groups"])
    return AdditiveGP.from_log(groups, state["log_theta"], state["mean"], kernel)


def _stored(gp: AdditiveGP) -> State:
    """Return what a state holds of a fit, its groups aside."""
    theta = gp.hyperparameters().log()
    return {"log_theta": theta, "mean": gp.mean, "kernel": gp.kernel}


def _warm(gp: AdditiveGP, last: AdditiveGP) -> AdditiveGP:
    """Return the model started at the last parameters, carried over where they fit."""
    if last.groups == gp.groups:
        return gp.with_hyperparameters(last.hyperparameters())
    if isinstance(gp.lengthscales, ndarray) and isinstance(last.lengthscales, ndarray):
        return replace(gp, lengthscales=last.lengthscales, noise=last.noise)
    return replace(gp, noise=last.noise)


def _with_best_kernel(gp: AdditiveGP, data: Data, seed: int) -> AdditiveGP:
    """Return the fit, or one with another kernel if it explains the data better.

    The groups were chosen with the present kernel, so that the other one has to be
    ahead with groups that are not its own. The seed is that of the fit: of very many
    data it draws those that are fitted, and densities compare on the same data only.
    """
    fits = [gp]
    for kernel in KERNEL_CHOICES:
        if kernel != gp.kernel:
            other = replace(gp, kernel=kernel, info=None)
            fits.append(other.fit(data.U, data.y, spans=1.0, starts=1, seed=seed))
    return max(fits, key=_density)


def _density(gp: AdditiveGP) -> float:
    found = gp.info.log_posterior if gp.info else np.nan
    return found if np.isfinite(found) else -np.inf  # a fit may have failed


def _settings(name: str) -> list[str]:
    fields = dataclasses.fields(METHODS.get(name))  # pyright: ignore[reportArgumentType]
    return [field.name for field in fields]


def _one_of(name: str, value: Any, known: tuple[str, ...]) -> None:
    """Check a setting that has few values.

    Raises:
        ArgumentError: If the value is none of them.
    """
    if value not in known:
        msg = f"{name}={value!r} is unknown. {nearest(str(value), known)}"
        raise ArgumentError(msg)
