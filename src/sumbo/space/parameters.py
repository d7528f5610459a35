"""Parameters: what a coordinate of the user means, and its unit-cube coordinates.

The functions below the classes work on one *column*: the values of one parameter at
all points, as floats, or as the numbers of the choices for a categorical.
"""

import math
import numbers
import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Shaped

from sumbo.errors import ArgumentError
from sumbo.typing import Float, ndarray

# Beyond this size, rounding in the unit cube would merge neighbouring integers.
LARGEST_INTEGER = 2**40

# Constructors take what users write (ints, NumPy scalars, lists, mistakes), and check
# and convert it themselves: afterwards the fields have the type named beside this.
Unchecked = Any

# Of one column, or of all columns of a box.
Ends = float | int | Float[ndarray, " K"]


@dataclass(frozen=True)
class Real:
    """A real number in [lo, hi]; with ``log``, uniform in its logarithm.

    Examples:
        >>> import sumbo
        >>> rate = sumbo.Real("rate", 1e-4, 1.0, log=True)
        >>> x = sumbo.Optimizer([rate], seed=1).ask()
        >>> bool(1e-4 <= x[0] <= 1.0)
        True
    """

    name: str | Unchecked
    lo: float | Unchecked
    hi: float | Unchecked
    log: bool = False

    def __post_init__(self) -> None:
        lo, hi = _interval(self)
        if not math.isfinite(hi - lo):
            raise ArgumentError(f"{self} is too wide for floating point. Narrow it.")
        if self.log and math.log(lo) == math.log(hi):
            raise ArgumentError(f"{self} is too narrow for log. Use log=False.")
        _set(self, lo=lo, hi=hi, log=bool(self.log))


@dataclass(frozen=True)
class Integer:
    """A whole number in lo, …, hi; with ``log``, uniform in its logarithm.

    Every level k owns an interval of the unit coordinate, all of the same length or,
    with ``log``, from log(k - 1/2) to log(k + 1/2).

    Examples:
        >>> import sumbo
        >>> opt = sumbo.Optimizer([sumbo.Integer("layers", 2, 5)], seed=1)
        >>> sorted({int(x[0]) for x in opt.ask(20)})
        [2, 3, 4, 5]
    """

    name: str | Unchecked
    lo: int | Unchecked
    hi: int | Unchecked
    log: bool = False

    def __post_init__(self) -> None:
        lo, hi = _interval(self)
        if not (lo.is_integer() and hi.is_integer()):
            raise ArgumentError(f"{self} needs whole bounds. Round them, or use Real.")
        if max(-lo, hi) > LARGEST_INTEGER:
            raise ArgumentError(f"{self} goes beyond ±2**40. Narrow it, or use Real.")
        _set(self, lo=int(lo), hi=int(hi), log=bool(self.log))


@dataclass(frozen=True)
class Categorical:
    """One of several unordered choices: strings, numbers, booleans or ``None``.

    Examples:
        >>> import sumbo
        >>> solvent = sumbo.Categorical("solvent", ("water", "THF", None))
        >>> sumbo.Optimizer([solvent], seed=1).ask()[0] in solvent.choices
        True
    """

    name: str | Unchecked
    choices: tuple[str | int | float | bool | None, ...] | Unchecked

    def __post_init__(self) -> None:
        _check_name(self)
        # A set is refused too: its order changes from process to process.
        if isinstance(self.choices, str) or not isinstance(
            self.choices, Sequence | ndarray
        ):
            raise ArgumentError(f"{self}: choices are no sequence. Pass ('a', 'b').")
        choices = tuple(
            c.item() if isinstance(c, np.generic) else c for c in self.choices
        )
        for i, c in enumerate(choices):
            if not isinstance(c, str | int | float | None) or c != c:
                msg = f"{self}: {c!r} cannot be saved. Use a string, and look it up."
                raise ArgumentError(msg)
            if c in choices[:i]:
                msg = f"{self} holds {c!r} twice (1, 1.0, True are equal). Drop one."
                raise ArgumentError(msg)
        if len(choices) < 2:
            raise ArgumentError(f"{self} needs 2 or more choices. Add one, or drop it.")
        _set(self, choices=choices)


Parameter = Real | Integer | Categorical


