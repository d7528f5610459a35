"""The bound of pooled factors: its counts and messages by hand, its minimum by grid."""

import numpy as np
import pytest

from irregular import frozen
from reference import finite_difference
from sumbo import AdditiveGP
from sumbo.data import prepare
from sumbo.methods.dumbo import together
from sumbo.methods.dumbo.pooled import choose_starts, minimise_pooled, pool
from sumbo.methods.dumbo.together import Pulls
from sumbo.search.local import minimise_multistart
from sumbo.space import Space

ONE = ((0, 1), (2,))
OTHER = ((0,), (1, 2))


def observed(rng, N=19, P=3):
    U = frozen(rng.beta(0.8, 1.3, (N, P)))
    return prepare(
        U=U,
        y=np.sin(6 * U).sum(axis=1) + U[:, 0] * U[:, 1],
        failed=np.zeros(N, dtype=bool),
        pending=np.empty((0, P)),
        domain=Space.of([(0.0, 1.0)] * P),
        step=N,
    )


def model(rng, data, groups):
    gp = AdditiveGP(
        groups=groups,
        lengthscales=[rng.uniform(0.2, 0.5, len(g)) for g in groups],
        variances=rng.uniform(0.3, 1.2, len(groups)),
    )
    return gp.condition(data.U, data.y)


def bound(pooled, i, x, message=0.0, pull=None):
    """The bound of one factor at one of its points, with the gradient."""
    bounds = pooled.bounds
    X = bounds.padded([x], np.array([i]))
    messages = np.full(len(pooled.groups), message)
    values, slopes = bounds(X, messages, pull)
    return values[0], slopes[0, : len(x)]


def test_every_factor_counts_those_that_share_a_coordinate(rng):
    data = observed(rng)
    pooled = pool([model(rng, data, ONE), model(rng, data, OTHER)], [2, 3], 1.9)
    assert pooled.groups == ((0, 1), (2,), (0,), (1, 2))
    assert pooled.counts == [2, 2, 3, 3]
    assert pooled.bounds.neighbours.tolist() == [3, 2, 2, 3]
    np.testing.assert_array_equal(
        pooled.overlaps, [[0, 0, 1, 1], [0, 0, 0, 1], [1, 0, 0, 0], [1, 1, 0, 0]]
    )


def test_repeated_models_stand_for_copies_that_are_neighbours_on_request(rng):
    data = observed(rng)
    one, other = model(rng, data, ONE), model(rng, data, OTHER)
    short = pool([one, other], [2, 3], 1.9, repeats_are_neighbours=True)
    long = pool([one, one, other, other, other], [1] * 5, 1.9)
    place = [0, 1, 0, 1, 2, 3, 2, 3, 2, 3]
    np.testing.assert_array_equal(
        long.bounds.neighbours, short.bounds.neighbours[place]
    )
    x = [rng.random(len(group)) for group in short.groups]
    messages = short.overlaps @ short.bounds.shares(x)
    shares = long.bounds.shares([x[i] for i in place])
    np.testing.assert_allclose(long.overlaps @ shares, messages[place])


@pytest.mark.parametrize("message", [0.0, 0.23])
def test_gradient_of_the_bound_equals_finite_differences(rng, message):
    data = observed(rng)
    pooled = pool([model(rng, data, ONE), model(rng, data, OTHER)], [1, 4], 1.9)
    pulls = Pulls(
        anchors=rng.random((4, 2)), multipliers=rng.random((4, 2)), penalty=1.7
    )
    for i, group in enumerate(pooled.groups):
        x = rng.random(len(group))
        for pull in (None, pulls):
            slope = bound(pooled, i, x, message, pull)[1]
            numeric = finite_difference(
                lambda z, i=i, p=pull: bound(pooled, i, z, message, p)[0], x
            )
            np.testing.assert_allclose(slope, numeric, atol=1e-6)


