"""How well a universe with 25 parameters fits the cosmic shear of HSC Year 3.

The model follows the public CosmoSIS pipeline of the survey [dalal2023]: band powers
of the shear with tidal alignment and torquing, shifts of the redshift distributions,
multiplicative shear biases, and leakage of the point spread function (PSF).
"""

import zipfile
from dataclasses import dataclass
from functools import partial
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from sumbo.errors import ProblemError
from sumbo.problems.base import load, problem
from sumbo.problems.shear import fits, limber, torque, weights
from sumbo.problems.shear.files import DataFile, locate, status
from sumbo.problems.shear.likelihood import Gaussian, gaussian, mock_factor
from sumbo.problems.shear.problem import ByName, Shear
from sumbo.problems.shear.universe import (
    LIGHT_SPEED,
    Universe,
    camb_lock,
    empty_parameters,
    interpolators,
    neutrino_density,
    relics,
)
from sumbo.typing import Float, Int, ndarray

BOX = {
    "a_s": (0.5e-9, 10e-9),
    "omega_m": (0.1, 0.7),
    "n_s": (0.87, 1.07),
    "h0": (0.62, 0.8),
    "ombh2": (0.02, 0.025),
    "omega_k": (-0.3, 0.3),
    "tau": (0.055, 0.0925),
    "a": (2.0, 3.13),
    "a1": (-6.0, 6.0),
    "a2": (-6.0, 6.0),
    "alpha1": (-6.0, 6.0),
    "alpha2": (-6.0, 6.0),
    "bias_ta": (0.0, 2.0),
    **{f"bias_{i}": (-1.0, 1.0) for i in range(1, 5)},
    **{f"m{i}": (-0.1, 0.1) for i in range(1, 5)},
    **{f"psf_{n}": (-5.0, 5.0) for n in ("alpha2", "beta2", "alpha4", "beta4")},
}

# The start point of the public pipeline.
START = (
    *(2.18e-9, 0.25, 0.97, 0.68, 0.0232, 0.0, 0.0851, 2.2, 0.8, -0.9, -4.7, -4.0),
    *(0.05, 0.0, 0.0, 0.07, 0.15, *(0.0,) * 8),
)

BINS = 4
MNU = 0.06  # eV
MOCKS = 1404  # from which the covariance was estimated
CUTS = (300.0, 1800.0)  # the ℓ of the band powers that are used
K_MAX = 500.0  # h/Mpc, to which CAMB extrapolates
Z_POWER = np.linspace(0.0, 3.01, 150)
Z_DISTANCE = np.linspace(0.0, 4.0, 401)
ELL = np.geomspace(0.1, 15500.0, 200)
LENSING_STEP = 5.0  # Mpc/h
LIMBER_STEPS = 50  # per standard deviation of a kernel

_LIBRARY = (
    "https://raw.githubusercontent.com/joezuntz/cosmosis-standard-library/"
    "e6eccf19d1668a7f01aca326bef8ddcca242719c/likelihood/hsc_cosmic_shear/"
)
FILES = (
    DataFile(
        name="hsc_y3_fourier_shear.sacc",
        url=_LIBRARY,
        digest="git:ba4ae66c157154bf9d0fe4958ae1764a17943b4a",
    ),
    DataFile(
        name="ppcorr_psf_all_ells_lmax_1800_catalog2.npz",
        url=_LIBRARY,
        digest="sha256:e0b24189ca8ce061081229b6bddf7bd4871b15f1be53f1a9058e92b3f4004a81",
    ),
    DataFile(
        name="psf_transform_matrix_lmax_1800_catalog2.npz",
        url=_LIBRARY,
        digest="sha256:99012bbb1f9833c8ca4e3ad1f4558dca50412a8a61d6ca07088e92b43e73c60a",
    ),
)

DESCRIPTION = "minus the log-likelihood of HSC Year 3 cosmic shear, by CAMB"
CITE = "dalal2023"


@dataclass(frozen=True, kw_only=True, eq=False)
class HscSurvey:
    """What the data files hold, after the cuts in ℓ."""

    z: Float[ndarray, " n"]
    density: Float[ndarray, "4 n"]
    pairs: Int[ndarray, " d"]  # of every value: which pair of bins i ≤ j
    bands: Int[ndarray, " d"]  # and which band power
    ell: Float[ndarray, " w"]  # of the windows, integers
    windows: Float[ndarray, "d w"]  # of every value, with sum one
    psf: Float[ndarray, "4 4 b"]  # spectra of the PSF shapes
    transform: Float[ndarray, "4 4"]
    offset: Float[ndarray, " 4"]
    measured: Gaussian


