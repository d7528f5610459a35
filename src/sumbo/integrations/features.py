"""The features of a table as coordinates of a model: names and scales."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sumbo.errors import ArgumentError
from sumbo.gp import AdditiveGP
from sumbo.registry import nearest
from sumbo.structure import as_groups
from sumbo.typing import Float, Groups, ndarray


def groups_of_features(groups: Any, names: Sequence[str]) -> Groups:
    """Return the groups, given by number or name, as column numbers.

    Raises:
        ArgumentError: If a name is not known, or the groups do not cover all columns.
    """
    P = len(names)
    if isinstance(groups, str):
        known = {"singletons": tuple((p,) for p in range(P)), "one": (tuple(range(P)),)}
        if groups not in known:
            msg = f'groups={groups!r} is unknown. Use "singletons", "one" or a list.'
            raise ArgumentError(msg)
        return known[groups]
    if isinstance(groups, (list, tuple)):
        groups = [_numbered(group, names) for group in groups]
    return as_groups(groups, P)


def _numbered(group: Any, names: Sequence[str]) -> Any:
    if isinstance(group, str):
        msg = f"groups hold the bare name {group!r}. Write the group as ({group!r},)."
        raise ArgumentError(msg)
    if not isinstance(group, (list, tuple)):
        return group
    unknown = [p for p in group if isinstance(p, str) and p not in names]
    if unknown:
        msg = f"groups name the feature {unknown[0]!r}, which is not in X. "
        raise ArgumentError(msg + nearest(unknown[0], names))
    return tuple(names.index(p) if isinstance(p, str) else p for p in group)


def default_lengthscales(X: Float[ndarray, "N P"], groups: Groups) -> Any:
    """Return the model's defaults for a unit cube, in units of the data's range."""
    spans = np.ptp(X, axis=0)
    spans = np.where(spans > 0, spans, 1.0)
    unit = AdditiveGP(groups=groups).lengthscales
    if isinstance(unit, ndarray):
        return unit * spans
    return [l * spans[list(g)] for l, g in zip(unit, groups, strict=True)]


def checked_lengthscales(lengthscales: Any, P: int) -> Any:
    """Return one length-scale per feature, or the arrays per group as they are.

    The model has as many coordinates as length-scales, so that the error about a wrong
    number of them would name the groups.

    Raises:
        ArgumentError: If there are numbers, but not one or P of them.
    """
    listed = isinstance(lengthscales, (list, tuple))
    if listed and any(np.ndim(l) > 0 for l in lengthscales):
        return lengthscales
    try:
        return np.broadcast_to(np.asarray(lengthscales, dtype=np.float64), P)
    except (TypeError, ValueError) as error:
        msg = (
            f"lengthscales={lengthscales!r} is neither one number, nor {P}, nor an "
            "array per group."
        )
        raise ArgumentError(msg) from error
