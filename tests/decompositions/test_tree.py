"""Forests of pairs as a decomposition: recovery, files, and where the walk goes on."""

import numpy as np

from partition_cases import MIXED
from sumbo import AdditiveGP, Space
from sumbo.checkpoint import join_state, split_state
from sumbo.data import prepare
from sumbo.decompositions import resolve
from sumbo.decompositions.tree import ForestState, Tree
from sumbo.structure import expand

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


def chain_data(N=80):
    return data_of([(-1.3, 0.8 + k) for k in range(6)], chained, N)


def mixed_data(N=9):
    return data_of(MIXED, lambda U: np.sin(3.3 * U[:, 0]) + U[:, 1] - U[:, 4], N)


def propose(source, rng, data, memory=None):
    return source.propose(rng, memory, data, None)


def test_a_chain_of_interactions_is_recovered(rng):
    # A draw from a posterior: six of six other seeds, with other points, gave it too.
    found = propose(resolve("tree"), rng, chain_data())
    assert found.groups == CHAIN
    assert found.memory.edges == CHAIN


def test_an_additive_function_keeps_its_singletons(rng):
    def f(U):
        return np.sin(U @ np.diag([3.1, 4.2, 5.3, 2.4, 6.1])).sum(axis=1)

    data = data_of([(-1.3, 0.8 + k) for k in range(5)], f, 60)
    groups = propose(resolve("tree"), rng, data).groups
    assert sum(len(group) == 1 for group in groups) >= 3


def test_the_start_of_the_fit_is_a_model_of_the_groups(rng):
    for data in (mixed_data(), chain_data(20)):
        found = propose(Tree(first_sweeps=3), rng, data)
        blank = AdditiveGP(groups=expand(found.groups, data.domain.blocks))
        assert found.start.groups == blank.groups
        better = found.start.log_marginal_likelihood(data.U, data.y)
        assert better > blank.log_marginal_likelihood(data.U, data.y)


def test_every_fit_of_the_walk_is_counted(rng):
    data, source = chain_data(25), Tree(first_sweeps=3, sweeps=2)
    first = propose(source, rng, data)
    assert first.fits == 1 + 3  # singletons, then one after each sweep
    assert propose(source, rng, data, first.memory).fits == 2 + 2


def test_the_walk_goes_on_from_a_saved_state_exactly(rng):
    data = chain_data(25)
    source = Tree(first_sweeps=2, sweeps=1)
    memory = propose(source, rng, data).memory
    back = source.restore(join_state(*split_state(memory.pack())))
    one, two = (
        propose(source, np.random.default_rng(8), data, known)
        for known in (memory, back)
    )
    assert one.groups == two.groups
    assert one.memory == two.memory
    theta = [found.start.hyperparameters().log() for found in (one, two)]
    np.testing.assert_array_equal(*theta)
    assert len(source.structures(one.memory)) == 3


def test_the_walk_starts_where_the_memory_is(rng):
    # A penalty that no data can outweigh or undo: edges are removed, none is added.
    data = chain_data(25)
    memory = ForestState(edges=((0, 4), (2, 4)))
    source = Tree(sweeps=1, sweep={"penalty": 1e6})
    assert set(propose(source, rng, data, memory).memory.edges) <= {(0, 4), (2, 4)}


def test_only_the_last_structures_are_remembered(rng):
    data, source = chain_data(20), Tree(first_sweeps=3, sweeps=2, remembered=4)
    first = propose(source, rng, data).memory
    second = propose(source, rng, data, first).memory
    assert len(second.visited) == 4
    assert second.visited[:2] == first.visited[1:]


def test_one_parameter_has_no_edges(rng):
    data = data_of([(2.2, 3.9)], lambda U: np.cos(4 * U[:, 0]), 7)
    found = propose(resolve("tree"), rng, data)
    assert found.groups == ((0,),)
    assert found.memory.edges == ()
