"""Constraints as users state them: what may be asked, and what an outcome may be."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import LinearConstraint

from sumbo.errors import ArgumentError
from sumbo.space.linear import Linear, from_scipy, parse_linear
from sumbo.space.parameters import Categorical, Parameter, Unchecked


@dataclass(frozen=True)
class Feasible:
    """A known test of a point: only points where ``function`` is true are asked.

    The function takes a point as the objective does and returns a boolean. It is
    called many times for every point that is asked, so it should take less than a
    millisecond. A checkpoint holds its name only: pass it again when a run is loaded.

    Examples:
        >>> import sumbo
        >>> disc = sumbo.Feasible(lambda x: x[0] ** 2 + x[1] ** 2 <= 1.0)
        >>> opt = sumbo.Optimizer([(-1, 1)] * 2, constraints=[disc], seed=3)
        >>> bool((opt.ask(50) ** 2).sum(axis=1).max() <= 1.0)
        True
    """

    function: Callable[[Any], bool] | Unchecked

    def __post_init__(self) -> None:
        if not callable(self.function):
            msg = f"Feasible({self.function!r}): this is not callable. Pass a function "
            raise ArgumentError(f"{msg}of a point that returns True or False.")

    @property
    def name(self) -> str:
        """The name of the function, by which a saved run recognises it."""
        return getattr(self.function, "__qualname__", type(self.function).__name__)

    def __call__(self, x: Any) -> bool:
        """Return whether a point is feasible.

        Raises:
            ArgumentError: If the function returns no boolean.
        """
        answer = self.function(x)
        if not isinstance(answer, bool | np.bool_):
            msg = f"Feasible({self.name}) returned {answer!r} at {x!r}, no boolean. "
            raise ArgumentError(f"{msg}Return True or False.")
        return bool(answer)


@dataclass(frozen=True)
class Outcome:
    """A measured quantity that must lie within limits, known only after evaluation.

    The objective returns ``(value, {name: number})``; see docs/guide/constraints.md.

    Examples:
        >>> import sumbo
        >>> sumbo.Outcome("stress", upper=200.0)
        Outcome(name='stress', lower=None, upper=200.0)
    """

    name: str | Unchecked
    lower: float | Unchecked | None = None
    upper: float | Unchecked | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ArgumentError(f"{self}: the name is no string, or empty. Name it.")
        for field in ("lower", "upper"):
            limit = getattr(self, field)
            if limit is None:
                continue
            number = isinstance(limit, int | float | np.integer | np.floating)
            if not number or isinstance(limit, bool) or not math.isfinite(limit):
                msg = f"{self}: {field}={limit!r} is no finite number. Pass one, or "
                raise ArgumentError(f"{msg}None for no limit.")
            object.__setattr__(self, field, float(limit))
        if self.lower is None and self.upper is None:
            raise ArgumentError(f"{self} has no limit. Pass lower, upper, or both.")
        if self.lower is not None and self.upper is not None:
            if self.lower > self.upper:
                raise ArgumentError(f"{self} has reversed limits. Swap them.")
            if self.lower == self.upper:
                msg = f"{self} is an equation, which measurements do not meet. Leave a "
                raise ArgumentError(f"{msg}tolerance between lower and upper.")


@dataclass(frozen=True, kw_only=True)
class Constraints:
    """Constraints, sorted by kind."""

    linear: tuple[Linear, ...] = ()
    tests: tuple[Feasible, ...] = ()
    outcomes: tuple[Outcome, ...] = ()


def as_constraints(given: Any, parameters: Sequence[Parameter]) -> Constraints:
    """Return the constraints that the argument ``constraints`` states.

    Raises:
        ArgumentError: If one of them is of no known kind, names an unknown parameter,
            or is not linear.
    """
    if given is None:
        return Constraints()
    if isinstance(given, str | LinearConstraint | Feasible | Outcome):
        given = [given]
    if isinstance(given, Mapping) or not isinstance(given, Iterable):
        msg = f"constraints={given!r} are no list. Write ['a + 2*b <= 1']."
        raise ArgumentError(msg)
    names = [p.name for p in parameters]
    linear: list[Linear] = []
    tests, outcomes = [], []
    for item in given:
        if isinstance(item, str):
            linear += parse_linear(item, names)
        elif isinstance(item, LinearConstraint):
            linear += from_scipy(item, names)
        elif isinstance(item, Linear):
            linear.append(item)
        elif isinstance(item, Feasible):
            tests.append(item)
        elif isinstance(item, Outcome):
            outcomes.append(item)
        else:
            msg = f"constraints hold {item!r}, which is no text, LinearConstraint, "
            msg += "Feasible or Outcome. Wrap a function: sumbo.Feasible(function)."
            raise ArgumentError(msg)
    _require_numbers(linear, parameters)
    _require_distinct(outcomes, names)
    # A row without parameters, such as "a - a <= 1", is always met.
    return Constraints(
        linear=tuple(row for row in linear if row.coefficients),
        tests=tuple(tests),
        outcomes=tuple(outcomes),
    )


def outcomes_in(given: Any, parameters: Sequence[Parameter]) -> tuple[Outcome, ...]:
    """Return the outcomes among constraints.

    Raises:
        ArgumentError: If the constraints are wrong, see ``as_constraints``.
    """
    return as_constraints(given, parameters).outcomes


def tests_in(given: Any) -> tuple[Feasible, ...]:
    """Return the tests among constraints, which are not checked otherwise."""
    if isinstance(given, Feasible):
        return (given,)
    if not isinstance(given, Iterable) or isinstance(given, str | Mapping):
        return ()
    return tuple(item for item in given if isinstance(item, Feasible))


def _require_numbers(linear: list[Linear], parameters: Sequence[Parameter]) -> None:
    """Check that linear constraints name no choices.

    Raises:
        ArgumentError: If one does.
    """
    choices = {p.name for p in parameters if isinstance(p, Categorical)}
    for row in linear:
        for name in row.names:
            if name in choices:
                msg = f"constraints: {row.text!r} uses the choice {name!r} as a number."
                raise ArgumentError(f"{msg} Pass sumbo.Feasible(function) instead.")


def _require_distinct(outcomes: list[Outcome], parameters: list[str]) -> None:
    """Check that no outcome is named twice, or as a parameter is.

    Raises:
        ArgumentError: If one is.
    """
    names = [outcome.name for outcome in outcomes]
    for name in names:
        if names.count(name) > 1:
            msg = f"constraints limit the outcome {name!r} twice. Write one "
            raise ArgumentError(f"{msg}Outcome({name!r}, lower, upper).")
        if name in parameters:
            msg = f"constraints limit the outcome {name!r}, and a parameter has that "
            msg += f"name. Rename the outcome, or limit the parameter: '{name} <= 1'."
            raise ArgumentError(msg)
