"""The search space in user units, and the way to the unit cube and back."""

from sumbo.space.parameters import Categorical, Integer, Parameter, Real
from sumbo.space.space import Space

__all__ = ["Categorical", "Integer", "Parameter", "Real", "Space"]
