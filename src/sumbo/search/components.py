"""Connected components of a structure: what must be searched together.

Groups that share no coordinate can be minimised independently. Overlapping groups
belong to one component, whose candidates live in the union of their coordinates.
"""

from dataclasses import dataclass

import numpy as np

from sumbo.typing import Float, Group, Groups, ndarray


@dataclass(frozen=True, kw_only=True)
class Component:
    """Groups that hang together, and the coordinates they cover.

    ``columns[i]`` are the columns, within ``coordinates``, of the i-th group.
    """

    coordinates: Group
    groups: tuple[int, ...]
    columns: Groups


def components(groups: Groups) -> list[Component]:
    """Return the connected components of the groups, in order of first appearance."""
    merged: list[tuple[set[int], list[int]]] = []
    for m, group in enumerate(groups):
        coordinates, members = set(group), [m]
        apart = []
        for other in merged:
            if other[0] & coordinates:
                coordinates |= other[0]
                members += other[1]
            else:
                apart.append(other)
        merged = [*apart, (coordinates, sorted(members))]
    merged.sort(key=lambda item: item[1][0])
    return [_component(groups, members) for _, members in merged]


def by_group(
    parts: list[Component], Z: list[Float[ndarray, "..."]]
) -> list[Float[ndarray, "..."]]:
    """Return the candidates of each group, from those of the components."""
    found = {
        m: np.ascontiguousarray(Zc[:, list(columns)])
        for part, Zc in zip(parts, Z, strict=True)
        for m, columns in zip(part.groups, part.columns, strict=True)
    }
    return [found[m] for m in range(len(found))]


def _component(groups: Groups, members: list[int]) -> Component:
    # A single group keeps its own order of coordinates; unions are sorted.
    if len(members) == 1:
        coordinates = groups[members[0]]
    else:
        coordinates = tuple(sorted({p for m in members for p in groups[m]}))
    place = {p: i for i, p in enumerate(coordinates)}
    columns = tuple(tuple(place[p] for p in groups[m]) for m in members)
    return Component(coordinates=coordinates, groups=tuple(members), columns=columns)
