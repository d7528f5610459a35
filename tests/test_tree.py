"""Forests of pairs: their proposals by enumeration, scores against dense formulas."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats

from sumbo import AdditiveGP, Categorical, Integer, Real, Space
from sumbo.checkpoint import join_state, split_state
from sumbo.data import prepare
from sumbo.decompositions import resolve, tree
from sumbo.decompositions.tree import (
    Tree,
    affinity,
    changed,
    conditional,
    edge_weights,
    fit,
    groups_of,
    moved_end,
    path,
    per_coordinate,
    walk,
)
from sumbo.structure import expand

PAIRS = list(combinations(range(4), 2))
CHAIN = tuple((k, k + 1) for k in range(5))


def data_of(bounds, f, N, seed=5):
    space = Space.of(bounds)
    U = space.snap(np.random.default_rng([seed, N]).random((N, space.dim)))
    return prepare(
        U=U,
        y=f(U),
        failed=np.zeros(N, dtype=bool),
        pending=np.empty((0, space.dim)),
        domain=space,
        step=N,
    )


def chained(U):
    return sum(np.sin(3 * (U[:, i] + 2 * U[:, i + 1]) + i) for i in range(5))


def chain_data(N=80, seed=5):
    return data_of([(-1.3, 0.8 + k) for k in range(6)], chained, N, seed)


def mixed_data(N=9):
    bounds = [
        Real("a", 0.2, 3.0),
        Categorical("b", ("u", "v", "w")),
        Integer("c", 1, 4),
    ]
    return data_of(bounds, lambda U: np.sin(3.3 * U[:, 0]) + U[:, 1] - U[:, 4], N)


def alone(data):
    return fit(data, (), tree._blank(data), steps=8)


def all_forests():
    out = []
    for taken in product((False, True), repeat=len(PAIRS)):
        edges = tuple(e for e, t in zip(PAIRS, taken, strict=True) if t)
        if all(not path(edges[:n], *e) for n, e in enumerate(edges)):
            out.append(edges)
    return out


FORESTS = all_forests()


# ---------------------------------------------------------------------- forests
def test_there_are_38_forests_on_four_nodes():
    assert len(FORESTS) == 38


def test_a_path_lists_the_edges_between_two_nodes():
    forest = ((0, 3), (1, 3), (1, 5), (2, 4))
    assert set(path(forest, 5, 0)) == {(1, 5), (1, 3), (0, 3)}
    assert path(forest, 4, 5) == ()


def test_groups_are_the_edges_and_what_they_leave():
    assert groups_of(((0, 3), (3, 4)), 6) == ((1,), (2,), (5,), (0, 3), (3, 4))
    assert groups_of((), 2) == ((0,), (1,))


# ---------------------------------------------------------------------- proposals
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
        changed(first, forest, weights)
        n = first.sizes[0] if first.sizes else 1
        for choice in range(n):
            new, log_q = changed(Scripted(uniforms, choice), forest, weights)
            before, _ = out.get(new, (0.0, 0.0))
            out[new] = before + p / n, log_q
    return out


def test_changes_know_the_ratio_of_their_probabilities(rng):
    weights = edge_weights(rng.standard_normal((4, 4)))
    there = {forest: changes(forest, weights) for forest in FORESTS}
    for old, moves in there.items():
        assert sum(p for p, _ in moves.values()) == pytest.approx(1.0)
        for new, (p, log_q) in moves.items():
            assert new in there
            back, _ = there[new][old]
            assert log_q == pytest.approx(np.log(back / p), abs=1e-12)


def test_every_forest_is_reached_by_changes(rng):
    weights = edge_weights(rng.standard_normal((4, 4)))
    seen, todo = {()}, [()]
    while todo:
        for new in changes(todo.pop(), weights):
            if new not in seen:
                seen.add(new)
                todo.append(new)
    assert seen == set(FORESTS)


def test_moves_of_an_end_are_as_likely_as_their_reverse():
    def moves(forest):
        out = {}
        for edge, end, other in product(range(len(forest)), range(2), range(2)):
            new = moved_end(Scripted((), edge, end, other), forest, 4)
            out[new] = out.get(new, 0) + 1
        return out

    there = {forest: moves(forest) for forest in FORESTS}
    swaps = 0
    for old, found in there.items():
        for new, count in found.items():
            if new != old:
                swaps += 1
                assert len(new) == len(old)
                assert there[new][old] == count
    assert swaps > 100


@pytest.mark.statistical
def test_the_walk_has_the_stationary_law(rng):
    # False alarm 1e-5; twelve steps between kept states leave little correlation.
    def score(forest):
        return float(0.9 * np.cos(sum(3 * i + 5 * j + 1 for i, j in forest)))

    weights = edge_weights(rng.standard_normal((4, 4)))
    forest, counts, n = (), dict.fromkeys(FORESTS, 0), 600
    for _ in range(n):
        forest = walk(rng, forest, score, weights, 12)
        counts[forest] += 1
    p = np.exp([score(forest) for forest in FORESTS])
    expected = n * p / p.sum()
    assert stats.chisquare(list(counts.values()), expected).pvalue > 1e-5


# ---------------------------------------------------------------------- densities
def dense_log_density(K, y):
    return stats.multivariate_normal(np.zeros(len(y)), K).logpdf(y)


def test_affinity_is_the_slope_of_the_evidence_in_the_variance_of_a_pair():
    data = chain_data(15)
    gp = alone(data).gp
    slopes = affinity(data, gp)
    parts = [
        kernel(data.U[:, list(g)], data.U[:, list(g)])
        for g, kernel in zip(gp.groups, gp.kernels, strict=True)
    ]
    K = sum(parts) + gp.noise * np.eye(15)
    y, h = data.y - gp.mean, 1e-5
    for p, q in combinations(range(6), 2):
        pair = parts[p] * parts[q] / (gp.variances[p] * gp.variances[q])
        up, down = (dense_log_density(K + s * h * pair, y) for s in (1, -1))
        assert slopes[p, q] == pytest.approx((up - down) / (2 * h), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("forest", [(), ((0, 1),), ((0, 1), (1, 2))])
def test_the_score_is_the_density_of_the_model_of_that_forest(forest):
    data = mixed_data(11)
    blocks = data.domain.blocks
    start = fit(data, ((0, 2),), tree._blank(data))
    law = conditional(data, start)
    length, share = per_coordinate(start.gp)
    groups = expand(groups_of(forest, 3), blocks)
    degree = np.bincount([p for g in groups for p in g], minlength=5)
    # As in ``fit``: what is drawn is the structure of the model that is then used.
    lengthscales = [length[list(g)] * np.sqrt(len(g)) for g in groups]
    variances = [(share / degree)[list(g)].sum() for g in groups]
    gp = AdditiveGP(
        groups=groups,
        lengthscales=lengthscales,
        variances=variances,
        noise=start.gp.noise,
        mean=start.gp.mean,
    )
    exact = gp.log_marginal_likelihood(data.U, data.y) + 11 / 2 * np.log(2 * np.pi)
    assert law.score(forest) == pytest.approx(exact - len(forest), rel=1e-9)


def test_edges_expected_without_data_grow_as_the_parameters():
    # Were edges independent, K(K − 1)/2 of them with odds exp(log p) would number K/e.
    for K in (4, 17, 60):
        odds = np.exp(tree.log_prior(((0, 1),), K))
        assert K * (K - 1) / 2 * odds == pytest.approx(K / np.e)
        assert tree.log_prior(((0, 1), (1, 3)), K) == pytest.approx(2 * np.log(odds))


def test_weights_favour_steep_pairs_and_forget_none(rng):
    slopes = rng.standard_normal((5, 5))
    slopes = slopes + slopes.T
    w = edge_weights(slopes)
    i, j = np.triu_indices(5, 1)
    assert w[i, j].sum() == pytest.approx(1.0)
    assert (np.argsort(w[i, j]) == np.argsort(slopes[i, j])).all()
    assert w[i, j].min() >= 0.5 / 10
    np.testing.assert_array_equal(w, w.T)


# ---------------------------------------------------------------------- as a whole
def test_a_chain_of_interactions_is_recovered(rng):
    # A draw from a posterior: six of six other seeds, with other points, gave it too.
    groups, state = resolve("tree").propose(rng, {}, chain_data())
    assert groups == CHAIN
    assert state["edges"] == [list(edge) for edge in CHAIN]


def test_an_additive_function_keeps_its_singletons(rng):
    def f(U):
        return np.sin(U @ np.diag([3.1, 4.2, 5.3, 2.4, 6.1])).sum(axis=1)

    data = data_of([(-1.3, 0.8 + k) for k in range(5)], f, 60)
    groups, _ = resolve("tree").propose(rng, {}, data)
    assert sum(len(group) == 1 for group in groups) >= 3


def test_parameters_remembered_are_in_the_layout_of_the_groups(rng):
    for data in (mixed_data(), chain_data(20)):
        groups, state = Tree(first_sweeps=3).propose(rng, {}, data)
        gp = AdditiveGP(groups=expand(groups, data.domain.blocks))
        assert gp.hyperparameters().log().shape == state["log_theta"].shape


def test_the_walk_goes_on_from_a_saved_state_exactly(rng):
    data = chain_data(25)
    source = Tree(first_sweeps=2, sweeps=1)
    _, state = source.propose(rng, {}, data)
    runs = []
    for known in (state, join_state(*split_state(state))):
        groups, new = source.propose(np.random.default_rng(8), known, data)
        runs.append((groups, new["edges"], new["visited"], new["log_theta"].tobytes()))
    assert runs[0] == runs[1]
    assert len(runs[0][2]) == 3


def test_the_walk_starts_where_the_state_is(rng):
    data = chain_data(25)
    state = {"edges": [[0, 4], [2, 4]], "visited": []}
    groups, new = Tree(sweeps=0).propose(rng, state, data)
    assert groups == ((1,), (3,), (5,), (0, 4), (2, 4))
    assert new["edges"] == [[0, 4], [2, 4]]


def test_one_parameter_has_no_edges(rng):
    data = data_of([(2.2, 3.9)], lambda U: np.cos(4 * U[:, 0]), 7)
    groups, state = resolve("tree").propose(rng, {}, data)
    assert groups == ((0,),)
    assert state["edges"] == []
