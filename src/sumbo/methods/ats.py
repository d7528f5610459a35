"""Thompson sampling with the additive approximation."""

from dataclasses import dataclass
from typing import ClassVar

from sumbo.methods.base import METHODS, ThompsonSampling
from sumbo.sampling.expansion import MARGINAL, Drawing


@METHODS.register("ats")
@dataclass(frozen=True, kw_only=True)
class AdditiveThompson(ThompsonSampling):
    """Return, per batch point, the minimiser of one marginal draw; [wycoff2025] Alg. 1.

    Parts are drawn independently: the correlation between them is ignored.
    """

    cite: ClassVar[str] = "wycoff2025"
    label: ClassVar[str] = "TS (additive)"
    look: ClassVar = ("#D55E00", "s")
    draw: ClassVar[Drawing] = MARGINAL
    ignores_covariance: ClassVar[bool] = True
