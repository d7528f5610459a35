"""Solvers for the covariance of the observations: exact, and for very many."""

from sumbo.gp.solvers.base import PartFeatures, Solver
from sumbo.gp.solvers.dense import Dense
from sumbo.gp.solvers.iterative import Iterative

__all__ = ["Dense", "Iterative", "PartFeatures", "Solver"]
