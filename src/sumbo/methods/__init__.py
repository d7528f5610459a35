"""Methods: each proposes points, one file each, named as in the paper."""

from sumbo.methods.base import METHODS, Info, Method, make, names

__all__ = ["METHODS", "Info", "Method", "make", "names"]
