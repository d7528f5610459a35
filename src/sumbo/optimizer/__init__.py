"""Ask and tell, and ``minimize`` and ``maximize``, each one call."""

from sumbo.optimizer.asktell import Optimizer
from sumbo.optimizer.minimize import maximize, minimize

__all__ = ["Optimizer", "maximize", "minimize"]
