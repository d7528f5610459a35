"""The additive Gaussian process: model, evidence, fit, posterior."""

from sumbo.gp.fit import FitInfo
from sumbo.gp.model import AdditiveGP
from sumbo.gp.posterior import SAMPLERS, Part, Posterior

__all__ = ["SAMPLERS", "AdditiveGP", "FitInfo", "Part", "Posterior"]
