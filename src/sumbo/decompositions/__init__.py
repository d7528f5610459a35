"""Where groups come from: one file per decomposition."""

from sumbo.decompositions.base import DECOMPOSITIONS, Decomposition, Explicit, resolve

__all__ = ["DECOMPOSITIONS", "Decomposition", "Explicit", "resolve"]
