"""The Metropolis walk: stationary distribution by enumeration and by chi-square."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from partition_cases import all_partitions
from sumbo.partitions.metropolis import in_turn, walk
from sumbo.partitions.partition import log_split_or_merge, singletons, split_or_merge


def moves(max_size):
    return partial(split_or_merge, max_size=max_size)


def uneven(partition):
    """Return a log density that no symmetry of the partitions leaves unchanged."""
    return 0.9 * np.cos(
        sum(3**i * len(g) * (g[0] + 2) for i, g in enumerate(partition))
    )


def probabilities(states):
    p = np.exp([uneven(s) for s in states])
    return p / p.sum()


def transition_matrix(states, max_size):
    """Return the Metropolis-Hastings matrix with the documented proposals."""
    T = np.zeros((len(states), len(states)))
    for i, old in enumerate(states):
        for j, new in enumerate(states):
            q = np.exp(log_split_or_merge(old, new, max_size))
            if i != j and q > 0:
                back = np.exp(log_split_or_merge(new, old, max_size))
                T[i, j] = q * min(1.0, np.exp(uneven(new) - uneven(old)) * back / q)
        T[i, i] = 1.0 - T[i].sum()
    return T


# ---------------------------------------------------------------------- distribution
@pytest.mark.parametrize("max_size", [2, 3, 4])
def test_splits_and_merges_balance_each_other(max_size):
    states = all_partitions(4, max_size)
    flow = probabilities(states)[:, None] * transition_matrix(states, max_size)
    np.testing.assert_allclose(flow, flow.T, rtol=1e-12, atol=0)


@pytest.mark.statistical
@pytest.mark.parametrize("max_size", [3, 4])
def test_one_step_has_the_documented_transition_probabilities(max_size, rng):
    # Exact draws of the start, one step each; chi-square over all pairs of states,
    # the rarest pooled by rows. A false alarm in 1e-5 of runs.
    states = all_partitions(4, max_size)
    T = transition_matrix(states, max_size)
    n = 500
    pvalues = []
    for i, start in enumerate(states):
        seen = [
            walk(rng, start, uneven, moves(max_size), 1)[-1].state for _ in range(n)
        ]
        counts = np.array([seen.count(s) for s in states])
        assert counts[T[i] == 0].sum() == 0
        there = T[i] > 0
        pvalues.append(stats.chisquare(counts[there], n * T[i][there]).pvalue)
    assert min(pvalues) > 1e-5 / len(states)


@pytest.mark.statistical
@pytest.mark.parametrize("max_size", [3, 4])
def test_the_walk_has_the_stationary_distribution(rng, max_size):
    # False alarm 1e-5. The walk is thinned until the second eigenvalue of its exact
    # transition matrix leaves a correlation below 1e-2 between kept states.
    states = all_partitions(4, max_size)
    T = transition_matrix(states, max_size)
    modulus = np.sort(np.abs(np.linalg.eigvals(T)))[-2]
    thin = int(np.ceil(np.log(1e-2) / np.log(modulus)))
    made = walk(rng, states[0], uneven, moves(max_size), thin * 801)
    seen = [step.state for step in made[thin + 1 :: thin]]
    counts = [seen.count(s) for s in states]
    expected = len(seen) * probabilities(states)
    assert stats.chisquare(counts, expected).pvalue > 1e-5


# ---------------------------------------------------------------------- steps
def test_the_walk_returns_its_start_and_every_step_with_its_log_density(rng):
    start = ((0, 1), (2, 3, 4))
    made = walk(rng, start, uneven, moves(4), 40)
    assert len(made) == 41
    assert made[0].state == start
    for before, now in pairwise(made):
        assert now.log_density == uneven(now.state)
        assert now.accepted == (now.state != before.state)
    assert 0 < sum(step.accepted for step in made[1:]) < 40


def test_a_state_without_other_states_is_kept(rng):
    made = walk(rng, ((0,),), lambda p: 0.0, moves(5), 3)
    assert [step.state for step in made] == [((0,),)] * 4
    assert not any(step.accepted for step in made[1:])


def test_no_group_exceeds_the_size_limit(rng):
    made = walk(rng, singletons(7), lambda p: -float(len(p)), moves(3), 300)
    assert max(len(g) for step in made for g in step.state) == 3


@pytest.mark.parametrize("value", [-np.inf, np.nan])
def test_a_state_without_a_density_is_never_accepted(value, rng):
    only = ((0, 2), (1,))
    made = walk(rng, only, lambda p: 0.3 if p == only else value, moves(3), 50)
    assert {step.state for step in made} == {only}


def test_the_walk_is_the_same_for_the_same_generator():
    runs = [
        walk(np.random.default_rng(77), ((0, 1), (2, 3, 4)), uneven, moves(4), 40)
        for _ in range(2)
    ]
    assert runs[0] == runs[1]
    assert len({step.state for step in runs[0]}) > 5


def test_proposals_in_turn_alternate(rng):
    def up(rng, state):
        return state + 1, 0.0

    def double(rng, state):
        return 2 * state, 0.0

    # The log density grows with every step, so that all are accepted.
    made = walk(rng, 3, float, in_turn(up, double), 4)
    assert [step.state for step in made] == [3, 4, 8, 9, 18]
