"""When to stop: little is left to gain, as far as the model knows.

The expected remaining gain is the expected value at the recommended point less the
expected minimum. Both are posterior expectations; the minimum is that of joint draws,
in which the errors of the parts cancel as they do in the data. It is overestimated by
its standard error, so that few draws do not stop a run too early.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumbo.errors import ArgumentError
from sumbo.methods import METHODS, Method
from sumbo.optimizer.asktell import Optimizer
from sumbo.rng import rng_at


@dataclass(frozen=True, kw_only=True)
class StoppingRule:
    """When the expected remaining gain is looked at, and with how many draws.

    Attributes:
        every: Observations between two looks, counted from the end of the initial
            design.
        draws: Joint draws of the minimum.
    """

    every: int = 5
    draws: int = 100


RULE = StoppingRule()


def as_tolerance(stop: Any, opt: Optimizer) -> float | None:
    """Return the gain below which a run stops, None if it never does.

    Raises:
        ArgumentError: If it is not a positive number, or the method has no model.
    """
    if stop is None:
        return None
    number = isinstance(stop, (int, float, np.number)) and not isinstance(stop, bool)
    if not (number and math.isfinite(stop) and stop > 0):
        msg = f"stop={stop!r} is not a positive number. Pass the gain, in the units of "
        raise ArgumentError(f"{msg}the objective, that is not worth an evaluation.")
    if METHODS.get(opt.method_name).surrogate is Method.surrogate:
        msg = f"stop={stop!r} needs a model, and method {opt.method_name!r} has none. "
        raise ArgumentError(f"{msg}Leave it out, or take another method.")
    return float(stop)


def is_due(opt: Optimizer, batch: int) -> bool:
    """Return whether the expected remaining gain is to be looked at now.

    It depends on the number of observations alone, so that a run which is resumed
    stops where another one would.
    """
    since = len(opt.y) - opt.n_init
    return since >= 0 and (batch >= RULE.every or since % RULE.every == 0)


def remaining_gain(opt: Optimizer) -> float:
    """Return the expected remaining gain in the user's units, inf if it is unknown.

    Plausible structures are averaged with their probabilities.
    """
    surrogate, N = opt.surrogate(), len(opt.y)
    if surrogate is None or not np.isfinite(opt.y).any():
        return math.inf
    here = opt.recommend().mean * (-1.0 if opt.maximize else 1.0)
    gain, variance = here, 0.0
    seeds = rng_at(opt.seed, "stop", N).integers(2**31, size=len(surrogate.weights))
    parts = zip(surrogate.posteriors, surrogate.weights, seeds, strict=True)
    for post, weight, seed in parts:
        drawn = post.minimum(RULE.draws, seed=int(seed), domain=opt.space)
        values = surrogate.transform.inverse(drawn.values)
        gain -= float(weight * values.mean())
        variance += float(weight**2 * values.var(ddof=1)) / RULE.draws
    return gain + math.sqrt(variance)
