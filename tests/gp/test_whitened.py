"""Moments at a fixed list of points while observations come in."""

import numpy as np

import irregular
import reference
from sumbo.gp.whitened import Whitened


def test_moments_are_those_of_the_posterior_after_every_observation(rng):
    s = irregular.random_setting(rng, M=4, N=9, kernel="matern52", noise=3e-2)
    C = rng.random((13, s.gp.dim))
    noise = np.full(9, s.gp.noise)
    some = Whitened.of(s.gp, s.X[:4], noise[:4], C)
    for n in range(4, 10):
        if n > 4:
            some = some.append(s.X[n - 1], s.gp.noise)
        mean, cov = reference.posterior_of_sum(s.gp, s.X[:n], s.y[:n], C)
        found_mean, found_var = some.moments(s.y[:n])
        np.testing.assert_allclose(found_mean, mean, atol=1e-8)
        np.testing.assert_allclose(found_var, cov.diagonal(), atol=1e-8)


def test_noise_may_differ_between_observations(rng):
    # An observation told five times with one noise is one told with a fifth of it.
    s = irregular.random_setting(rng, M=2, N=5, kernel="matern32", noise=0.2)
    C = rng.random((6, s.gp.dim))
    noise = np.full(5, s.gp.noise)
    often = Whitened.of(s.gp, s.X, noise, C)
    for _ in range(4):
        often = often.append(s.X[0], s.gp.noise)
    noise[0] /= 5
    once = Whitened.of(s.gp, s.X, noise, C)
    np.testing.assert_allclose(often.variances, once.variances, rtol=1e-6)


def test_products_are_those_of_the_kernel(rng):
    s = irregular.random_setting(rng, M=3, N=7, kernel="rbf", noise=1e-2)
    C, v = rng.random((5, s.gp.dim)), rng.standard_normal((7, 2))
    some = Whitened.of(s.gp, s.X[:6], np.full(6, s.gp.noise), C)
    some = some.append(s.X[6], s.gp.noise)
    np.testing.assert_allclose(some.product(v), s.post.cross(C) @ v, atol=1e-7)
