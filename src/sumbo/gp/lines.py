"""Kernels of all lines at all pairs of points, evaluated together.

A *line* is a part on one coordinate, here and in the whole package. A Matérn kernel is
a polynomial in a = √(2ν)|u − x| times exp(−a). On a line exp(−a) is the lesser of
exp(√(2ν)(u − x)) and its reciprocal, and the exponential of a difference is a product:
n + m exponentials give all n·m of them. Root and exponential are most of what a kernel
costs; ten parts at 330 points and 100 observations took half the time without them.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sumbo.kernels.base import Kernel
from sumbo.kernels.matern import Matern
from sumbo.typing import Float, Int, ndarray

# Elements worked on at a time: they stay in the cache, and the memory of arrays of this
# size is used again and again, where larger ones would be fetched from the system.
PANEL = 16_000
# Exponents up to here, and their sums, are far from overflow. Rounding of the exponent
# is a relative error, of less than 3e-13 at worst.
LARGEST = 300.0


@dataclass(frozen=True, kw_only=True, eq=False)
class LineKernels:
    """The kernels of L lines and the observations along them.

    ``x`` are in units of the length-scale over ``rate``, so that a Matérn kernel is a
    polynomial in |u − x| times exp(−|u − x|); ``down`` = exp(middle − x), or None
    where exponentials do not help.
    """

    kernel: Kernel
    rate: float
    per_unit: Float[ndarray, " L"]
    x: Float[ndarray, "L N"]
    middle: Float[ndarray, "L 1"]
    down: Float[ndarray, "L N"] | None

    @classmethod
    def of(
        cls,
        kernel: Kernel,
        x: Float[ndarray, "L N"],
        lengths: Float[ndarray, " L"],
    ) -> "LineKernels":
        """Return the kernels of lines with observations x and these length-scales."""
        rate = rate_of(kernel)
        per_unit = rate / lengths
        x = x * per_unit[:, None]
        middle = _middle(x) if x.size else np.zeros((len(x), 1))
        down = None
        if isinstance(kernel, Matern) and _safe(middle - x):
            down = np.exp(middle - x)
        return cls(
            kernel=kernel, rate=rate, per_unit=per_unit, x=x, middle=middle, down=down
        )

    def correlations(
        self, u: Float[ndarray, "L b"], first: int = 0
    ) -> Iterator[tuple[slice, Float[ndarray, "l b n"]]]:
        """Yield k of some lines at a time, with the observations from ``first`` on."""
        for some, difference, e in self._panels(u, first):
            if e is None or not isinstance(self.kernel, Matern):
                s = difference * difference
                s /= self.rate**2
                yield some, self.kernel.correlation(s)
            else:
                a = np.abs(difference, out=difference)
                yield some, self.kernel.correlation_from(a, e)

    def slopes(
        self, u: Float[ndarray, "L b"]
    ) -> Iterator[tuple[slice, Float[ndarray, "l b N"], Float[ndarray, "l b N"]]]:
        """Yield k and w·(u − x) of some lines at a time; x in the units of ``x``."""
        for some, difference, e in self._panels(u, 0):
            if e is None or not isinstance(self.kernel, Matern):
                s = difference * difference
                s /= self.rate**2
                k, w = self.kernel.correlation_and_weight(s)
            else:
                k, w = self.kernel.from_exponential(np.abs(difference), e)
            yield some, k, np.multiply(w, difference, out=difference)

    def _panels(
        self, u: Float[ndarray, "L b"], first: int
    ) -> Iterator[
        tuple[slice, Float[ndarray, "l b n"], Float[ndarray, "l b n"] | None]
    ]:
        """Yield u − x and exp(−|u − x|) of some lines at a time."""
        L, b = u.shape
        u = u * self.per_unit[:, None]
        x, down = self.x[:, None, first:], self.down
        up = u - self.middle
        safe = down is not None and _safe(up)
        up = np.exp(up)[:, :, None] if safe else up
        step = max(1, PANEL // max(1, b * x.shape[2]))
        for start in range(0, L, step):
            some = slice(start, start + step)
            e = None
            if safe and down is not None:
                e = up[some] * down[some, None, first:]
                np.minimum(e, 1.0 / e, out=e)
            yield some, u[some, :, None] - x[some], e


def rate_of(kernel: Kernel) -> float:
    """Return what distances are multiplied by to be exponents; 1 if there are none."""
    return math.sqrt(2.0 * kernel.nu) if isinstance(kernel, Matern) else 1.0


def exponentials(
    kernel: Kernel, x: Float[ndarray, "l N"]
) -> Float[ndarray, "l N"] | None:
    """Return exp(x − middle), whose ratios a Matérn kernel consists of.

    ``x`` are in units of the length-scale over the rate. None for other kernels, and
    where it would overflow.
    """
    if not isinstance(kernel, Matern):
        return None
    z = x - _middle(x)
    return np.exp(z) if _safe(z) else None


def of_pairs(
    up: Float[ndarray, "l N"], second: Int[ndarray, " T"]
) -> Float[ndarray, "l T"]:
    """Return the ratios up_i/up_j for all i ≤ j, row by row; ``second`` are the j."""
    e = np.repeat(up, np.arange(up.shape[1], 0, -1), axis=1)
    # "clip" spares the check of every index, half of the time of a take.
    e *= np.take(1.0 / up, second, axis=1, mode="clip")
    return e


def pair_slopes(
    kernel: Kernel,
    a: Float[ndarray, "*T"],
    e: Float[ndarray, "*T"] | None,
    k: Float[ndarray, "*T"],
    slope: Float[ndarray, "*T"],
) -> None:
    """Write k and ∂k/∂log ℓ, given distances a in units of ℓ over the rate.

    ``e`` are the exponentials ``of_pairs`` or None; the memory of both is used.
    """
    if isinstance(kernel, Matern):
        if e is None:
            e = np.negative(a)
            np.exp(e, out=e)
        else:
            np.minimum(e, 1.0 / e, out=e)
        kernel.length_slopes(a, e, k, slope)
    else:
        s = np.multiply(a, a, out=a)
        k[...], w = kernel.correlation_and_weight(s)
        np.multiply(w, s, out=slope)


def _middle(x: Float[ndarray, "l N"]) -> Float[ndarray, "l 1"]:
    """Return the middle of the points of each line, where exponents are least."""
    return 0.5 * (x.min(axis=1) + x.max(axis=1))[:, None]


def _safe(exponents: Float[ndarray, "l n"]) -> bool:
    """Return whether exponentials, and products of two, are far from overflow."""
    return bool(np.abs(exponents).max(initial=0.0) <= LARGEST)
