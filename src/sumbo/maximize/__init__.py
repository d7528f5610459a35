"""The arg min of a sum of parts: candidates, then local refinement."""

from sumbo.maximize.candidates import draw_candidates
from sumbo.maximize.components import Component, by_group, components
from sumbo.maximize.separable import Parts, minimise_sum

__all__ = [
    "Component",
    "Parts",
    "by_group",
    "components",
    "draw_candidates",
    "minimise_sum",
]
