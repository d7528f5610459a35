"""How much of the variation of a model is due to each parameter."""

from sumbo.importance.shares import importance_of
from sumbo.importance.table import Importance

__all__ = ["Importance", "importance_of"]
