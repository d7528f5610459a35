"""Stationary kernels on a group of coordinates: one file per kernel."""

from sumbo.kernels.base import KERNELS, Kernel, as_kernel
from sumbo.kernels.group import GroupKernel, squared_distances

__all__ = ["KERNELS", "GroupKernel", "Kernel", "as_kernel", "squared_distances"]
