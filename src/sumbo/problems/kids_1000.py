"""How well a universe with 14 parameters fits the cosmic shear of KiDS-1000.

The model follows the public CosmoSIS pipeline of the survey [asgari2021]: the matter
power spectrum of CAMB with baryonic feedback, correlated shifts of the redshift
distributions, intrinsic alignment, the Limber approximation, and COSEBIs.
"""

from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from sumbo.errors import ProblemError
from sumbo.problems.base import load, problem
from sumbo.problems.shear import alignment, fits, limber, weights
from sumbo.problems.shear.files import DataFile, locate, status
from sumbo.problems.shear.likelihood import Gaussian, gaussian
from sumbo.problems.shear.problem import ByName, Shear
from sumbo.problems.shear.universe import (
    Universe,
    camb_lock,
    empty_parameters,
    extended,
    interpolators,
    neutrino_density,
    relics,
)
from sumbo.registry import require_one_of
from sumbo.typing import Float, ndarray

BOX = {
    **{f"uncorr_bias_{i}": (-5.0, 5.0) for i in range(1, 6)},
    "a1": (-5.0, 5.0),
    "alpha1": (-5.0, 5.0),
    "logt_agn": (7.3, 8.0),
    "omch2": (0.051, 0.255),
    "ombh2": (0.019, 0.026),
    "h0": (0.64, 0.82),
    "n_s": (0.84, 1.1),
    "s_8": (0.1, 1.3),
    "mnu": (0.055, 0.6),
}

# The start point of the public pipeline, which is not the centre of the box.
START = (
    *(0.0, -0.181, -1.110, -1.395, 1.265, 0.0, 0.0, 7.8, 0.11812972217650827),
    *(0.025939374402978773, 0.7666550530735352, 0.9007697522848085),
    *(0.7567464875805479, 0.07740741),
)

# Covariance of the mean redshifts of the five bins, in 1e-6: the upper triangle.
SHIFTS = (
    *(112.01, 25.999, 15.616, 0.55821, 6.2218),
    *(127.80, 40.808, -16.917, -2.1404),
    *(138.08, -11.392, 5.2503),
    *(75.510, 30.536),
    *(94.960,),
)

TAU = 0.0697186  # optical depth, fixed by the pipeline
PROVISIONAL_AMPLITUDE = 2.1e-9  # A_s of the first run, before σ₈ is adjusted
K_MAX = 500.0  # h/Mpc, where the power law ends
ELL = np.geomspace(0.1, 5e5, 100)
LENSING_STEP = 10.0  # Mpc/h
LIMBER_STEPS = 20  # per standard deviation of a kernel
MODES = 5


@dataclass(frozen=True, kw_only=True)
class Accuracy:
    """How finely CAMB samples the power spectrum."""

    k_max: float  # 1/Mpc
    below_2: int  # redshifts in [0, 2)
    above_2: int  # redshifts in [2, 6]

    @property
    def redshifts(self) -> Float[ndarray, " Z"]:
        """The redshifts, ascending."""
        low = np.linspace(0.0, 2.0, self.below_2, endpoint=False)
        return np.concatenate([low, np.linspace(2.0, 6.0, self.above_2)])


ACCURACY = {
    "fast": Accuracy(k_max=10.0, below_2=30, above_2=10),
    "reference": Accuracy(k_max=100.0, below_2=100, above_2=50),
}

FILE = DataFile(
    name="DES-Y3_xipm_and_KiDS-1000_COSEBIs_2.0_300.0.fits",
    url="https://raw.githubusercontent.com/joezuntz/cosmosis-standard-library/"
    "e6eccf19d1668a7f01aca326bef8ddcca242719c/likelihood/des-y3_and_kids-1000/",
    digest="sha256:4c901ab8b8e7e39e5602704f2b6f6ce6a1297c8fb7642421851479831f257d55",
    size=1_897_920,
)

DESCRIPTION = "minus the log-likelihood of KiDS-1000 cosmic shear, by CAMB"
CITE = "asgari2021"


