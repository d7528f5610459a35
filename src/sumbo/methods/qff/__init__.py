"""Thompson sampling with quadrature Fourier features."""

from sumbo.methods.qff.method import QuadratureFeatures

__all__ = ["QuadratureFeatures"]
