"""Bayesian optimization for (near) sums of low-dimensional parts."""

import logging

from sumbo import methods, problems
from sumbo.gp import AdditiveGP, Posterior
from sumbo.optimizer import Optimizer, maximize, minimize
from sumbo.space import (
    Categorical,
    Feasible,
    Integer,
    Outcome,
    Real,
    Simplex,
    Space,
)

# Silent unless the user's program sets up logging.
logging.getLogger("sumbo").addHandler(logging.NullHandler())

__version__ = "0.1.0"

__all__ = [
    "AdditiveGP",
    "Categorical",
    "Feasible",
    "Integer",
    "Optimizer",
    "Outcome",
    "Posterior",
    "Real",
    "Simplex",
    "Space",
    "maximize",
    "methods",
    "minimize",
    "problems",
]
