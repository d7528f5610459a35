"""The additive bound on random forests, minimised exactly over levels."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from searches import bowl, data_of
from sumbo import Categorical, Integer, Optimizer, Real
from sumbo.methods import make
from sumbo.search import GridCost

# A space of 4 · 5 · 6 · 3 points, so that its minimum can be found by enumeration.
FINITE = (
    Integer("depth", 2, 5),
    Integer("width", 3, 7),
    Integer("layers", 1, 6),
    Categorical("rule", ("sum", "max", None)),
)
GRAPHS = {
    "random": "random_tree",
    "a chain": ((2, 0), (0, 3), (3, 1)),
    "a cycle": ((0, 1), (1, 2), (2, 3), (3, 0)),
    "triples": ((0, 1, 2), (1, 2, 3), (3, 0)),
    "a residual": ((0,), (1, 2), (3,), (0, 1, 2, 3)),
}
BETA = 1.3


def bound(surrogate, U, beta):
    """Return the bound from the moments of the parts."""
    post = surrogate.posterior
    total = np.zeros(len(U))
    for m, group in enumerate(post.gp.groups):
        mean, var = post.part_moments(m, U[:, list(group)])
        total += mean - beta * np.sqrt(np.maximum(var, 1e-12))
    return total


def everywhere(space):
    """Return all points of a finite space in the unit cube."""
    values = [[2, 3, 4, 5], [3, 4, 5, 6, 7], [1, 2, 3, 4, 5, 6], ["sum", "max", None]]
    return space.encode(list(product(*values)))


@pytest.mark.parametrize("groups", GRAPHS.values(), ids=GRAPHS)
def test_the_minimum_over_all_points_is_found(groups, rng):
    data = data_of(rng, [0] * 4, 14, FINITE)
    method = make("rducb", beta=BETA, groups=groups)
    found, state, info = method.propose(rng, None, data, 2)
    surrogate = method.surrogate(state, data)
    U = everywhere(data.domain)
    assert info.search.gap == 0
    for u in found[:, None]:
        least = bound(surrogate, U, BETA).min()
        assert bound(surrogate, u, BETA)[0] == pytest.approx(least, abs=1e-9)
        # The second point of a batch is chosen with the first one fantasised.
        surrogate = surrogate.fantasised(u)


@pytest.mark.parametrize("groups", ["random_tree", ((0, 1), (1, 2), (2, 3), (3, 1))])
def test_gradient_steps_leave_the_grid_for_a_lower_bound(groups, rng):
    data = data_of(rng, [0, 1, 1, 2], 25)
    method = make("rducb", beta=BETA, groups=groups, levels=9)
    (u,), state, _ = method.propose(np.random.default_rng(4), None, data, 1)
    on_grid = replace(method, refine=False)
    (v,), _, _ = on_grid.propose(np.random.default_rng(4), None, data, 1)
    surrogate = method.surrogate(state, data)
    low, grid = bound(surrogate, np.array([u, v]), BETA)
    assert low < grid
    assert grid < bound(surrogate, rng.random((3000, 4)), BETA).min() + 0.1


def test_exploration_grows_with_the_logarithm_of_the_number_of_asks(rng):
    data = replace(data_of(rng, [0] * 4, 14, FINITE), asks=30)
    method = make("rducb", groups=GRAPHS["a chain"])
    (u,), state, _ = method.propose(rng, None, data, 1)
    surrogate, U = method.surrogate(state, data), everywhere(data.domain)
    beta = 0.5 * math.log(2 * 31)
    values = bound(surrogate, U, beta)
    assert bound(surrogate, u[None], beta)[0] == pytest.approx(values.min(), abs=1e-9)


@pytest.mark.filterwarnings("ignore:method=.* takes the parts as independent")
def test_every_ask_with_new_observations_has_a_forest_of_its_own():
    opt = Optimizer([(-2.3, 3.1)] * 10, method="rducb", seed=5, n_init=4, levels=5)
    forests = []
    for _ in range(12):
        x = opt.ask()
        opt.tell(x, bowl(x[:3]))
        forests.append(opt.info.groups)
    assert forests[:4] == [None] * 4
    assert all(sum(len(g) == 2 for g in groups) == 2 for groups in forests[4:])
    assert len(set(forests[4:])) > 5
    assert opt.info.search == GridCost(width=1, cells=opt.info.search.cells)


def test_constraints_are_kept(rng):
    space = [Real("a", -1.3, 2.1), Real("b", 0.4, 1.7), Real("c", -3.0, 0.5)]
    opt = Optimizer(
        space, method="rducb", seed=2, n_init=4, constraints=["a + b <= 1.1"], levels=9
    )
    for _ in range(8):
        x = opt.ask()
        assert x[0] + x[1] <= 1.1 + 1e-9
        opt.tell(x, bowl(x))
