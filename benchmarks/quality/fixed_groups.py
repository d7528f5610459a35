"""The default told a structure instead of learning one: what does not knowing cost?"""

from dataclasses import dataclass
from typing import Any, ClassVar

from sumbo.methods.base import METHODS
from sumbo.methods.logei import LogExpectedImprovement


@METHODS.register("logei-singletons")
@dataclass(frozen=True, kw_only=True)
class Singletons(LogExpectedImprovement):
    """Return what the default asks that knows every parameter to act alone."""

    groups: Any = "singletons"
    label: ClassVar[str] = "log EI, singletons"


@METHODS.register("logei-one")
@dataclass(frozen=True, kw_only=True)
class OneGroup(LogExpectedImprovement):
    """Return what the default asks with one group of all parameters: no sum at all."""

    groups: Any = "one"
    label: ClassVar[str] = "log EI, one group"