@dataclass(frozen=True, kw_only=True, eq=False)
class KidsSurvey:
    """What the data file holds: redshift distributions and the measured COSEBIs."""

    z: Float[ndarray, " n"]
    density: Float[ndarray, "5 n"]  # normalised
    measured: Gaussian


@dataclass(frozen=True, kw_only=True, eq=False)
class Kids(Shear):
    """½ rᵀC⁻¹r for the residuals r of the COSEBIs; priors are flat in the box.

    Where CAMB fails the value is `PENALTY`.
    """

    accuracy: str
    survey: KidsSurvey

    cosmology: ClassVar[tuple[str, ...]] = tuple(BOX)[7:]

    def universe(self, p: ByName) -> Universe:
        """Return what CAMB computes."""
        return universe_of(p, ACCURACY[self.accuracy])

    def predict(self, universe: Universe, p: ByName) -> Float[ndarray, " 75"]:
        """Return the COSEBIs E_1 … E_5 of the 15 pairs of bins."""
        tracers = tracers_of(universe, self.survey, list(p.values())[:5])
        aligned = alignment.nonlinear(universe, p["a1"], p["alpha1"])
        C = limber.shear(universe, tracers, aligned, ELL, LIMBER_STEPS)
        return (C @ cosebis_matrix().T).ravel()


def universe_of(p: ByName, accuracy: Accuracy) -> Universe:
    """Return the universe with the parameters p, with σ₈ = s_8/√(Ω_m/0.3).

    The pipeline passes through the angle of the sound horizon: h0 with degenerate
    neutrino masses gives the angle, and the angle with the normal hierarchy gives the
    Hubble constant and Ω_m that are used, which differ a little.
    """
    camb = load("camb", name="kids-1000", extra="cosmology")
    densities = p["omch2"] + p["ombh2"] + neutrino_density(p["mnu"])
    sigma8 = p["s_8"] / np.sqrt(densities / p["h0"] ** 2 / 0.3)
    common = {
        "ombh2": p["ombh2"],
        "omch2": p["omch2"],
        "omk": 0.0,
        **relics(camb, p["mnu"]),
    }
    with camb_lock:
        angle = camb.CAMBparams()
        angle.set_cosmology(H0=100 * p["h0"], num_massive_neutrinos=1, **common)
        theta = camb.get_background(angle).cosmomc_theta()
        params = _parameters(camb, p, accuracy)
        params.set_cosmology(
            H0=None,
            cosmomc_theta=theta,
            neutrino_hierarchy="normal",
            tau=TAU,
            **common,
        )
        results = camb.get_results(params)
        amplitude = PROVISIONAL_AMPLITUDE * (sigma8 / results.get_sigma8_0()) ** 2
        params.InitPower.set_params(As=amplitude, ns=p["n_s"])
        results.power_spectra_from_transfer(params.InitPower, silent=True)
        return _universe(results, accuracy)


def _parameters(camb: Any, p: ByName, accuracy: Accuracy) -> Any:
    """Return what CAMB is to compute, apart from the densities."""
    params = empty_parameters(camb)
    params.InitPower.set_params(As=PROVISIONAL_AMPLITUDE, ns=p["n_s"])
    params.NonLinearModel.set_params(
        halofit_version="mead2020_feedback", HMCode_logT_AGN=p["logt_agn"]
    )
    # The angular spectra are not used, but they decide where CAMB places its
    # wavenumbers, and without them the likelihood differs.
    params.WantCls = True
    params.WantTransfer = True
    params.DoLensing = False  # first, because set_for_lmax adds a margin for lensing
    # With the default of version 2, which serves lensing, it would take twice as long.
    params.set_for_lmax(2500, lens_potential_accuracy=0)
    params.set_matter_power(
        redshifts=accuracy.redshifts, kmax=accuracy.k_max, silent=True
    )
    params.NonLinear = camb.model.NonLinear_both
    return params


