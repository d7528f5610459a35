"""The default method with fixed groups, to measure the cost of learning the groups."""

from dataclasses import dataclass
from typing import Any, ClassVar

from sumbo.methods.base import METHODS
from sumbo.methods.logei import LogExpectedImprovement


@METHODS.register("logei-singletons")
@dataclass(frozen=True, kw_only=True)
class Singletons(LogExpectedImprovement):
    """The default method with one group per parameter."""

    groups: Any = "singletons"
    label: ClassVar[str] = "log EI, singletons"


@METHODS.register("logei-one")
@dataclass(frozen=True, kw_only=True)
class OneGroup(LogExpectedImprovement):
    """The default method with a single group of all parameters."""

    groups: Any = "one"
    label: ClassVar[str] = "log EI, one group"
