"""The models from which a point is recommended: fits that may expect noise.

The prior of the fits expects next to no noise (mode 1e-5 of the variance of the
values), as suits deterministic functions. Given few values of a noisy function, such
fits explain noise by rough parts, and the posterior mean follows lucky values. So a
recommendation compares the posterior densities of fits with a second prior, which
expects noise. The points that are asked do not depend on it.
"""

from dataclasses import dataclass, replace

import numpy as np

from sumbo.data import Data
from sumbo.gp import AdditiveGP
from sumbo.gp.fit import NOISY, Priors
from sumbo.gp.observed import fit_to
from sumbo.surrogate.base import Surrogate


@dataclass(frozen=True, kw_only=True)
class NoiseRule:
    """When a point is recommended by fits that expect noise.

    Attributes:
        penalty: Log density, in nats, by which the fit that expects noise must be
            ahead, because a function with many valleys can look like noise too.
        steps: Iterations of each fit.
        starts: Noise variances at which the fits that expect noise start.
    """

    penalty: float = 3.0
    steps: int = 15
    starts: tuple[float, ...] = (1e-2, 1e-1)


RULE = NoiseRule()


def expecting_noise(surrogate: Surrogate) -> Surrogate:
    """Return the surrogate, its models fitted with noise where that is more probable.

    For a recommendation a lucky value costs more than an expected noise that is not
    there. The structures stay as they are.
    """
    data = surrogate.data
    if np.ptp(data.y) == 0:
        return surrogate
    posteriors = []
    for post in surrogate.posteriors:
        quiet = _fitted(post.gp, data, Priors())
        starts = [replace(post.gp, noise=start) for start in RULE.starts]
        found = max((_fitted(gp, data, NOISY) for gp in starts), key=_score)
        if _score(found) > _score(quiet) + RULE.penalty:
            posteriors.append(found.condition(data.U, data.y, noise=data.noise))
        else:
            posteriors.append(post)
    return replace(surrogate, posteriors=tuple(posteriors))


def _fitted(gp: AdditiveGP, data: Data, priors: Priors) -> AdditiveGP:
    return fit_to(gp, data, starts=1, steps=RULE.steps, priors=priors)


def _score(gp: AdditiveGP) -> float:
    found = gp.info.log_posterior if gp.info is not None else np.nan
    return found if np.isfinite(found) else -np.inf
