"""Distances and matter power spectra, by CAMB.

Distances are in Mpc/h, wavenumbers k in h/Mpc, power spectra in (Mpc/h)³.
"""

import threading
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.interpolate import BSpline, make_interp_spline

from sumbo.typing import Float, ndarray

# The mass in eV of three neutrinos that contribute Ω_ν h² = 1, at 3 effective species.
NEUTRINO_MASS = 94.06410581217612
EFFECTIVE_SPECIES = 3.044
CMB_TEMPERATURE = 2.7255  # K

LIGHT_SPEED = 299792.458  # km/s

# CAMB reports errors through a global of its Fortran library.
camb_lock = threading.Lock()


@dataclass(frozen=True, kw_only=True, eq=False)
class Universe:
    """The distances and the power spectra of one set of cosmological parameters."""

    h: float
    omega_m: float
    z_distance: Float[ndarray, " D"]
    distance: Float[ndarray, " D"]  # transverse comoving distance
    z: Float[ndarray, " Z"]
    k: Float[ndarray, " K"]
    linear: Float[ndarray, "Z K"]
    nonlinear: Float[ndarray, "Z K"]

    @cached_property
    def chi(self) -> BSpline:
        """The distance as a function of redshift."""
        return cubic(self.z_distance, self.distance)

    @cached_property
    def scale_factor(self) -> BSpline:
        """The scale factor a as a function of distance."""
        return cubic(self.distance, 1 / (1 + self.z_distance))

    def growth(self, k_at_least: float = 0.03) -> Float[ndarray, " Z"]:
        """Return the linear growth D(z), one at z = 0, at the first k above a limit."""
        column = self.linear[:, np.argmax(self.k > k_at_least)]
        return np.sqrt(column / column[0])


def cubic(x: Float[ndarray, " n"], y: Float[ndarray, "n ..."]) -> BSpline:
    """Return the interpolating cubic spline with not-a-knot ends."""
    return make_interp_spline(x, y, k=3)


def neutrino_density(mnu: float) -> float:
    """Return Ω_ν h² of neutrinos with summed mass ``mnu`` in eV."""
    return mnu * (EFFECTIVE_SPECIES / 3) ** 0.75 / NEUTRINO_MASS


def empty_parameters(camb: Any) -> Any:
    """Return the parameters of CAMB before densities are set, with its old Recfast.

    Version 2 has other constants of recombination by default.
    """
    params = camb.CAMBparams()
    params.set_classes(
        dark_energy_model="fluid",
        recombination_model="Recfast",
        reionization_model="TanhReionization",
    )
    if is_version_2(camb):
        params.Recomb.set_params(recfast_approx_model="planck")
    return params


def relics(camb: Any, mnu: float) -> dict[str, Any]:
    """Return what CAMB needs to know of photons, neutrinos and helium.

    Version 2 computes Ω_ν h² from the masses with a correction that version 1 does not
    have, so it is given Ω_ν h²; and it has a later table of helium by default.
    """
    common = {
        "nnu": EFFECTIVE_SPECIES,
        "TCMB": CMB_TEMPERATURE,
        "bbn_predictor": "PRIMAT_Yp_DH_ErrorMC_2021.dat",
    }
    if is_version_2(camb):
        return {"mnu": None, "omnuh2_active": neutrino_density(mnu), **common}
    return {"mnu": mnu, **common}


def is_version_2(camb: Any) -> bool:
    """Return whether CAMB is of version 2 or later."""
    return int(camb.__version__.partition(".")[0]) >= 2


def extended(
    k: Float[ndarray, " K"], P: Float[ndarray, "Z K"], k_max: float, nodes: int
) -> tuple[Float[ndarray, " L"], Float[ndarray, "Z L"]]:
    """Return a power spectrum continued to ``k_max`` by a power law, per redshift.

    The power law is the least-squares line through the last three nodes of ln P
    against ln k. It has ``nodes`` log-spaced nodes, of which the first is the last of
    ``k`` and is not repeated.
    """
    x, Y = np.log(k[-3:]), np.log(P[:, -3:])
    slope = (Y @ (x - x.mean())) / np.sum((x - x.mean()) ** 2)
    k_more = np.geomspace(k[-1], k_max, nodes)[1:]
    line = Y.mean(axis=1)[:, None] + slope[:, None] * (np.log(k_more) - x.mean())
    return np.concatenate([k, k_more]), np.hstack([P, np.exp(line)])


def interpolators(results: Any, **options: Any) -> tuple[Any, Any, float]:
    """Return CAMB's linear and nonlinear interpolators of P(z, k), and the least k."""
    linear, _, k = results.get_matter_power_interpolator(
        nonlinear=False, return_z_k=True, **options
    )
    nonlinear = results.get_matter_power_interpolator(nonlinear=True, **options)
    return linear, nonlinear, float(k[0])
