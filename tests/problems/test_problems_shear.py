import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import j0

from sumbo.errors import ProblemError
from sumbo.problems import get, kids_1000
from sumbo.problems.shear import cosebis, files, fits, weights
from sumbo.problems.shear.likelihood import gaussian, mock_factor

needs_data = pytest.mark.skipif(
    "SUMBO_DATA" not in os.environ, reason="SUMBO_DATA names no folder of data"
)


def test_the_filters_are_orthogonal_and_separate_modes():
    end = np.log(37.0)
    T = [np.polynomial.Polynomial(c) for c in cosebis.filters(37.0, 3)]
    for n, t in enumerate(T):
        for c in (2, 4):
            integral = quad(lambda z, t=t, c=c: np.exp(c * z) * t(z), 0, end)[0]
            assert abs(integral) < 1e-8 * 37.0**c
        for m, s in enumerate(T[: n + 1]):
            norm = quad(lambda z, t=t, s=s: np.exp(z) * t(z) * s(z), 0, end)[0]
            assert norm == pytest.approx(36.0 * (n == m), abs=1e-7)


def test_the_weights_are_bessel_integrals_of_the_filters():
    lo, hi, ell = 0.003, 0.05, np.array([21.0, 430.0])
    T = np.polynomial.Polynomial(cosebis.filters(hi / lo, 2)[1])
    expected = [
        quad(lambda t, k=k: t * T(np.log(t / lo)) * j0(k * t), lo, hi, limit=400)[0]
        for k in ell
    ]
    actual = cosebis.weights(ell, lo, hi, 2)[1]
    np.testing.assert_allclose(actual, expected, rtol=1e-6)


@pytest.mark.parametrize("degree", [1, 3])
def test_a_shift_moves_the_mean_redshift(degree):
    z = np.linspace(0.0, 3.0, 241)
    n = weights.normalised(z, z**2 * np.exp(-((z / 0.6) ** 2)))
    moved = weights.shifted(z, n, 0.043, degree=degree)
    assert np.trapezoid(z * (moved - n), z) == pytest.approx(0.043, abs=2e-4)


def test_the_likelihood_is_half_the_quadratic_form():
    C = np.array([[2.3, 0.4], [0.4, 1.7]])
    r, d = np.array([0.7, -1.9]), np.array([3.1, 0.2])
    expected = 0.5 * r @ np.linalg.inv(C) @ r
    assert gaussian(d, C).value(d - r) == pytest.approx(expected)
    assert mock_factor(1404, 60) == pytest.approx(1403 / 1342)


def test_bad_files_are_errors(tmp_path, monkeypatch):
    bad = tmp_path / kids_1000.FILE.name
    bad.write_bytes(b"<html>not found</html>")
    with pytest.raises(ProblemError, match="not a FITS file"):
        fits.read(bad)
    with pytest.raises(ProblemError, match="is no file"):
        files.locate(kids_1000.FILE, tmp_path / "absent", problem="kids-1000")
    monkeypatch.setenv("SUMBO_DATA", str(tmp_path))
    with pytest.raises(ProblemError, match="fetch kids-1000"):
        files.locate(kids_1000.FILE, problem="kids-1000")


@needs_data
def test_kids_at_the_start_point():
    value = get("kids-1000")(np.array(kids_1000.START))
    assert value == pytest.approx(47.662942, abs=0.05)


def cases(name):
    text = (Path(__file__).parents[1] / "data" / name).read_text()
    rows = json.loads(text)["cases"]
    return np.array([row["x"] for row in rows]), [-row["loglike"] for row in rows]


@needs_data
@pytest.mark.slow
def test_fast_kids_is_close_to_the_public_pipeline():
    X, values = cases("kids.json")
    expected = np.array(values)
    found = get("kids-1000")(X)
    assert np.all(np.abs(found - expected) <= np.maximum(0.05, 1e-3 * expected))


@needs_data
@pytest.mark.slow
def test_accurate_kids_equals_the_public_pipeline():
    X, expected = cases("kids.json")
    found = get("kids-1000", accuracy="reference")(X)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-3)


@needs_data
@pytest.mark.slow
def test_hsc_equals_the_public_pipeline_on_synthetic_data(tmp_path):
    packed = Path(os.environ["SUMBO_DATA"]) / "hsc_y3_synthetic.sacc.gz"
    if not packed.is_file():
        pytest.skip(f"{packed} is not here")
    path = tmp_path / "synthetic.sacc"
    path.write_bytes(gzip.decompress(packed.read_bytes()))
    X, expected = cases("hsc_synthetic.json")
    found = get("hsc-y3-shear", path=str(path))(X)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
