"""The search space in user units, and the way to the unit cube and back."""

from sumbo.space.constraints import (
    Constraints,
    Feasible,
    Outcome,
    as_constraints,
    outcomes_in,
    tests_in,
)
from sumbo.space.parameters import Categorical, Integer, Parameter, Real, Simplex
from sumbo.space.space import Space

__all__ = [
    "Categorical",
    "Constraints",
    "Feasible",
    "Integer",
    "Outcome",
    "Parameter",
    "Real",
    "Simplex",
    "Space",
    "as_constraints",
    "outcomes_in",
    "tests_in",
]
