"""What a problem is, and how problems are found by name.

A problem file subclasses `Problem`, implements `evaluate`, and registers a factory
with `problem`; the keyword arguments of the factory are the settings of the problem.
Nothing else has to be edited: `names`, the command line and the contract tests see it.
"""

import importlib
import inspect
import json
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib.resources import files
from importlib.util import find_spec
from typing import Any

import numpy as np

from sumbo.errors import ArgumentError, MissingExtraError, ProblemError
from sumbo.registry import Registry, nearest
from sumbo.space import Space
from sumbo.typing import Float, Groups, ndarray
from sumbo.values import as_floats, by_labels

# Points may lie outside the box by this fraction of its side: rounding in the
# conversion from the unit cube. They are moved onto the boundary.
TOLERANCE = 1e-9

# The order in which tables and figures list the problems of the study.
ORDER = (
    *(f"{f}{d}" for f in ("ackley", "levy", "rastrigin") for d in (2, 5, 10)),
    *("push", "lunar", "rover", "desi", "kids-1000", "hsc-y3-shear"),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    """A function to minimise on a box; call it with one point or with a batch.

    A subclass implements `evaluate`. Instances can be pickled and sent to workers.
    """

    name: str
    bounds: Float[ndarray, "P 2"]
    parameters: tuple[str, ...]
    description: str
    cite: str
    minimum: float | None = None  # the exact minimum on the box, where it is known
    minimizer: Float[ndarray, " P"] | None = None  # a point that attains it
    best_known: float | None = None  # lowest value found so far; `minimum` if exact
    best_known_x: Float[ndarray, " P"] | None = None
    noise: float = 0.0  # standard deviation; the problem says of what

    def __post_init__(self) -> None:
        # Copies, because they are made read-only below.
        for name, value in list(self.__dict__.items()):
            if isinstance(value, ndarray):
                object.__setattr__(self, name, value.copy())
        if len(self.parameters) != len(self.bounds):
            msg = (
                f"parameters={self.parameters!r} has {len(self.parameters)} names for "
                f"{len(self.bounds)} rows of bounds. Name every row."
            )
            raise ArgumentError(msg)
        if self.best_known is None:
            object.__setattr__(self, "best_known", self.minimum)
        if self.best_known_x is None:
            object.__setattr__(self, "best_known_x", self.minimizer)
        self._freeze()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._freeze()  # pickle forgets that the arrays were read-only

    @property
    def dim(self) -> int:
        """The number of coordinates P."""
        return len(self.bounds)

    @property
    def space(self) -> Space:
        """The parameters: real ones between the bounds, if a subclass says no more.

        Integers and choices are numbers to the problem, see `Space.numbers`.
        """
        return Space.of(self.bounds)

    @property
    def groups(self) -> Groups | None:
        """The exact additive structure, by number; None if not known."""
        return None

    @property
    def exact(self) -> bool:
        """Whether ``best_known`` is the exact minimum rather than the best found."""
        return self.minimum is not None

    def __call__(self, x: Any) -> Any:
        """Return f(x), a float, for one point (P,), or (n,) values for points (n, P).

        Raises:
            ArgumentError: If the shape is wrong, or a coordinate is not finite or
                outside the box.
            ProblemError: If the problem itself yields no finite value.
        """
        X = self._points(x)
        values = np.asarray(self.evaluate(np.atleast_2d(X)), dtype=float)
        if values.shape != np.atleast_2d(X).shape[:1] or not np.isfinite(values).all():
            msg = (
                f"{self.name}.evaluate returned {values!r} for x={x!r}, which is not "
                "one finite number per point. This is an error of the problem."
            )
            raise ProblemError(msg)
        return float(values[0]) if X.ndim == 1 else values

    def evaluate(self, X: Float[ndarray, "n P"]) -> Float[ndarray, " n"]:
        """Return the values at checked points inside the box."""
        raise NotImplementedError

    def point(self, x: Any) -> Float[ndarray, " P"]:
        """Return ``x`` as a checked array, for methods that take a single point.

        Raises:
            ArgumentError: If ``x`` is not one point of the box.
        """
        X = self._points(x)
        if X.ndim != 1:
            msg = f"x has shape {X.shape}, not ({self.dim},). Pass a single point."
            raise ArgumentError(msg)
        return X

    def _points(self, x: Any) -> Float[ndarray, "..."]:
        X = as_floats(by_labels(x, self.parameters, "x"), "x")
        if X.ndim not in {1, 2} or X.shape[-1] != self.dim:
            msg = (
                f"x has shape {X.shape}, but {self.name} has {self.dim} coordinates. "
                f"Pass shape ({self.dim},), or (n, {self.dim}) for a batch."
            )
            raise ArgumentError(msg)
        lo, hi = self.bounds.T
        slack = TOLERANCE * (hi - lo)
        # NaN compares false, so it counts as outside.
        inside = (lo - slack <= X) & (hi + slack >= X)
        if not inside.all():
            where = tuple(int(i) for i in np.argwhere(~inside)[0])
            p = where[-1]
            index = ", ".join(str(i) for i in where)
            msg = (
                f"x[{index}]={X[where]} ({self.parameters[p]} of {self.name}) is not "
                f"in [{lo[p]:g}, {hi[p]:g}]. Clip x to bounds, or scale unit-cube "
                "points by them."
            )
            raise ArgumentError(msg)
        return np.clip(X, lo, hi)

    def _freeze(self) -> None:
        for value in self.__dict__.values():
            if isinstance(value, ndarray):
                value.setflags(write=False)


@dataclass(frozen=True, kw_only=True)
class ProblemInfo:
    """What is known of a problem before it is built, and without its extra."""

    name: str
    make: Callable[..., Problem] = field(repr=False)
    dim: int | None  # None: the setting ``dim`` decides
    cost: str  # per evaluation, CPU, one core
    description: str
    cite: str
    needs: str = ""  # the extra to install, "" for none
    modules: tuple[str, ...] = ()  # what that extra must make importable
    listed: bool = True  # whether `names` shows it
    check: Callable[[], str] | None = field(default=None, repr=False)
    data: tuple[Any, ...] = ()  # the files that `sumbo problems fetch` downloads

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings that `get` accepts, with their defaults."""
        # What a partial has bound belongs to the name, as dim=10 to "levy10".
        bound = self.make.keywords if isinstance(self.make, partial) else {}
        parameters = inspect.signature(self.make).parameters.values()
        return {p.name: p.default for p in parameters if p.name not in bound}

    @property
    def seeded(self) -> bool:
        """Whether a setting ``seed`` chooses the instance or its noise."""
        return "seed" in self.settings


PROBLEMS: Registry[ProblemInfo] = Registry("problem", "sumbo.problems")


def problem(
    name: str, **facts: Any
) -> Callable[[Callable[..., Problem]], Callable[..., Problem]]:
    """Return a decorator that registers a factory as the problem ``name``.

    ``facts`` are the remaining fields of `ProblemInfo`; ``check`` returns why the
    problem cannot run here, or "" if it can.
    """

    def add(make: Callable[..., Problem]) -> Callable[..., Problem]:
        PROBLEMS.register(name)(ProblemInfo(name=name, make=make, **facts))
        return make

    return add


def names() -> tuple[str, ...]:
    """Return the names of all problems: those of the study, then registered ones.

    Examples:
        >>> import sumbo
        >>> "levy10" in sumbo.problems.names()
        True
    """
    known = [n for n in PROBLEMS.names() if PROBLEMS.get(n).listed]
    return (*(n for n in ORDER if n in known), *(n for n in known if n not in ORDER))


def info(name: str) -> ProblemInfo:
    """Return what is known of a problem without building it or needing its extra.

    Examples:
        >>> import sumbo
        >>> sumbo.problems.info("rover").dim
        60
    """
    return PROBLEMS.get(name)


def get(name: str, /, **settings: Any) -> Problem:
    """Return the problem called ``name``, for example ``get("levy10", seed=3)``.

    Examples:
        >>> import sumbo
        >>> p = sumbo.problems.get("levy10", seed=3)
        >>> p.bounds.shape, p.minimum
        ((10, 2), 0.0)

    Raises:
        ArgumentError: If the problem has no such setting, or not with this value.
    """
    facts = PROBLEMS.get(name)
    known = facts.settings
    for setting in settings:
        if setting not in known:
            hint = nearest(setting, known) if known else "It has no settings."
            if setting == "dim":
                hint = f"Its dimension is fixed: {facts.dim}. {hint}"
            msg = (
                f"{setting}={settings[setting]!r} is not a setting of problem "
                f"{name!r}. {hint}"
            )
            raise ArgumentError(msg)
    return facts.make(**settings)


def available(name: str) -> tuple[bool, str]:
    """Return whether a problem can run here, and if not, what to do about it.

    Examples:
        >>> import sumbo
        >>> sumbo.problems.available("rover")
        (True, '')
    """
    facts = PROBLEMS.get(name)
    missing = [m for m in facts.modules if find_spec(m) is None]
    if missing:
        return False, _install(name, missing[0], facts.needs)
    reason = facts.check() if facts.check is not None else ""
    return not reason, reason


def load(module: str, *, name: str, extra: str) -> Any:
    """Return an optional module that problem ``name`` needs, imported now.

    Raises:
        MissingExtraError: If it is not installed; the message names the extra.
    """
    if sys.modules.get(module) is not None:
        return sys.modules[module]
    try:
        with warnings.catch_warnings():
            # Importing Box2D crashes the interpreter if its warnings are errors.
            warnings.simplefilter("ignore")
            return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(_install(name, module, extra)) from error


def nonnegative(setting: str, value: Any) -> float:
    """Return a setting as a float, such as a standard deviation.

    Raises:
        ArgumentError: If it is negative, or not a finite number.
    """
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not number or not np.isfinite(value) or value < 0:
        msg = f"{setting}={value!r} is not a finite number of at least 0. Pass one."
        raise ArgumentError(msg)
    return float(value)


def found(name: str) -> tuple[float, Float[ndarray, " P"]]:
    """Return the lowest value that our searches found, and where."""
    text = files("sumbo.problems").joinpath("best_known.json").read_text("utf-8")
    record = json.loads(text)[name]
    return record["value"], np.array(record["x"], dtype=float)


def _install(name: str, module: str, extra: str) -> str:
    return (
        f"problem {name!r} needs {module}, which is not installed. "
        f'Run: pip install "sumbo[{extra}]"'
    )
