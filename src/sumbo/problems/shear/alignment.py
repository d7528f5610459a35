"""Power spectra of the intrinsic alignment of galaxies with the matter around them.

P_GI is the cross spectrum of the lensing signal and the intrinsic shapes, P_II the
spectrum of the intrinsic shapes.
"""

from dataclasses import dataclass

import numpy as np

from sumbo.problems.shear.universe import Universe
from sumbo.typing import Float, ndarray

PIVOT = 1.62  # 1 + z at which amplitudes are given

# C₁ ρ_crit: the amplitude 5e-14 Mpc³/(h² M_sun) in SI units, times the critical
# density 3 H0²/(8πG) without its h².
_METRES = 3.0857e22  # in a Mpc
AMPLITUDE = (5e-14 / 1.9891e30 * _METRES**3) * (
    3 * (1e5 / _METRES) ** 2 / (8 * np.pi * 6.67384e-11)
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Aligned:
    """The two alignment spectra on the grid of a universe."""

    GI: Float[ndarray, "Z K"]
    II: Float[ndarray, "Z K"]


def tidal(universe: Universe, a1: float, alpha1: float) -> Float[ndarray, " Z"]:
    """Return the amplitude C₁(z) of shapes that follow the tidal field."""
    evolution = ((1 + universe.z) / PIVOT) ** alpha1
    return -a1 * AMPLITUDE * universe.omega_m / universe.growth() * evolution


def nonlinear(universe: Universe, a1: float, alpha1: float) -> Aligned:
    """Return the nonlinear linear-alignment model: C₁ P and C₁² P."""
    C1 = tidal(universe, a1, alpha1)[:, None]
    return Aligned(GI=C1 * universe.nonlinear, II=C1**2 * universe.nonlinear)
