"""Test problems by name: ``get("levy10", seed=3)``; `names` lists them."""

from sumbo.problems.base import (
    PROBLEMS,
    Problem,
    ProblemInfo,
    available,
    get,
    info,
    names,
    problem,
)
from sumbo.problems.wrappers import counted, noisy, timed

__all__ = [
    "PROBLEMS",
    "Problem",
    "ProblemInfo",
    "available",
    "counted",
    "get",
    "info",
    "names",
    "noisy",
    "problem",
    "timed",
]
