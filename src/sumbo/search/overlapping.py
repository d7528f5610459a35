"""Minimise a sum of parts whose groups overlap, below the best of some candidates.

Candidates of a component with many coordinates are few for its volume. But each part
depends on some coordinates only, so values of different candidates are recombined:

1. *Join.* The parts that do not cover the whole component are minimised over levels of
   their coordinates: exactly by elimination, on a junction tree, or by messages where
   its tables would be too large (``levels``). If even the tables of the parts would
   be, each part, the one that varies most first, takes its own arg min in what is
   still open.
2. *Blocks.* From there and from the best candidate, one coordinate at a time tries
   its candidates' values, the rest held; only parts that touch it are evaluated.
3. *Descent.* All points reached descend together by their gradients (``local``).

Coordinates that are not free keep to the candidates' values throughout; those of one
one-hot code, which the same groups must hold, to those of one candidate.

Measured on draws of 10 coordinates, N = 100, 200 candidates, six draws of each of seven
structures: the mean distance to the lowest value that anything found (among it 200
descents, 60 of them from points improved by blocks), where values have a standard
deviation near 1, and the median CPU time on one core. "Before" only forests were joined
exactly, and other parts took their own arg min one after the other.

===========================  =============  =============  ============
structure                    before         this           gap of join
===========================  =============  =============  ============
singletons + residual        0.008, 5 ms    0.008, 5 ms    0
chain of pairs               0.000, 13 ms   0.000, 12 ms   0
pairs with cycles            0.001, 16 ms   0.000, 15 ms   0, width 3
cycle of ten triples         0.022, 14 ms   0.006, 18 ms   0, width 4
cycle of five triples        0.075, 8 ms    0.004, 14 ms   0, width 2
cycle of five quadruples     0.134, 11 ms   0.005, 12 ms   0, width 2
all 45 pairs                 0.025, 47 ms   0.000, 64 ms   0.42
===========================  =============  =============  ============

Consensus ADMM (ten rounds) was behind on all but one structure in an earlier
comparison, at three times the cost: it is not used. Blocks of whole groups instead of
one coordinate cost up to twice as much, and were better on some of the structures and
worse on others.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sumbo.search.components import Component
from sumbo.search.elimination import LevelTable, tables_of, touching
from sumbo.search.levels import GridCost, minimise_levels
from sumbo.search.local import descend
from sumbo.typing import Bool, Float, Group, Groups, ndarray


@dataclass(frozen=True, kw_only=True)
class OverlappingSearch:
    """How a sum of overlapping parts is searched.

    Attributes:
        table_rows: Rows of the tables of all pairs together. They allow 48 levels per
            coordinate for one or two pairs and fewer for more, so that the cost grows
            slowly with the pairs.
        fewest_levels: Fewest levels per coordinate where parts are pairs.
        fewest_of_wide: Fewest levels per coordinate where a part has more coordinates.
        most_rows: Most rows of all tables where a part has more than two coordinates.
            Beyond, each part takes its own arg min.
        most_levels: Most levels per coordinate.
        tried: Values that a block of coordinates tries in a round.
        rounds: Rounds over all blocks where the join of the tables is exact.
        rounds_inexact: Rounds over all blocks where it is not.
        trials: Trials of blocks in all. Beyond 30 coordinates the rounds become fewer.
        best: Starts among the candidates where the join is exact.
        best_inexact: Starts among the candidates where it is not.
        steps: Quasi-Newton steps of each descent.
        tolerance: Projected gradient at which a descent ends. Parts have a scale of
            one; across the whole cube such a slope changes the sum by this much.
        halving: Steps after which the worse half of the descents is given up.
    """

    table_rows: int = 4608
    fewest_levels: int = 12
    fewest_of_wide: int = 6
    most_rows: int = 20_000
    most_levels: int = 48
    tried: int = 12
    rounds: int = 1
    rounds_inexact: int = 2
    trials: int = 60
    best: int = 2
    best_inexact: int = 4
    steps: int = 40
    tolerance: float = 3e-3
    halving: int = 4


SEARCH = OverlappingSearch()


class Parts(NamedTuple):
    """The parts of a sum as functions of points z of the part's own coordinates.

    ``value(m, z)`` returns part m at z; ``gradient(m, z)`` its value and its gradient;
    ``lines(ms, z)`` several parts on one coordinate, each at a row of its own, and
    ``line_gradients(ms, z)`` also their slopes.
    """

    value: Callable[[int, Float[ndarray, "b d"]], Float[ndarray, " b"]]
    gradient: Callable[
        [int, Float[ndarray, "b d"]],
        tuple[Float[ndarray, " b"], Float[ndarray, "b d"]],
    ]
    lines: (
        Callable[[list[int], Float[ndarray, "l b"]], Float[ndarray, "l b"]] | None
    ) = None
    line_gradients: (
        Callable[
            [list[int], Float[ndarray, "l b"]],
            tuple[Float[ndarray, "l b"], Float[ndarray, "l b"]],
        ]
        | None
    ) = None

    def along(self, ms: list[int], z: Float[ndarray, "l b"]) -> Float[ndarray, "l b"]:
        """Return parts on one coordinate, together if there is a way to."""
        if self.lines is not None:
            return self.lines(ms, z)
        return np.array(
            [self.value(m, row[:, None]) for m, row in zip(ms, z, strict=True)]
        )


class LowPoint(NamedTuple):
    """A low point, and what the search of the tables took; None if there was none."""

    point: Float[ndarray, " d"]
    cost: GridCost | None


def minimise_overlapping(
    part: Component,
    Z: Float[ndarray, "B d"],
    f: Float[ndarray, " B"],
    functions: Parts,
    moving: Bool[ndarray, " d"],
) -> LowPoint:
    """Return a low point of the component's sum; never worse than the best candidate.

    Args:
        part: The component; its groups overlap.
        Z: Its candidates.
        f: The sum of its parts at the candidates.
        functions: The parts.
        moving: Columns that may leave the candidates' values.
    """
    order = np.argsort(f, kind="stable")
    joined = join(part, Z, Z[order[0]], functions, moving)
    starts = np.vstack(
        [joined.point, Z[order[: SEARCH.best if joined.fine else SEARCH.best_inexact]]]
    )
    narrow = len(_narrow(part)) == len(part.groups)
    if not (joined.fine and narrow):
        rounds = SEARCH.rounds if joined.fine else SEARCH.rounds_inexact
        starts = improve(part, starts, blocks(part, Z, moving), functions, rounds)
    if moving.any():

        def held(X: Float[ndarray, "b d"]) -> tuple[ndarray, ndarray]:
            # A coordinate without slope never moves.
            value, gradient = total_and_gradient(part, X, functions)
            return value, gradient * moving

        found, reached = descend(
            held,
            starts,
            steps=SEARCH.steps,
            tolerance=SEARCH.tolerance,
            halving=SEARCH.halving,
        )
    else:
        found, reached = starts, total_and_gradient(part, starts, functions)[0]
    best = int(np.argmin(reached))
    point = found[best] if reached[best] < f[order[0]] else Z[order[0]]
    return LowPoint(point, joined.cost)


def atoms(columns: Groups) -> Groups:
    """Return sets of columns that belong to the same groups: they go together."""
    owners: dict[int, tuple[int, ...]] = {}
    for i, group in enumerate(columns):
        for p in group:
            owners[p] = (*owners.get(p, ()), i)
    found: dict[tuple[int, ...], list[int]] = {}
    for p in sorted(owners):
        found.setdefault(owners[p], []).append(p)
    return tuple(tuple(atom) for atom in found.values())


class Joined(NamedTuple):
    """Where the narrow parts are least together, and how well that is known.

    ``fine`` says whether the minimum is exact, on as many levels as pairs allow.
    """

    point: Float[ndarray, " d"]
    cost: GridCost | None
    fine: bool


def join(
    part: Component,
    Z: Float[ndarray, "B d"],
    best: Float[ndarray, " d"],
    functions: Parts,
    moving: Bool[ndarray, " d"],
) -> Joined:
    """Return where the parts that do not cover all are least, on candidates' values.

    What none of them covers stays as in ``best``.
    """
    nodes, terms = atoms(part.columns), _narrow(part)
    widths = [len(touching(nodes, columns)) for _, columns in terms]
    count = _count_levels(widths)
    if not count:
        return Joined(_greedy(terms, Z, best, functions), None, fine=False)
    levels = [
        np.vstack([best[list(node)], _levels(Z, node, moving, count)]) for node in nodes
    ]
    singles, rest = _along_lines(functions, terms, nodes, levels)
    tables = [LevelTable((i,), values) for i, values in enumerate(singles)]
    tables += tables_of(functions.value, rest, nodes, levels)
    chosen, cost = minimise_levels(tables, [len(rows) for rows in levels])
    out = best.copy()
    for node, rows, level in zip(nodes, levels, chosen, strict=True):
        out[list(node)] = rows[level]
    fine = cost.gap == 0 and max(widths, default=1) <= 2
    return Joined(out, cost, fine)


def _count_levels(widths: list[int]) -> int:
    """Return how many levels each atom has, 0 if tables would be too large.

    ``widths`` are the numbers of atoms of the parts. Rows of all tables together count.
    """
    wide = [w for w in widths if w > 1]
    few = SEARCH.fewest_levels if max(wide, default=1) <= 2 else SEARCH.fewest_of_wide

    def rows(count: int) -> int:
        return sum(count**w for w in wide)

    count = SEARCH.most_levels
    while count > few and rows(count) > SEARCH.table_rows:
        count -= 1
    return count if max(wide, default=1) <= 2 or rows(count) <= SEARCH.most_rows else 0


def _greedy(
    terms: list[tuple[int, Group]],
    Z: Float[ndarray, "B d"],
    best: Float[ndarray, " d"],
    functions: Parts,
) -> Float[ndarray, " d"]:
    """Return the best point with each part's arg min in what is still open.

    The part that varies most comes first.
    """
    own = [functions.value(m, Z[:, list(columns)]) for m, columns in terms]
    out, is_open = best.copy(), np.ones(len(best), dtype=bool)
    for i in np.argsort([-v.std() for v in own], kind="stable"):
        columns = [p for p in terms[i][1] if is_open[p]]
        out[columns] = Z[int(np.argmin(own[i]))][columns]
        is_open[columns] = False
    return out


def _along_lines(
    functions: Parts,
    terms: list[tuple[int, Group]],
    nodes: Groups,
    levels: list[Float[ndarray, "..."]],
) -> tuple[list[Float[ndarray, "..."]], list[tuple[int, Group]]]:
    """Return the parts on one column at its levels, summed by node, and all others.

    They are evaluated together; shorter rows of levels repeat their last one.
    """
    owner = {node[0]: i for i, node in enumerate(nodes) if len(node) == 1}
    single = [(m, owner[c[0]]) for m, c in terms if len(c) == 1 and c[0] in owner]
    out = [np.zeros(len(rows)) for rows in levels]
    if not single:
        return out, terms
    parts = [m for m, _ in single]
    rows = [levels[i][:, 0] for _, i in single]
    most = max(map(len, rows))
    z = np.array([np.pad(row, (0, most - len(row)), mode="edge") for row in rows])
    for (_, i), values in zip(single, functions.along(parts, z), strict=True):
        out[i] += values[: len(out[i])]
    return out, [term for term in terms if term[0] not in parts]


def blocks(
    part: Component, Z: Float[ndarray, "B d"], moving: Bool[ndarray, " d"]
) -> list[tuple[Group, Float[ndarray, "..."]]]:
    """Return columns that are changed together, each with rows of values to try.

    These are every free column by itself, and those columns of an atom that are not
    free, which may be the one-hot code of one choice.
    """
    found: list[Group] = []
    for atom in atoms(part.columns):
        found += [(p,) for p in atom if moving[p]]
        fixed = tuple(p for p in atom if not moving[p])
        found += [fixed] if fixed else []
    return [(block, _levels(Z, block, moving, SEARCH.tried)) for block in found]


def improve(
    part: Component,
    starts: Float[ndarray, "s d"],
    tried: list[tuple[Group, Float[ndarray, "..."]]],
    functions: Parts,
    rounds: int,
) -> Float[ndarray, "s d"]:
    """Return the starts after rounds over the blocks; the sum never grows."""
    now = starts.copy()
    for _ in range(min(rounds, max(1, SEARCH.trials // len(tried)))):
        changed = False
        for block, levels in tried:
            rows = np.repeat(now[:, None], 1 + len(levels), axis=1)  # the first stays
            rows[:, 1:, list(block)] = levels
            flat = rows.reshape(-1, now.shape[1])
            value = np.zeros(len(flat))
            for m, columns in zip(part.groups, part.columns, strict=True):
                if set(columns) & set(block):
                    value += functions.value(m, np.ascontiguousarray(flat[:, columns]))
            choice = value.reshape(len(now), -1).argmin(axis=1)
            changed |= bool(choice.any())
            now = rows[np.arange(len(now)), choice]
        if not changed:
            break
    return now


def _levels(
    Z: Float[ndarray, "B d"], columns: Group, moving: Bool[ndarray, " d"], count: int
) -> Float[ndarray, "n k"]:
    """Return at most ``count`` of the candidates' rows, spread over all of them.

    One free column also has both ends of the cube, which candidates rarely hold.
    """
    # Along one column the search for equal rows is a sort, ten times as fast.
    rows = np.unique(Z[:, list(columns)], axis=0 if len(columns) > 1 else None)
    rows = rows.reshape(-1, len(columns))
    ends = np.array([[0.0], [1.0]])
    single = len(columns) == 1 and bool(moving[columns[0]])
    keep = count - 2 if single else count
    if len(rows) > keep:
        rows = rows[np.linspace(0, len(rows) - 1, keep).round().astype(int)]
    return np.vstack([rows, ends]) if single else rows


def _narrow(part: Component) -> list[tuple[int, Group]]:
    """Return number and columns of the parts that do not cover the component."""
    rows = zip(part.groups, part.columns, strict=True)
    return [(m, c) for m, c in rows if len(c) < len(part.coordinates)]


def total_and_gradient(
    part: Component, X: Float[ndarray, "b d"], functions: Parts
) -> tuple[Float[ndarray, " b"], Float[ndarray, "b d"]]:
    """Return the sum of a component's parts and its gradient at some points."""
    value, gradient = np.zeros(len(X)), np.zeros(X.shape)
    rows = list(zip(part.groups, part.columns, strict=True))
    if functions.line_gradients is not None:
        single = [(m, columns[0]) for m, columns in rows if len(columns) == 1]
        rows = [(m, columns) for m, columns in rows if len(columns) > 1]
        if single:
            ms, p = map(list, zip(*single, strict=True))
            v, g = functions.line_gradients(ms, X.T[p])
            value += v.sum(axis=0)
            np.add.at(gradient.T, p, g)
    for m, columns in rows:
        v, g = functions.gradient(m, np.ascontiguousarray(X[:, columns]))
        value += v
        gradient[:, list(columns)] += g
    return value, gradient
