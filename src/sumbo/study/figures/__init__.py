"""Figures of a study, one file per kind; each is written as PNG and SVG."""

from sumbo.study.figures.boxes import draw_boxes
from sumbo.study.figures.convergence import draw_convergence, draw_family
from sumbo.study.figures.difference import draw_differences
from sumbo.study.figures.lines import draw_ask_time, draw_solved
from sumbo.study.figures.ranks import draw_ranks

__all__ = [
    "draw_ask_time",
    "draw_boxes",
    "draw_convergence",
    "draw_differences",
    "draw_family",
    "draw_ranks",
    "draw_solved",
]
