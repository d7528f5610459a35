"""``Engine``: how the next points are chosen, given what a run has seen.

The engine holds the settings of a run and no history. ``Optimizer`` and the sampler
for Optuna both drive it: they differ only in where they keep what was seen.
"""

import dataclasses
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sumbo.data import Data, prepare
from sumbo.decompositions import Decomposition
from sumbo.errors import ArgumentError
from sumbo.linalg import one_blas_thread
from sumbo.methods import METHODS, Info, Method, make, names
from sumbo.optimizer.context import Context
from sumbo.optimizer.duplicates import distinct, representable
from sumbo.optimizer.history import History
from sumbo.optimizer.outcomes import measured, require_outcomes_taken
from sumbo.optimizer.violation import violations
from sumbo.registry import require_one_of
from sumbo.rng import rng_at
from sumbo.space import Outcome, Space
from sumbo.structure import as_groups
from sumbo.surrogate import Surrogate
from sumbo.typing import Float, ndarray

TRANSFORMS = ("auto", "standardise", "log", "none")
DESIGNS = ("uniform", "sobol")
# Presets whose default transform is "standardise".
PAPER_PRESETS = ("paper", "paper-author")
_MOST_SOBOL = 21_201  # coordinates for which there are direction numbers


@dataclass(frozen=True, kw_only=True)
class Failure:
    """An attempt to evaluate a point that failed.

    Attributes:
        x: The point, as numbers; choices by position.
        reason: What went wrong, in words.
    """

    x: tuple[float, ...]
    reason: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Snapshot:
    """What a run knows at one moment.

    Attributes:
        history: Points told and pending.
        state: What the method remembers.
        steps: How many points were asked so far.
        asks: How often the method was asked so far, initial points aside.
        failures: Attempts that failed, with their reasons; no choice depends on them.
    """

    history: History
    state: Any = None
    steps: int = 0
    asks: int = 0
    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class Engine:
    """The settings of a run, and what follows from them; nothing in it changes.

    Attributes:
        space: The search space.
        method: The method with its settings.
        seed: The seed of all randomness.
        n_init: Observations, pending points included, before the model takes over.
        transform: The wanted transform of the values.
        init: The initial design.
        limits: Outcomes that have limits.
        repeats: Whether a point may be asked twice; None: where values are noisy.
    """

    space: Space
    method: Method
    seed: int
    n_init: int
    transform: str
    init: str
    limits: tuple[Outcome, ...] = ()
    repeats: bool | None = None

    def data(self, now: Snapshot) -> Data:
        """Return what the method sees, in the units of its last fit."""
        h = now.history
        data = prepare(
            U=h.U,
            y=h.y,
            failed=h.failed,
            pending=h.pending_U,
            domain=self.space,
            step=now.steps,
            asks=now.asks,
            kind=self.transform,
            violation=violations(self.space, h, self.limits),
            outcomes=measured(self.limits, h.outcomes),
            noise=h.noise,
        )
        standing = self.method.transform(now.state)
        return data if standing is None else data.under(standing)

    def surrogate(self, now: Snapshot) -> Surrogate | None:
        """Return the model given all data, None if there is none."""
        with one_blas_thread():
            return self.method.surrogate(now.state, self.data(now))

    def ask(
        self, now: Snapshot, q: int, context: Context | None = None
    ) -> tuple[ndarray, Snapshot, Info]:
        """Return q points in the user's numbers, what is known then, what was done.

        Raises:
            ArgumentError: If the method takes no context.
        """
        begin = time.process_time()
        if context is not None and not self.method.takes_context:
            able = [name for name in names() if METHODS.get(name).takes_context]
            msg = (
                f"method={METHODS.name_of(type(self.method))!r} takes no context. Use "
                f"one of {', '.join(able)}."
            )
            raise ArgumentError(msg)
        with one_blas_thread():
            U, state, info, asked = self._propose(now, q, context)
        domain = context or self.space
        noisy = info.noisy and self.method.uses_noise
        if noisy if self.repeats is None else self.repeats:
            U = representable(self.space, U, domain.snap)
        else:
            rng = rng_at(self.seed, "distinct", now.steps)
            seen = np.vstack([now.history.U, now.history.pending_U])
            U = distinct(rng, self.space, U, seen, domain.snap)
        X = domain.decode(U)
        after = replace(
            now,
            history=now.history.asked(self.space.numbers(X), U),
            state=state,
            steps=now.steps + q,
            asks=now.asks + asked,
        )
        return X, after, replace(info, ask_cpu_s=time.process_time() - begin)

    def _propose(
        self, now: Snapshot, q: int, context: Context | None
    ) -> tuple[Float[ndarray, "q P"], Any, Info, bool]:
        """Return points, state and info, and whether the method was asked."""
        start = self.initial_count(now, q)
        first = self._initial(now.steps, start)
        if context is not None:
            first = context.snap(first)
        if start == q:
            return first, now.state, Info(), False
        data = self.data(now).with_pending(first)
        if context is not None:
            data = replace(data, domain=context, given=context.given)
        rng = rng_at(self.seed, "ask", now.steps)
        U, state, info = self.method.propose(rng, now.state, data, q - start)
        return np.vstack([first, U]), state, info, True

    def initial_count(self, now: Snapshot, q: int) -> int:
        """Return how many of the next q points belong to the initial design."""
        if now.history.successes == 0 or not now.history.has_outcomes:
            return q  # a model needs data; until then points are uniform
        return min(q, max(0, self.n_init - now.history.count))

    def _initial(self, step: int, count: int) -> Float[ndarray, "count P"]:
        steps = range(step, step + count)
        # One generator per point: the design does not depend on how it is asked for.
        rows = [rng_at(self.seed, "design", t).random(self.space.dim) for t in steps]
        designed = [t for t in steps if t < self.n_init]
        if self.init == "sobol" and designed:
            from scipy.stats import qmc  # a second of import time, rarely needed

            sampler = qmc.Sobol(self.space.dim, rng=rng_at(self.seed, "design"))
            points = sampler.random(1 << (self.n_init - 1).bit_length())
            rows[: len(designed)] = points[designed]
        U = np.array(rows).reshape(count, self.space.dim)
        region = self.space.region
        if region is not None and count:
            for i in np.flatnonzero(~region.feasible(U)):
                rng = rng_at(self.seed, "feasible design", steps[int(i)])
                U[i] = region.draw(rng, 1)[0]
        return U


