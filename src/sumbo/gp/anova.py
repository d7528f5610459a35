"""Which terms of the functional ANOVA each orthogonal part owns, and their kernels.

Every set of parameters belongs to one part: to the smallest group that contains it, the
first of several. With groups (0,), (1,), (0, 1) the pair is the interaction alone;
without the first two it is any function of both whose average is 0. In groups (0, 1),
(1, 2) the main effect of 1 belongs to the first one. This is the order of [lu2022],
main effects first, for any groups. Parts are then orthogonal, and identified.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from sumbo.errors import ArgumentError
from sumbo.kernels import AnovaTerms, CentredAxis, Kernel, OrthogonalKernel
from sumbo.space.measure import Measure, measures_of
from sumbo.typing import Domain, Float, Group, Groups, ndarray

# Rounding that a point may lie outside of its interval, relative to the interval.
ROUNDING = 1e-9


class Layout(NamedTuple):
    """The parameters of a group, their columns in it, and the terms it owns."""

    parameters: Group
    columns: Groups
    terms: AnovaTerms


def as_measures(value: Any, dim: int) -> tuple[Measure, ...]:
    """Return the distribution of every parameter, given in one of several ways.

    Raises:
        ArgumentError: If they do not cover the coordinates 0 to ``dim`` − 1.
    """
    if value is None:
        return tuple(Measure(coordinates=(p,)) for p in range(dim))
    if isinstance(value, Domain):
        out = measures_of(value)
    else:
        out = tuple(_as_measure(one, p) for p, one in enumerate(value))
    covered = sorted(p for one in out for p in one.coordinates)
    if covered != list(range(dim)):
        msg = (
            f"measure covers the coordinates {covered}, groups name 0 to {dim - 1}. "
            "Pass the search space, or one pair (low, high) per coordinate."
        )
        raise ArgumentError(msg)
    return out


def _as_measure(value: Any, p: int) -> Measure:
    if isinstance(value, Measure):
        return value
    try:
        low, high = (float(end) for end in value)
    except (TypeError, ValueError) as error:
        msg = f"measure[{p}]={value!r} is no pair (low, high). Pass two numbers."
        raise ArgumentError(msg) from error
    if not (np.isfinite([low, high]).all() and low < high):
        msg = f"measure[{p}]=({low:g}, {high:g}) is no interval. Pass low < high."
        raise ArgumentError(msg)
    return Measure(coordinates=(p,), low=low, high=high)


@lru_cache(maxsize=64)
def layouts(groups: Groups, blocks: Groups) -> tuple[Layout, ...]:
    """Return what each group owns; ``blocks`` are the coordinates of each parameter.

    Raises:
        ArgumentError: If a group splits a parameter, or owns nothing.
    """
    owner = {p: k for k, block in enumerate(blocks) for p in block}
    users = [tuple(sorted({owner[p] for p in group})) for group in groups]
    for group, ks in zip(groups, users, strict=True):
        if sum(len(blocks[k]) for k in ks) != len(group):
            msg = (
                f"group {group} holds some coordinates of a parameter only. An "
                "orthogonal part takes all coordinates of each of its parameters."
            )
            raise ArgumentError(msg)
    order = sorted(range(len(groups)), key=lambda m: (len(users[m]), m))
    out: dict[int, Layout] = {}
    for place, m in enumerate(order):
        earlier = tuple(users[l] for l in order[:place])
        if any(set(users[m]) <= set(other) for other in earlier):
            msg = (
                f"group {groups[m]} has the same parameters as another one, so that "
                "its orthogonal part would be empty. Drop one of them."
            )
            raise ArgumentError(msg)
        columns = tuple(tuple(groups[m].index(p) for p in blocks[k]) for k in users[m])
        out[m] = Layout(users[m], columns, AnovaTerms.of(users[m], earlier))
    return tuple(out[m] for m in range(len(groups)))


def orthogonal_kernels(
    kernel: Kernel,
    groups: Groups,
    measures: Sequence[Measure],
    lengthscales: Sequence[Float[ndarray, "..."]],
    variances: Float[ndarray, " M"],
) -> tuple[OrthogonalKernel, ...]:
    """Return the kernel of each part."""
    found = layouts(groups, tuple(one.coordinates for one in measures))
    out = []
    for layout, l, v in zip(found, lengthscales, variances, strict=True):
        columns = tuple(np.array(c) for c in layout.columns)
        axes = tuple(
            CentredAxis(kernel=kernel, lengthscales=l[c], measure=measures[k])
            for k, c in zip(layout.parameters, columns, strict=True)
        )
        out.append(
            OrthogonalKernel(
                kernel=kernel,
                lengthscales=l,
                variance=float(v),
                axes=axes,
                columns=columns,
                terms=layout.terms,
            )
        )
    return tuple(out)


def require_inside(X: Float[ndarray, "N P"], measures: Sequence[Measure]) -> None:
    """Check that observations lie where the parameters do.

    Raises:
        ArgumentError: If one lies outside of the interval of its coordinate.
    """
    for one in measures:
        if one.atoms is not None:
            continue
        (p,), slack = one.coordinates, ROUNDING * (one.high - one.low)
        bad = (X[:, p] < one.low - slack) | (X[:, p] > one.high + slack)
        if bad.any():
            msg = (
                f"X holds {X[bad.argmax(), p]:g} in coordinate {p}, which is uniform "
                f"on [{one.low:g}, {one.high:g}] with orthogonal=True. Pass "
                "measure=[(low, high), …], or scale X."
            )
            raise ArgumentError(msg)
