"""Adam with tiny steps: most gradients follow from those a few steps apart.

The fit of [wycoff2025] takes 1 000 steps of 1e-4. Between neighbouring steps the
gradient hardly changes, and along the path it is a smooth function of the step. So it
is computed at the ends of blocks of steps only. Inside a block it is a polynomial in
the step through the last ends: first extrapolated, to find where the block ends, then
interpolated, with the gradient found there. A block whose extrapolation was wrong by
more than ``TOLERANCE`` is halved; a block of one step is Adam itself.

Measured on fits of random structures to 20 to 120 observations of the paper's problems:
25 gradients instead of 1 000, a few hundred where Adam starts at a maximum and
oscillates, and log-parameters within 1e-7 of those of all 1 000, where Adam moves them
by 0.1.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sumbo.errors import NotPositiveDefiniteError
from sumbo.typing import Float, ndarray

# [kingma2014] Alg. 1: decay of the moments, and the guard against division by zero.
FIRST, SECOND, GUARD = 0.9, 0.999, 1e-8
# Steps of the longest block, and ends that a polynomial goes through.
LONGEST, ENDS = 64, 5
# Largest error of an extrapolated gradient, relative to the root of its second moment.
# The interpolated gradients that are used in the end are much closer.
TOLERANCE = 1e-4


class Slope(NamedTuple):
    """A log likelihood with its gradient, and the jitter that it took."""

    value: float
    gradient: Float[ndarray, " p"]
    jitter: float


class Climb(NamedTuple):
    """Where Adam came to; ``value`` is that of one step before."""

    theta: Float[ndarray, " p"]
    value: float
    jitter: float
    evaluations: int
    failed_at: int  # the step whose evaluation failed, 0 if none did


class _Moments(NamedTuple):
    step: int
    theta: Float[ndarray, " p"]
    first: Float[ndarray, " p"]
    second: Float[ndarray, " p"]


def climb(
    evaluate: Callable[[Float[ndarray, " p"]], Slope],
    start: Float[ndarray, " p"],
    steps: int,
    step_size: float,
) -> Climb:
    """Return the parameters after ``steps`` steps of Adam, see the head of the file.

    ``evaluate`` may raise ``NotPositiveDefiniteError``; the climb then ends one step
    before. The steps must be so small that the gradient is smooth along the path.
    """
    now = _Moments(0, start, np.zeros_like(start), np.zeros_like(start))
    try:
        here = evaluate(start)
    except NotPositiveDefiniteError:
        return Climb(start, math.nan, 0.0, 1, 1)
    ends = [(1, here.gradient)]
    jitter, done, length = here.jitter, 1, 1
    while now.step + 1 < steps:
        length = min(length, steps - 1 - now.step)
        target = now.step + 1 + length  # the step whose gradient comes next
        guess = _polynomial(ends[1 - ENDS :], now.step + 1, target)
        trial = _advance(now, guess[:-1], step_size)
        done += 1
        try:
            there = evaluate(trial.theta)
        except NotPositiveDefiniteError:
            if length == 1:
                return Climb(now.theta, here.value, jitter, done, target)
            length = max(1, length // 4)
            continue
        scale = np.sqrt(trial.second / (1 - SECOND**trial.step)) + GUARD
        error = float(np.max(np.abs(there.gradient - guess[-1]) / scale))
        if length > 1 and not error <= TOLERANCE:
            length = max(1, length // 2)
            continue
        ends.append((target, there.gradient))
        gradients = _polynomial(ends[-ENDS:], now.step + 1, target)
        now = _advance(now, gradients[:-1], step_size)
        here, jitter = there, max(jitter, there.jitter)
        if error <= 0.1 * TOLERANCE:
            length = min(2 * length, LONGEST)
    if steps:
        now = _advance(now, here.gradient[None], step_size)
    return Climb(now.theta, here.value, jitter, done, 0)


def _polynomial(
    ends: list[tuple[int, Float[ndarray, " p"]]], first: int, last: int
) -> Float[ndarray, "h p"]:
    """Return the gradients at steps first to last, given those at some steps."""
    at = np.array([step for step, _ in ends], dtype=float)
    unit = last - at[0] if len(at) > 1 else 1.0
    where = (np.arange(first, last + 1) - first) / unit
    powers = np.arange(len(at))
    weights = np.linalg.solve(((at - first) / unit)[:, None] ** powers, np.eye(len(at)))
    return where[:, None] ** powers @ weights @ np.array([g for _, g in ends])


def _advance(
    now: _Moments, gradients: Float[ndarray, "h p"], step_size: float
) -> _Moments:
    """Return Adam after one step for each gradient; [kingma2014] Alg. 1."""
    h = len(gradients)
    k = np.arange(1, h + 1)[:, None]
    first = _averages(FIRST, h) @ gradients + FIRST**k * now.first
    second = _averages(SECOND, h) @ gradients**2 + SECOND**k * now.second
    t = now.step + k
    moves = first / (1 - FIRST**t) / (np.sqrt(second / (1 - SECOND**t)) + GUARD)
    theta = now.theta + step_size * moves.sum(axis=0)
    return _Moments(now.step + h, theta, first[-1], second[-1])


def _averages(decay: float, h: int) -> Float[ndarray, "h h"]:
    """Return the weights of h gradients in the moments after each of them."""
    return _TABLES[decay][:h, :h]


def _table(decay: float) -> Float[ndarray, "h h"]:
    age = np.subtract.outer(np.arange(LONGEST), np.arange(LONGEST))
    return np.tril((1 - decay) * decay ** np.maximum(age, 0))


_TABLES = {decay: _table(decay) for decay in (FIRST, SECOND)}
