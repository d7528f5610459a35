"""Batched structural kernel learning."""

from sumbo.methods.struct.method import StructuralBatch

__all__ = ["StructuralBatch"]
