"""The exact minimum of a sum of pairs and single terms over finite levels.

The variables are the nodes of a graph, and each pair term is an edge. Without cycles a
leaf can be eliminated: for every level of its neighbour, the minimum over the leaf's
levels is added to the neighbour's own term. What is left is a smaller forest with the
same minimum (min-sum). With n variables of L levels this takes O(n L²), not L^n.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from sumbo.errors import ArgumentError
from sumbo.typing import Edge, Float, Group, ndarray


def is_forest(edges: Iterable[Edge], n: int) -> bool:
    """Return whether no edges among nodes 0 to n − 1 close a cycle.

    An edge that occurs twice is a cycle.
    """
    label = list(range(n))
    for i, j in edges:
        if label[i] == label[j]:
            return False
        gone, kept = label[i], label[j]
        label = [kept if l == gone else l for l in label]
    return True


def minimise_forest(
    singles: Sequence[Float[ndarray, "..."]],
    pairs: Mapping[Edge, Float[ndarray, "..."]],
) -> list[int]:
    """Return, for each variable, its level where the sum of all terms is least.

    Args:
        singles: The term of each variable at its levels, (L_i,).
        pairs: The term of variables i and j at their levels, (L_i, L_j), at (i, j).

    Raises:
        ArgumentError: If the pairs close a cycle.
    """
    if not is_forest(pairs, len(singles)):
        msg = f"pairs={list(pairs)} close a cycle. Remove one of them."
        raise ArgumentError(msg)
    near: list[dict[int, ndarray]] = [{} for _ in singles]
    for (i, j), table in pairs.items():
        near[i][j], near[j][i] = table, table.T
    terms = [np.array(single) for single in singles]
    eliminated: list[tuple[int, int, ndarray]] = []
    level = [0] * len(terms)
    leaves = [i for i, others in enumerate(near) if len(others) <= 1]
    while leaves:
        i = leaves.pop()
        if not near[i]:  # the last of its tree: nothing depends on it any more
            level[i] = int(np.argmin(terms[i]))
            continue
        ((j, table),) = near[i].items()
        cost = terms[i][:, None] + table
        eliminated.append((i, j, cost.argmin(axis=0)))
        terms[j] += cost.min(axis=0)
        del near[j][i]
        if len(near[j]) == 1:
            leaves.append(j)
    for i, j, answer in reversed(eliminated):
        level[i] = int(answer[level[j]])
    return level


def term_tables(
    value: Callable[[int, Float[ndarray, "b d"]], Float[ndarray, " b"]],
    terms: Sequence[tuple[int, Group]],
    nodes: Sequence[Group],
    levels: Sequence[Float[ndarray, "..."]],
) -> tuple[list[Float[ndarray, "..."]], dict[Edge, Float[ndarray, "..."]]]:
    """Return the terms of ``minimise_forest``, from functions on the grid of levels.

    Args:
        value: ``value(m, z)`` is part m at rows of its coordinates.
        terms: Number m and coordinates of each part: those of one node or of two.
        nodes: The coordinates of each node; they are disjoint.
        levels: Rows of values of each node's coordinates.
    """
    singles = [np.zeros(len(l)) for l in levels]
    pairs: dict[Edge, ndarray] = {}
    for m, columns in terms:
        touched = touching(nodes, columns)
        rows = [levels[i] for i in touched]
        sizes = [len(l) for l in rows]
        grid = np.indices(sizes).reshape(len(sizes), -1)
        joined = np.hstack([l[k] for l, k in zip(rows, grid, strict=True)])
        names = [p for i in touched for p in nodes[i]]
        order = [names.index(p) for p in columns]
        found = value(m, np.ascontiguousarray(joined[:, order]))
        if len(touched) == 1:
            singles[touched[0]] += found
        else:
            edge = touched[0], touched[1]
            pairs[edge] = pairs.get(edge, 0.0) + found.reshape(sizes)
    return singles, pairs


def touching(nodes: Sequence[Group], columns: Group) -> list[int]:
    """Return which nodes hold any of the columns."""
    return [i for i, node in enumerate(nodes) if set(node) & set(columns)]