def test_bound_is_the_formula(rng):
    data = observed(rng)
    post, other = model(rng, data, ONE), model(rng, data, OTHER)
    pooled = pool([other, post], [1, 1], 1.9)
    x = rng.random((1, 2))
    part = post.parts([x, rng.random((1, 1))])[0]
    by_hand = part.mean[0] - 1.9 * np.sqrt(part.cov[0, 0] / 3**2 + 0.23)
    assert bound(pooled, 2, x[0], 0.23)[0] == pytest.approx(by_hand, rel=1e-9)


def test_rows_of_all_factors_have_the_moments_of_their_parts(rng, monkeypatch):
    monkeypatch.setattr(together, "PANEL", 150)  # a few rows at a time
    data = observed(rng)
    posts = [model(rng, data, ONE), model(rng, data, OTHER)]
    bounds = pool(posts, [1, 1], 1.9).bounds
    which = rng.integers(4, size=23)
    rows = [rng.random(bounds.sizes[i]) for i in which]
    X = bounds.padded(rows, which)
    assert bounds.owners(X).tolist() == which.tolist()
    found = bounds.moments(X[:, :-1], which)
    for b, (i, x) in enumerate(zip(which, rows, strict=True)):
        post = posts[bounds.post[i]]
        expected = post.part_moments_gradient(bounds.part[i], x[None])
        for values, value in zip(found, expected, strict=True):
            own = values[b][: len(x)] if values.ndim == 2 else values[b]
            np.testing.assert_allclose(own, value[0], atol=1e-9)


def test_descents_of_all_factors_together_are_those_of_each(rng):
    data = observed(rng)
    pooled = pool([model(rng, data, ONE), model(rng, data, OTHER)], [1, 1], 1.9)
    starts = [rng.random((3, len(group))) for group in pooled.groups]
    messages = np.full(4, 0.11)
    found = pooled.bounds.minimise(starts, messages, None, 1e-7)
    for i, begin in enumerate(starts):

        def alone(X, i=i):
            parts = [bound(pooled, i, x, 0.11) for x in X]
            return np.array([v for v, _ in parts]), np.array([g for _, g in parts])

        expected, _ = minimise_multistart(alone, begin, tolerance=1e-7)
        np.testing.assert_allclose(found[i], expected, atol=1e-5)


def test_one_model_of_disjoint_groups_needs_one_round_to_its_minimum(rng):
    data = observed(rng)
    post = model(rng, data, ((0,), (1,), (2,)))
    pooled = pool([post], [5], 2.3)
    result = minimise_pooled(rng, pooled, data)
    assert result.rounds == 1
    axis = np.linspace(0, 1, 4001)[:, None]
    for m in range(3):
        mean, var = post.part_moments(m, axis)
        lowest = (mean - 2.3 * np.sqrt(np.maximum(var, 1e-5))).min()
        assert bound(pooled, m, result.z[[m]])[0] <= lowest + 1e-6


def test_models_that_disagree_settle_inside_the_cube(rng):
    data = observed(rng)
    posts = [model(rng, data, ONE), model(rng, data, OTHER)]
    pooled = pool(posts, [2, 3], 2.3)
    results = [
        minimise_pooled(np.random.default_rng(5), pooled, data, rounds=40)
        for _ in range(2)
    ]
    z = results[0].z
    assert ((z >= 0) & (z <= 1)).all()
    assert results[0].gap < 0.05
    np.testing.assert_array_equal(z, results[1].z)


def test_starts_hold_the_best_candidate_first_and_none_twice(rng):
    values = rng.standard_normal(60)
    for count in (1, 2, 20, 60, 90):
        chosen = choose_starts(rng, values, count)
        assert chosen[0] == np.argmin(values)
        assert len(set(chosen.tolist())) == len(chosen) == min(count, 60)


@pytest.mark.statistical
def test_starts_prefer_low_values(rng):
    # Ranks of the second start: exp(−z) weights; uniform ones would average 29.5.
    values = np.linspace(-1.7, 2.2, 60)
    second = [choose_starts(rng, values, 2)[1] for _ in range(400)]
    # The standard error of a mean of 400 ranks is below 0.9: 29.5 is 7 σ away.
    assert np.mean(second) < 23


def test_equal_values_are_no_trouble(rng):
    assert len(choose_starts(rng, np.full(30, 1.7), 20)) == 20
