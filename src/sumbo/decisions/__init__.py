"""Sequential decisions with additive values: problems, beliefs and policies."""

from sumbo.decisions.base import DECISIONS, Decision
from sumbo.decisions.belief import Belief
from sumbo.decisions.policies import POLICIES, play

__all__ = ["DECISIONS", "POLICIES", "Belief", "Decision", "play"]
