"""Weights along the line of sight: where galaxies are, and what lenses them.

A redshift distribution n(z) with nodes becomes a `RadialWeight` n(χ) of distance, and
that the lensing efficiency W(χ). Both are interpolating cubic splines, zero outside
their nodes.
"""

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import BSpline

from sumbo.problems.shear.universe import Universe, cubic
from sumbo.typing import Float, ndarray

NEGLIGIBLE = 1e-12  # of the integral: nodes at the ends that are dropped
CLIP = 1e-6  # of the cumulative sum: what the support leaves out at each end
NEAREST = 5.0  # Mpc/h, the least lower end of a support


@dataclass(frozen=True, kw_only=True, eq=False)
class RadialWeight:
    """A weight of distance, with the range that integrals over it cover."""

    spline: BSpline
    x: Float[ndarray, " n"]
    y: Float[ndarray, " n"]
    lower: float
    upper: float
    width: float  # standard deviation of |y|

    def __call__(self, chi: Float[ndarray, " c"]) -> Float[ndarray, " c"]:
        """Return the weight at distances, zero outside the nodes."""
        inside = (chi >= self.x[0]) & (chi <= self.x[-1])
        return np.where(inside, self.spline(np.clip(chi, self.x[0], self.x[-1])), 0.0)


def normalised(
    z: Float[ndarray, " n"], density: Float[ndarray, " n"]
) -> Float[ndarray, " n"]:
    """Return a distribution divided by its trapezoidal integral."""
    return density / np.trapezoid(density, z)


def shifted(
    z: Float[ndarray, " n"], density: Float[ndarray, " n"], dz: float, *, degree: int
) -> Float[ndarray, " n"]:
    """Return n(z − dz) at the same nodes, normalised; degree 1 or 3 interpolates.

    The distribution is zero outside its nodes.
    """
    moved = z - dz
    inside = (moved >= z[0]) & (moved <= z[-1])
    spline = cubic(z, density) if degree == 3 else None
    values = spline(moved) if spline is not None else np.interp(moved, z, density)
    return normalised(z, np.where(inside, values, 0.0))


def number_density(
    universe: Universe, z: Float[ndarray, " n"], density: Float[ndarray, " n"]
) -> RadialWeight:
    """Return the weight n(χ) = n(z) dz/dχ of galaxies, with integral one."""
    density = density / _integral(z, density)
    slope = universe.chi.derivative()
    x, y = _trimmed(universe.chi(z), density / slope(z))
    return _weight(x, y / _integral(x, y))


def lensing(universe: Universe, galaxies: RadialWeight, step: float) -> RadialWeight:
    """Return the lensing efficiency W(χ) = χ/a ∫_χ n(x) (x − χ)/x dx of galaxies.

    It has nodes about every ``step`` Mpc/h. The integrand is an interpolating spline
    through the nodes of n; one spline with vector values serves all χ.
    """
    x, n = galaxies.x, galaxies.y
    chi = np.linspace(0.0, x[-1], int(np.ceil(x[-1] / step)))
    beyond = x[:, None] > chi
    safe = np.where(x > 0, x, 1.0)[:, None]  # x = 0 is never beyond χ
    values = np.where(beyond, n[:, None] * (x[:, None] - chi) / safe, 0.0)
    total = cubic(x, values).antiderivative()
    start = np.maximum(chi, x[0])
    basis = BSpline.design_matrix(start, total.t, total.k).toarray()
    below = np.einsum("ij,ji->i", basis, total.c[: basis.shape[1]])
    W = chi / universe.scale_factor(chi) * (total(x[-1]) - below)
    return _weight(*_trimmed(chi, W))


def _integral(x: Float[ndarray, " n"], y: Float[ndarray, " n"]) -> float:
    return float(cubic(x, y).integrate(x[0], x[-1]))


def _trimmed(
    x: Float[ndarray, " n"], y: Float[ndarray, " n"]
) -> tuple[Float[ndarray, " m"], Float[ndarray, " m"]]:
    """Return the nodes without negligible ends; one zero stays at each."""
    size = np.abs(y)
    kept = np.flatnonzero(size >= NEGLIGIBLE * np.sum(np.diff(x) * size[:-1]))
    first, last = max(kept[0] - 1, 0), min(kept[-1] + 1, len(x) - 1)
    y = y.copy()
    y[: kept[0]] = 0.0
    y[kept[-1] + 1 :] = 0.0
    return x[first : last + 1], y[first : last + 1]


def _weight(x: Float[ndarray, " n"], y: Float[ndarray, " n"]) -> RadialWeight:
    size = np.abs(y)
    share = np.cumsum(size) - size[0]
    lower, upper = np.interp([CLIP, 1 - CLIP], share / share[-1], x)
    middle = 0.5 * (x[1:] + x[:-1])
    weight = 0.5 * (size[1:] + size[:-1]) * np.diff(x)
    weight /= weight.sum()
    mean = weight @ middle
    return RadialWeight(
        spline=cubic(x, y),
        x=x,
        y=y,
        lower=max(float(lower), NEAREST),
        upper=float(upper),
        width=float(np.sqrt(weight @ (middle - mean) ** 2)),
    )