@dataclass(frozen=True)
class Simplex:
    """k shares that add up to one, as of a mixture: the parameters name0, name1, ….

    Examples:
        >>> import sumbo
        >>> opt = sumbo.Optimizer([sumbo.Simplex("mix", 3)], seed=1)
        >>> round(float(opt.ask().sum()), 9)
        1.0
    """

    name: str | Unchecked
    k: int | Unchecked

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ArgumentError(f"{self}: the name is no string, or empty. Name it.")
        whole = isinstance(self.k, int | np.integer) and not isinstance(self.k, bool)
        if not whole or self.k < 2:
            msg = f"{self}: k={self.k!r} is no whole number of at least 2. Pass the "
            raise ArgumentError(f"{msg}number of shares.")
        _set(self, k=int(self.k))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the shares."""
        return tuple(f"{self.name}{i}" for i in range(self.k))


def _set(frozen: Any, **values: Any) -> None:
    for name, value in values.items():
        object.__setattr__(frozen, name, value)


def _check_name(p: Parameter) -> None:
    if not isinstance(p.name, str) or not p.name:
        raise ArgumentError(f"{p}: the name is no string, or empty. Put it first.")


def _interval(p: Real | Integer) -> tuple[float, float]:
    _check_name(p)
    for end in (p.lo, p.hi):
        if not isinstance(end, numbers.Real) or isinstance(end, bool):
            raise ArgumentError(f"{p}: {end!r} is no number. Pass numbers lo < hi.")
    try:
        lo, hi = float(p.lo), float(p.hi)
    except OverflowError:  # an int that no float can hold
        lo = hi = math.inf
    if not (math.isfinite(lo) and math.isfinite(hi)):
        raise ArgumentError(f"{p} needs finite bounds. Choose numbers lo < hi.")
    if lo > hi:
        raise ArgumentError(f"{p} has reversed bounds. Swap lo and hi.")
    if lo == hi:
        raise ArgumentError(f"{p} has equal bounds. Widen them, or drop the parameter.")
    if p.log and lo <= 0:
        raise ArgumentError(f"{p}: log=True needs lo > 0. Raise lo, or use log=False.")
    return lo, hi


def column_of(p: Parameter, raw: Shaped[ndarray, " n"]) -> Shaped[ndarray, " n"]:
    """Return the column of raw user values, which may lie outside the bounds.

    Raises:
        ArgumentError: If a value is no finite number, or no choice of the parameter.
    """
    if isinstance(p, Categorical):
        return np.array([_chosen(p, v, i, len(raw)) for i, v in enumerate(raw)], int)
    try:
        v = raw.astype(float)
    except (TypeError, ValueError, OverflowError) as error:
        msg = f"x: {p.name}={reprlib.repr(raw.tolist())} are no numbers. Pass numbers."
        raise ArgumentError(msg) from error
    bad = ~np.isfinite(v)
    if bad.any():
        i = int(bad.argmax())
        place = where(p, v[i].item(), i, len(v))
        raise ArgumentError(f"{place} is not finite. Leave the point out.")
    return v


def _chosen(p: Categorical, value: Any, i: int, n: int) -> int:
    # A table cannot hold None beside strings; pandas writes NaN.
    if isinstance(value, float) and np.isnan(value) and None in p.choices:
        value = None
    try:
        return p.choices.index(value)
    except ValueError as error:
        place = where(p, value, i, n)
        raise ArgumentError(f"{place} is no choice. Use one of {p.choices}.") from error


def where(p: Parameter, value: Any, i: int, n: int) -> str:
    """Return how an error message begins: the value, and its row if there are many."""
    return f"x: {p.name}={value!r}" + (f" in row {i}" if n > 1 else "")


def ends(p: Parameter) -> tuple[float | int, float | int]:
    """Return the lowest and the highest value of a column."""
    return (0, len(p.choices) - 1) if isinstance(p, Categorical) else (p.lo, p.hi)


def nearest(p: Parameter, v: Shaped[ndarray, " n"]) -> Shaped[ndarray, " n"]:
    """Return the column with every value moved to the nearest permitted one."""
    if isinstance(p, Categorical):
        return v
    return np.clip(np.rint(v) if isinstance(p, Integer) else v, p.lo, p.hi)


def python_values(p: Parameter, v: Shaped[ndarray, " n"]) -> list[Any]:
    """Return a column as ints, floats, or the choices themselves."""
    if isinstance(p, Categorical):
        return [p.choices[int(i)] for i in v.tolist()]
    if isinstance(p, Integer):  # earlier data may hold fractions
        return [int(k) if k.is_integer() else k for k in v.tolist()]
    return v.tolist()


def to_unit(p: Parameter, v: Shaped[ndarray, " n"]) -> Float[ndarray, "n d"]:
    """Return the unit coordinates of a column of permitted values."""
    if isinstance(p, Categorical):
        return np.eye(len(p.choices))[v]
    if isinstance(p, Real) and not p.log:
        return to_unit_box(v, p.lo, p.hi)[:, None]
    a, b = _edges(p)
    u = ((np.log(v) if p.log else v) - a) / (b - a)
    if isinstance(p, Real):
        # np.log may differ from math.log in the last bit; the ends must not.
        u = np.where(v == p.lo, 0.0, np.where(v == p.hi, 1.0, np.clip(u, 0.0, 1.0)))
    return u[:, None]


def from_unit(p: Parameter, U: Float[ndarray, "n d"]) -> Shaped[ndarray, " n"]:
    """Return the column that belongs to unit coordinates in [0, 1]."""
    if isinstance(p, Categorical):
        return U.argmax(axis=1)
    u = U[:, 0]
    if isinstance(p, Real) and not p.log:
        return from_unit_box(u, p.lo, p.hi)
    a, b = _edges(p)
    w = a * (1.0 - u) + b * u
    v = np.exp(w) if p.log else w
    if isinstance(p, Integer):
        return np.clip(np.floor(v + 0.5), p.lo, p.hi)
    # exp(log(lo)) is not lo.
    return np.where(u == 0.0, p.lo, np.where(u == 1.0, p.hi, np.clip(v, p.lo, p.hi)))


def to_unit_box(v: Float[ndarray, "*n"], lo: Ends, hi: Ends) -> Float[ndarray, "*n"]:
    """Return where between lo and hi numbers are: one column, or columns of a box."""
    return np.clip((v - lo) / (hi - lo), 0.0, 1.0)


def from_unit_box(u: Float[ndarray, "*n"], lo: Ends, hi: Ends) -> Float[ndarray, "*n"]:
    """Return the numbers that are there between lo and hi: the reverse."""
    return np.clip(lo * (1.0 - u) + hi * u, lo, hi)


def _edges(p: Real | Integer) -> tuple[float, float]:
    # Half a level beyond both ends, so that the outer levels own whole intervals.
    pad = 0.5 if isinstance(p, Integer) else 0.0
    lo, hi = p.lo - pad, p.hi + pad
    return (math.log(lo), math.log(hi)) if p.log else (lo, hi)
