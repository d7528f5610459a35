"""Prior draws of orthogonal Matérn lines, in linear time: draws less their averages.

A draw f of the plain line and its average I = ∫ f dμ give ``f − u I/c``, which has the
covariance k − u uᵀ/c. With atoms I is a sum over points of the draw. On an interval, in
units where the state of ``gp.solvers.statespace`` moves with rate 1, what comes in at a
point at time t_i is w_i in state k, and the last state is its response. So

    ∫_a^b u_{p−1} dt = Σ_i (Σ_k H_ik w_ik + η_i),
    H_ik = P(p−k, b−t_i) − P(p−k, a−t_i),

with P the incomplete gamma function, 0 for negative times. η_i is what the noise within
the gap before t_i adds there. It is normal, jointly with w_i, with the covariances

    E η w_k = ∫_0^d P(p, t) t^k e^{−t}/k! dt,    E η² = ∫_0^d P(p, t)² dt.

Both ends of the interval are points of the sequence. No quadrature is made.
"""

from collections.abc import Sequence
from math import comb

import numpy as np

from sumbo.gp.centre import roots_along
from sumbo.gp.solvers.statespace import SortedPoints, stationary_deviation
from sumbo.kernels import OrthogonalKernel
from sumbo.typing import Float, ndarray

# Gaps below which η is left out, by the number of states: its deviation there is below
# 1e-10 of that of the draw, and differences of nearly equal numbers would be larger.
SHORT = {1: 1e-8, 2: 1e-4, 3: 2e-3}


def with_supports(
    kernels: Sequence[OrthogonalKernel], points: Sequence[Float[ndarray, "..."]]
) -> list[Float[ndarray, "..."]]:
    """Return the points of each part, and those that its average needs, at the end."""
    out = []
    for kernel, A in zip(kernels, points, strict=True):
        axis = kernel.axes[0]
        ends = np.array([[axis.measure.low], [axis.measure.high]])
        out.append(np.vstack([A, ends if axis.atoms is None else axis.atoms]))
    return out


def less_average(
    kernels: Sequence[OrthogonalKernel],
    points: Sequence[Float[ndarray, "..."]],
    drawn: Sequence[Float[ndarray, "..."]],
    integrals: Float[ndarray, "n M"],
) -> list[Float[ndarray, "..."]]:
    """Return f − u I/c at the points, in the memory of f there and at the supports."""
    out, roots = [], roots_along(kernels, points)
    for m, (kernel, r, f) in enumerate(zip(kernels, roots, drawn, strict=True)):
        axis, n = kernel.axes[0], len(r)
        closed = axis.atoms is None
        average = integrals[:, m] if closed else axis.rule_weights @ f[n:]
        # r is √(v/c) u
        f[:n] -= np.outer(r, average / np.sqrt(kernel.variance * axis.c))
        out.append(f[:n])
    return out


def integrals_of(
    rng: np.random.Generator,
    kernels: Sequence[OrthogonalKernel],
    points: Sequence[Float[ndarray, "..."]],
    sequence: SortedPoints,
    L: Float[ndarray, "p p T"],
    w: Float[ndarray, "p n T"],
    xi: Float[ndarray, "p n T"],
) -> Float[ndarray, "n M"]:
    """Return the averages of draws over the intervals of their parts.

    ``w = L xi`` is what comes in at the points of the sequence.
    """
    p, n, M = sequence.p, w.shape[1], len(kernels)
    sizes = [len(A) for A in points]
    rates = np.sqrt(2 * p - 1) / np.array([k.lengthscales[0] for k in kernels])
    ends = np.array([[k.axes[0].measure.low, k.axes[0].measure.high] for k in kernels])
    a, b = np.repeat(rates[:, None] * ends, sizes, axis=0).T
    each = zip(points, sequence.order, rates, strict=True)
    t = np.concatenate([rate * A[index, 0] for A, index, rate in each])
    after = _gamma(b - t, p)
    outside = bool((t < a).any())
    before = _gamma(a - t, p) if outside else []
    inside = (t > a) & (t <= b) & (sequence.gaps > SHORT[p])
    B, left = _within(np.where(inside, sequence.gaps, 0.0), L, inside)
    total = np.zeros((n, len(t)))
    for k in range(p):
        response = after[p - k] - before[p - k] if outside else after[p - k]
        total += response * w[k]
        total += B[k] * xi[k]
    starts = np.cumsum([0, *sizes[:-1]])
    out = np.add.reduceat(total, starts, axis=1)
    rest = np.sqrt(np.add.reduceat(left, starts))
    out += rest * rng.standard_normal((n, M))
    roots = np.sqrt([k.variance for k in kernels]) / stationary_deviation(p)
    return out * (roots / (rates * (ends[:, 1] - ends[:, 0])))


def _gamma(x: Float[ndarray, " T"], most: int) -> list[Float[ndarray, " T"]]:
    """Return P(j, x) for j = 0 … most, which is 0 for x ≤ 0; P(0, x) is not used."""
    x = np.maximum(x, 0.0)
    term = np.exp(-x)
    out, value = [term], 1.0 - term
    for j in range(1, most + 1):
        out.append(value)
        if j < most:
            term = term * (x / j)
            value = value - term
    return out


def _within(
    gaps: Float[ndarray, " T"], L: Float[ndarray, "p p T"], inside: ndarray
) -> tuple[list[Float[ndarray, " T"]], Float[ndarray, " T"]]:
    """Return the weights of the white noise in η, and the variance that is left."""
    p = len(L)
    once, twice = _gamma(gaps, p), _gamma(2.0 * gaps, 2 * p - 1)
    cov = []
    variance = gaps.copy()
    for k in range(p):
        value = once[k + 1].copy()
        variance -= 2.0 * once[k + 1]
        for j in range(p):
            shared = comb(j + k, j) / 2.0 ** (j + k + 1) * twice[j + k + 1]
            value -= shared
            variance += shared
        cov.append(value)
    B: list[Float[ndarray, " T"]] = []
    for k in range(p):
        value = cov[k]
        for j in range(k):
            value = value - L[k, j] * B[j]
        B.append(np.divide(value, L[k, k], out=np.zeros_like(value), where=inside))
    variance -= sum(one**2 for one in B)
    return B, np.where(inside, np.maximum(variance, 0.0), 0.0)
