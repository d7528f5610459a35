"""The parts of the shear problems without data: spectra, alignment, and failures."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad

from sumbo.errors import MissingExtraError, ProblemError
from sumbo.problems import available, get, hsc_y3_shear, kids_1000
from sumbo.problems.shear import (
    alignment,
    files,
    fits,
    limber,
    torque,
    weights,
)
from sumbo.problems.shear.likelihood import PENALTY, gaussian
from sumbo.problems.shear.universe import (
    Universe,
    cubic,
    empty_parameters,
    neutrino_density,
    relics,
)


def universe():
    """Return a universe with a power law as its power spectrum, growing as a."""
    z, k = np.linspace(0.0, 2.1, 43), np.geomspace(2e-4, 90.0, 170)
    P = 310.0 * k**-1.3 * (1 + z[:, None]) ** -2.0
    z_distance = np.linspace(0.0, 2.6, 131)
    return Universe(
        h=0.71,
        omega_m=0.29,
        z_distance=z_distance,
        distance=2950.0 * z_distance / (1 + 0.27 * z_distance),
        z=z,
        k=k,
        linear=P,
        nonlinear=1.4 * P,
    )


def kernel(centre, width):
    x = np.linspace(20.0, 4200.0, 700)
    y = np.exp(-0.5 * ((x - centre) / width) ** 2)
    return weights.RadialWeight(
        spline=cubic(x, y), x=x, y=y, lower=30.0, upper=4000.0, width=width
    )


# ------------------------------------------------------------------ spectra


def test_limber_of_a_power_law_is_a_power_of_ell():
    # For P = k^-1.3 the integral is (ℓ + ½)^-1.3 ∫ A B χ^-0.7 dχ.
    A, B = kernel(1430.0, 210.0), kernel(1710.0, 260.0)
    chi, k = np.linspace(20.0, 4200.0, 60), np.geomspace(1e-4, 300.0, 900)
    P = np.broadcast_to(k**-1.3, (60, 900))
    surface = limber.RectBivariateSpline(chi, np.log(k), P)
    ell = np.array([37.0, 412.0, 2900.0])
    weight = quad(
        lambda x: (
            x**-0.7
            * np.exp(-0.5 * ((x - 1430) / 210) ** 2 - 0.5 * ((x - 1710) / 260) ** 2)
        ),
        30.0,
        4000.0,
        points=[1540.0],
    )[0]
    actual = limber.project(A, B, surface, ell, 50)
    np.testing.assert_allclose(actual, (ell + 0.5) ** -1.3 * weight, rtol=1e-6)


def test_limber_of_weights_that_do_not_overlap_is_zero():
    near, far = kernel(400.0, 20.0), kernel(3300.0, 20.0)
    near = weights.RadialWeight(**{**vars(near), "upper": 700.0})
    far = weights.RadialWeight(**{**vars(far), "lower": 2900.0})
    u = universe()
    surface = limber.surface(u, u.nonlinear)
    assert not limber.project(near, far, surface, np.array([9.0, 130.0]), 20).any()


def test_lensing_by_a_thin_sheet_of_galaxies():
    # W(χ) = χ (1 − χ/χ_s)/a in front of a sheet at χ_s.
    u = universe()
    z = np.linspace(0.0, 2.0, 401)
    sheet = weights.number_density(u, z, np.exp(-0.5 * ((z - 0.93) / 0.02) ** 2))
    source = float(u.chi(0.93))
    chi = np.array([310.0, 870.0, 1390.0])
    expected = chi * (1 - chi / source) / u.scale_factor(chi)
    np.testing.assert_allclose(weights.lensing(u, sheet, 7.0)(chi), expected, rtol=3e-3)


# ------------------------------------------------------------------ alignment


def torquing(**changes):
    values = {"a1": 1.7, "a2": -2.3, "alpha1": -1.1, "alpha2": 0.6, "bias_ta": 0.8}
    return torque.Parameters(**{**values, **changes})


def test_alignment_without_amplitude_is_pure_lensing():
    u = universe()
    aligned = alignment.nonlinear(u, 0.0, -2.7)
    galaxies = [
        weights.number_density(u, u.z, u.z**2 * np.exp(-((u.z / c) ** 2)))
        for c in (0.4, 0.7)
    ]
    lenses = [weights.lensing(u, n, 10.0) for n in galaxies]
    tracers = limber.Tracers(galaxies=galaxies, lenses=lenses)
    ell = np.array([31.0, 590.0])
    C = limber.shear(u, tracers, aligned, ell, 20)
    q = 1.5 * u.omega_m * (100 / 299792.458) ** 2
    surface = limber.surface(u, u.nonlinear)
    pure = q**2 * limber.project(lenses[0], lenses[1], surface, ell, 20)
    np.testing.assert_allclose(C[1], pure, rtol=1e-12)


def test_the_tidal_amplitude_equals_the_published_constant():
    # C₁ρ_crit = 0.0134, [bridle2007]; the growth of this universe is 1/(1 + z).
    u = universe()
    expected = -1.3 * 0.0134 * 0.29 * (1 + u.z) * ((1 + u.z) / 1.62) ** 0.7
    np.testing.assert_allclose(alignment.tidal(u, 1.3, 0.7), expected, rtol=0.05)


def test_torquing_without_its_terms_is_tidal_alignment():
    pytest.importorskip("fastpt")
    u = universe()
    p = torquing(a2=0.0, bias_ta=0.0)
    actual = torque.tatt(u, p, problem="hsc-y3-shear")
    expected = alignment.nonlinear(u, p.a1, p.alpha1)
    np.testing.assert_allclose(actual.GI, expected.GI, rtol=1e-13)
    np.testing.assert_allclose(actual.II, expected.II, rtol=1e-13)


def test_torquing_is_quadratic_in_its_amplitude():
    pytest.importorskip("fastpt")
    u = universe()
    II = [
        torque.tatt(u, torquing(a1=0.0, a2=a2), problem="hsc-y3-shear").II
        for a2 in (1.1, -2.2)
    ]
    np.testing.assert_allclose(II[1], 4 * II[0], rtol=1e-12)
    assert (II[0] > 0).all()


# ------------------------------------------------------------------ data and failures


def test_a_covariance_must_be_positive_definite():
    C = np.array([[1.0, 1.7], [1.7, 2.0]])
    with pytest.raises(ProblemError, match="not positive definite"):
        gaussian(np.array([0.3, 0.1]), C)


def card(key, value):
    return f"{key:8s}= {value:>20}".ljust(80)


def fits_file(rows):
    """Return a FITS file with an empty unit and a table of a z and a density."""
    header = [
        *(card("XTENSION", "'BINTABLE'"), card("BITPIX", 8), card("NAXIS", 2)),
        *(card("NAXIS1", 16), card("NAXIS2", len(rows)), card("PCOUNT", 0)),
        *(card("GCOUNT", 1), card("TFIELDS", 2), card("EXTNAME", "'nz'")),
        *(card("TTYPE1", "'Z_MID'"), card("TFORM1", "'1D'")),
        *(card("TTYPE2", "'BIN1'"), card("TFORM2", "'1D'"), "END".ljust(80)),
    ]
    empty = [card("SIMPLE", "T"), card("BITPIX", 8), card("NAXIS", 0), "END".ljust(80)]
    blocks = ["".join(unit).ljust(2880).encode() for unit in (empty, header)]
    raw = np.array(rows, dtype=">f8").tobytes()
    return b"".join(blocks) + raw.ljust(2880, b"\0")


def test_a_table_is_read_and_another_file_is_not(tmp_path):
    path = tmp_path / "foreign.fits"
    path.write_bytes(fits_file([[0.1, 2.5], [0.3, -1.25]]))
    table = fits.named(fits.read(path), "nz", path).data
    np.testing.assert_array_equal(table["BIN1"], [2.5, -1.25])
    with pytest.raises(ProblemError, match="nz_source_kids"):
        kids_1000.read(path)
    with pytest.raises(ProblemError, match="no table of cl_ee"):
        hsc_y3_shear.read(path, path, path)


def test_a_truncated_file_is_an_error(tmp_path):
    path = tmp_path / "short.fits"
    path.write_bytes(fits_file([[0.1, 2.5], [0.3, -1.25]])[: 2 * 2880 + 19])
    with pytest.raises(ProblemError, match=r"short\.fits"):
        fits.read(path)


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """Make the cache an empty folder, and name no other."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("SUMBO_DATA", raising=False)
    return tmp_path


