"""What a refit chooses together: transform, kernel, groups, hyperparameters."""

from sumbo.surrogate.additive import AdditiveModel, AdditiveState
from sumbo.surrogate.base import Surrogate, single
from sumbo.surrogate.transform import Rescaled, Scale, rescale

__all__ = [
    "AdditiveModel",
    "AdditiveState",
    "Rescaled",
    "Scale",
    "Surrogate",
    "rescale",
    "single",
]
