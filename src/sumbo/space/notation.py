"""How users write a search space: pairs, parameters, arrays, mappings."""

from collections.abc import Iterable, Mapping, Set
from typing import Any

import numpy as np
from scipy.optimize import Bounds

from sumbo.errors import ArgumentError
from sumbo.space.linear import Linear
from sumbo.space.parameters import Parameter, Real, Simplex
from sumbo.typing import ndarray
from sumbo.values import holds_masked, is_frame, is_numbered, is_series


def read_bounds(bounds: Any) -> tuple[tuple[Parameter, ...], tuple[Linear, ...]]:
    """Return the parameters that ``bounds`` describe, and what simplices demand.

    Raises:
        ArgumentError: If they describe none, or a parameter is invalid.
    """
    if is_series(bounds) and not is_numbered(bounds.index):
        bounds = dict(bounds)
    if isinstance(bounds, Mapping):
        for name, item in bounds.items():
            if isinstance(item, Parameter | Simplex) and item.name != name:
                msg = f"bounds[{name!r}] is called {item.name!r}. Use one name."
                raise ArgumentError(msg)
        pairs = list(bounds.items())
    else:
        pairs = [(f"x{i}", item) for i, item in enumerate(_items(bounds))]
    parameters: list[Parameter] = []
    rows = []
    for name, item in pairs:
        if isinstance(item, Simplex):
            parameters += [Real(share, 0.0, 1.0) for share in item.names]
            rows.append(_sum_of_shares(item))
        else:
            parameters.append(_parameter(name, item))
    return tuple(parameters), tuple(rows)


def _sum_of_shares(p: Simplex) -> Linear:
    return Linear(
        coefficients=tuple((share, 1.0) for share in p.names),
        lower=1.0,
        upper=1.0,
        text=" + ".join(p.names) + " == 1",
    )


def _items(bounds: Any) -> list[Any]:
    if isinstance(bounds, Bounds):
        lb, ub = np.broadcast_arrays(np.atleast_1d(bounds.lb), np.atleast_1d(bounds.ub))
        return list(zip(lb.tolist(), ub.tolist(), strict=True))
    if is_frame(bounds):
        msg = f"bounds are a DataFrame with the columns {list(bounds.columns)}. Pass a "
        raise ArgumentError(f"{msg}dict of pairs, or an array of shape (P, 2).")
    if holds_masked(bounds):
        raise ArgumentError(f"bounds={bounds!r} hold masked values. Fill them.")
    if isinstance(bounds, ndarray) and (bounds.ndim != 2 or bounds.shape[1] != 2):
        msg = f"bounds of shape {bounds.shape} are not of shape (P, 2). Pass one row "
        raise ArgumentError(f"{msg}(lo, hi) per parameter; transpose if need be.")
    if isinstance(bounds, str | Set | Parameter) or not isinstance(bounds, Iterable):
        msg = f"bounds={bounds!r} are no sequence. One parameter is written [(0, 1)]."
        raise ArgumentError(msg)
    return list(bounds)


def _parameter(name: Any, item: Any) -> Parameter:
    if isinstance(item, Parameter):
        return item
    try:
        lo, hi = item
    except (TypeError, ValueError) as error:
        msg = f"bounds: {name}={item!r} is no pair (lo, hi) and no parameter. Write "
        raise ArgumentError(f"{msg}[(0, 1)] or [Real('a', 0, 1)].") from error
    return Real(name, lo, hi)
