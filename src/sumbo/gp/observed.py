"""Models fitted to observations as methods see them: known and expected noise used."""

from typing import Any

from sumbo.data import Data
from sumbo.gp.fit import NOISY, Priors
from sumbo.gp.model import AdditiveGP


def fit_to(gp: AdditiveGP, data: Data, **settings: Any) -> AdditiveGP:
    """Return the MAP fit to data in the unit cube; settings are those of ``MapFit``."""
    priors = NOISY if data.noisy else Priors()
    return gp.fit(
        data.U, data.y, noise=data.noise, spans=1.0, priors=priors, **settings
    )
