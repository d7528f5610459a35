"""Kernels along lines: equal to the kernel of the distance, for any rate."""

import numpy as np
import pytest

from irregular import frozen
from sumbo.gp import lines as module
from sumbo.gp.lines import (
    LARGEST,
    LineKernels,
    exponentials,
    of_pairs,
    pair_slopes,
    rate_of,
)
from sumbo.kernels import KERNELS, as_kernel

kernels = pytest.mark.parametrize("name", KERNELS.names())


LENGTHS = frozen([0.6, 1.0, 2.3])


def lines(rng, reach):
    """Return points and data on three lines of length ``reach``; two coincide."""
    u, x = reach * rng.random((3, 7)), reach * rng.random((3, 11)) - 0.3 * reach
    u[1, 2] = x[1, 5]
    return frozen(u), frozen(x)


def joined(panels):
    """Return the arrays of all panels, lines together, and how many there were."""
    panels = list(panels)
    arrays = [np.concatenate(array) for array in list(zip(*panels, strict=True))[1:]]
    return *arrays, len(panels)


@kernels
# From where all points nearly coincide to where exponentials would overflow.
@pytest.mark.parametrize("reach", [1e-9, 0.7, 31.0, 0.9 * LARGEST / 5**0.5, 4e3])
@pytest.mark.parametrize("panel", [1, 160, 8192])
def test_lines_equal_the_kernel_of_the_distance(name, reach, panel, rng, monkeypatch):
    monkeypatch.setattr(module, "PANEL", panel)
    kernel = as_kernel(name)
    u, x = lines(rng, reach)
    along = LineKernels.of(kernel, x, LENGTHS)
    difference = (u[:, :, None] - x[:, None, :]) / LENGTHS[:, None, None]
    k, w = kernel.correlation_and_weight(difference**2)
    found, panels = joined(along.correlations(u))
    assert panels == {1: 3, 160: 2, 8192: 1}[panel]
    # Points are scaled before they are subtracted: small differences, and large
    # exponents, lose as many digits as they differ from the points themselves.
    close = {"rtol": 2e-12, "atol": 1e-15}
    np.testing.assert_allclose(found, k, **close)
    later, _ = joined(along.correlations(u, first=4))
    np.testing.assert_allclose(later, k[:, :, 4:], **close)
    together, slopes, _ = joined(along.slopes(u))
    np.testing.assert_allclose(together, k, **close)
    np.testing.assert_allclose(slopes, along.rate * w * difference, **close)


# "matern12" has a kink where points coincide.
@pytest.mark.parametrize("name", ["matern32", "matern52", "rbf"])
def test_slopes_on_lines_are_finite_differences(name, rng):
    u, x = lines(rng, 2.3)
    along = LineKernels.of(as_kernel(name), x, LENGTHS)
    step = 1e-6
    up, down = (joined(along.correlations(u + t))[0] for t in (step, -step))
    wanted = (down - up) / (2 * step)
    _, slopes, _ = joined(along.slopes(u))
    per_unit = 1 / (along.rate * LENGTHS[:, None, None])
    np.testing.assert_allclose(slopes * per_unit, wanted, atol=1e-8)


def test_no_lines_are_no_work():
    along = LineKernels.of(as_kernel("matern52"), np.empty((0, 5)), np.empty(0))
    assert list(along.correlations(np.empty((0, 3)))) == []
    assert list(along.slopes(np.empty((0, 3)))) == []


@kernels
@pytest.mark.parametrize("reach", [1e-9, 0.7, 31.0, 0.9 * LARGEST / 5**0.5, 4e3])
def test_pairs_equal_the_kernel_of_the_distance(name, reach, rng):
    kernel = as_kernel(name)
    _, x = lines(rng, reach)
    i, j = np.triu_indices(x.shape[1])
    r = np.abs(x[:, i] - x[:, j])
    k, w = kernel.correlation_and_weight(r**2)
    rate = rate_of(kernel)
    up = exponentials(kernel, rate * x)
    e = None if up is None else of_pairs(up, j)
    found, slopes = np.empty((2, *r.shape))
    pair_slopes(kernel, rate * r, e, found, slopes)
    np.testing.assert_allclose(found, k, rtol=3e-13)
    np.testing.assert_allclose(slopes, w * r**2, rtol=3e-13, atol=1e-300)


def test_exponentials_are_used_where_they_are_safe(rng):
    _, x = lines(rng, 1.0)
    assert exponentials(as_kernel("matern52"), x) is not None
    assert exponentials(as_kernel("rbf"), x) is None
    assert exponentials(as_kernel("matern52"), 1e3 * x) is None
