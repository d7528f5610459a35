"""What a method is, and what methods that search among candidates share."""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from sumbo.data import Data, Transform
from sumbo.errors import ArgumentError
from sumbo.registry import Registry, nearest
from sumbo.rng import split
from sumbo.sampling.expansion import JOINT, Drawing
from sumbo.search import (
    Candidates,
    CandidateSettings,
    GridCost,
    Table,
    minimise_draws,
    pick_each,
)
from sumbo.search.constrained import minimise_constrained_draws
from sumbo.state import State
from sumbo.structure import co_membership_matrix
from sumbo.surrogate import AdditiveModel, AdditiveState, Surrogate
from sumbo.typing import Float, Groups, Int, ndarray


@dataclass(frozen=True, kw_only=True)
class Info:
    """What one ask did; the optimizer adds the time of the whole ask.

    Attributes:
        fit_cpu_s: CPU time of all fits, in seconds.
        ask_cpu_s: CPU time of the whole ask, in seconds.
        refitted: Whether the model was refitted.
        fits: How many fits of hyperparameters were made, those that compare
            transforms, structures and kernels included.
        groups: The groups that were used, in unit-cube coordinates.
        events: What happened during the fits, such as retries.
        noisy: Whether values are noisy: a noise was given, or considerable noise is
            estimated. Points may then be asked again.
        search: What the search for the minimum of overlapping parts took, and how
            exact it was; None where no parts overlap.
    """

    fit_cpu_s: float = 0.0
    ask_cpu_s: float = 0.0
    refitted: bool = False
    fits: int = 0
    groups: Groups | None = None
    events: tuple[str, ...] = ()
    noisy: bool = False
    search: GridCost | None = None

    @classmethod
    def of(cls, surrogate: Surrogate) -> "Info":
        """Return what the ask did to its model."""
        return cls(
            fit_cpu_s=surrogate.fit_cpu_s,
            refitted=surrogate.refitted,
            fits=surrogate.fits,
            groups=surrogate.groups,
            events=surrogate.events,
            noisy=surrogate.noisy,
        )


class Method(ABC):
    """A rule that proposes points; its settings are the fields of its dataclass.

    A subclass needs ``propose``. One with a model also has ``surrogate``, and one that
    learns groups has ``structures``.
    """

    cite: ClassVar[str]
    label: ClassVar[str]
    # Colour and marker in figures; without, one of a few spare looks.
    look: ClassVar[tuple[str, str] | None] = None
    # Named sets of settings: "paper" is what the paper did, "paper-author" the same
    # with choices of public code by its author.
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    # Whether its search keeps to what ``data.domain.snap`` gives, and so to contexts.
    takes_context: ClassVar[bool] = False
    # Whether it ignores the covariance between parts; users are warned where it counts.
    ignores_covariance: ClassVar[bool] = False
    # The class of what it remembers, None if it remembers nothing.
    remembers: ClassVar[type[State] | None] = None
    # Whether it takes outcomes with limits into account.
    takes_outcomes: ClassVar[bool] = False
    # Whether noise that is known enters the model.
    uses_noise: ClassVar[bool] = False

    @abstractmethod
    def propose(
        self, rng: np.random.Generator, state: Any, data: Data, q: int
    ) -> tuple[Float[ndarray, "q P"], Any, Info]:
        """Return q points of the unit cube, the new state, and what was done.

        Args:
            rng: The only source of randomness.
            state: What the last call returned; None at first.
            data: All observations and pending points.
            q: How many points.
        """

    def choose(
        self, rng: np.random.Generator, state: Any, data: Data, table: Table, q: int
    ) -> tuple[Int[ndarray, " q"], Any, Info]:
        """Return the numbers of q points of a list, the new state, what was done.

        A method may do without.

        Raises:
            ArgumentError: If it does.
        """
        del rng, state, data, table, q
        able = [n for n in names() if METHODS.get(n).choose is not Method.choose]
        msg = (
            f"method={METHODS.name_of(type(self))!r} cannot choose from a list of "
            f"points. Use one of {', '.join(able)}."
        )
        raise ArgumentError(msg)

    def surrogate(self, state: Any, data: Data) -> Surrogate | None:
        """Return the model given all data, None if there is none."""
        del state, data
        return None

    def structures(self, state: Any) -> tuple[Groups, ...]:
        """Return groups of parameters that were learned lately, the last ones last."""
        del state
        return ()

    def co_membership(self, state: Any) -> Float[ndarray, "K K"] | None:
        """Return how probable it is that two parameters share a group, if learned."""
        structures = self.structures(state)
        return co_membership_matrix(structures) if structures else None

    def transform(self, state: Any) -> Transform | None:
        """Return the transform of the values that stands, None if there is none."""
        del state
        return None

    def next_refit(self, fitted_at: int, q: int = 1) -> int | None:
        """Return the number of observations at which q points ask for a refit.

        None if the method is never refitted.
        """
        del fitted_at, q
        return None

    def restore(self, packed: Any) -> Any:
        """Return the state that a checkpoint holds."""
        if packed is None or self.remembers is None:
            return None
        return self.remembers.unpack(packed)


METHODS: Registry[type[Method]] = Registry("method", "sumbo.methods")


def names() -> tuple[str, ...]:
    """Return the names of all methods.

    Examples:
        >>> import sumbo
        >>> "logei" in sumbo.methods.names()
        True
    """
    return METHODS.names()