def _universe(results: Any, accuracy: Accuracy) -> Universe:
    h = results.Params.H0 / 100
    linear, nonlinear, k_min = interpolators(results)
    z, k = accuracy.redshifts, np.geomspace(k_min, accuracy.k_max, 200)
    _, P_linear = extended(k, linear.P(z, k), K_MAX, 200)
    k, P_nonlinear = extended(k, nonlinear.P(z, k), K_MAX, 200)
    z_distance = np.linspace(0.0, 6.0, 150)
    return Universe(
        h=h,
        omega_m=results.Params.omegam,
        z_distance=z_distance,
        distance=h * results.comoving_radial_distance(z_distance),
        z=z,
        k=k,
        linear=P_linear,
        nonlinear=P_nonlinear,
    )


def tracers_of(
    universe: Universe, survey: KidsSurvey, u: list[float]
) -> limber.Tracers:
    """Return the weights of the bins, shifted by L u with the covariance L Lᵀ."""
    shifts = np.linalg.cholesky(shift_covariance()) @ np.array(u)
    z = survey.z
    galaxies = [
        weights.number_density(universe, z, weights.shifted(z, n, dz, degree=3))
        for n, dz in zip(survey.density, shifts.tolist(), strict=True)
    ]
    lenses = [weights.lensing(universe, n, LENSING_STEP) for n in galaxies]
    return limber.Tracers(galaxies=galaxies, lenses=lenses)


def shift_covariance() -> Float[ndarray, "5 5"]:
    """Return the covariance of the shifts of the five redshift distributions."""
    C = np.zeros((5, 5))
    C[np.triu_indices(5)] = SHIFTS
    return 1e-6 * (C + np.triu(C, 1).T)


@cache
def cosebis_matrix() -> Float[ndarray, "5 100"]:
    """Return the matrix from spectra at `ELL` to COSEBIs of 2 to 300 arcminutes.

    The file holds `cosebis.matrix` for ℓ from 1 to 1e4/θ_max, which takes 7 s to
    compute.
    """
    text = files("sumbo.problems.shear").joinpath("kids_cosebis.csv").read_text("utf-8")
    return np.loadtxt(text.splitlines(), delimiter=",").T.copy()


def read(path: Path) -> KidsSurvey:
    """Return the data of the survey from its FITS file.

    Raises:
        ProblemError: If the file is damaged or not the right one.
    """
    units = fits.read(path)
    table = fits.named(units, "nz_source_kids", path).data
    measured = fits.named(units, "En", path).data
    covariance = fits.named(units, "COVMAT", path)
    try:
        z = np.concatenate([[0.0], table["Z_MID"]]).astype(float)
        columns = [table[f"BIN{i}"].astype(float) for i in range(1, 6)]
        data = measured["VALUE"].astype(float)
        first = int(covariance.header["STRT_2"])
    except (KeyError, ValueError) as error:
        msg = f"{path} lacks {error}. It is another file than kids-1000 needs."
        raise ProblemError(msg) from error
    part = slice(first, first + len(data))
    density = [weights.normalised(z, np.concatenate([[0.0], n])) for n in columns]
    return KidsSurvey(
        z=z,
        density=np.array(density),
        measured=gaussian(data, covariance.data[part, part].astype(float)),
    )


@problem(
    "kids-1000",
    dim=len(BOX),
    cost="4 s",
    needs="cosmology",
    modules=("camb",),
    description=DESCRIPTION,
    cite=CITE,
    check=partial(status, (FILE,), "kids-1000"),
    data=(FILE,),
)
def kids_1000(*, accuracy: str = "fast", path: str | None = None) -> Kids:
    """Return the fit to the cosmic shear of [asgari2021], computed by CAMB.

    ``accuracy`` is "fast", or "reference" for the settings of the public pipeline at
    three times the cost. ``path`` is the data file; by default it is looked for in
    the folder ``SUMBO_DATA`` and in the user's cache, and downloaded otherwise.
    """
    load("camb", name="kids-1000", extra="cosmology")
    require_one_of("accuracy", accuracy, ACCURACY)
    return Kids(
        name="kids-1000",
        bounds=np.array(list(BOX.values())),
        parameters=tuple(BOX),
        description=DESCRIPTION,
        cite=CITE,
        accuracy=accuracy,
        survey=read(locate(FILE, path, problem="kids-1000")),
    )
