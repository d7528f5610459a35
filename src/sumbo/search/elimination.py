"""The exact minimum of a sum of tables over finite levels.

The variables are the nodes of a graph; a table depends on the levels of some of them,
its *scope*. A variable is eliminated like this: all tables with it are added up, and
the sum is replaced by its minimum over the variable's levels, a table of the other
variables. What is left has the same minimum (min-sum on a junction tree). The joined
tables are the cliques of the tree; the largest has the tree's *width* plus one
variables. With n variables of L levels this takes O(n L^(width + 1)), not L^n: O(n L²)
if pairs form a forest. Acquisition functions of overlapping groups are minimised in
this way by [rolland2018], of forests by [han2021]. Where the tables are too large, see
``messages``.
"""

import math
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from sumbo.typing import Float, Group, Int, ndarray


class LevelTable(NamedTuple):
    """A table of the values of a term; axis k is the level of variable scope[k]."""

    scope: Group
    table: Float[ndarray, "..."]


class EliminationPlan(NamedTuple):
    """In which order variables are eliminated, and what that costs.

    Attributes:
        order: The variables.
        width: The variables of the largest table that is joined, less one.
        cells: The cells of all joined tables together.
        largest: The cells of the largest of them.
    """

    order: tuple[int, ...]
    width: int
    cells: int
    largest: int


def plan_elimination(scopes: Sequence[Group], sizes: Sequence[int]) -> EliminationPlan:
    """Return a good order: the better of two greedy ones.

    The next variable is the one whose joined table is smallest, or the one that joins
    fewest pairs of variables that no table holds yet. On forests both are optimal; in
    general the best order is NP-hard to find.

    Args:
        scopes: The variables of each term.
        sizes: The number of levels of each variable.
    """
    near: list[set[int]] = [set() for _ in sizes]
    for scope in scopes:
        for i in scope:
            near[i].update(scope)
    for i, others in enumerate(near):
        others.discard(i)
    plans = [_greedy(near, sizes, by_fill) for by_fill in (False, True)]
    return min(plans, key=lambda plan: plan.cells)


def _greedy(
    near: Sequence[set[int]], sizes: Sequence[int], by_fill: bool
) -> EliminationPlan:
    left = {i: set(others) for i, others in enumerate(near)}

    def cells(i: int) -> int:
        return math.prod(sizes[j] for j in left[i]) * sizes[i]

    def fill(i: int) -> int:
        return sum(b not in left[a] for a, b in combinations(sorted(left[i]), 2))

    def cost(i: int) -> tuple[int, ...]:
        return (fill(i), cells(i), i) if by_fill else (cells(i), fill(i), i)

    order: list[int] = []
    width = total = largest = 0
    costs = {i: cost(i) for i in left}
    while left:
        i = min(costs, key=costs.__getitem__)
        here = cells(i)
        width, largest = max(width, len(left[i])), max(largest, here)
        total += here
        others = left.pop(i)
        del costs[i]
        order.append(i)
        for j in others:
            left[j] |= others - {j}
            left[j].discard(i)
        # The costs of neighbours of neighbours change with the pairs that were joined.
        for j in others.union(*(left[j] for j in others)):
            costs[j] = cost(j)
    return EliminationPlan(tuple(order), width, total, largest)


def minimise_terms(
    terms: Sequence[LevelTable],
    sizes: Sequence[int],
    plan: EliminationPlan | None = None,
) -> list[int]:
    """Return, for each variable, its level where the sum of all terms is least.

    Args:
        terms: The terms; scopes may overlap in any way, and may be equal.
        sizes: The number of levels of each variable.
        plan: The order of elimination; None for ``plan_elimination``.
    """
    if plan is None:
        plan = plan_elimination([term.scope for term in terms], sizes)
    live = list(terms)
    eliminated: list[tuple[int, Group, Int[ndarray, ...]]] = []
    for i in plan.order:
        joined = [term for term in live if i in term.scope]
        live = [term for term in live if i not in term.scope]
        others = tuple(sorted({j for term in joined for j in term.scope} - {i}))
        total = np.zeros([sizes[j] for j in (i, *others)])
        for term in joined:
            total += aligned(term, (i, *others))
        eliminated.append((i, others, total.argmin(axis=0)))
        if others:
            live.append(LevelTable(others, total.min(axis=0)))
    level = [0] * len(sizes)
    for i, others, answer in reversed(eliminated):
        level[i] = int(answer[tuple(level[j] for j in others)])
    return level


def aligned(term: LevelTable, scope: Group) -> Float[ndarray, "..."]:
    """Return the table with one axis for each variable of a larger scope."""
    places = [scope.index(i) for i in term.scope]
    shape = [1] * len(scope)
    for place, size in zip(places, term.table.shape, strict=True):
        shape[place] = size
    return term.table.transpose(np.argsort(places)).reshape(shape)


def total_at(terms: Sequence[LevelTable], levels: Sequence[int]) -> float:
    """Return the sum of all terms where the variables have these levels."""
    return float(sum(t.table[tuple(levels[i] for i in t.scope)] for t in terms))


def tables_of(
    value: Callable[[int, Float[ndarray, "b d"]], Float[ndarray, " b"]],
    parts: Sequence[tuple[int, Group]],
    nodes: Sequence[Group],
    levels: Sequence[Float[ndarray, "..."]],
) -> list[LevelTable]:
    """Return functions on the grid of levels, one term for each.

    Args:
        value: ``value(m, z)`` is part m at rows of its coordinates.
        parts: Number m and coordinates of each part.
        nodes: The coordinates of each variable; they are disjoint, and each belongs
            as a whole to a part or not at all.
        levels: Rows of values of each variable's coordinates.
    """
    out = []
    for m, columns in parts:
        scope = touching(nodes, columns)
        sizes = [len(levels[i]) for i in scope]
        grid = np.indices(sizes).reshape(len(sizes), -1)
        joined = np.hstack([levels[i][k] for i, k in zip(scope, grid, strict=True)])
        names = [p for i in scope for p in nodes[i]]
        order = [names.index(p) for p in columns]
        found = value(m, np.ascontiguousarray(joined[:, order]))
        out.append(LevelTable(scope, found.reshape(sizes)))
    return out


def touching(nodes: Sequence[Group], columns: Group) -> Group:
    """Return which nodes hold any of the columns."""
    wanted = set(columns)
    return tuple(i for i, node in enumerate(nodes) if wanted & set(node))
