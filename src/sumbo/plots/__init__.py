"""Pictures of problems, models and runs; needs the extra ``plots``."""

from sumbo.plots.illustrations import bilateral, conditional_independence
from sumbo.plots.matters import co_membership, importance, variance_shares
from sumbo.plots.model import leave_one_out, slices
from sumbo.plots.parts import parts
from sumbo.plots.problem import problem
from sumbo.plots.runs import convergence

__all__ = [
    "bilateral",
    "co_membership",
    "conditional_independence",
    "convergence",
    "importance",
    "leave_one_out",
    "parts",
    "problem",
    "slices",
    "variance_shares",
]
