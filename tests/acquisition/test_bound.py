"""The lower confidence bound of several models, part by part."""

import numpy as np
import pytest

import irregular
from sumbo.acquisition.bound import Bound

STRUCTURES = (((3,), (0, 2), (1,), (0, 1, 2, 3)), ((0,), (1,), (2,), (3,)))


@pytest.fixture
def bound(rng):
    X = rng.random((9, 4))
    models = []
    for weight, groups in zip((0.3, 0.7), STRUCTURES, strict=True):
        gp = irregular.random_gp(rng, groups, "matern52", noise=0.02)
        models.append((weight, gp.condition(X, irregular.draw_outputs(rng, gp, X))))
    return Bound(models=models, beta=1.7)


def test_parts_are_those_of_all_models(bound, rng):
    assert bound.groups == STRUCTURES[0] + STRUCTURES[1]
    U = rng.random((6, 4))
    expected = np.zeros(6)
    for weight, post in bound.models:
        for m, group in enumerate(post.gp.groups):
            mean, var = post.part_moments(m, U[:, list(group)])
            expected += weight * (mean - 1.7 * np.sqrt(var))
    rows = enumerate(bound.groups)
    total = sum(bound.value(i, U[:, list(group)]) for i, group in rows)
    np.testing.assert_allclose(total, expected, rtol=1e-12)


def test_gradients_equal_finite_differences(bound, rng):
    step = 1e-5
    for i, group in enumerate(bound.groups):
        z = rng.uniform(0.05, 0.95, (5, len(group)))
        value, gradient = bound.gradient(i, z)
        np.testing.assert_allclose(value, bound.value(i, z), rtol=1e-9)
        for j, e in enumerate(step * np.eye(len(group))):
            slope = (bound.value(i, z + e) - bound.value(i, z - e)) / (2 * step)
            np.testing.assert_allclose(gradient[:, j], slope, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("ns", [[0, 2, 4, 5, 6, 7], [6, 2], [5]])
def test_lines_equal_their_parts(bound, ns, rng):
    z = rng.random((len(ns), 5))
    expected = [bound.gradient(i, row[:, None]) for i, row in zip(ns, z, strict=True)]
    values = np.array([value for value, _ in expected])
    slopes = np.array([slope[:, 0] for _, slope in expected])
    np.testing.assert_allclose(bound.lines(ns, z), values, rtol=1e-9, atol=1e-11)
    found = bound.line_gradients(ns, z)
    np.testing.assert_allclose(found[0], values, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(found[1], slopes, rtol=1e-7, atol=1e-9)
