"""The additive Gaussian process: model, evidence, fit, posterior."""

from sumbo.gp.fit import FitInfo
from sumbo.gp.iterative import IterativePosterior
from sumbo.gp.model import AdditiveGP
from sumbo.gp.posterior import PATHS, SAMPLERS, Part, Posterior

__all__ = [
    "PATHS",
    "SAMPLERS",
    "AdditiveGP",
    "FitInfo",
    "IterativePosterior",
    "Part",
    "Posterior",
]
