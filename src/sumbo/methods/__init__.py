"""Methods: each proposes points, one file each, named as in the paper.

The classes are attributes of this package too: ``sumbo.methods.Thompson``.
"""

from typing import Any

from sumbo.methods.base import METHODS, Info, Method, make, names, require_settings

__all__ = ["METHODS", "Info", "Method", "make", "names", "require_settings"]


def __getattr__(name: str) -> Any:
    return METHODS.by_class_name(name, __name__)
