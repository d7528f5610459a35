"""The search space: named parameters, and the way to the unit cube and back.

A parameter owns a block of unit-cube coordinates: a number has one, a categorical
one per choice (one-hot). A point in user units is a row with one value per parameter:
floats (integers as whole floats) or, as soon as there is a categorical, an object
array of Python values.
"""

import dataclasses
import reprlib
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Shaped

from sumbo.errors import ArgumentError, MissingFunctionError
from sumbo.space.constraints import Feasible, as_constraints
from sumbo.space.linear import Linear
from sumbo.space.notation import read_bounds
from sumbo.space.parameters import (
    Categorical,
    Parameter,
    Real,
    column_of,
    ends,
    from_unit,
    from_unit_box,
    nearest,
    python_values,
    to_unit,
    to_unit_box,
    where,
)
from sumbo.space.saved import as_entries, restored, shown
from sumbo.typing import Bool, Float, Group, Groups, ndarray
from sumbo.values import by_labels, holds_masked, is_series

if TYPE_CHECKING:
    from sumbo.space.region import Region


@dataclass(frozen=True, kw_only=True)
class Space:
    """An ordered set of parameters; `Space.of` builds one from the usual notations.

    Attributes:
        parameters: The parameters, in order.
        constraints: What is known about feasible points; see `constrained`.

    Examples:
        >>> Space.of({"dose": (0.2, 1.7), "pause": (3, 9)}).as_dict([0.4, 5.0])
        {'dose': 0.4, 'pause': 5.0}
    """

    parameters: tuple[Parameter, ...]
    constraints: tuple[Linear | Feasible, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", tuple(self.parameters))
        if not self.parameters:
            msg = "bounds are empty. Give at least one parameter, such as [(0, 1)]."
            raise ArgumentError(msg)
        names: set[str] = set()
        for i, p in enumerate(self.parameters):
            if not isinstance(p, Parameter):
                msg = f"parameters[{i}]={p!r} is no Real, Integer or Categorical."
                raise ArgumentError(f"{msg} Build the space with Space.of.")
            if p.name in names:
                msg = f"bounds call two parameters {p.name!r}. Rename one of them."
                raise ArgumentError(msg)
            names.add(p.name)

    @classmethod
    def of(cls, bounds: Any) -> "Space":
        """Return the space that ``bounds`` describes.

        Accepted are a sequence of (lo, hi) pairs and parameters, an array of shape
        (P, 2), `scipy.optimize.Bounds`, a mapping from names to pairs or parameters,
        and a space. A `Simplex` becomes its shares with their sum. Nameless
        parameters are called x0, x1, … by their position.

        Raises:
            ArgumentError: If it describes none, or a parameter is invalid.
        """
        if isinstance(bounds, Space):
            return bounds
        parameters, rows = read_bounds(bounds)
        return cls(parameters=parameters, constraints=rows)

    def constrained(self, constraints: Any) -> "Space":
        """Return the space with more constraints on what may be asked.

        Outcomes limit no point of the space, and are left out.

        Examples:
            >>> import sumbo
            >>> space = sumbo.Space.of({"a": (0.2, 1.7), "b": (3.0, 9.0)})
            >>> space = space.constrained(["a + 0.1*b <= 1.5"])
            >>> [len(space.constraints), space.region is None]
            [1, False]

        Raises:
            ArgumentError: If one is of no known kind, or names an unknown parameter.
        """
        found = as_constraints(constraints, self.parameters)
        known = (*self.constraints, *found.linear, *found.tests)
        return dataclasses.replace(self, constraints=known)

    @property
    def region(self) -> "Region | None":
        """The feasible points; None if there are no constraints."""
        return self._region

    @cached_property
    def _region(self) -> "Region | None":
        if not self.constraints:
            return None
        from sumbo.space.region import Region  # it needs spaces itself

        linear = tuple(c for c in self.constraints if isinstance(c, Linear))
        tests = tuple(c for c in self.constraints if isinstance(c, Feasible))
        return Region(space=self, linear=linear, tests=tests)

    @classmethod
    def from_json(cls, value: Any, tests: Iterable[Feasible] = ()) -> "Space":
        """Return the space whose `to_json` is ``value``.

        Tests of feasibility are functions, which no file holds: pass them.

        Raises:
            ArgumentError: If ``value`` does not come from `to_json`.
            MissingFunctionError: If the tests are not those that were saved.
        """
        try:
            return cls(**restored(value, tuple(tests)))
        except MissingFunctionError:
            raise
        except (TypeError, ValueError, KeyError) as error:
            msg = f"value={reprlib.repr(value)} is not a saved space ({error})."
            raise ArgumentError(f"{msg} Pass what Space.to_json returned.") from error

    def to_json(self) -> list[dict[str, Any]]:
        """Return the space as a JSON value, from which `from_json` restores it."""
        return as_entries(self.parameters, self.constraints)

    def difference(self, other: "Space") -> str:
        """Return the first difference to ``other`` in words; "" for equal spaces."""
        here, there = len(self.parameters), len(other.parameters)
        if here != there:
            return f"the number of parameters is {here} here and {there} there"
        for i, (p, r) in enumerate(zip(self.parameters, other.parameters, strict=True)):
            if p.name != r.name:
                return f"parameter {i} is called {p.name!r} here and {r.name!r} there"
            if type(p) is not type(r):
                kinds = f"{type(p).__name__} here and {type(r).__name__} there"
                return f"parameter {p.name!r} is {kinds}"
            for f in dataclasses.fields(p):
                mine, its = getattr(p, f.name), getattr(r, f.name)
                if mine != its:
                    what = f"{f.name} of parameter {p.name!r}"
                    return f"{what} is {mine!r} here and {its!r} there"
        mine, its = (as_entries((), s.constraints) for s in (self, other))
        if mine != its:
            return f"the constraints are {shown(mine)} here and {shown(its)} there"
        return ""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the parameters, in order."""
        return tuple(p.name for p in self.parameters)

    @property
    def blocks(self) -> Groups:
        """The unit-cube coordinates of each parameter."""
        return self._coordinates

    @property
    def dim(self) -> int:
        """The number of unit-cube coordinates P."""
        return self._coordinates[-1][-1] + 1

    @cached_property
    def bounds(self) -> Float[ndarray, "K 2"]:
        """The bounds in user units, read-only; (0, k - 1) for k choices."""
        bounds = np.array([ends(p) for p in self.parameters], dtype=float)
        bounds.setflags(write=False)
        return bounds

    def snap(self, U: Float[ndarray, "n P"]) -> Float[ndarray, "n P"]:
        """Return the nearest points of the cube that stand for user points."""
        U = self._clipped(U)
        for p, block in self._blocks:
            if not isinstance(p, Real):
                U[:, block] = to_unit(p, from_unit(p, U[:, block]))
        return U

    def decode(self, U: Float[ndarray, "n P"]) -> Shaped[ndarray, "n K"]:
        """Return the points in user units, inside the box whatever ``U`` holds."""
        U = self._clipped(U)
        if self._is_box:
            return from_unit_box(U, *self.bounds.T)
        numbers = np.empty((len(U), len(self.parameters)))
        for j, (p, block) in enumerate(self._blocks):
            numbers[:, j] = from_unit(p, U[:, block])
        return self.points(numbers)

    def encode(self, x: Any) -> Float[ndarray, "n P"]:
        """Return the unit-cube points of one point or many (rows, lists, dicts).

        Raises:
            ArgumentError: If a point has the wrong length, holds something that is no
                number or no choice, or lies outside the box.
        """
        rows = self._in_box(x)
        if rows is not None:
            return to_unit_box(rows, *self.bounds.T)
        columns = self._columns(x)
        for p, v in zip(self.parameters, columns, strict=True):
            off = v != nearest(p, v)
            if off.any():
                i = int(off.argmax())
                lo, hi = ends(p)
                place = where(p, v[i].item(), i, len(v))
                if lo <= v[i] <= hi:
                    raise ArgumentError(f"{place} is not whole. Round it.")
                msg = f"{place} is outside [{lo}, {hi}]. Move it, or widen the bounds."
                raise ArgumentError(msg)
        return self._joined(columns)

    def encode_any(self, x: Any) -> tuple[Float[ndarray, "n P"], Bool[ndarray, " n"]]:
        """Return the nearest unit-cube points, and which rows had to be moved.

        Numbers outside the box move onto its boundary, fractions of an integer to the
        nearest level. Everything else that `encode` refuses is refused.
        """
        columns = self._columns(x)
        near = [nearest(p, v) for p, v in zip(self.parameters, columns, strict=True)]
        moved = [v != w for v, w in zip(columns, near, strict=True)]
        return self._joined(near), np.any(moved, axis=0)

    def numbers(self, x: Any) -> Float[ndarray, "n K"]:
        """Return points as plain numbers, a choice as its position; not rounded."""
        rows = self._in_box(x)
        if rows is not None:
            return rows.copy()
        return np.stack(self._columns(x), axis=1).astype(np.float64)

    def points(self, numbers: Float[ndarray, "n K"]) -> Shaped[ndarray, "n K"]:
        """Return the points whose `numbers` are given, in user units."""
        if not any(isinstance(p, Categorical) for p in self.parameters):
            return numbers.copy()
        X = np.empty(numbers.shape, dtype=object)
        for j, p in enumerate(self.parameters):
            X[:, j] = python_values(p, numbers[:, j])
        return X

    def contains(self, x: Any) -> bool:
        """Return whether all the points lie in the box; constraints do not count."""
        rows = self._rows(x)
        try:
            columns = self._columns(rows)
        except ArgumentError:
            return False
        pairs = zip(self.parameters, columns, strict=True)
        return all((v == nearest(p, v)).all() for p, v in pairs)

    def as_dict(self, x: Any) -> dict[str, Any]:
        """Return one point as Python values (int, float or the choice) by name.

        Examples:
            >>> import sumbo
            >>> space = sumbo.Space.of(
            ...     [sumbo.Real("rate", 0.1, 2.0), sumbo.Integer("n", 2, 9)]
            ... )
            >>> space.as_dict([0.7, 4])
            {'rate': 0.7, 'n': 4}

        Raises:
            ArgumentError: If ``x`` is not one point of the right length.
        """
        if len(points := self.as_dicts(x)) != 1:
            raise ArgumentError(f"x holds {len(points)} points. Pass one point.")
        return points[0]

    def as_dicts(self, x: Any) -> list[dict[str, Any]]:
        """Return points as Python values by name, one dictionary each."""
        pairs = zip(self.parameters, self._columns(x), strict=True)
        columns = [python_values(p, v) for p, v in pairs]
        return [
            dict(zip(self.names, row, strict=True))
            for row in zip(*columns, strict=True)
        ]

    def groups_of(self, groups: Any) -> Groups:
        """Return groups of parameters, given by number or name, as groups of numbers.

        Raises:
            ArgumentError: If ``groups`` are no sequence of groups, or a parameter does
                not exist.
        """
        # The order of a set of groups would change from process to process.
        if isinstance(groups, str | Set) or not isinstance(groups, Iterable):
            msg = f"groups={groups!r} are no sequence of groups, as in [(0,), (1, 2)]."
            raise ArgumentError(msg)
        return tuple(self._group(group) for group in groups)

    def _group(self, group: Any) -> Group:
        if isinstance(group, str) or not isinstance(group, Iterable):
            raise ArgumentError(f"groups hold {group!r} itself. Write ({group!r},).")
        numbered = [self._number(p) for p in group]
        if isinstance(group, Set):
            numbered.sort()
        return tuple(numbered)

    def _number(self, p: Any) -> int:
        if isinstance(p, str) and p in self.names:
            return self.names.index(p)
        whole = isinstance(p, int | np.integer) and not isinstance(p, bool)
        if whole and p in range(len(self.names)):
            return int(p)
        msg = f"groups name {p!r}, which is no parameter. Use 0 to "
        names = reprlib.repr(self.names)
        raise ArgumentError(f"{msg}{len(self.names) - 1}, or a name of {names}.")

    @cached_property
    def _coordinates(self) -> Groups:
        blocks: list[Group] = []
        start = 0
        for p in self.parameters:
            width = len(p.choices) if isinstance(p, Categorical) else 1
            blocks.append(tuple(range(start, start + width)))
            start += width
        return tuple(blocks)

    @cached_property
    def _blocks(self) -> tuple[tuple[Parameter, slice], ...]:
        slices = [slice(block[0], block[-1] + 1) for block in self.blocks]
        return tuple(zip(self.parameters, slices, strict=True))

    @cached_property
    def _is_box(self) -> bool:
        """Whether a point is its coordinates, shifted and stretched."""
        return all(isinstance(p, Real) and not p.log for p in self.parameters)

    def _in_box(self, x: Any) -> Float[ndarray, "n K"] | None:
        """Return an array of points inside a box as rows; None for all else.

        Most spaces are boxes, most points arrays: all columns at once, where one by
        one they took a tenth of an ask with 60 parameters.
        """
        if not (self._is_box and isinstance(x, ndarray) and x.dtype == np.float64):
            return None
        if isinstance(x, np.ma.MaskedArray):
            return None
        rows = x[None] if x.ndim == 1 else x
        if rows.ndim != 2 or rows.shape[1] != len(self.parameters):
            return None
        low, high = self.bounds.T
        # Also false for NaN: what is wrong, the slow way says.
        return rows if ((low <= rows) & (rows <= high)).all() else None

    def _clipped(self, U: Float[ndarray, "n P"]) -> Float[ndarray, "n P"]:
        if U.ndim != 2 or U.shape[1] != self.dim or np.isnan(U).any():
            msg = f"U={reprlib.repr(U)} are no points of {self.dim} numbers in [0, 1]."
            raise ArgumentError(f"{msg} Pass an array of shape (n, {self.dim}).")
        return np.clip(U, 0.0, 1.0)

    def _joined(self, columns: list[ndarray]) -> Float[ndarray, "n P"]:
        U = np.empty((len(columns[0]), self.dim))
        for (p, block), v in zip(self._blocks, columns, strict=True):
            U[:, block] = to_unit(p, v)
        return U

    def _columns(self, x: Any) -> list[ndarray]:
        """Return per parameter the numbers, or the numbers of the choices."""
        rows = self._rows(x)
        return [column_of(p, rows[:, j]) for j, p in enumerate(self.parameters)]

    def _rows(self, x: Any) -> Shaped[ndarray, "n K"]:
        K = len(self.parameters)
        x = by_labels(x, self.names, "x")
        if isinstance(x, Mapping):
            x = [x]
        if isinstance(x, list | tuple) and all(isinstance(p, Mapping) for p in x):
            x = [_by_name(point, self.names) for point in x]
        if isinstance(x, list | tuple) and any(is_series(p) for p in x):
            x = [by_labels(point, self.names, "x") for point in x]
        if holds_masked(x):
            msg = f"x={reprlib.repr(x)} holds masked values. Leave those points out."
            raise ArgumentError(msg)
        try:
            # Not at once as floats: that would drop imaginary parts, and choices.
            kind = x.dtype.kind if isinstance(x, ndarray) else "O"
            rows = np.asarray(x, dtype=None if kind in "fiu" else object)
        except ValueError as error:
            msg = f"x={reprlib.repr(x)} has rows of different shapes. Pass one row of "
            raise ArgumentError(f"{msg}{K} values per point.") from error
        if rows.ndim < 2 and rows.size == K:
            rows = rows.reshape(1, K)
        if rows.ndim != 2 or rows.shape[1] != K:
            msg = f"x={reprlib.repr(x)} of shape {rows.shape} does not fit the {K} "
            names = f"parameters {reprlib.repr(self.names)}"
            raise ArgumentError(f"{msg}{names}. Pass one row of {K} values per point.")
        return rows


def _by_name(point: Mapping[str, Any], names: tuple[str, ...]) -> list[Any]:
    missing = [name for name in names if name not in point]
    unknown = [name for name in point if name not in names]
    if missing or unknown:
        msg = f"x={reprlib.repr(dict(point))} misses {missing}, and {unknown} are no "
        raise ArgumentError(f"{msg}parameters. Name exactly {reprlib.repr(names)}.")
    return [point[name] for name in names]