FILE = files.DataFile(name="a.fits", url="http://127.0.0.1:9/", digest="sha256:00")


def test_without_a_network_the_error_says_what_to_do(nowhere):
    pytest.importorskip("pooch")
    with pytest.raises(ProblemError, match=r"Without a network, copy.*SUMBO_DATA"):
        files.locate(FILE, problem="kids-1000")
    assert not list(nowhere.rglob("a.fits*"))


def test_a_download_of_another_file_does_not_count(nowhere, monkeypatch):
    pooch = pytest.importorskip("pooch")

    def retrieve(url, known_hash, fname, path, progressbar):
        path.mkdir(parents=True)
        (path / fname).write_bytes(b"<html>moved</html>")
        return str(path / fname)

    monkeypatch.setattr(pooch, "retrieve", retrieve)
    with pytest.raises(ProblemError, match="is another file"):
        files.locate(FILE, problem="kids-1000")
    assert not list(nowhere.rglob("a.fits*"))


def test_a_file_is_recognised_by_the_blob_id_of_git(tmp_path):
    path = tmp_path / "hello"
    path.write_bytes(b"hello world\n")  # its id is in the book of git
    blob = "git:3b18e512dba79e4c8300dd08aeb37f8e728b8dad"
    assert files.matches(files.DataFile(name="hello", url="", digest=blob), path)
    path.write_bytes(b"hello world")
    assert not files.matches(files.DataFile(name="hello", url="", digest=blob), path)


