"""dumbo: its chain, its fits and its beliefs, and the contract of a method."""

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import binomtest

import reference
from irregular import frozen
from searches import appended, saved
from sumbo.data import prepare
from sumbo.errors import ArgumentError
from sumbo.methods import make
from sumbo.methods.dumbo.isotropic import isotropic_gp
from sumbo.space import Categorical, Integer, Real, Space

QUICK = {
    "states": 3,
    "adam_steps": 10,
    "admm_iterations": 2,
    "candidates": 30,
    "starts": 3,
}
SPACE = Space.of([(-1.3, 2.2), (0.4, 5.1), (10.0, 11.0), (0.0, 3.0)])
WIDE = Space.of([(-1.3, 2.2 + k) for k in range(7)])
MIXED = Space.of(
    [Real("a", -1.3, 2.2), Integer("b", 2, 7), Categorical("c", ("x", "y", "z"))]
)


def observed(rng, space=SPACE, N=17, y=None, pending=0):
    U = space.snap(rng.beta(0.8, 1.3, (N, space.dim)))
    values = np.sin(5 * U).sum(axis=1) + 0.3 * U[:, 0] if y is None else y
    return prepare(
        U=frozen(U),
        y=frozen(values),
        failed=np.zeros(len(U), dtype=bool),
        pending=space.snap(rng.random((pending, space.dim))),
        domain=space,
        step=N + pending,
    )


def propose(data, q=1, seed=17, state=None, **settings):
    rule = make("dumbo", **{**QUICK, **settings})
    return rule.propose(np.random.default_rng(seed), state, data, q)


# ---------------------------------------------------------------------- structure
def test_few_parameters_begin_in_one_factor(rng):
    _, state, _ = propose(observed(rng), states=1)
    assert state.groups == ((0, 1, 2, 3),)


def test_without_a_limit_the_first_factor_holds_all_parameters(rng):
    data = observed(rng, WIDE)
    _, state, _ = propose(data, states=1, adam_steps=1, max_size=None)
    assert state.groups == (tuple(range(7)),)
    sizes = set()
    for seed in range(4):
        _, state, _ = propose(data, seed=seed, adam_steps=1, max_size=None)
        assert sorted(k for g in state.groups for k in g) == list(range(7))
        sizes |= {len(g) for g in state.groups}
    assert max(sizes) > 5


def test_many_parameters_begin_in_a_random_partition_within_the_limit(rng):
    data = observed(rng, WIDE)
    seen = [propose(data, states=1, seed=s, adam_steps=1)[1] for s in range(6)]
    assert len({str(state.groups) for state in seen}) > 1
    for state in seen:
        assert sorted(k for g in state.groups for k in g) == list(range(7))
        assert max(len(g) for g in state.groups) <= 5


@pytest.mark.statistical
def test_the_chain_visits_decompositions_in_proportion_to_their_likelihoods(rng):
    two = Space.of([(0.0, 1.0), (0.0, 2.0)])  # only two decompositions exist
    data = observed(rng, two, N=9)
    cheap = {"adam_steps": 5, "admm_iterations": 1, "candidates": 4, "starts": 1}
    ends = [propose(data, seed=s, states=7, **cheap)[1] for s in range(150)]
    together = [state for state in ends if len(state.groups) == 1]
    apart = [state for state in ends if len(state.groups) == 2]
    rule = make("dumbo", **QUICK)
    posts = [rule.surrogate(states[0], data).posterior for states in (together, apart)]
    scores = [reference.log_likelihood(post.gp, data.U, data.y) for post in posts]
    expected = len(ends) * softmax(scores)
    assert expected.min() > 15
    # Once in a million.
    assert binomtest(len(together), len(ends), expected[0] / len(ends)).pvalue > 1e-6


def test_each_decomposition_is_fitted_once_per_acquisition(rng):
    two = Space.of([(0.0, 1.0), (0.0, 2.0)])  # only two decompositions exist
    _, _, info = propose(observed(rng, two), states=12, adam_steps=2)
    assert info.fits == 2


def test_the_true_structure_of_an_additive_function_is_found(rng):
    U = rng.random((60, 4))
    y = np.sin(9 * U[:, 0]) + np.cos(7 * U[:, 1]) + 9 * U[:, 2] * U[:, 3] * U[:, 3]
    data = prepare(
        U=U,
        y=y + np.sin(11 * U[:, 2]),
        failed=np.zeros(60, dtype=bool),
        pending=np.empty((0, 4)),
        domain=SPACE,
        step=60,
    )
    _, state, _ = propose(data, states=25, adam_steps=80, admm_iterations=1)
    assert state.groups == ((0,), (1,), (2, 3))


def test_groups_are_of_parameters_and_expand_to_coordinates(rng):
    _, state, info = propose(observed(rng, MIXED), states=1)
    assert state.groups == ((0, 1, 2),)
    assert info.groups == ((0, 1, 2, 3, 4),)


