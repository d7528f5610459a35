"""Exact prior draws of one-coordinate Matérn parts in O(N + B) for each draw.

Such a part is a Markov process (see ``gp.solvers.statespace``): from the stationary
distribution at its first point, every gap moves the state and adds noise of a known
covariance. No matrix is built and no jitter added; equal points get equal values, to
rounding.
"""

from collections.abc import Sequence

import numpy as np

from sumbo.gp.solvers.statespace import (
    Recursion,
    SortedPoints,
    factor_of_moments,
    in_turns,
    noise_factor,
    noise_moments,
    states_of,
    stationary_deviation,
)
from sumbo.kernels import GroupKernel, OrthogonalKernel
from sumbo.sampling.averages import Gaps, integrals_of, less_average, with_supports
from sumbo.typing import Float, ndarray

# Doubles of white noise that are drawn at a time; more parts go in turns.
MOST_NOISE = 2**19


def draw_markov(
    rng: np.random.Generator,
    kernels: Sequence[GroupKernel],
    points: Sequence[Float[ndarray, "..."]],
    n: int,
) -> list[Float[ndarray, "..."]]:
    """Return n prior draws of every part at its points (A_m, 1): arrays (A_m, n).

    The parts are Matérn of one coordinate and of the same smoothness. Orthogonal ones
    are drawn less their averages, see ``sampling.averages``.
    """
    p = states_of(kernels[0].kernel) if kernels else 0
    out: list[Float[ndarray, ...]] = []
    for batch in in_turns([len(A) * n * p for A in points], MOST_NOISE):
        some, places = list(kernels[batch]), list(points[batch])
        centred = [k for k in some if isinstance(k, OrthogonalKernel)]
        wider = with_supports(centred, places) if centred else places
        sequence = SortedPoints.of(some, wider)
        xi = rng.standard_normal((p, n, len(sequence.gaps)))
        moments = noise_moments(sequence.gaps, p)
        L = factor_of_moments(moments, sequence.gaps)
        w = _incoming(L, xi)
        drawn = _draws_of(some, sequence, w)
        if centred:
            inner = Gaps(sequence, moments, L)
            found = integrals_of(rng, centred, wider, inner, w, xi)
            drawn = less_average(centred, places, drawn, found)
        out += drawn
    return out


def draw_from_noise(
    kernels: list[GroupKernel], sequence: SortedPoints, xi: Float[ndarray, "p n T"]
) -> list[Float[ndarray, "..."]]:
    """Return the draws (A_m, n) that white noise along the sequence makes."""
    L = noise_factor(sequence.gaps, sequence.p)
    return _draws_of(kernels, sequence, _incoming(L, xi))


def _incoming(
    L: Float[ndarray, "p p T"], xi: Float[ndarray, "p n T"]
) -> Float[ndarray, "p n T"]:
    """Return what comes in at each point, L ξ."""
    w = np.empty_like(xi)
    for i in range(len(L)):
        w[i] = L[i, 0] * xi[0]
        for j in range(1, i + 1):
            w[i] += L[i, j] * xi[j]
    return w


def _draws_of(
    kernels: list[GroupKernel], sequence: SortedPoints, w: Float[ndarray, "p n T"]
) -> list[Float[ndarray, "..."]]:
    """Return the draws (A_m, n) that what comes in along the sequence makes."""
    p = sequence.p
    u = Recursion.of(sequence.gaps).run(w, (0.0,) * (p - 1) + (1.0,))
    out = []
    for kernel, cut, index in zip(
        kernels, sequence.cuts(), sequence.order, strict=True
    ):
        f = np.empty((len(index), w.shape[1]))
        f[index] = (np.sqrt(kernel.variance) / stationary_deviation(p) * u[:, cut]).T
        out.append(f)
    return out
