"""The arg min of a sum of parts: candidates, then local refinement."""

from sumbo.search.candidates import draw_candidates
from sumbo.search.components import Component, by_group, components
from sumbo.search.separable import Parts, minimise_sum

__all__ = [
    "Component",
    "Parts",
    "by_group",
    "components",
    "draw_candidates",
    "minimise_sum",
]