# ---------------------------------------------------------------------- state
def test_without_new_data_nothing_is_refitted(rng):
    data = observed(rng)
    _, state, _ = propose(data, states=1)
    _, again, _ = propose(data, states=1, state=state)
    np.testing.assert_array_equal(again.raw, state.raw)


def test_new_data_refit_from_where_the_parameters_were(rng):
    data = observed(rng)
    _, state, _ = propose(data, states=1)
    more = appended(data, rng.random((1, 4)), np.array([-1.3]))
    _, again, _ = propose(more, states=1, state=state)
    moved = np.abs(again.raw - state.raw)
    assert 0 < moved.max() <= 10 * 0.1 * 1.2  # 10 steps of 0.1, with momentum


def test_state_survives_a_file_bit_for_bit(rng):
    data = observed(rng, WIDE)
    _, state, _ = propose(data)
    known = saved(state, make("dumbo"))
    more = appended(data, rng.random((2, 7)), np.array([0.3, -1.1]))
    one, one_state, _ = propose(more, q=2, seed=5, state=state)
    other, other_state, _ = propose(more, q=2, seed=5, state=known)
    np.testing.assert_array_equal(one, other)
    assert one_state.groups == other_state.groups
    np.testing.assert_array_equal(one_state.raw, other_state.raw)


def test_the_same_generator_gives_the_same_points_and_inputs_stay(rng):
    data = observed(rng)
    _, state, _ = propose(data)
    state.raw.setflags(write=False)
    before = data.U.tobytes(), data.y.tobytes(), state.raw.tobytes()
    first, _, _ = propose(data, q=2, state=state)
    second, _, _ = propose(data, q=2, state=state)
    np.testing.assert_array_equal(first, second)
    assert (data.U.tobytes(), data.y.tobytes(), state.raw.tobytes()) == before


# ---------------------------------------------------------------------- proposals
@pytest.mark.parametrize("q", [1, 10])
@pytest.mark.parametrize("pending", [0, 3])
def test_points_lie_in_the_cube_whatever_is_pending(rng, q, pending):
    U, _, _ = propose(observed(rng, pending=pending), q=q)
    assert U.shape == (q, 4)
    assert ((U >= 0) & (U <= 1)).all()


def test_a_pending_point_is_believed_and_not_asked_again(rng):
    data = observed(rng)
    first, _, _ = propose(data, adam_steps=60)
    again, _, _ = propose(data, adam_steps=60)
    waiting = data.with_pending(first)
    elsewhere, _, _ = propose(waiting, adam_steps=60)
    np.testing.assert_array_equal(first, again)
    assert np.abs(elsewhere - first).max() > 0.02


def test_a_batch_believes_its_earlier_points(rng):
    data = observed(rng)
    U, _, _ = propose(data, q=3, adam_steps=60)
    gaps = np.abs(U[:, None] - U[None]).max(axis=-1)
    assert gaps[np.triu_indices(3, 1)].min() > 1e-3


def test_points_of_mixed_spaces_are_representable(rng):
    U, _, _ = propose(observed(rng, MIXED), q=4)
    np.testing.assert_array_equal(U, MIXED.snap(U))


@pytest.mark.parametrize("kind", ["constant", "duplicated", "two", "one", "none"])
def test_poor_data_are_survived(rng, kind):
    if kind == "duplicated":
        data = observed(rng, N=4)
        data = appended(data, np.tile(data.U, (6, 1)), np.tile(data.y, 6) + 0.01)
    else:
        N = {"constant": 11, "two": 2, "one": 1, "none": 0}[kind]
        data = observed(rng, N=N, y=np.full(N, 3.7) if kind == "constant" else None)
    state = None
    for _ in range(2):
        U, state, _ = propose(data, q=2, state=state)
        assert np.isfinite(U).all()


def test_equal_points_with_different_values_stay_aligned(rng):
    data = observed(rng, N=20)
    data = appended(data, data.U[[3, 3, 11]], np.array([0.4, -0.2, 1.1]))
    rule = make("dumbo", **QUICK)
    fit = rule._fit(((0, 2), (1,), (3,)), data)
    gp = isotropic_gp(((0, 2), (1,), (3,)), fit.raw, fit.mean)
    wanted = reference.log_likelihood(gp, data.U, data.y)
    assert fit.log_likelihood == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"states": 0}, "states=0"),
        ({"max_size": True}, "max_size=True"),
        ({"precision": 0.0}, "precision=0"),
        ({"penalty": float("nan")}, "penalty=nan"),
        ({"adam_step_size": -0.1}, "adam_step_size"),
        ({"start_noise": 1e-4}, "start_noise=0.0001"),
    ],
)
def test_settings_out_of_range_are_refused(settings, message):
    with pytest.raises(ArgumentError, match=message):
        make("dumbo", **settings)
