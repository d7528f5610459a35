"""Models fitted to observations as methods see them: known noise used."""

from typing import Any

from sumbo.data import Data
from sumbo.gp.model import AdditiveGP


def fit_to(gp: AdditiveGP, data: Data, **settings: Any) -> AdditiveGP:
    """Return the MAP fit to data in the unit cube; settings are those of ``MapFit``."""
    return gp.fit(data.U, data.y, noise=data.noise, spans=1.0, **settings)
