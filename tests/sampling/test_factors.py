"""The factor of one part's prior at its candidates and at the data, in blocks."""

from typing import ClassVar

import numpy as np
import pytest

import irregular
import reference
from sumbo.errors import NotPositiveDefiniteError
from sumbo.kernels import GroupKernel
from sumbo.sampling.factors import PartFactor


def factors_of(s, grown=0):
    """Return the factors of all parts, the last ``grown`` rows appended one by one."""
    out = []
    for (kernel, Xm), Zm in zip(s.post.groups(), s.Z, strict=True):
        base = len(Xm) - grown
        factor = PartFactor.of(kernel, Zm, Xm[:base])
        for row in Xm[base:]:
            factor = factor.appended(row[None])
        out.append(factor)
    return out


def dense(factor):
    """Return the blocks as one lower triangle; above the diagonal they hold rubbish."""
    upper = np.zeros(factor.R.T.shape)
    return np.block([[np.tril(factor.L), upper], [factor.R, np.tril(factor.S)]])


@pytest.mark.parametrize("grown", [0, 3])
@pytest.mark.parametrize("kernel", irregular.KERNELS)
def test_the_blocks_are_the_cholesky_factor_of_the_prior(kernel, grown, rng):
    s = irregular.random_setting(rng, M=3, kernel=kernel, noise=1e-2)
    parts = reference.project(s.gp, s.X)
    A = [np.vstack([z, x]) for z, x in zip(s.Z, parts, strict=True)]
    grams = reference.part_grams(s.gp, A, A)
    for factor, K in zip(factors_of(s, grown), grams, strict=True):
        L = dense(factor)
        np.testing.assert_allclose(
            L @ L.T, K + factor.jitter * np.eye(len(K)), rtol=0, atol=1e-11
        )
        B = len(factor.Z)
        np.testing.assert_allclose(factor.K_ZX, K[:B, B:], rtol=1e-12)


@pytest.mark.parametrize("grown", [0, 1, 3])
def test_a_draw_is_the_factor_times_white_noise(grown, rng):
    s = irregular.random_setting(rng, M=2, kernel="matern32", noise=1e-2)
    for factor in factors_of(s, grown):
        L = dense(factor)
        xi = rng.standard_normal((len(L), 3))
        np.testing.assert_allclose(np.vstack(factor.draw(xi)), L @ xi, rtol=1e-9)


@pytest.mark.parametrize("grown", [0, 1, 3])
def test_coefficients_solve_for_the_draw(grown, rng):
    s = irregular.random_setting(rng, M=2, kernel="matern32", noise=1e-2)
    for factor in factors_of(s, grown):
        L = dense(factor)
        xi = rng.standard_normal((len(L), 3))
        solved = L @ (L.T @ factor.coefficients(xi))
        np.testing.assert_allclose(solved, L @ xi, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kernel", irregular.KERNELS)
def test_an_observation_at_a_candidate_has_the_candidates_value(kernel, rng):
    # The two differ by the square root of the jitter, 1e-5 of the deviation.
    s = irregular.random_setting(rng, M=2, kernel=kernel, noise=1e-2)
    for factor, Zm in zip(factors_of(s), s.Z, strict=True):
        for longer in (
            factor.appended(Zm[:1]),
            PartFactor.of(factor.kernel, Zm, np.vstack([factor.X, Zm[:1]])),
        ):
            xi = rng.standard_normal((len(Zm) + len(longer.X), 4))
            f_Z, f_X = longer.draw(xi)
            np.testing.assert_allclose(f_X[-1], f_Z[0], rtol=0, atol=1e-3)


def test_a_correlation_that_is_no_kernel_is_an_error_with_a_remedy(rng):
    class Impossible:
        """Correlations of −0.9 between all points."""

        name: ClassVar[str] = "impossible"

        def correlation(self, s):
            return np.where(s > 0, -0.9, 1.0)

        def correlation_and_weight(self, s):
            return self.correlation(s), np.zeros_like(s)

        def spectral(self, rng, n, d):
            return rng.standard_normal((n, d))

    kernel = GroupKernel(
        kernel=Impossible(), lengthscales=np.array([0.3]), variance=1.7
    )
    with pytest.raises(NotPositiveDefiniteError) as caught:
        PartFactor.of(kernel, rng.random((4, 1)), rng.random((3, 1)))
    message = str(caught.value)
    assert "4 candidates and 3 observations is not positive definite" in message
    assert "Space the candidates further apart." in message
