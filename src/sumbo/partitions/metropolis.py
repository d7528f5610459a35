"""Metropolis-Hastings: a random walk with a given stationary distribution.

Works on states of any kind: partitions, forests. A proposal draws a new state and
returns it with log q(old | new) − log q(new | old).
"""

import math
from collections.abc import Callable
from itertools import cycle
from typing import Any, NamedTuple, TypeVar

import numpy as np

T = TypeVar("T")

Move = Callable[[np.random.Generator, T], tuple[T, float]]


class Step(NamedTuple):
    """A state of the walk, its log density, and whether the step to it was accepted."""

    state: Any
    log_density: float
    accepted: bool


def walk(
    rng: np.random.Generator,
    start: T,
    log_density: Callable[[T], float],
    propose: Move[T],
    steps: int,
) -> list[Step]:
    """Return the start and the states after each of ``steps`` steps.

    Args:
        rng: The source of randomness.
        start: The first state.
        log_density: Log of the stationary distribution, up to a constant; called once
            for the start and once for every proposal that is a new state.
        propose: Draws a new state and returns it with the log of the ratio of
            proposal probabilities, backward over forward. A proposal that is equal to
            the present state is a rejected step.
        steps: The number of steps.
    """
    made = [Step(start, log_density(start), accepted=True)]
    for _ in range(steps):
        now = made[-1]
        new, log_ratio = propose(rng, now.state)
        if new == now.state:
            made.append(now._replace(accepted=False))
            continue
        value = log_density(new)
        # A NaN compares false, so that such a proposal is never accepted.
        accepted = math.log1p(-rng.random()) < value - now.log_density + log_ratio
        made.append(
            Step(new, value, accepted=True)
            if accepted
            else now._replace(accepted=False)
        )
    return made


def in_turn(*proposals: Move[T]) -> Move[T]:
    """Return a proposal for one walk that makes the given ones one after the other."""
    turns = cycle(proposals)

    def propose(rng: np.random.Generator, state: T) -> tuple[T, float]:
        return next(turns)(rng, state)

    return propose
