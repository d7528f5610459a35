"""The additive Gaussian process: model, evidence, fit, posterior."""

from sumbo.gp.draws import DRAWS, SAMPLERS
from sumbo.gp.fit import PRIOR_LENGTHSCALE, FitInfo
from sumbo.gp.model import DEFAULT_LENGTHSCALE, AdditiveGP
from sumbo.gp.posterior import Posterior
from sumbo.gp.results import Minimum, Part

__all__ = [
    "DEFAULT_LENGTHSCALE",
    "DRAWS",
    "PRIOR_LENGTHSCALE",
    "SAMPLERS",
    "AdditiveGP",
    "FitInfo",
    "Minimum",
    "Part",
    "Posterior",
]
