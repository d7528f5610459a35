"""Additive max-value entropy search."""

from sumbo.methods.max.method import EntropySearch

__all__ = ["EntropySearch"]
