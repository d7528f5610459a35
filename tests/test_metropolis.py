"""The walk over partitions: its proposals by enumeration, its law by chi-square."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

from sumbo.errors import ArgumentError
from sumbo.partitions.metropolis import canonical, log_proposal, propose, walk


def all_partitions(members):
    """Return every set partition of a list, in canonical form."""
    if not members:
        return [()]
    first, rest = members[0], members[1:]
    out = []
    for smaller in all_partitions(rest):
        out.append(((first,), *smaller))
        for i in range(len(smaller)):
            grown = (first, *smaller[i])
            out.append((*smaller[:i], grown, *smaller[i + 1 :]))
    return sorted({canonical(p) for p in out})


def admissible(d, max_size):
    whole = all_partitions(list(range(d)))
    return [p for p in whole if max(map(len, p)) <= max_size]


def enumerated_proposals(old, max_size):
    """Return {new: probability} by going through every random choice, in fractions."""
    splittable = [g for g in old if len(g) > 1]
    pairs = [
        (g, h)
        for i, g in enumerate(old)
        for h in old[i + 1 :]
        if len(g + h) <= max_size
    ]
    coin = Fraction(1, 2) if splittable and pairs else Fraction(1)
    out = {}

    def add(new, p):
        new = canonical(new)
        out[new] = out.get(new, Fraction(0)) + p

    for g in splittable:
        rest = [h for h in old if h != g]
        seeds = [(i, j) for i in g for j in g if i != j]
        for i, j in seeds:
            others = [k for k in g if k not in (i, j)]
            for sides in product((0, 1), repeat=len(others)):
                halves = ([i], [j])
                for k, side in zip(others, sides, strict=True):
                    halves[side].append(k)
                p = coin / len(splittable) / len(seeds) / 2 ** len(others)
                add((*rest, tuple(halves[0]), tuple(halves[1])), p)
    for g, h in pairs:
        add((*(x for x in old if x not in (g, h)), g + h), coin / len(pairs))
    return out


@pytest.mark.parametrize(("d", "max_size"), [(4, 4), (4, 2), (5, 3), (5, 5)])
def test_proposal_probabilities_equal_the_enumeration_of_all_choices(d, max_size):
    states = admissible(d, max_size)
    for old in states:
        exact = enumerated_proposals(old, max_size)
        assert sum(exact.values()) == 1
        for new in states:
            q = np.exp(log_proposal(old, new, max_size))
            assert q == pytest.approx(float(exact.get(new, 0)), rel=1e-12, abs=0)


def test_there_are_fifteen_partitions_of_four_members():
    assert len(admissible(4, 4)) == 15


def uneven_score(partition):
    """Return a score that no symmetry of the partitions leaves unchanged."""
    return 0.9 * np.cos(
        sum(3**i * len(g) * (g[0] + 2) for i, g in enumerate(partition))
    )


def transition_matrix(states, max_size, score):
    """Return the Metropolis–Hastings matrix of the documented rule."""
    n = len(states)
    T = np.zeros((n, n))
    for i, old in enumerate(states):
        for j, new in enumerate(states):
            if i == j:
                continue
            q = np.exp(log_proposal(old, new, max_size))
            back = np.exp(log_proposal(new, old, max_size))
            if q > 0:
                ratio = np.exp(score(new) - score(old)) * back / q
                T[i, j] = q * min(1.0, ratio)
        T[i, i] = 1.0 - T[i].sum()
    return T


@pytest.mark.parametrize("max_size", [2, 3, 4])
def test_every_move_balances_its_reverse(max_size):
    states = admissible(4, max_size)
    p = np.exp([uneven_score(s) for s in states])
    flow = (p / p.sum())[:, None] * transition_matrix(states, max_size, uneven_score)
    np.testing.assert_allclose(flow, flow.T, rtol=1e-12, atol=0)


@pytest.mark.statistical
@pytest.mark.parametrize("max_size", [3, 4])
def test_the_chain_has_the_stationary_law(rng, max_size):
    # False alarm 1e-5. The chain is thinned until the second eigenvalue of its exact
    # transition matrix leaves a correlation below 1e-2 between kept states.
    states = admissible(4, max_size)
    T = transition_matrix(states, max_size, uneven_score)
    modulus = np.sort(np.abs(np.linalg.eigvals(T)))[-2]
    thin = int(np.ceil(np.log(1e-2) / np.log(modulus)))
    kept = 800
    visits = walk(rng, states[0], uneven_score, thin * (kept + 1), max_size)
    seen = [v.partition for v in visits[thin + 1 :: thin]]
    counts = [seen.count(s) for s in states]
    p = np.exp([uneven_score(s) for s in states])
    assert stats.chisquare(counts, len(seen) * p / p.sum()).pvalue > 1e-5


@pytest.mark.statistical
def test_proposals_are_drawn_with_their_probabilities(rng):
    # False alarm 1e-5.
    old, max_size, n = ((0, 3), (1,), (2, 4, 5)), 4, 6000
    exact = enumerated_proposals(old, max_size)
    counts = dict.fromkeys(exact, 0)
    for _ in range(n):
        counts[propose(rng, old, max_size)] += 1
    expected = [n * float(p) for p in exact.values()]
    assert stats.chisquare(list(counts.values()), expected).pvalue > 1e-5


def test_a_single_member_has_nowhere_to_go(rng):
    visits = walk(rng, ((0,),), lambda p: 0.0, 3, 5)
    assert [v.partition for v in visits] == [((0,),)] * 4
    assert not any(v.accepted for v in visits[1:])


def test_no_group_exceeds_the_size_limit(rng):
    visits = walk(rng, tuple((k,) for k in range(7)), lambda p: -len(p), 300, 3)
    assert max(len(g) for v in visits for g in v.partition) == 3


def test_an_impossible_proposal_is_never_accepted(rng):
    only = ((0, 2), (1,))

    def score(partition):
        return 0.0 if partition == only else -np.inf

    assert {v.partition for v in walk(rng, only, score, 50, 3)} == {only}


def test_a_score_that_is_not_a_number_is_never_accepted(rng):
    start = ((0,), (1, 2))
    visits = walk(rng, start, lambda p: 1.0 if p == start else np.nan, 30, 3)
    assert {v.partition for v in visits} == {start}


def test_the_walk_is_the_same_for_the_same_generator():
    runs = [
        walk(np.random.default_rng(77), ((0, 1), (2, 3, 4)), uneven_score, 40, 4)
        for _ in range(2)
    ]
    assert runs[0] == runs[1]
    assert len({v.partition for v in runs[0]}) > 5


def test_a_start_with_too_large_a_group_is_refused(rng):
    with pytest.raises(ArgumentError, match="max_size=2"):
        walk(rng, ((0, 1, 2),), uneven_score, 1, 2)