@dataclass(frozen=True, kw_only=True, eq=False)
class Hsc(Shear):
    """½ rᵀC⁻¹r for the residuals r of the band powers; priors are flat in the box.

    Where CAMB fails the value is `PENALTY`.
    """

    survey: HscSurvey

    cosmology: ClassVar[tuple[str, ...]] = tuple(BOX)[:8]

    def universe(self, p: ByName) -> Universe:
        """Return what CAMB computes."""
        return universe_of(p)

    def predict(self, universe: Universe, p: ByName) -> Float[ndarray, " d"]:
        """Return the band powers that are compared with the data."""
        return predict(self.survey, universe, p)


def predict(survey: HscSurvey, universe: Universe, p: ByName) -> Float[ndarray, " d"]:
    """Return the band powers of a survey for parameters p."""
    galaxies = [
        weights.number_density(
            universe,
            survey.z,
            weights.shifted(survey.z, n, p[f"bias_{i}"], degree=1),
        )
        for i, n in enumerate(survey.density, 1)
    ]
    lenses = [weights.lensing(universe, n, LENSING_STEP) for n in galaxies]
    amplitudes = torque.Parameters(
        a1=p["a1"],
        a2=p["a2"],
        alpha1=p["alpha1"],
        alpha2=p["alpha2"],
        bias_ta=p["bias_ta"],
    )
    aligned = torque.tatt(universe, amplitudes, problem="hsc-y3-shear")
    tracers = limber.Tracers(galaxies=galaxies, lenses=lenses)
    C = limber.shear(universe, tracers, aligned, ELL, LIMBER_STEPS)
    m = [1 + p[f"m{i}"] for i in range(1, BINS + 1)]
    bias = [a * b for a, b in combinations_with_replacement(m, 2)]
    fine = [
        torque.resampled(ELL, b * c, survey.ell) for b, c in zip(bias, C, strict=True)
    ]
    bands = np.einsum("dw,dw->d", survey.windows, np.array(fine)[survey.pairs])
    return bands + leakage(survey, p)[survey.bands]


def leakage(survey: HscSurvey, p: ByName) -> Float[ndarray, " b"]:
    """Return what the point spread function adds to every band power."""
    names = ("psf_alpha2", "psf_beta2", "psf_alpha4", "psf_beta4")
    free = np.array([p[name] for name in names])
    a = np.linalg.inv(survey.transform) @ free + survey.offset
    return np.einsum("a,b,abl->l", a, a, survey.psf)


def universe_of(p: ByName) -> Universe:
    """Return the universe with the parameters p."""
    camb = load("camb", name="hsc-y3-shear", extra="cosmology")
    with camb_lock:
        params = empty_parameters(camb)
        params.set_cosmology(
            H0=100 * p["h0"],
            ombh2=p["ombh2"],
            omch2=p["omega_m"] * p["h0"] ** 2 - p["ombh2"] - neutrino_density(MNU),
            omk=p["omega_k"],
            neutrino_hierarchy="normal",
            tau=p["tau"],
            **relics(camb, MNU),
        )
        params.InitPower.set_params(As=p["a_s"], ns=p["n_s"])
        params.NonLinearModel.set_params(
            halofit_version="mead2016",
            HMCode_A_baryon=p["a"],
            HMCode_eta_baryon=0.98 - 0.12 * p["a"],
        )
        params.WantCls = False
        params.DoLensing = False
        params.set_for_lmax(2600, lens_potential_accuracy=0)
        params.set_matter_power(redshifts=Z_POWER, kmax=50.0, silent=True)
        params.NonLinear = camb.model.NonLinear_both
        return _universe(camb.get_results(params), p)


def _universe(results: Any, p: ByName) -> Universe:
    linear, nonlinear, k_min = interpolators(results, extrap_kmax=K_MAX)
    k = np.geomspace(k_min, K_MAX, 500)
    h = results.Params.H0 / 100
    radial = h * results.comoving_radial_distance(Z_DISTANCE)
    # The pipeline stores logarithms, and rounding at the ends decides which nodes lie
    # inside the range of an interpolation.
    return Universe(
        h=h,
        omega_m=results.Params.omegam,
        z_distance=Z_DISTANCE,
        distance=transverse(radial, p["omega_k"]),
        z=Z_POWER,
        k=np.exp(np.log(k)),
        linear=np.exp(np.log(linear.P(Z_POWER, k))),
        nonlinear=np.exp(np.log(nonlinear.P(Z_POWER, k))),
    )


