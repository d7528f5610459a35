"""Angular power spectra in the Limber approximation."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from scipy.interpolate import RectBivariateSpline

from sumbo.problems.shear.alignment import Aligned
from sumbo.problems.shear.universe import LIGHT_SPEED, Universe
from sumbo.problems.shear.weights import RadialWeight
from sumbo.typing import Float, ndarray


@dataclass(frozen=True, kw_only=True)
class Tracers:
    """The weights of the redshift bins: their galaxies and what lenses them."""

    galaxies: Sequence[RadialWeight]
    lenses: Sequence[RadialWeight]


def surface(universe: Universe, P: Float[ndarray, "Z K"]) -> RectBivariateSpline:
    """Return P as a bicubic spline of distance and ln k, constant beyond its edges."""
    return RectBivariateSpline(universe.chi(universe.z), np.log(universe.k), P)


def project(
    A: RadialWeight,
    B: RadialWeight,
    P: RectBivariateSpline,
    ell: Float[ndarray, " L"],
    steps: int,
) -> Float[ndarray, " L"]:
    """Return ∫ A(χ) B(χ) P((ℓ + ½)/χ; χ)/χ² dχ by the trapezoidal rule.

    The rule has ``steps`` steps per standard deviation of the narrower kernel.
    """
    lower, upper = max(A.lower, B.lower), min(A.upper, B.upper)
    if lower >= upper:
        return np.zeros_like(ell)
    step = min(A.width, B.width) / steps
    chi = np.arange(lower, upper + step, step)
    weight = A(chi) * B(chi) / chi**2
    weight[[0, -1]] *= 0.5
    ln_k = np.log((ell[:, None] + 0.5) / chi)
    return step * (P.ev(np.broadcast_to(chi, ln_k.shape), ln_k) @ weight)


def shear(
    universe: Universe,
    tracers: Tracers,
    aligned: Aligned,
    ell: Float[ndarray, " L"],
    steps: int,
) -> Float[ndarray, "pairs L"]:
    """Return the shear spectra C_ij(ℓ) of all pairs of bins i ≤ j, row by row."""
    q = 1.5e4 * universe.omega_m / LIGHT_SPEED**2
    GG, GI, II = (
        surface(universe, P) for P in (universe.nonlinear, aligned.GI, aligned.II)
    )
    W, n = tracers.lenses, tracers.galaxies
    return np.array(
        [
            q**2 * project(W[i], W[j], GG, ell, steps)
            + q * project(W[i], n[j], GI, ell, steps)
            + q * project(W[j], n[i], GI, ell, steps)
            + project(n[i], n[j], II, ell, steps)
            for i, j in combinations_with_replacement(range(len(n)), 2)
        ]
    )
