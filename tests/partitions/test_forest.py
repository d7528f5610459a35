"""Forests of pairs: their proposals by going through every choice."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats

from forests import FORESTS, PAIRS
from sumbo.partitions.forest import (
    change_edge,
    edge_weights,
    forest_groups,
    move_end,
    path,
)


class Scripted(np.random.Generator):
    """A generator whose choices are given, and which notes how many there were."""

    def __init__(self, uniforms, *choices):
        super().__init__(np.random.PCG64(0))
        self.uniforms, self.choices, self.sizes = list(uniforms), list(choices), []

    def random(self):
        return self.uniforms.pop(0)

    def integers(self, n):
        self.sizes.append(n)
        return self.choices[len(self.sizes) - 1] if self.choices else 0


def changes(forest, weights):
    """Return {new: (probability, log ratio)} by going through all choices."""
    w = np.array([weights[e] for e in PAIRS])
    ends = np.cumsum(w)
    middles = (ends - 0.5 * w) / ends[-1]
    # The first number decides for removal, or the second picks a pair.
    ways = [((0.7, u), 0.5 * p) for u, p in zip(middles, w, strict=True)]
    ways.append(((0.3,), 0.5))
    out = {}
    for uniforms, p in ways:
        first = Scripted(uniforms, 0)
        change_edge(first, forest, weights)
        n = first.sizes[0] if first.sizes else 1
        for choice in range(n):
            new, log_q = change_edge(Scripted(uniforms, choice), forest, weights)
            before, _ = out.get(new, (0.0, 0.0))
            out[new] = before + p / n, log_q
    return out


@pytest.fixture
def weights(rng):
    return edge_weights(rng.standard_normal((4, 4)), 0.5)


# ---------------------------------------------------------------------- forests
def test_there_are_38_forests_on_four_nodes():
    assert len(set(FORESTS)) == 38


def test_a_path_lists_the_edges_between_two_nodes():
    forest = ((0, 3), (1, 3), (1, 5), (2, 4))
    assert set(path(forest, 5, 0)) == {(1, 5), (1, 3), (0, 3)}
    assert path(forest, 4, 5) == ()


def test_groups_are_the_edges_and_the_parameters_on_none_of_them():
    assert forest_groups(((0, 3), (3, 4)), 6) == ((1,), (2,), (5,), (0, 3), (3, 4))
    assert forest_groups((), 2) == ((0,), (1,))


# ---------------------------------------------------------------------- proposals
def test_changes_return_the_ratio_of_their_probabilities(weights):
    there = {forest: changes(forest, weights) for forest in FORESTS}
    for old, found in there.items():
        assert sum(p for p, _ in found.values()) == pytest.approx(1.0)
        for new, (p, log_q) in found.items():
            assert new in there
            back, _ = there[new][old]
            assert log_q == pytest.approx(np.log(back / p), abs=1e-12)


def test_every_forest_is_reached_by_changes(weights):
    seen, todo = {()}, [()]
    while todo:
        new = set(changes(todo.pop(), weights)) - seen
        seen |= new
        todo += new
    assert seen == set(FORESTS)


@pytest.mark.statistical
def test_changes_are_drawn_with_their_probabilities(weights, rng):
    # Chi-square; a false alarm in 1e-5 of runs.
    start, n = ((0, 2), (1, 2)), 4000
    exact = {new: p for new, (p, _) in changes(start, weights).items()}
    counts = dict.fromkeys(exact, 0)
    for _ in range(n):
        counts[change_edge(rng, start, weights)[0]] += 1
    expected = n * np.array(list(exact.values()))
    assert stats.chisquare(list(counts.values()), expected).pvalue > 1e-5


def test_moves_of_an_end_are_as_likely_as_their_reverse():
    def moves(forest):
        out = {}
        for edge, end, other in product(range(len(forest)), range(2), range(2)):
            new, log_ratio = move_end(Scripted((), edge, end, other), forest, 4)
            assert log_ratio == 0.0
            out[new] = out.get(new, 0) + 1
        return out

    there = {forest: moves(forest) for forest in FORESTS}
    moved = 0
    for old, found in there.items():
        for new, count in found.items():
            if new != old:
                moved += 1
                assert len(new) == len(old)
                assert there[new][old] == count
    assert moved > 100


@pytest.mark.parametrize(("forest", "K"), [((), 4), (((0, 1),), 2)])
def test_without_another_end_a_forest_is_kept(forest, K, rng):
    assert move_end(rng, forest, K) == (forest, 0.0)


# ---------------------------------------------------------------------- weights
@pytest.mark.parametrize("even_share", [0.5, 0.2, 1.0])
def test_weights_favour_steep_pairs_and_leave_none_out(even_share, rng):
    slopes = rng.standard_normal((5, 5))
    slopes = slopes + slopes.T
    w = edge_weights(slopes, even_share)
    pairs = list(combinations(range(5), 2))
    steep = np.array([slopes[e] for e in pairs])
    found = np.array([w[e] for e in pairs])
    np.testing.assert_array_equal(w, w.T)
    assert found.sum() == pytest.approx(1.0)
    assert found.min() >= even_share / 10 - 1e-15
    # What is not even is proportional to the exponential of the standardised slopes.
    exact = np.exp((steep - steep.mean()) / steep.std())
    exact = even_share / 10 + (1 - even_share) * exact / exact.sum()
    np.testing.assert_allclose(found, exact, rtol=1e-12)


def test_one_parameter_has_no_pair():
    np.testing.assert_array_equal(edge_weights(np.array([[0.7]]), 0.5), [[0.0]])