@pytest.mark.parametrize("name", ["kids-1000", "hsc-y3-shear"])
def test_without_camb_the_extra_is_named(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "camb", None)
    with pytest.raises(MissingExtraError, match=r"sumbo\[cosmology\]"):
        get(name)


@pytest.mark.skipif(not available("desi")[0], reason="camb is not installed")
def test_where_camb_fails_the_value_is_the_penalty(monkeypatch):
    import camb

    def fail(params):
        msg = "no convergence"
        raise camb.CAMBError(msg)

    monkeypatch.setattr(camb, "get_results", fail)
    assert small_survey()(np.array(kids_1000.START)) == PENALTY


@pytest.mark.skipif(not available("desi")[0], reason="camb is not installed")
def test_every_version_of_camb_has_the_same_neutrinos_and_helium():
    import camb

    params = empty_parameters(camb)
    params.set_cosmology(
        H0=71.3,
        ombh2=0.0223,
        omch2=0.113,
        neutrino_hierarchy="normal",
        **relics(camb, 0.37),
    )
    assert params.omnuh2 == pytest.approx(neutrino_density(0.37), rel=1e-9)
    # What camb 1.6.6 has; the defaults of 2.0.5 are 0.24563, 0.8472 and −0.1395.
    assert params.YHe == pytest.approx(0.24582560005, rel=1e-9)
    assert params.Recomb.RECFAST_fudge_He == 0.86
    assert params.Recomb.AGauss1 == -0.14


def small_survey():
    """Return kids-1000 with other galaxies, and data that are all zero."""
    z = np.linspace(0.0, 1.9, 60)
    return kids_1000.Kids(
        name="kids-1000",
        bounds=np.array(list(kids_1000.BOX.values())),
        parameters=tuple(kids_1000.BOX),
        description="a small survey",
        cite="asgari2021",
        accuracy="fast",
        survey=kids_1000.KidsSurvey(
            z=z,
            density=np.array([z**2 * np.exp(-z / s) for s in np.linspace(0.1, 0.3, 5)]),
            measured=gaussian(np.zeros(75), 1e-20 * np.eye(75)),
        ),
    )


@pytest.mark.skipif(not available("desi")[0], reason="camb is not installed")
def test_points_of_one_cosmology_share_one_universe(monkeypatch):
    made = []

    def cheap(p, accuracy):
        # It depends on all that enters CAMB, so that a wrong one is noticed.
        made.append([p[name] for name in kids_1000.Kids.cosmology])
        base = universe()
        P = base.nonlinear * (1 + np.dot(made[-1], [0.1, 1, 7, 0.3, 0.2, 0.5, 2]))
        return replace(base, nonlinear=P)

    monkeypatch.setattr(kids_1000, "universe_of", cheap)
    monkeypatch.setattr(kids_1000, "LIMBER_STEPS", 2)
    problem = small_survey()
    X = np.tile(kids_1000.START, (3, 1))
    X[2, :7] += [0.3, -0.2, 0.1, 0.4, -0.6, 0.8, 1.3]  # the universe of the first row
    X[1, 9] -= 0.001  # another one
    values = problem(X)
    assert len(made) == 2
    assert len(set(values)) == 3
    assert values.tolist() == [problem(x) for x in X]