def make(name: str | Method, preset: str | None = None, **settings: Any) -> Method:
    """Return the method of that name with its preset and settings.

    An instance is returned as it is.

    Examples:
        >>> import sumbo
        >>> sumbo.methods.make("ts", candidates=300).candidates
        300

    Raises:
        ArgumentError: If the preset or a setting is unknown; the nearest names are
            suggested.
    """
    if isinstance(name, Method):
        _require_none(name, preset, settings)
        return name
    cls = METHODS.get(name)
    if preset not in (None, "default", *cls.presets):
        msg = f"preset={preset!r} is unknown for method {name!r}. "
        raise ArgumentError(msg + nearest(str(preset), ["default", *cls.presets]))
    require_settings(name, settings)
    return cls(**{**cls.presets.get(preset or "default", {}), **settings})


def require_settings(
    name: str, settings: Mapping[str, Any], others: Sequence[str] = ()
) -> None:
    """Check that a method has these settings.

    Raises:
        ArgumentError: If it lacks one; the nearest names are suggested, among them
            those of ``others``, the arguments of the caller.
    """
    known = _settings(name)
    for key in settings:
        if key not in known:
            owners = [repr(other) for other in names() if key in _settings(other)]
            hint = "" if known else "It has no settings. "
            hint += nearest(key, [*known, *others]) if known or others else ""
            hint = hint.rstrip()
            if owners:
                hint += f" Methods with it: {', '.join(owners)}."
            what = "no argument and no setting" if others else "no setting"
            msg = f"{key}={settings[key]!r} is {what} of method {name!r}. {hint}"
            raise ArgumentError(msg)


# How [wycoff2025] searches for the minimum of a draw or of a bound.
PAPER_SEARCH = {
    "candidates": 500,
    "spread": "uniform",
    "refine": False,
    "fresh_candidates": True,
}


@dataclass(frozen=True, kw_only=True)
class CandidateSearch(CandidateSettings, AdditiveModel, Method):
    """A method with an additive model whose parts are searched among candidates."""

    takes_context: ClassVar[bool] = True
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        name: {**model, **PAPER_SEARCH} for name, model in AdditiveModel.presets.items()
    }

    def __post_init__(self) -> None:
        CandidateSettings.__post_init__(self)
        AdditiveModel.__post_init__(self)


@dataclass(frozen=True, kw_only=True, eq=False)
class DrawState(AdditiveState):
    """What the last refit chose, and the candidates drawn since.

    Attributes:
        candidates: The candidates of each component, until the next refit; None if
            every ask draws new ones.
    """

    candidates: Candidates | None = None

    @classmethod
    def of(cls, model: AdditiveState, candidates: Candidates | None) -> "DrawState":
        """Return the state of a model with candidates."""
        names = [field.name for field in dataclasses.fields(AdditiveState)]
        known = {name: getattr(model, name) for name in names}
        return cls(**known, candidates=candidates)


@dataclass(frozen=True, kw_only=True)
class ThompsonSampling(CandidateSearch):
    """A method whose points minimise draws from the posterior; ``draw`` says which."""

    remembers: ClassVar[type[State] | None] = DrawState
    takes_outcomes: ClassVar[bool] = True
    draw: ClassVar[Drawing]

    def propose(
        self, rng: np.random.Generator, state: DrawState | None, data: Data, q: int
    ) -> tuple[Float[ndarray, "q P"], DrawState, Info]:
        """Return the minimisers of q draws."""
        streams = split(rng)
        surrogate, model = self.update(
            streams.structure, state, data, q, projected=self.draw is JOINT
        )
        if surrogate.outcomes:
            U = minimise_constrained_draws(streams, self.draw, surrogate, q, self)
            return U, DrawState.of(model, None), Info.of(surrogate)
        candidates = None
        if state is not None and not surrogate.refitted:
            candidates = state.candidates
        U, candidates, cost = minimise_draws(
            streams,
            self.draw,
            surrogate.posterior,
            surrogate.data,
            q,
            self,
            candidates,
            model.fitted_at,
        )
        info = replace(Info.of(surrogate), search=cost)
        return U, DrawState.of(model, candidates), info

    def choose(
        self,
        rng: np.random.Generator,
        state: DrawState | None,
        data: Data,
        table: Table,
        q: int,
    ) -> tuple[Int[ndarray, " q"], DrawState, Info]:
        """Return where q draws of the sum are least."""
        streams = split(rng)
        surrogate, model = self.update(streams.structure, state, data, q)
        candidates = None
        if state is not None and not surrogate.refitted:
            candidates = state.candidates
        post = surrogate.posterior

        def product(v: Float[ndarray, "N n"]) -> Float[ndarray, "B n"]:
            return table.whitened([post], model.fitted_at)[0].product(v)

        draws = self.draw.total(streams.normals, post, table.U, q, product)
        state = DrawState.of(model, candidates)
        return pick_each(table, draws), state, Info.of(surrogate)


def _settings(name: str) -> list[str]:
    fields = dataclasses.fields(METHODS.get(name))  # pyright: ignore[reportArgumentType]
    return [field.name for field in fields]


def _require_none(method: Method, preset: str | None, settings: Any) -> None:
    """Check that nothing is set beside an instance.

    Raises:
        ArgumentError: If something is.
    """
    given = {**({} if preset is None else {"preset": preset}), **settings}
    if given:
        shown = ", ".join(f"{key}={value!r}" for key, value in given.items())
        msg = f"{shown} cannot be set beside an instance of a method. Pass it to "
        raise ArgumentError(f"{msg}{type(method).__name__}(...).")
