"""Kernels along lines: equal to the kernel of the distance, for any rate."""

import numpy as np
import pytest

from irregular import frozen
from sumbo.kernels import KERNELS, as_kernel
from sumbo.kernels.lines import LARGEST, line_correlations, line_slopes

kernels = pytest.mark.parametrize("name", KERNELS.names())


def lines(rng, reach):
    """Return points and data on three lines of length ``reach``; two coincide."""
    u, x = reach * rng.random((3, 7)), reach * rng.random((3, 11)) - 0.3 * reach
    u[1, 2] = x[1, 5]
    return frozen(u), frozen(x)


@kernels
# From where all points nearly coincide to where exponentials would overflow.
@pytest.mark.parametrize("reach", [1e-9, 0.7, 31.0, 0.9 * LARGEST / 5**0.5, 4e3])
def test_lines_equal_the_kernel_of_the_distance(name, reach, rng):
    kernel = as_kernel(name)
    u, x = lines(rng, reach)
    difference = u[:, :, None] - x[:, None, :]
    k, w = kernel.correlation_and_weight(difference**2)
    np.testing.assert_allclose(line_correlations(kernel, u, x), k, rtol=3e-13)
    together, slopes = line_slopes(kernel, u, x)
    np.testing.assert_allclose(together, k, rtol=3e-13)
    np.testing.assert_allclose(slopes, w * difference, rtol=3e-13)


# "matern12" has a kink where points coincide.
@pytest.mark.parametrize("name", ["matern32", "matern52", "rbf"])
def test_slopes_on_lines_are_finite_differences(name, rng):
    kernel = as_kernel(name)
    u, x = lines(rng, 2.3)
    step = 1e-6
    up, down = (line_correlations(kernel, u + t, x) for t in (step, -step))
    wanted = (down - up) / (2 * step)
    np.testing.assert_allclose(line_slopes(kernel, u, x)[1], wanted, atol=1e-8)
