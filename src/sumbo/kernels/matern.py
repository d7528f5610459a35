"""Matérn kernels of half-integer smoothness ν; [rasmussen2006] Sec. 4.2.1."""

import math
from typing import ClassVar

import numpy as np

from sumbo.kernels.base import KERNELS
from sumbo.typing import Float, ndarray

Values = Float[ndarray, "*shape"]


class Matern:
    """What the Matérn kernels share: a polynomial in a = √(2ν)r times exp(−a)."""

    nu: ClassVar[float]

    def correlation_and_weight(self, s: Values) -> tuple[Values, Values]:
        """Return k(s) and w(s) = −2 k′(s)."""
        minus_a = np.sqrt(s)
        minus_a *= -math.sqrt(2.0 * self.nu)
        return self.from_exponential(-minus_a, np.exp(minus_a, out=minus_a))

    def from_exponential(self, a: Values, e: Values) -> tuple[Values, Values]:
        """Return k and w, given a and e = exp(−a), whose memory may be used."""
        raise NotImplementedError

    def correlation_from(self, a: Values, e: Values) -> Values:
        """Return k, given a and e = exp(−a), whose memory may be used."""
        return self.from_exponential(a, e)[0]

    def length_slopes(self, a: Values, e: Values, k: Values, slope: Values) -> None:
        """Write k and ∂k/∂log ℓ = w s, given a and e = exp(−a), whose memory is used.

        The polynomial in a is known: no weight, no square and no root is needed.
        """
        raise NotImplementedError

    def spectral(
        self, rng: np.random.Generator, n: int, d: int
    ) -> Float[ndarray, "n d"]:
        """Return draws of the spectral density, a d-variate t with 2ν degrees."""
        chi2 = rng.chisquare(2 * self.nu, size=(n, 1))
        return rng.standard_normal((n, d)) * np.sqrt(2 * self.nu / chi2)


@KERNELS.register("matern12")
class Matern12(Matern):
    """k(s) = exp(−r), r = √s: continuous paths without a derivative."""

    name: ClassVar[str] = "matern12"
    nu: ClassVar[float] = 0.5

    def correlation(self, s: Values) -> Values:
        """Return exp(−r)."""
        r = np.sqrt(s)
        np.negative(r, out=r)
        return np.exp(r, out=r)

    def from_exponential(self, a: Values, e: Values) -> tuple[Values, Values]:
        """Return e and e/a, with w(0) = 0.

        The kernel has a kink at r = 0; 0 is the middle of its subgradients, and the
        limit of w r², which is what the gradient in log ℓ needs.
        """
        return e, np.divide(e, a, out=np.zeros_like(e), where=a > 0)

    def length_slopes(self, a: Values, e: Values, k: Values, slope: Values) -> None:
        """Write e and a e."""
        np.multiply(a, e, out=slope)
        np.copyto(k, e)


@KERNELS.register("matern32")
class Matern32(Matern):
    """k(s) = (1 + a) exp(−a), a = √(3s): paths with one derivative."""

    name: ClassVar[str] = "matern32"
    nu: ClassVar[float] = 1.5

    def correlation(self, s: Values) -> Values:
        """Return (1 + a) exp(−a)."""
        minus_a = np.sqrt(s)
        minus_a *= -(3.0**0.5)
        k = 1.0 - minus_a
        k *= np.exp(minus_a, out=minus_a)
        return k

    def from_exponential(self, a: Values, e: Values) -> tuple[Values, Values]:
        """Return (1 + a) e and 3 e."""
        a += 1.0
        a *= e
        e *= 3.0
        return a, e

    def length_slopes(self, a: Values, e: Values, k: Values, slope: Values) -> None:
        """Write (1 + a) e and a² e."""
        np.multiply(a, a, out=slope)
        slope *= e
        a += 1.0
        np.multiply(a, e, out=k)


@KERNELS.register("matern52")
class Matern52(Matern):
    """k(s) = (1 + a + a²/3) exp(−a), a = √(5s): paths with two derivatives."""

    name: ClassVar[str] = "matern52"
    nu: ClassVar[float] = 2.5

    def correlation(self, s: Values) -> Values:
        """Return (1 + a + a²/3) exp(−a)."""
        # Few passes, all in place.
        k = s * (5.0 / 3.0)  # a²/3
        minus_a = np.sqrt(s)
        minus_a *= -(5.0**0.5)
        k -= minus_a
        k += 1.0
        k *= np.exp(minus_a, out=minus_a)
        return k

    def from_exponential(self, a: Values, e: Values) -> tuple[Values, Values]:
        """Return (1 + a + a²/3) e and (5/3)(1 + a) e."""
        k = a * a
        k *= 1.0 / 3.0
        a += 1.0
        k += a
        k *= e
        e *= 5.0 / 3.0
        a *= e
        return k, a

    def length_slopes(self, a: Values, e: Values, k: Values, slope: Values) -> None:
        """Write (1 + a + a²/3) e and (1 + a) a²/3 e."""
        np.multiply(a, a, out=slope)
        slope *= 1.0 / 3.0
        a += 1.0
        np.add(a, slope, out=k)
        k *= e
        slope *= a
        slope *= e

    def correlation_from(self, a: Values, e: Values) -> Values:
        """Return (1 + a (1 + a/3)) e."""
        k = a * (1.0 / 3.0)
        k += 1.0
        k *= a
        k += 1.0
        k *= e
        return k
