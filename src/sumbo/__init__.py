"""Bayesian optimization for (near) sums of low-dimensional parts."""

from sumbo.gp import AdditiveGP, Posterior

__version__ = "0.1.0"

__all__ = ["AdditiveGP", "Posterior"]
