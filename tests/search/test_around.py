"""The search around the best point, in coordinates of its neighbourhood."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from sumbo.acquisition.mapped import Mapped
from sumbo.search.around import search_around

A = np.array([[7.1, -2.3, 0.6], [1.9, 11.3, -4.2], [0.7, 3.8, 21.6]])
CENTRE = np.array([0.37, 0.61, 0.28])


class Bowl:
    """A quadratic function in the coordinates of a neighbourhood."""

    low = np.array([0.7, -0.4, 1.1])

    def value(self, V):
        """Return values at rows of points."""
        return ((V - self.low) ** 2).sum(axis=1) + 0.3 * np.sin(V[:, 0])

    def gradient(self, V):
        """Return values and gradients at rows of points."""
        slope = 2.0 * (V - self.low)
        slope[:, 0] += 0.3 * np.cos(V[:, 0])
        return self.value(V), slope


def test_a_mapped_function_has_the_gradient_of_finite_differences(rng):
    function = Mapped(function=Bowl(), centre=CENTRE, A=A)
    U = rng.random((4, 3))
    value, gradient = function.gradient(U)
    np.testing.assert_allclose(value, function.value(U), rtol=1e-14)
    for u, slope in zip(U, gradient, strict=True):
        numeric = approx_fprime(u, lambda v: function.value(v[None])[0], 1e-7)
        np.testing.assert_allclose(slope, numeric, rtol=1e-4, atol=1e-4)


def test_the_minimum_is_found(rng):
    function = Mapped(function=Bowl(), centre=CENTRE, A=A)
    found = search_around(rng, function, A, CENTRE[None], starts=3)
    V = (found - CENTRE) @ A.T
    assert function.gradient(found[None])[1][0] == pytest.approx(np.zeros(3), abs=0.05)
    assert V[1:] == pytest.approx(Bowl.low[1:], abs=0.02)


def test_points_stay_in_the_cube(rng):
    function = Mapped(function=Bowl(), centre=CENTRE, A=0.02 * A)
    found = search_around(rng, function, 0.02 * A, CENTRE[None], starts=3)
    assert (found >= 0).all()
    assert (found <= 1).all()
    assert ((found == 0) | (found == 1)).any()  # the minimum lies outside
