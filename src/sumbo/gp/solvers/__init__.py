"""Solvers for the covariance of the observations: exact, and for very many."""

from sumbo.gp.solvers.base import PartFeatures, Pointwise, Solver
from sumbo.gp.solvers.dense import Dense
from sumbo.gp.solvers.iterative import Iterative
from sumbo.gp.solvers.projected import Projected

__all__ = ["Dense", "Iterative", "PartFeatures", "Pointwise", "Projected", "Solver"]
