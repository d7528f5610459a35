"""Problems where the coupling of the parts counts: chain, pairs, balanced, designs."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.spatial.distance import cdist

import sumbo
from sumbo import problems
from sumbo.errors import ArgumentError


def get(name, **settings) -> Any:
    return problems.get(name, **settings)


@pytest.mark.parametrize("name", ["chain", "pairs"])
def test_the_value_is_the_sum_of_waves_of_the_formula(name, rng):
    p = get(name, seed=8)
    X = rng.random((5, 6))
    expected = []
    for x in X:
        total = 0.0
        for m, (i, j) in enumerate(p.groups):
            for k in range(4):
                angle = p.frequencies[m, k] @ (x[i], x[j]) + p.phases[m, k]
                total += np.sqrt(0.5) * np.cos(angle)
        expected.append(total)
    np.testing.assert_allclose(p(X), expected, rtol=1e-12)
    slope = approx_fprime(X[0], p, 1e-7)
    np.testing.assert_allclose(p.gradient(X[0]), slope, atol=1e-5)


def test_the_groups_of_the_chain_overlap_and_those_of_the_pairs_do_not():
    assert get("chain").groups == ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5))
    assert get("pairs").groups == ((0, 1), (2, 3), (4, 5))
    # Scale and roughness: ω has the deviation 1/0.3; false alarm below 1e-6.
    omega = np.array([get("chain", seed=s).frequencies for s in range(40)])
    count = omega.size
    assert abs((omega**2).mean() * 0.09 - 1) < 5 * np.sqrt(2 / count)


@pytest.mark.parametrize("seed", [0, 5, 11])
@pytest.mark.parametrize("name", ["chain", "pairs"])
def test_no_search_finds_less_than_the_minimum(name, seed, rng):
    p = get(name, seed=seed)
    starts = rng.random((3000, 6))
    starts = starts[np.argsort(p(starts))[:25]]
    found = [minimize(p, x, jac=p.gradient, bounds=p.bounds).fun for x in starts]
    assert min(found) >= p.minimum - 1e-8
    assert min(found) < p.minimum + 1.5  # the searches are of some use


def test_the_minimum_of_pairs_is_the_sum_of_minima_on_fine_grids():
    p = get("pairs", seed=3)
    z = np.linspace(0, 1, 801)
    grid = np.stack(np.meshgrid(z, z), axis=-1).reshape(-1, 2)
    total = 0.0
    for m in range(3):
        waves = np.cos(grid @ p.frequencies[m].T + p.phases[m])
        total += np.sqrt(0.5) * waves.sum(axis=1).min()
    assert total - 1e-3 < p.minimum <= total


def test_rows_of_the_log_have_the_same_total_and_say_nothing_of_the_slope():
    signs = set()
    for name in ("balanced", "balanced-box"):
        for seed in range(8):
            p = get(name, seed=seed)
            np.testing.assert_allclose(p.log.sum(axis=1), p.dim / 2, rtol=1e-12)
            assert p.space.contains(p.space.points(p.log))
            np.testing.assert_allclose(p(p.log), 0.0, atol=1e-12)
            signs.add((name, float(np.sign(p.slope))))
    assert len(signs) == 4
    # Contrasts are determined: the log has full rank but for the total.
    for name in ("balanced", "balanced-box"):
        p = get(name)
        assert np.linalg.matrix_rank(p.log - p.log.mean()) == p.dim - 1


def test_balanced_is_a_linear_function_of_levels():
    p = get("balanced", seed=4)
    x = np.array([0, 1] * 7 + [1, 1], dtype=float)
    assert abs(p(x)) == pytest.approx(2 / 4)  # nine levels of 1, seven of 0
    assert p.minimum == -4.0
    opt = sumbo.Optimizer(p.space, seed=1, method="uniform")
    assert {*np.ravel(opt.ask(9).astype(float))} == {0.0, 1.0}


def test_designs_are_a_draw_from_the_additive_process():
    # The mean of f'K⁻¹f/count over independent draws is 1; false alarm below 1e-6.
    scores = []
    for seed in range(12):
        p = get("designs", seed=seed)
        K = np.zeros((20, 20))
        for m in range(20):
            a = np.sqrt(5) * cdist(p.designs[:, [m]], p.designs[:, [m]]) / 0.3
            K += (1 + a + a**2 / 3) * np.exp(-a) / 20
        f = p(p.designs)
        scores.append(f @ np.linalg.solve(K, f))
    count = 12 * 20
    assert abs(np.sum(scores) / count - 1) < 5 * np.sqrt(2 / count)


def test_the_minimum_of_designs_is_that_over_the_box():
    p = get("designs", seed=6, count=7)
    assert p.designs.shape == (7, 20)
    z = np.linspace(0, 1, 777)
    least = [p.part(i, z).min() for i in range(20)]
    assert p.minimum <= sum(least) < p.minimum + 1e-3
    assert p(p.minimizer) == pytest.approx(p.minimum, abs=1e-12)
    # Between the places where it is drawn, a part is smooth.
    steps = [abs(b - a) for a, b in pairwise(p.part(3, z))]
    assert max(steps) < 0.02
    with pytest.raises(ArgumentError, match="count=0"):
        get("designs", count=0)


@pytest.mark.parametrize("name", ["chain", "pairs", "designs", "balanced-box"])
def test_another_seed_is_another_function(name):
    x = np.full(get(name).dim, 0.37)
    values = {get(name, seed=s)(x) for s in range(6)}
    assert len(values) == (2 if name == "balanced-box" else 6)
