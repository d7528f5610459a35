"""Connected components of a structure: what must be searched together.

Groups that share no coordinate can be minimised independently. Overlapping groups
belong to one component, whose candidates live in the union of their coordinates.
"""

from dataclasses import dataclass, replace

import numpy as np

from sumbo.typing import Domain, Float, Group, Groups, Region, ndarray


@dataclass(frozen=True, kw_only=True)
class Component:
    """Groups that are connected, and the coordinates they cover.

    ``columns[i]`` are the columns, within ``coordinates``, of the i-th group. Where
    constraints couple the coordinates, ``region`` are their feasible points.
    """

    coordinates: Group
    groups: tuple[int, ...]
    columns: Groups
    region: Region | None = None


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


def feasible_components(
    groups: Groups, domain: Domain, *, whole_blocks: bool = False
) -> list[Component]:
    """Return the components that can be searched apart under the domain's constraints.

    A constraint joins the components whose coordinates it couples; with
    ``whole_blocks``, and under constraints, so does a one-hot code.
    """
    region = domain.region
    if region is None and not whole_blocks:
        return components(groups)
    blocks = tuple(block for block in domain.blocks if len(block) > 1)
    if region is None:
        return [
            only_first(part, len(groups)) for part in components((*groups, *blocks))
        ]
    joined = components((*groups, *blocks, *region.coupled))
    return [
        replace(only_first(part, len(groups)), region=region.part(part.coordinates))
        for part in joined
    ]


def only_first(part: Component, M: int) -> Component:
    """Return the component with those of its groups whose number is below M.

    The others only say which coordinates belong together.
    """
    kept = [i for i, m in enumerate(part.groups) if m < M]
    return replace(
        part,
        groups=tuple(part.groups[i] for i in kept),
        columns=tuple(part.columns[i] for i in kept),
    )


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
