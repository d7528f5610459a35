"""The bound of pooled factors: its counts and messages by hand, its minimum by grid."""

import numpy as np
import pytest

from irregular import frozen
from reference import finite_difference
from sumbo import AdditiveGP
from sumbo.data import prepare
from sumbo.methods.dumbo.admm import Pull
from sumbo.methods.dumbo.pooled import choose_starts, minimise_pooled, pool
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


def test_every_factor_counts_those_that_share_a_coordinate(rng):
    data = observed(rng)
    posts = [model(rng, data, ONE), model(rng, data, OTHER)]
    factors, overlaps = pool(posts, [2, 3], 1.9)
    assert [f.group for f in factors] == [(0, 1), (2,), (0,), (1, 2)]
    assert [f.count for f in factors] == [2, 2, 3, 3]
    assert [f.neighbours for f in factors] == [3, 2, 2, 3]
    np.testing.assert_array_equal(
        overlaps, [[0, 0, 1, 1], [0, 0, 0, 1], [1, 0, 0, 0], [1, 1, 0, 0]]
    )


def test_repeated_models_stand_for_copies_that_are_neighbours_on_request(rng):
    data = observed(rng)
    one, other = model(rng, data, ONE), model(rng, data, OTHER)
    short, writes = pool([one, other], [2, 3], 1.9, repeats_are_neighbours=True)
    long, all_writes = pool([one, one, other, other, other], [1] * 5, 1.9)
    place = [0, 1, 0, 1, 2, 3, 2, 3, 2, 3]
    assert [f.neighbours for f in long] == [short[i].neighbours for i in place]
    x = [rng.random(len(f.group)) for f in short]
    messages = writes @ np.array([f.share(z) for f, z in zip(short, x, strict=True)])
    shares = np.array([f.share(x[i]) for f, i in zip(long, place, strict=True)])
    np.testing.assert_allclose(all_writes @ shares, messages[place])


@pytest.mark.parametrize("message", [0.0, 0.23])
def test_gradient_of_the_bound_equals_finite_differences(rng, message):
    data = observed(rng)
    factors, _ = pool([model(rng, data, ONE), model(rng, data, OTHER)], [1, 4], 1.9)
    for factor in factors:
        d = len(factor.group)
        pull = Pull(rng.random(d), rng.standard_normal(d), 1.7)
        x = rng.random(d)
        for pulled in (None, pull):
            slope = factor.bound(x[None], message, pulled)[1][0]
            numeric = finite_difference(
                lambda z, f=factor, p=pulled: f.bound(z[None], message, p)[0][0], x
            )
            np.testing.assert_allclose(slope, numeric, atol=1e-6)


def test_bound_is_the_formula(rng):
    data = observed(rng)
    post = model(rng, data, ONE)
    factor = pool([post, model(rng, data, OTHER)], [1, 1], 1.9)[0][0]
    x = rng.random((1, 2))
    part = post.parts([x, rng.random((1, 1))])[0]
    by_hand = part.mean[0] - 1.9 * np.sqrt(part.cov[0, 0] / 3**2 + 0.23)
    assert factor.bound(x, 0.23)[0][0] == pytest.approx(by_hand, rel=1e-9)


def test_one_model_of_disjoint_groups_needs_one_round_to_its_minimum(rng):
    data = observed(rng)
    post = model(rng, data, ((0,), (1,), (2,)))
    factors, overlaps = pool([post], [5], 2.3)
    result = minimise_pooled(rng, factors, overlaps, data)
    assert result.rounds == 1
    axis = np.linspace(0, 1, 4001)[:, None]
    for m in range(3):
        mean, var = post.part_moments(m, axis)
        lowest = (mean - 2.3 * np.sqrt(np.maximum(var, 1e-5))).min()
        found = factors[m].bound(result.z[m].reshape(1, 1))[0][0]
        assert found <= lowest + 1e-6


def test_models_that_disagree_settle_inside_the_cube(rng):
    data = observed(rng)
    posts = [model(rng, data, ONE), model(rng, data, OTHER)]
    factors, overlaps = pool(posts, [2, 3], 2.3)
    results = [
        minimise_pooled(np.random.default_rng(5), factors, overlaps, data, rounds=40)
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
