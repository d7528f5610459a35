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
from functools import cache
from math import comb
from typing import NamedTuple

import numpy as np

from sumbo.gp.centre import Centre
from sumbo.gp.solvers.statespace import SortedPoints, stationary_deviation
from sumbo.kernels import OrthogonalKernel
from sumbo.typing import Bool, Float, ndarray

# Gaps below which η is left out, by the number of states: its deviation there is below
# 1e-10 of that of the draw, and differences of nearly equal numbers would be larger.
SHORT = {1: 1e-8, 2: 1e-4, 3: 2e-3}
# Points that are treated at a time, so that arrays stay in the cache.
BLOCK = 4096


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
    centre = Centre.of(kernels)
    if centre is None:
        return list(drawn)
    out = []
    scale = np.sqrt(centre.variances * centre.c)  # r is √(v/c) u
    for m, (r, f) in enumerate(zip(centre.along(points), drawn, strict=True)):
        n, axis = len(r), centre.alone.get(m)
        average = axis.rule_weights @ f[n:] if axis else integrals[:, m]
        f[:n] -= r[:, None] * (average / scale[m])
        out.append(f[:n])
    return out


class Gaps(NamedTuple):
    """The points of all parts in one sequence, and what comes in in their gaps.

    ``moments`` are those of ``noise_moments``, and L is their factor.
    """

    sequence: SortedPoints
    moments: Float[ndarray, "q T"]
    L: Float[ndarray, "p p T"]


def integrals_of(
    rng: np.random.Generator,
    kernels: Sequence[OrthogonalKernel],
    points: Sequence[Float[ndarray, "..."]],
    inner: Gaps,
    w: Float[ndarray, "p n T"],
    xi: Float[ndarray, "p n T"],
) -> Float[ndarray, "n M"]:
    """Return the averages of draws over the intervals of their parts.

    ``w = L xi`` is what comes in at the points of the sequence.
    """
    sequence = inner.sequence
    p, n, M = sequence.p, w.shape[1], len(kernels)
    sizes = [len(A) for A in points]
    rates = np.sqrt(2 * p - 1) / np.array([k.lengthscales[0] for k in kernels])
    ends = np.array([[k.axes[0].measure.low, k.axes[0].measure.high] for k in kernels])
    a, b = (np.repeat(rates * end, sizes) for end in ends.T)
    each = zip(points, sequence.order, rates, strict=True)
    t = np.concatenate([rate * A[index, 0] for A, index, rate in each])
    inside = (t > a) & (t <= b) & (sequence.gaps > SHORT[p])
    outside = bool((t < a).any())
    total, left = np.empty((n, len(t))), np.empty(len(t))
    for start in range(0, len(t), BLOCK):
        some = slice(start, start + BLOCK)
        response = _gamma(b[some] - t[some], p)
        if outside:
            response -= _gamma(a[some] - t[some], p)
        B = _within(inner, some, inside[some])
        part = np.multiply(response[0], w[-1, :, some], out=total[:, some])
        for k in range(p - 1):
            part += response[p - k - 1] * w[k, :, some]
        for k in range(p):
            part += B[k] * xi[k, :, some]
        np.maximum(B[p], 0.0, out=left[some])
    starts = np.cumsum([0, *sizes[:-1]])
    out = np.add.reduceat(total, starts, axis=1)
    rest = np.sqrt(np.add.reduceat(left, starts))
    out += rest * rng.standard_normal((n, M))
    roots = np.sqrt([k.variance for k in kernels]) / stationary_deviation(p)
    return out * (roots / (rates * (ends[:, 1] - ends[:, 0])))


def _gamma(x: Float[ndarray, " T"], most: int) -> Float[ndarray, "j T"]:
    """Return P(j, x) for j = 1 … most, which is 0 for x ≤ 0."""
    x = np.maximum(x, 0.0)
    out = np.empty((most, len(x)))
    term = np.exp(-x)
    np.subtract(1.0, term, out=out[0])
    for j in range(1, most):
        term *= x
        term /= j
        np.subtract(out[j - 1], term, out=out[j])
    return out


def _within(
    inner: Gaps, some: slice, inside: Bool[ndarray, " t"]
) -> Float[ndarray, "r t"]:
    """Return the weights of the white noise in η, and the variance that is left."""
    L, p = inner.L[..., some], len(inner.L)
    gaps = inner.sequence.gaps[some]
    out = _mixture(p) @ np.vstack([gaps, _gamma(gaps, p), inner.moments[:, some]])
    out *= inside
    for k in range(p):
        for j in range(k):
            out[k] -= L[k, j] * out[j]
        np.divide(out[k], L[k, k], out=out[k], where=inside)
        out[p] -= out[k] ** 2
    return out


@cache
def _mixture(p: int) -> Float[ndarray, "r s"]:
    """Return how E η w_k and E η² follow from d, P(j, d) and P(j, 2d).

    The integrals of the file's head are, term by term, those of e^{−2t} t^{j+k}.
    """
    out = np.zeros((p + 1, 3 * p))
    out[p, 0] = 1.0
    for k in range(p):
        out[k, 1 + k] = 1.0
        out[p, 1 + k] = -2.0
        for j in range(p):
            shared = comb(j + k, j) / 2.0 ** (j + k + 1)
            out[k, 1 + p + j + k] -= shared
            out[p, 1 + p + j + k] += shared
    out.setflags(write=False)
    return out
