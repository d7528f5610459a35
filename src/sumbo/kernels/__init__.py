"""Kernels on a group of coordinates: one file per stationary kernel."""

from sumbo.kernels.axis import CentredAxis
from sumbo.kernels.base import KERNELS, Kernel, as_kernel
from sumbo.kernels.group import GroupKernel, squared_distances
from sumbo.kernels.orthogonal import AnovaTerms, OrthogonalKernel

__all__ = [
    "KERNELS",
    "AnovaTerms",
    "CentredAxis",
    "GroupKernel",
    "Kernel",
    "OrthogonalKernel",
    "as_kernel",
    "squared_distances",
]
