"""Bayesian optimization for (near) sums of low-dimensional parts."""

from sumbo import methods, problems
from sumbo.gp import AdditiveGP, Posterior
from sumbo.optimizer import Optimizer, minimize
from sumbo.space import (
    Categorical,
    Feasible,
    Integer,
    Outcome,
    Real,
    Simplex,
    Space,
)

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
    "methods",
    "minimize",
    "problems",
]
