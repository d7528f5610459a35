"""How well a universe with 7 parameters fits the distances measured by DESI."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sumbo.errors import ArgumentError
from sumbo.problems.base import Problem, load, problem
from sumbo.typing import Float, ndarray

# n_s and tau do not influence distances: 5 of the 7 coordinates are active.
BOX = {
    "h0": (0.6, 0.8),
    "ombh2": (0.02, 0.025),
    "omega_m": (0.01, 0.99),
    "rdh": (10.0, 1000.0),
    "n_s": (0.86, 1.06),
    "omega_k": (-0.3, 0.3),
    "tau": (0.055, 0.0925),
}

# The value where no universe exists: it recollapses, or never was small, or closes
# upon itself before recombination. It is also the ceiling of all other values, of
# which the largest in the box are near 2e8 (default samples) and 1e9 (all samples).
PENALTY = 1e10

# [adame2024] Table 1. D_V/r_d at redshift z, with its error.
ISOTROPIC = {
    "BGS": (0.295, 7.93, 0.15),
    "QSO": (1.491, 26.07, 0.67),
}
# [adame2024] Table 1. z, D_M/r_d and its error, D_H/r_d and its error, correlation.
ANISOTROPIC = {
    "LRG1": (0.51, 13.62, 0.25, 20.98, 0.61, -0.445),
    "LRG2": (0.706, 16.85, 0.32, 20.08, 0.60, -0.420),
    "LRG3+ELG1": (0.93, 21.71, 0.28, 17.88, 0.35, -0.389),
    "ELG2": (1.317, 27.79, 0.69, 13.82, 0.42, -0.444),
    "Lya": (2.33, 39.71, 0.94, 8.52, 0.17, -0.477),
}

SAMPLES = {"default": ("BGS", "LRG1"), "all": (*ISOTROPIC, *ANISOTROPIC)}

# The best points of repeated local searches; valleys of nearly equal value exist.
BEST = {
    "default": (0.5435824, (0.6, 0.02, 0.343934744, 93.543466, 0.97, 0.3, 0.07)),
    "all": (6.036638, (0.6, 0.0222382, 0.2835172, 98.303329, 0.97, 0.06106977, 0.07)),
}

DESCRIPTION = "minus the log-likelihood of the DESI 2024 distances, by CAMB"
CITE = "adame2024"

# CAMB reports errors through a global of its Fortran library.
_camb = threading.Lock()


@dataclass(frozen=True, kw_only=True)
class Distances:
    """Distances to redshifts z in Mpc, and the sound horizon at the drag epoch."""

    z: Float[ndarray, " Z"]
    D_M: Float[ndarray, " Z"]  # transverse comoving distance
    D_H: Float[ndarray, " Z"]  # 1/H(z)
    r_drag: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Desi(Problem):
    """½ rᵀC⁻¹r for the residuals r of the distances, without normalisation.

    Where CAMB finds no universe the value is `PENALTY`. Values span 9 orders of
    magnitude and are returned as they are.
    """

    samples: str

    def evaluate(self, X: Float[ndarray, "n P"]) -> Float[ndarray, " n"]:
        """Return the values of the rows, one CAMB background each."""
        return np.array([self._value(x) for x in X], dtype=float)

    def _value(self, x: Float[ndarray, " P"]) -> float:
        chosen = SAMPLES[self.samples]
        distances = background(x, [_redshift(sample) for sample in chosen])
        if distances is None:
            return PENALTY
        D_V, D_M, D_H = ratios(distances, h0=x[0], rdh=x[3])
        value = 0.5 * sum(
            chi_squared(sample, D_V=D_V[i], D_M=D_M[i], D_H=D_H[i])
            for i, sample in enumerate(chosen)
        )
        # H(z) may come close to zero, next to where no universe exists.
        return min(value, PENALTY) if np.isfinite(value) else PENALTY


def background(x: Float[ndarray, " P"], z: Sequence[float]) -> Distances | None:
    """Return the distances to redshifts z in the universe x; None if there is none.

    Neutrinos are massless, dark energy is a cosmological constant.
    """
    camb = load("camb", name="desi", extra="cosmology")
    h0, ombh2, omega_m, _, _, omega_k, tau = (float(v) for v in x)
    redshifts = np.array(z, dtype=float)
    params = camb.CAMBparams()
    with _camb:
        try:
            params.set_cosmology(
                H0=100 * h0,
                ombh2=ombh2,
                omch2=omega_m * h0**2 - ombh2,
                omk=omega_k,
                mnu=0.0,
                num_massive_neutrinos=0,
                nnu=3.046,
                tau=tau,
            )
            results = camb.get_background(params)
        except camb.CAMBError:
            return None
        return Distances(
            z=redshifts,
            D_M=(1 + redshifts) * results.angular_diameter_distance(redshifts),
            D_H=1 / results.h_of_z(redshifts),
            r_drag=float(results.get_derived_params()["rdrag"]),
        )


def ratios(distances: Distances, *, h0: float, rdh: float) -> Float[ndarray, "3 Z"]:
    """Return D_V, D_M and D_H in units of the sound horizon r_d = rdh/h0.

    The distances are first rescaled from CAMB's sound horizon to r_d and then
    divided by r_d once more, so the ratios scale as rdh⁻². The public CosmoSIS
    module does the same, and the study's values follow from it.
    """
    r_d = rdh / h0
    scale = distances.r_drag / r_d**2
    z, D_M, D_H = distances.z, distances.D_M, distances.D_H
    D_V = np.cbrt(D_M**2 * z * D_H)
    return scale * np.stack([D_V, D_M, D_H])


def chi_squared(sample: str, *, D_V: float, D_M: float, D_H: float) -> float:
    """Return rᵀC⁻¹r of one sample for predicted ratios to the sound horizon."""
    if sample in ISOTROPIC:
        _, mean, error = ISOTROPIC[sample]
        return float(((D_V - mean) / error) ** 2)
    _, mean_M, error_M, mean_H, error_H, rho = ANISOTROPIC[sample]
    u, v = (D_M - mean_M) / error_M, (D_H - mean_H) / error_H
    # The inverse of a 2 by 2 correlation matrix, written out.
    return float((u * u - 2 * rho * u * v + v * v) / (1 - rho * rho))


def _redshift(sample: str) -> float:
    return ISOTROPIC[sample][0] if sample in ISOTROPIC else ANISOTROPIC[sample][0]


@problem(
    "desi",
    dim=7,
    cost="10 ms",
    needs="cosmology",
    modules=("camb",),
    description=DESCRIPTION,
    cite=CITE,
)
def desi(*, samples: str = "default") -> Desi:
    """Return the fit to the distances of [adame2024], computed by CAMB alone.

    ``samples`` are "default" (BGS and LRG1, as in the public CosmoSIS example and in
    the study) or "all" seven. The problem "desi-cosmosis" computes the former through
    CosmoSIS, for comparison.

    Raises:
        ArgumentError: If ``samples`` is neither.
    """
    load("camb", name="desi", extra="cosmology")
    if samples not in tuple(SAMPLES):
        msg = f"samples={samples!r} is unknown. Choose 'default' or 'all'."
        raise ArgumentError(msg)
    best, best_x = BEST[samples]
    return Desi(
        name="desi",
        bounds=np.array(list(BOX.values())),
        parameters=tuple(BOX),
        description=DESCRIPTION,
        cite=CITE,
        best_known=best,
        best_known_x=np.array(best_x),
        samples=samples,
    )
