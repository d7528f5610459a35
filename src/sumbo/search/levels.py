"""Where a sum of tables is least: exactly where that is affordable, else bounded."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sumbo.search.elimination import LevelTable, minimise_terms, plan_elimination
from sumbo.search.messages import minimise_by_messages

# Most cells of one joined table: 16 MB of floats.
LARGEST_TABLE = 2_000_000
# Most cells of all joined tables together: about a tenth of a second.
MOST_CELLS = 10_000_000


@dataclass(frozen=True, kw_only=True)
class GridCost:
    """What a search over finite levels took, and how exact it is.

    Attributes:
        width: Width of the elimination: the coordinates or parameters of the largest
            table that is joined, less one. 1 for forests of pairs.
        cells: Cells of all tables that were joined or, where messages were passed
            instead, of all tables that were evaluated.
        gap: By how much the value found may exceed the least one over the levels at
            most; 0.0 if elimination was exact. In model units.
    """

    width: int = 0
    cells: int = 0
    gap: float = 0.0

    @classmethod
    def of(cls, costs: Iterable["GridCost | None"]) -> "GridCost | None":
        """Return largest width and gap, and all cells; None if there is no cost."""
        found = [cost for cost in costs if cost is not None]
        if not found:
            return None
        return cls(
            width=max(cost.width for cost in found),
            cells=sum(cost.cells for cost in found),
            gap=max(cost.gap for cost in found),
        )


def minimise_levels(
    terms: Sequence[LevelTable], sizes: Sequence[int]
) -> tuple[list[int], GridCost]:
    """Return the level of each variable, and what it took.

    By elimination, or by messages where the joined tables would be too large.
    """
    plan = plan_elimination([term.scope for term in terms], sizes)
    if plan.largest <= LARGEST_TABLE and plan.cells <= MOST_CELLS:
        levels = minimise_terms(terms, sizes, plan)
        return levels, GridCost(width=plan.width, cells=plan.cells)
    found = minimise_by_messages(terms, sizes)
    cells = sum(term.table.size for term in terms)
    gap = found.value - found.bound
    return found.levels, GridCost(width=plan.width, cells=cells, gap=gap)
