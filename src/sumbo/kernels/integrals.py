"""Integrals of kernels over an interval, in closed form.

With k a function of the distance a in units of the length-scale,

    F(a) = ∫_0^a k(t) dt,    H(a) = ∫_0^a F(t) dt = a F(a) − ∫_0^a t k(t) dt.

On [0, 1] with length-scale ℓ these give the integral of the kernel in one argument and
in both,

    u(x) = ∫ k(|x − t|/ℓ) dt = ℓ (F(x/ℓ) + F((1 − x)/ℓ)),    c = ∫ u(x) dx = 2ℓ² H(1/ℓ),

where F(−a) = −F(a) covers points outside of the interval. Near 0, which is where the
length-scale is long, H is a difference of nearly equal numbers that is then multiplied
by ℓ²: there the Taylor series of the kernel is integrated instead.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import erf

from sumbo.kernels.base import Kernel
from sumbo.kernels.matern import Matern
from sumbo.kernels.rbf import RBF
from sumbo.typing import Float, ndarray

Lags = Float[ndarray, "*shape"]

# Lags below which the Taylor series of H is used, and its number of terms: they leave
# an error below 1e-17.
SMALL, TERMS = 0.5, 24


class Primitives(NamedTuple):
    """F and H of a kernel for distances a ≥ 0; a may have any shape."""

    F: Callable[[Lags], Lags]
    H: Callable[[Lags], Lags]


@cache
def _primitives(name: str) -> Primitives | None:
    if name == "rbf":
        return _joined(_rbf_once, _rbf_moment, _rbf_series(), 1.0)
    if name not in POLYNOMIALS:
        return None
    nu, polynomial = POLYNOMIALS[name]
    once = _less_exponential(_antiderivative(polynomial))
    moment = _less_exponential(_antiderivative((0.0, *polynomial)))
    return _joined(once, moment, _matern_series(polynomial), math.sqrt(2.0 * nu))


def primitives_of(kernel: Kernel) -> Primitives | None:
    """Return F and H of a kernel; None if they are not known in closed form."""
    ours = isinstance(kernel, (RBF, Matern))
    return _primitives(kernel.name) if ours else None


# ν, and the polynomial in a = √(2ν)r of k = p(a) exp(−a).
POLYNOMIALS = {
    "matern12": (0.5, (1.0,)),
    "matern32": (1.5, (1.0, 1.0)),
    "matern52": (2.5, (1.0, 1.0, 1.0 / 3.0)),
}


def _joined(
    once: Callable[[Lags], Lags],
    moment: Callable[[Lags], Lags],
    series: Float[ndarray, " n"],
    rate: float,
) -> Primitives:
    """Return F and H of k(rate · a), given ∫k, ∫t k and the Taylor series of k."""
    powers = np.arange(len(series))
    twice = series / ((powers + 1) * (powers + 2))

    def F(a: Lags) -> Lags:
        return once(rate * a) / rate

    def H(a: Lags) -> Lags:
        a = rate * a
        out = a * once(a) - moment(a)
        near = a < SMALL
        if near.any():
            small = a[near]
            out[near] = small**2 * np.polynomial.polynomial.polyval(small, twice)
        return out / rate**2

    return Primitives(F, H)


def _rbf_once(a: Lags) -> Lags:
    return math.sqrt(math.pi / 2.0) * erf(a / math.sqrt(2.0))


def _rbf_moment(a: Lags) -> Lags:
    return -np.expm1(-0.5 * a * a)


def _rbf_series() -> Float[ndarray, " n"]:
    out = np.zeros(TERMS)
    for j in range(TERMS // 2):
        out[2 * j] = (-0.5) ** j / math.factorial(j)
    return out


def _antiderivative(polynomial: tuple[float, ...]) -> tuple[float, ...]:
    """Return q with ∫ p(t) exp(−t) dt = −q(t) exp(−t): q − q′ = p."""
    out, above = [0.0] * len(polynomial), 0.0
    for j in range(len(polynomial) - 1, -1, -1):
        above = out[j] = polynomial[j] + (j + 1) * above
    return tuple(out)


def _less_exponential(q: tuple[float, ...]) -> Callable[[Lags], Lags]:
    """Return a ↦ q(0) − q(a) exp(−a)."""

    def integral(a: Lags) -> Lags:
        value = np.full_like(a, q[-1])
        for weight in q[-2::-1]:
            value *= a
            value += weight
        value *= np.exp(-a)
        return np.subtract(q[0], value, out=value)

    return integral


def _matern_series(polynomial: tuple[float, ...]) -> Float[ndarray, " n"]:
    exponential = [(-1.0) ** j / math.factorial(j) for j in range(TERMS)]
    return np.convolve(exponential, polynomial)[:TERMS]
