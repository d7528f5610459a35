"""Joint Thompson sampling."""

from dataclasses import dataclass
from typing import ClassVar

from sumbo.methods.base import METHODS, ThompsonSampling
from sumbo.sampling.expansion import JOINT, Drawing


@METHODS.register("ts")
@dataclass(frozen=True, kw_only=True)
class Thompson(ThompsonSampling):
    """Return, per batch point, the minimiser of one joint draw; [wycoff2025] Alg. 2.

    The draw respects the correlation between parts. Points of a batch, and points
    asked while others are pending, come from independent draws; [kandasamy2018].
    """

    cite: ClassVar[str] = "wycoff2025"
    label: ClassVar[str] = "TS (joint)"
    look: ClassVar = ("#0072B2", "o")
    draw: ClassVar[Drawing] = JOINT
