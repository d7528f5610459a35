"""What a refit chooses together: transform, kernel, groups, hyperparameters."""

from sumbo.surrogate.additive import AdditiveModel, AdditiveState
from sumbo.surrogate.averaged import AveragedModel
from sumbo.surrogate.base import OutcomeModel, Surrogate, single
from sumbo.surrogate.transform import Rescaled, Scale, rescale

__all__ = [
    "AdditiveModel",
    "AdditiveState",
    "AveragedModel",
    "OutcomeModel",
    "Rescaled",
    "Scale",
    "Surrogate",
    "rescale",
    "single",
]
