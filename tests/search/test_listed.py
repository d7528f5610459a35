"""Moments of the parts at the rows of a list, and distinct places."""

import numpy as np
import pytest

import irregular
from sumbo import AdditiveGP
from sumbo.sampling.sums import Places
from sumbo.search import Table
from sumbo.search.listed import ListedParts


def model(noise=1e-3):
    return AdditiveGP(
        groups=[(0,), (1, 2), (2, 3), (3,)],
        lengthscales=[[0.3], [0.5, 0.4], [0.35, 0.7], [0.9]],
        variances=[0.9, 1.1, 0.7, 0.4],
        noise=noise,
        mean=0.7,
    )


def direct(post, U):
    """Mean and summed deviations of the parts, from triangular solves."""
    each = [
        post.part_moments(m, np.ascontiguousarray(U[:, list(group)]))
        for m, group in enumerate(post.gp.groups)
    ]
    return sum(mean for mean, _ in each), sum(np.sqrt(var) for _, var in each)


def test_moments_that_grow_are_those_of_the_posterior(rng):
    gp, U, X = model(), rng.random((90, 4)), rng.random((33, 4))
    U[40:60, 0] = U[3, 0]  # places that rows share
    y = irregular.draw_outputs(rng, gp, X)
    known = ListedParts.of(gp.condition(X[:20], y[:20]), U)
    for n in (20, 21, 22, 33):
        post = gp.condition(X[:n], y[:n])
        known = known.given(post)
        mean, deviations = direct(post, U)
        np.testing.assert_allclose(known.mean, mean, atol=1e-9)
        np.testing.assert_allclose(known.deviations(), deviations, atol=1e-7)


def test_a_list_keeps_moments_only_for_the_same_model_and_observations(rng):
    gp, U, X = model(), rng.random((40, 4)), rng.random((12, 4))
    y = irregular.draw_outputs(rng, gp, X)
    table = Table(U=U, open=np.ones(40, dtype=bool))
    posteriors = [
        gp.condition(X[:9], y[:9]),
        gp.condition(X, y),
        gp.condition(X[::-1], y[::-1]),  # other observations come first
        model(noise=0.2).condition(X, y),
    ]
    for i, post in enumerate(posteriors):
        before = table.memory.parts
        found = table.parts([post])[0]
        np.testing.assert_allclose(found.deviations(), direct(post, U)[1], atol=1e-7)
        kept = i > 0 and found.places is before[0].places
        assert kept == (i == 1)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_places_are_the_distinct_rows(d, rng):
    rows = rng.integers(0, 3, size=(60, d)) / 3.0
    rows[5] = -rows[5] * 0.0  # −0.0 and 0.0 are one place
    rows[6] = 0.0
    found = Places.of(rows)
    np.testing.assert_array_equal(found.A[found.which], rows)
    assert len(np.unique(found.A, axis=0)) == len(found.A)
    assert found.which[5] == found.which[6]


def test_rows_with_the_same_key_by_accident_stay_apart():
    # a·√2 + b·√3 rounds to the same number for these two.
    a = np.nextafter(1e8, 2e8)
    rows = np.array([[1e8, 0.5], [a, 0.5 - (a - 1e8) * np.sqrt(2 / 3)]])
    keys = rows @ np.sqrt([2.0, 3.0])
    assert keys[0] == keys[1]
    found = Places.of(rows)
    np.testing.assert_array_equal(found.A[found.which], rows)
