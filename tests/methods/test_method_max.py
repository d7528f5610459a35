"""max: entropy of the minimum against integration, and the contract of a method."""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from irregular import frozen, random_gp
from reference import finite_difference
from searches import saved
from sumbo.acquisition.entropy import minimum_entropy, minimum_entropy_gradient
from sumbo.data import prepare
from sumbo.errors import ArgumentError
from sumbo.methods import make
from sumbo.search import components
from sumbo.search.covering import covering_candidates
from sumbo.space import Categorical, Integer, Space

QUICK = {"sweeps": 1, "random_starts": 8, "rounds": 2, "steps": 15, "candidates": 80}


def cube(P):
    return Space.of([(0.0, 1.0)] * P)


def observed(rng, space, N, y=None, pending=0):
    """Return data at irregular representable points."""
    U = space.snap(rng.beta(0.8, 1.3, (N, space.dim)))
    w = rng.uniform(1.3, 4.1, space.dim)
    values = np.sin(U * w * 2).sum(axis=1) if y is None else y
    return prepare(
        U=frozen(U),
        y=frozen(values),
        failed=np.zeros(N, dtype=bool),
        pending=space.snap(rng.random((pending, space.dim))),
        domain=space,
        step=N + pending,
    )


def propose(data, q=1, state=None, seed=17, **settings):
    rule = make("max", **{**QUICK, **settings})
    return rule.propose(np.random.default_rng(seed), state, data, q)


# ---------------------------------------------------------------------- entropy
def truncated_entropy(mean, sd, low):
    """Return the entropy of a normal given that it exceeds low, by integration."""
    mass = stats.norm.sf(low, mean, sd)

    def integrand(x):
        log_density = stats.norm.logpdf(x, mean, sd) - np.log(mass)
        return -np.exp(log_density) * log_density

    top = max(mean, low) + 12 * sd
    middle = np.clip(mean, low, top)
    return quad(integrand, low, middle)[0] + quad(integrand, middle, top)[0]


def test_entropy_is_the_reduction_found_by_integration(rng):
    mean, var = rng.normal(0.4, 0.9, 6), np.exp(rng.uniform(-3, 1, 6))
    minima = np.array([-2.7, -0.9, 0.31])
    brute = [
        stats.norm(m, np.sqrt(v)).entropy()
        - np.mean([truncated_entropy(m, np.sqrt(v), y) for y in minima])
        for m, v in zip(mean, var, strict=True)
    ]
    value = minimum_entropy(frozen(mean), frozen(var), frozen(minima))
    np.testing.assert_allclose(value, brute, rtol=1e-6, atol=1e-9)


def test_entropy_is_averaged_over_the_draws(rng):
    mean, var = rng.normal(0.4, 0.9, 5), np.exp(rng.uniform(-3, 1, 5))
    each = [minimum_entropy(mean, var, np.array([y])) for y in (-1.7, -0.4)]
    both = minimum_entropy(mean, var, np.array([-1.7, -0.4]))
    np.testing.assert_allclose(both, np.mean(each, axis=0), rtol=1e-12)


def test_entropy_is_finite_far_from_the_draws():
    value = minimum_entropy(
        np.array([-40.3, 55.1, 0.2]), np.array([1.1, 1e-30, 0.7]), np.array([0.9, -3.3])
    )
    assert np.isfinite(value).all()
    assert (value >= 0).all()


def test_entropy_gradient_is_the_finite_difference(rng):
    gp = random_gp(rng, ((0, 2), (1,)), "rbf", 0.02, shared=True)
    X = rng.random((9, 3))
    post = gp.condition(X, gp.mean + rng.normal(size=9))
    minima = np.array([-1.9, -1.1, 0.2])
    for z in rng.random((4, 2)):
        value, slope = minimum_entropy_gradient(
            *post.part_moments_gradient(0, z[None]), minima
        )
        numeric = finite_difference(
            lambda x: minimum_entropy(*post.part_moments(0, x[None]), minima)[0], z
        )
        np.testing.assert_allclose(slope[0], numeric, rtol=1e-5, atol=1e-7)
        direct = minimum_entropy(*post.part_moments(0, z[None]), minima)
        np.testing.assert_allclose(value, direct, rtol=1e-9)


# ---------------------------------------------------------------------- contract
@pytest.mark.parametrize(("P", "q", "pending"), [(4, 1, 0), (4, 10, 0), (3, 2, 5)])
def test_points_lie_in_the_cube(rng, P, q, pending):
    U, _, info = propose(observed(rng, cube(P), 14, pending=pending), q)
    assert info.groups is not None
    assert U.shape == (q, P)
    assert ((U >= 0) & (U <= 1)).all()
    assert len(np.unique(U, axis=0)) == q
    assert sorted(p for g in info.groups for p in g) == list(range(P))