def transverse(radial: Float[ndarray, " n"], omega_k: float) -> Float[ndarray, " n"]:
    """Return transverse distances for radial ones, in Mpc/h."""
    if omega_k == 0:
        return radial
    curvature = np.sqrt(abs(omega_k)) * 100 / LIGHT_SPEED
    bend = np.sinh if omega_k > 0 else np.sin
    return bend(curvature * radial) / curvature


def read(path: Path, psf: Path, transform: Path) -> HscSurvey:
    """Return the data of the survey: SACC file and two files of the PSF.

    Raises:
        ProblemError: If a file is damaged or not the right one.
    """
    units = fits.read(path)
    table = next((u for u in units if u.header.get("SACCNAME") == "cl_ee"), None)
    if table is None:
        msg = f"{path} has no table of cl_ee. Pass the shear spectra of HSC Year 3."
        raise ProblemError(msg)
    try:
        shape, turn = np.load(psf), np.load(transform)
        return _survey(path, units, table.data, shape["arr_1"], turn)
    except (KeyError, ValueError, OSError, zipfile.BadZipFile) as error:
        msg = (
            f"{path}, {psf.name} or {transform.name} is damaged ({error}). Remove it "
            "and run `sumbo problems fetch hsc-y3-shear`."
        )
        raise ProblemError(msg) from error


def _survey(
    path: Path, units: tuple[fits.Unit, ...], table: ndarray, psf: ndarray, turn: Any
) -> HscSurvey:
    tracers = [fits.named(units, f"tracer:NZ:wl_{i}", path).data for i in range(BINS)]
    table = table[np.argsort(table["sacc_ordering"], kind="stable")]
    kept = (table["ell"] >= CUTS[0]) & (table["ell"] <= CUTS[1])
    used = table[kept]
    order = {
        pair: i for i, pair in enumerate(combinations_with_replacement(range(BINS), 2))
    }
    bins = [
        sorted(
            int(row[c].decode().removeprefix("wl_")) for c in ("tracer_0", "tracer_1")
        )
        for row in used
    ]
    windows = {
        u.header["SACCNAME"]: u.data
        for u in units
        if "window" in u.header.get("SACCTYPE", "")
    }
    chosen = [windows[str(row["window"])] for row in used]
    columns = [
        w["weight"][:, row["window_ind"]] for w, row in zip(chosen, used, strict=True)
    ]
    covariance = fits.named(units, "covariance:full:cov", path).data["row"]
    size = len(used)
    part = covariance[np.ix_(kept, kept)].astype(float)
    weights = np.array(columns, dtype=float)
    return HscSurvey(
        z=tracers[0]["z"].astype(float),
        density=np.array([t["nz"].astype(float) for t in tracers]),
        pairs=np.array([order[a, b] for a, b in bins]),
        bands=used["window_ind"].astype(int),
        ell=chosen[0]["values"].astype(float),
        windows=weights / weights.sum(axis=1, keepdims=True),
        psf=psf.astype(float),
        transform=turn["arr_0"].astype(float),
        offset=turn["arr_1"].astype(float),
        measured=gaussian(used["value"].astype(float), part * mock_factor(MOCKS, size)),
    )


@problem(
    "hsc-y3-shear",
    dim=len(BOX),
    cost="6 s",
    needs="cosmology",
    modules=("camb", "fastpt"),
    description=DESCRIPTION,
    cite=CITE,
    check=partial(status, FILES, "hsc-y3-shear"),
    data=FILES,
)
def hsc_y3_shear(*, path: str | None = None) -> Hsc:
    """Return the fit to the cosmic shear of [dalal2023], computed by CAMB.

    ``path`` is the SACC file; by default it is looked for in the folder ``SUMBO_DATA``
    and in the user's cache, and downloaded otherwise.
    """
    for module in ("camb", "fastpt"):
        load(module, name="hsc-y3-shear", extra="cosmology")
    spectra, psf, transform = FILES
    return Hsc(
        name="hsc-y3-shear",
        bounds=np.array(list(BOX.values())),
        parameters=tuple(BOX),
        description=DESCRIPTION,
        cite=CITE,
        survey=read(
            locate(spectra, path, problem="hsc-y3-shear"),
            locate(psf, problem="hsc-y3-shear"),
            locate(transform, problem="hsc-y3-shear"),
        ),
    )
