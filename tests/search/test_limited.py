"""Descents of a function where other functions have limits."""

import numpy as np
import pytest

from sumbo import Space
from sumbo.search.limited import Limited, minimise_limited

CENTER = np.array([0.83, 0.27])


def bowl(U):
    """Return a parabola and its gradient."""
    return ((U - CENTER) ** 2).sum(axis=1), 2 * (U - CENTER)


def circle(U):
    """Return the squared distance from a corner and its gradient."""
    return (U**2).sum(axis=1), 2 * U


def search(points, limits, *, free=(True, True), region=None):
    limited = [Limited(function=circle, lower=limits[0], upper=limits[1])]
    return minimise_limited(
        bowl,
        limited,
        limited[0].violation(points),
        bowl(points)[0],
        points,
        np.array(free),
        region,
    )


@pytest.mark.parametrize(
    ("limits", "radius"), [((-np.inf, 0.49), 0.7), ((0.9, np.inf), np.sqrt(0.9))]
)
def test_the_end_lies_on_the_limit_and_within_it(rng, limits, radius):
    u = search(rng.random((30, 2)), limits)
    # The nearest point of a circle is on the ray through the centre of the bowl.
    nearest = radius * CENTER / np.linalg.norm(CENTER)
    assert np.allclose(u, nearest, atol=2e-3)
    assert limits[0] <= (u**2).sum() <= limits[1]


def test_limits_that_do_not_bind_leave_the_minimum(rng):
    u = search(rng.random((20, 2)), (0.05, 1.7))
    assert np.allclose(u, CENTER, atol=2e-3)


def test_a_start_outside_moves_inside():
    u = search(np.array([[0.91, 0.88], [0.97, 0.64]]), (-np.inf, 0.3))
    assert (u**2).sum() <= 0.3


def test_a_coordinate_that_is_not_free_stays():
    u = search(np.array([[0.31, 0.52]]), (-np.inf, 0.49), free=(True, False))
    assert u[1] == 0.52
    assert (u**2).sum() == pytest.approx(0.49, abs=1e-3)


def test_known_constraints_hold_too(rng):
    space = Space.of([(0.0, 1.0), (0.0, 1.0)]).constrained(["x0 + 3*x1 <= 0.9"])
    points = space.region.draw(rng, 20)
    u = search(points, (-np.inf, 0.49), region=space.region)
    assert space.region.feasible(u[None])[0]
    assert (u**2).sum() <= 0.49
    assert bowl(u[None])[0] < bowl(points)[0].min()
