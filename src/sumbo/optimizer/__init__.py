"""Ask and tell, and the one-call ``minimize``."""

from sumbo.optimizer.asktell import Optimizer
from sumbo.optimizer.minimize import minimize

__all__ = ["Optimizer", "minimize"]
