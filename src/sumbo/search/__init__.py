"""Minimisers of functions of a point, and of sums of functions of groups."""

from sumbo.search.candidates import draw_candidates, free_coordinates
from sumbo.search.components import (
    Component,
    by_group,
    components,
    feasible_components,
)
from sumbo.search.draws import Candidates, CandidateSettings, minimise_draws
from sumbo.search.grid import minimise_on_grid
from sumbo.search.levels import GridCost
from sumbo.search.minimum import sample_minimum
from sumbo.search.separable import Parts, minimise_sum, search_sum
from sumbo.search.table import Table, pick, pick_each

__all__ = [
    "CandidateSettings",
    "Candidates",
    "Component",
    "GridCost",
    "Parts",
    "Table",
    "by_group",
    "components",
    "draw_candidates",
    "feasible_components",
    "free_coordinates",
    "minimise_draws",
    "minimise_on_grid",
    "minimise_sum",
    "pick",
    "pick_each",
    "sample_minimum",
    "search_sum",
]
