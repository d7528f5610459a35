"""Policies: how the next choice follows from what is known."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from sumbo.decisions.base import Decision, best_row
from sumbo.errors import ArgumentError
from sumbo.rng import rng_at
from sumbo.typing import Float, ndarray

BETA = 2.0  # of the bounds μ − βσ

Policy = Callable[[np.random.Generator, Decision, Any, Any], ndarray]


def joint(rng: np.random.Generator, d: Decision, known: Any, offers: Any) -> ndarray:
    """Return the choices that are best under a joint draw: Thompson sampling."""
    return d.best(offers, known.joint(rng))


def marginal(rng: np.random.Generator, d: Decision, known: Any, offers: Any) -> ndarray:
    """Return the choices that are best under independent draws of the parts."""
    return d.best(offers, known.marginal(rng))


def centred(rng: np.random.Generator, d: Decision, known: Any, offers: Any) -> ndarray:
    """Return the choices that are best under independent draws of centred parts."""
    return d.best(offers, known.centred(rng))


def bound(rng: np.random.Generator, d: Decision, known: Any, offers: Any) -> ndarray:
    """Return the choices of the least μ − 2σ, with the deviation of the sum.

    Raises:
        ArgumentError: If the choices cannot be listed.
    """
    del rng
    if not d.listed:
        msg = f"policy='bound' lists all choices, which {type(d).__name__} cannot. "
        raise ArgumentError(f"{msg}Use 'bound-sum'.")
    mean = np.einsum("rkd,rd->rk", offers, known.mean)
    return best_row(offers, mean - BETA * known.total_deviations(offers))


def bound_sum(
    rng: np.random.Generator, d: Decision, known: Any, offers: Any
) -> ndarray:
    """Return the choices of the least Σ_m μ_m − 2σ_m; a part has one active feature."""
    del rng
    return d.best(offers, known.mean - BETA * known.deviations())


def greedy(rng: np.random.Generator, d: Decision, known: Any, offers: Any) -> ndarray:
    """Return the choices of the least posterior mean."""
    del rng
    return d.best(offers, known.mean)


POLICIES: Mapping[str, Policy] = {
    "joint": joint,
    "marginal": marginal,
    "centred": centred,
    "bound": bound,
    "bound-sum": bound_sum,
    "greedy": greedy,
}


def play(problem: Decision, policy: str) -> Float[ndarray, "R T"]:
    """Return the regret of every round of every replicate.

    Policies meet the same truth, offers and noise.

    Examples:
        >>> from sumbo.decisions.accept import Accept
        >>> play(Accept(parts_count=3, rounds=4, replicates=2), "joint").shape
        (2, 4)

    Raises:
        ArgumentError: If the policy is unknown.
    """
    if policy not in POLICIES:
        msg = f"policy={policy!r} is unknown. Use one of {', '.join(POLICIES)}."
        raise ArgumentError(msg)
    choose, known = POLICIES[policy], problem.belief()
    regret = np.empty((problem.replicates, problem.rounds))
    for t in range(problem.rounds):
        offers = problem.offers(t)
        rng = rng_at(problem.seed, f"policy {policy}", t)
        choice = choose(rng, problem, known, offers)
        regret[:, t] = problem.regret(offers, choice)
        y = problem.observed(t, choice)
        known = known.given(choice, y, problem.noise**2)
    return regret
