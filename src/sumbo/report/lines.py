"""Points along one parameter, and what else must move with it.

The model is looked at along a parameter while the others stay where they are. Where an
equation couples parameters, as the shares of a mixture, the others in the equation are
scaled such that it still holds.
"""

from dataclasses import dataclass

import numpy as np

from sumbo.space import Categorical, Integer, Real, Space
from sumbo.space.linear import Linear
from sumbo.typing import Bool, Float, ndarray

# Values of a real parameter; an integer with more levels is thinned out to as many.
GRID = 33
# Rounding that an equation may be off by, as a share of its limit.
ROUNDED = 1e-6


@dataclass(frozen=True, kw_only=True, eq=False)
class Axis:
    """Values of one parameter at which the model is evaluated.

    Attributes:
        name: The parameter.
        kind: ``"real"``, ``"integer"`` or ``"choice"``.
        values: The values as numbers; a choice as its position.
        labels: How the choices are called; empty for numbers.
        log: Whether the axis is logarithmic.
        lo: The lower end.
        hi: The upper end.
    """

    name: str
    kind: str
    values: Float[ndarray, " G"]
    labels: tuple[str, ...] = ()
    log: bool = False
    lo: float
    hi: float


def axis_of(space: Space, k: int, count: int = GRID) -> Axis:
    """Return the values of a parameter at which it is shown."""
    p = space.parameters[k]
    if isinstance(p, Categorical):
        values = np.arange(len(p.choices), dtype=float)
        labels = tuple(str(c) for c in p.choices)
        hi = float(len(values) - 1)
        return Axis(
            name=p.name, kind="choice", values=values, labels=labels, lo=0.0, hi=hi
        )
    lo, hi = float(p.lo), float(p.hi)
    if isinstance(p, Integer) and hi - lo < count:
        values = np.arange(lo, hi + 1)
    elif p.log:
        values = np.exp(np.linspace(np.log(lo), np.log(hi), count))
        values[[0, -1]] = lo, hi
    else:
        values = np.linspace(lo, hi, count)
    if isinstance(p, Integer):
        values = np.unique(np.round(values))
    kind = "real" if isinstance(p, Real) else "integer"
    return Axis(name=p.name, kind=kind, values=values, log=p.log, lo=lo, hi=hi)


def moved(
    space: Space, base: Float[ndarray, "b K"], k: int, values: Float[ndarray, " G"]
) -> tuple[Float[ndarray, "n K"], Bool[ndarray, " n"]]:
    """Return all base points with parameter k at each value, and which are in the box.

    Rows are ordered by value, then by base point. Points are plain numbers.
    """
    out = np.repeat(base[None], len(values), axis=0)
    out[:, :, k] = values[:, None]
    out = out.reshape(-1, base.shape[1])
    equations = [
        c
        for c in space.constraints
        if isinstance(c, Linear)
        and c.lower == c.upper
        and space.names[k] in c.names
        and len(c.names) > 1
    ]
    for row in equations:
        _balance(space, out, k, row)
    lo, hi = space.bounds.T
    slack = ROUNDED * np.maximum(1.0, np.abs(hi))
    inside = ((out >= lo - slack) & (out <= hi + slack)).all(axis=1)
    return np.clip(out, lo, hi), inside


def encoded(space: Space, numbers: Float[ndarray, "n K"]) -> Float[ndarray, "n P"]:
    """Return points given as plain numbers in the unit cube."""
    return space.encode(space.points(numbers))


def allowed(
    space: Space, U: Float[ndarray, "n P"], inside: Bool[ndarray, " n"]
) -> Bool[ndarray, " n"]:
    """Return which points meet the constraints of the space."""
    if space.region is None:
        return inside
    return inside & space.region.feasible(U, ROUNDED)


def _balance(space: Space, X: Float[ndarray, "n K"], k: int, row: Linear) -> None:
    """Scale the other parameters of an equation, in place, such that it holds."""
    index = {name: i for i, name in enumerate(space.names)}
    terms = dict(row.coefficients)
    others = [index[name] for name in row.names if index[name] != k]
    c = np.array([terms[space.names[i]] for i in others])
    wanted = row.upper - terms[space.names[k]] * X[:, k]
    have = X[:, others] @ c
    # Where all others are at zero, they share what is left.
    equal = np.abs(have) < ROUNDED
    X[:, others] *= np.where(equal, 1.0, wanted / np.where(equal, 1.0, have))[:, None]
    shared = np.where(equal, wanted / c.sum(), 0.0)
    for i in others:
        X[:, i] = np.where(equal, shared, X[:, i])