def test_points_depend_on_generator_and_state_alone(rng):
    data = observed(rng, cube(3), 12)
    first, second = propose(data, 2), propose(data, 2)
    np.testing.assert_array_equal(first[0], second[0])
    other = propose(data, 2, seed=18)[0]
    assert not np.array_equal(first[0], other)


def test_state_survives_arrays_and_json(rng):
    data = observed(rng, cube(3), 12)
    _, state, _ = propose(data)
    known = saved(state, make("max"))
    more = observed(rng, cube(3), 15)
    one, other = propose(more, state=state), propose(more, state=known)
    np.testing.assert_array_equal(one[0], other[0])


def test_structure_is_learned_again_when_enough_was_observed(rng):
    _, state, info = propose(observed(rng, cube(3), 12), refit=4)
    assert info.refitted
    _, same, info = propose(observed(rng, cube(3), 15), state=state, refit=4)
    assert not info.refitted
    assert same.fitted_at == 12
    _, new, info = propose(observed(rng, cube(3), 16), state=state, refit=4)
    assert info.refitted
    assert new.fitted_at == 16


@pytest.mark.parametrize("N", [2, 9])
def test_constant_values_are_survived(rng, N):
    U, _, _ = propose(observed(rng, cube(3), N, y=np.full(N, 4.7)), 3)
    assert np.isfinite(U).all()


def test_duplicated_points_with_different_values_are_survived(rng):
    data = observed(rng, cube(3), 6)
    twice = prepare(
        U=np.vstack([data.U, data.U]),
        y=np.r_[data.y, data.y + 0.3],
        failed=np.zeros(12, dtype=bool),
        pending=data.U[:2],
        domain=cube(3),
        step=14,
    )
    assert np.isfinite(propose(twice, 2)[0]).all()


def test_integers_and_choices_are_representable(rng):
    space = Space.of(
        {
            "a": (0.3, 2.1),
            "n": Integer("n", 2, 6),
            "c": Categorical("c", ("u", "v", "w")),
        }
    )
    U, _, info = propose(observed(rng, space, 13), 3)
    assert info.groups is not None
    np.testing.assert_allclose(space.snap(U), U, atol=1e-12)
    block = set(space.blocks[2])
    assert sum(block <= set(group) for group in info.groups) == 1


def test_refinement_moves_the_point_off_the_candidates_near_by(rng):
    data = observed(rng, cube(4), 14)
    _, state, _ = propose(data, max_size=1)
    rough, fine = (
        propose(data, state=state, candidates=20, max_size=1, refine=refine)[0][0]
        for refine in (False, True)
    )
    moved = abs(fine - rough)
    assert (moved > 1e-4).sum() >= 2
    assert moved.max() < 2.1 / 20  # the largest gap between candidates


@pytest.mark.parametrize("setting", [{"extremes": "cfd"}, {"samples": 0}])
def test_settings_that_cannot_be_used_are_named(setting):
    with pytest.raises(ArgumentError, match=next(iter(setting))):
        make("max", **setting)


def test_gumbel_draws_give_points_of_the_cube(rng):
    U, _, _ = propose(observed(rng, cube(3), 12), 2, extremes="gumbel")
    assert ((U >= 0) & (U <= 1)).all()


def test_candidates_cover_the_box_and_what_was_observed(rng):
    data = observed(rng, cube(4), 9)
    parts = components(((1,), (0, 3), (2,)))
    for part, Z in zip(parts, covering_candidates(rng, data, parts, 60), strict=True):
        assert Z.shape == (69, len(part.coordinates))
        np.testing.assert_array_equal(Z[60:], data.U[:, list(part.coordinates)])
        assert ((Z >= 0) & (Z <= 1)).all()
        if len(part.coordinates) == 1:
            assert np.diff(np.sort(Z[:60, 0])).max() < 2.1 / 60
            assert {0.0, 1.0} <= set(Z[:, 0])


def test_pending_points_are_not_asked_again(rng):
    data = observed(rng, cube(3), 12)
    _, state, _ = propose(data)
    alone = propose(data, state=state)[0]
    after = propose(data.with_pending(alone), state=state)[0]
    # The same random numbers give another point, since less is left to learn there.
    assert (abs(after - alone) > 1e-3).any()


def test_earlier_points_of_a_batch_are_fantasised(rng):
    data = observed(rng, cube(3), 12)
    _, state, _ = propose(data)
    U, _, _ = propose(data, 3, state=state)
    rule, generator = make("max", **QUICK), np.random.default_rng(17)
    for u in U:
        alone, _, _ = rule.propose(generator, state, data, 1)
        np.testing.assert_allclose(alone[0], u, atol=1e-6)
        data = data.with_pending(alone)
