"""Whether values are considerably noisy: fits with two priors on the noise compete.

The default prior expects next to no noise (mode 1e-5 of the variance of the values), as
suits deterministic functions. Given few values of a noisy function, fits with this
prior explain noise by rough parts. The other prior expects noise. As for transforms,
the posterior densities of quick fits are compared. The default must be behind by a
penalty, because a function with many valleys can look like noise too.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from sumbo.data import Data
from sumbo.gp import AdditiveGP
from sumbo.gp.fit import NOISY, Priors
from sumbo.gp.observed import fit_to
from sumbo.surrogate.base import Surrogate
from sumbo.surrogate.transform import first_model


@dataclass(frozen=True, kw_only=True)
class NoiseRule:
    """When values are taken as considerably noisy.

    Attributes:
        after: Numbers of successful observations. The first refit at or after each of
            them compares the priors, because the fits cost as much as a refit.
        penalty: Log density, in nats, by which the fit that expects noise must be
            ahead. In 32 runs on deterministic functions with many valleys and 11 on
            other ones, it was ahead by at most 12.3 at 20 to 61 observations. In four
            runs on the rough simulator *push* it was ahead by up to 23.
        steps: Iterations of each fit.
        trial_steps: Iterations of a first fit that expects noise. If it finds so little
            that it cannot be ahead by the penalty, there is no noise. In 450 sets of
            values of 15 functions, with and without noise, no set that is noisy by all
            four fits was left out, and 267 sets needed no other fit.
        starts: Noise variances at which the fits start, the first of each pair for the
            default prior.
        margin: Log density, in nats, by which a fit from the second start may be ahead
            of one from the first where noise is expected. In 36 comparisons on four
            functions with and without noise it was ahead by at most 2.1.
        most: Observations that are used, evenly spaced among all.
        recommend_penalty: The penalty where a point is recommended. It is smaller,
            because nothing is asked there: a deterministic run does not change.
    """

    after: tuple[int, ...] = (30, 45, 68, 102, 153, 230, 345)
    penalty: float = 13.0
    steps: int = 15
    trial_steps: int = 5
    starts: tuple[tuple[float, float], ...] = ((1e-4, 1e-2), (1e-2, 1e-1))
    margin: float = 3.0
    most: int = 250
    recommend_penalty: float = 3.0


RULE = NoiseRule()


def comparison_due(data: Data) -> int:
    """Return the last number of observations at which the priors are compared."""
    return max((n for n in RULE.after if n <= (~data.failed).sum()), default=0)


def is_noisy(data: Data) -> tuple[bool, int]:
    """Return whether values are considerably noisy, and how many fits it took.

    Both priors get the better of two fits. A fit is left out if the others decide
    without it: a short one is enough where little noise is found although expected.
    """
    rows = data.rows(np.flatnonzero(~data.failed)).at_most(RULE.most)
    rows = replace(rows, noisy=False)
    if len(rows.y) < 2 or np.ptp(rows.y) == 0:
        return False, 0
    (quiet_start, loud_start), (quiet_second, loud_second) = RULE.starts
    loud = replace(rows, noisy=True)
    model = first_model(rows.U.shape[1], loud_start)
    trial = _fitted(model, loud, RULE.trial_steps)
    if _largest_lead(trial.noise / rows.y.var()) <= RULE.penalty:
        return False, 1
    first = _fitted(model, loud)
    if _largest_lead(first.noise / rows.y.var()) <= RULE.penalty:
        return False, 2
    noisy, quiet = _score(first), _log_density(rows, quiet_start)
    if noisy - quiet <= RULE.penalty - RULE.margin:
        return False, 3
    quiet = max(quiet, _log_density(rows, quiet_second))
    if noisy - quiet <= RULE.penalty - RULE.margin:
        return False, 4
    noisy = max(noisy, _log_density(loud, loud_second))
    return bool(noisy - quiet > RULE.penalty), 5


def expecting_noise(surrogate: Surrogate) -> Surrogate:
    """Return the surrogate, its models fitted with noise where that is more probable.

    For a recommendation a lucky value costs more than an expected noise that is not
    there. The structures stay as they are.
    """
    data = surrogate.data
    if data.noisy or np.ptp(data.y) == 0:
        return surrogate
    loud = replace(data, noisy=True)
    posteriors = []
    for post in surrogate.posteriors:
        quiet = _fitted(post.gp, data)
        starts = [replace(post.gp, noise=start) for _, start in RULE.starts]
        found = max((_fitted(gp, loud) for gp in starts), key=_score)
        if _score(found) > _score(quiet) + RULE.recommend_penalty:
            posteriors.append(found.condition(data.U, data.y, noise=data.noise))
        else:
            posteriors.append(post)
    return replace(surrogate, posteriors=tuple(posteriors))


def _largest_lead(noise: float) -> float:
    """Return by how much the fit that expects noise can be ahead if it finds so little.

    The default prior has this fit's parameters among its own, and there the densities
    differ by those of the noise only. ``noise`` is in units of the variance of the
    values.
    """
    quiet, loud = Priors(), NOISY
    z = [math.log(noise / prior.noise) / prior.noise_sd for prior in (quiet, loud)]
    return 0.5 * (z[0] ** 2 - z[1] ** 2)


def _log_density(data: Data, start: float) -> float:
    """Return the log posterior density of a quick fit, -inf if there is none."""
    return _score(_fitted(first_model(data.U.shape[1], start), data))


def _fitted(gp: AdditiveGP, data: Data, steps: int = RULE.steps) -> AdditiveGP:
    return fit_to(gp, data, starts=1, steps=steps)


def _score(gp: AdditiveGP) -> float:
    found = gp.info.log_posterior if gp.info is not None else np.nan
    return found if np.isfinite(found) else -np.inf
