"""DuMBO: decompositions by Metropolis, one bound for all of them."""

from sumbo.methods.dumbo.method import Dumbo

__all__ = ["Dumbo"]