def make_engine(
    space: Space,
    *,
    method: str | Method,
    seed: int,
    groups: Any = None,
    n_init: Any = 20,
    preset: str | None = None,
    transform: str | None = None,
    init: str = "uniform",
    repeats: bool | None = None,
    settings: Any = None,
    limits: tuple[Outcome, ...] = (),
) -> Engine:
    """Return the engine of a run, its arguments checked.

    Raises:
        ArgumentError: If one of them cannot be used.
    """
    settings = dict(settings or {})
    if space.region is not None:
        space.region.require_points()
    if transform is None:
        transform = "standardise" if preset in PAPER_PRESETS else "auto"
    require_one_of("transform", transform, TRANSFORMS)
    require_one_of("init", init, DESIGNS)
    if init == "sobol" and space.dim > _MOST_SOBOL:
        msg = f"init='sobol' reaches {_MOST_SOBOL} coordinates, the space has "
        raise ArgumentError(f"{msg}{space.dim}. Pass init='uniform'.")
    if repeats not in (None, True, False):
        msg = f"repeats={repeats!r} is not True, False or None. Leave it out, so that "
        raise ArgumentError(f"{msg}noise decides.")
    if groups is not None:
        settings["groups"] = as_setting(groups, space)
    made = make(method, preset, **settings)
    require_outcomes_taken(made, limits)
    return Engine(
        space=space,
        method=made,
        seed=seed,
        n_init=as_count("n_init", n_init, 0),
        transform=transform,
        init=init,
        limits=limits,
        repeats=None if repeats is None else bool(repeats),
    )


def as_setting(groups: Any, space: Space) -> Any:
    """Return groups as a method takes them: names of parameters as their numbers."""
    if isinstance(groups, (str, Decomposition)):
        return groups
    return as_groups(space.groups_of(groups), len(space.names))


def as_count(name: str, value: Any, least: int) -> int:
    """Return an argument that counts something.

    Raises:
        ArgumentError: If it is not an integer, or too small.
    """
    integer = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not integer or value < least:
        msg = f"{name}={value!r} is not an integer of at least {least}."
        raise ArgumentError(msg)
    return int(value)


def settings_of(method: Method) -> dict[str, Any]:
    """Return the settings of a method, presets resolved."""
    fields = dataclasses.fields(method)  # pyright: ignore[reportArgumentType]
    return {field.name: getattr(method, field.name) for field in fields}
