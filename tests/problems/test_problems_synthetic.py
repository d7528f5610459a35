"""Ackley, Levy and Rastrigin sums: formulas, minima, known random-search results."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import qmc

from sumbo import problems
from sumbo.errors import ArgumentError

FAMILIES = ("ackley", "levy", "rastrigin")
NAMES = [f"{family}{dim}" for family in FAMILIES for dim in (2, 5, 10)]


def get(name, **settings) -> Any:
    return problems.get(name, **settings)


def ackley(z, c=0.1 * math.pi):
    rim = -20 * math.exp(-0.2 * abs(z))
    return rim - math.exp(math.cos(c * z)) + 20 + math.e


def levy(z):
    w = 1 + (z - 1) / 4
    wave = math.sin(2 * math.pi * w) ** 2
    return math.sin(math.pi * w) ** 2 + (w - 1) ** 2 * (1 + wave)


def rastrigin(z):
    return z**2 - 2 * math.cos(2 * math.pi * z)


def native(x, u, low, high):
    """The plain reading: shift in the unit scale, then stretch to the native box."""
    return low + (high - low) * (x - u)


@pytest.mark.parametrize(
    ("name", "settings", "g", "low", "high"),
    [
        ("ackley", {}, ackley, -32.768, 32.768),
        ("ackley", {"frequency": 1.7}, lambda z: ackley(z, 1.7), -32.768, 32.768),
        ("levy", {"center": "paper"}, levy, -10, 10),
        ("levy", {"center": "half"}, levy, -9, 11),
        ("rastrigin", {}, rastrigin, -1.5, 1.5),
    ],
)
def test_values_are_sums_of_the_textbook_component(name, settings, g, low, high):
    u = [0.31, -0.44, 0.07]
    p = get(name, dim=3, shift=u, **settings)
    rng = np.random.default_rng(6)
    for x in rng.random((20, 3)):
        parts = [g(native(a, b, low, high)) for a, b in zip(x, u, strict=True)]
        assert p(x) == pytest.approx(sum(parts), rel=1e-10)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", [0, 3, 91])
def test_minimiser_maps_to_the_minimum(name, seed):
    p = get(name, seed=seed)
    family, dim = name.rstrip("0125"), p.dim
    assert p.minimum == {"ackley": 0, "levy": 0, "rastrigin": -2 * dim}[family]
    assert p.exact
    # at the optimum z is computed without rounding
    assert p(p.minimizer) == p.minimum
    assert np.array_equal(p.minimizer, 0.5 + p.shift)


@pytest.mark.parametrize("name", [*NAMES, "levy10 paper"])
def test_no_sobol_point_lies_below_the_minimum(name):
    name, *center = name.split()
    settings = {"center": center[0]} if center else {}
    p = get(name, seed=12, **settings)
    U = qmc.Sobol(p.dim, rng=np.random.default_rng(4)).random_base2(12)
    assert p(U).min() > p.minimum


@pytest.mark.parametrize("dim", [1, 3, 7, 23])
@pytest.mark.parametrize("family", FAMILIES)
def test_any_dimension_can_be_had(family, dim):
    p = get(family, dim=dim, seed=5)
    assert p.name == f"{family}{dim}"
    assert p.bounds.shape == (dim, 2)
    assert p(p.minimizer) == p.minimum


def test_the_seed_chooses_the_shift():
    shifts = [get("levy5", seed=s).shift for s in range(40)]
    assert len({tuple(u) for u in shifts}) == 40
    assert np.array_equal(get("levy5", seed=7).shift, shifts[7])
    other = get("ackley5", seed=7).shift
    assert not np.array_equal(other, shifts[7])


@pytest.mark.statistical
def test_shifts_are_uniform():
    # 4000 numbers; Kolmogorov-Smirnov at 1e-4 has the critical value 2.23/sqrt(n)
    u = np.sort([get("ackley10", seed=s).shift for s in range(400)], axis=None)
    uniform = (np.arange(len(u)) + 0.5) / len(u) - 0.5
    assert np.abs(u - uniform).max() < 2.23 / np.sqrt(len(u))


# ---------------------------------------------------------------- known facts


@pytest.mark.parametrize(
    ("name", "center", "z0", "side", "z", "value"),
    [
        ("ackley", 0.5, 0.0, 65.536, 19.709, 19.6231),
        ("ackley", 0.5, 0.0, 65.536, 30.259, 22.3021),
        ("levy", 0.5, 1.0, 20.0, -2.916, 0.9794),
        ("levy", 0.5, 1.0, 20.0, 6.921, 3.2209),
        ("rastrigin", 0.5, 0.0, 3.0, 0.975, -1.0248),
    ],
)
def test_stationary_points_are_where_they_are_known_to_be(
    name, center, z0, side, z, value
):
    p = get(name, dim=1, shift=[0.0])
    x = center + (z - z0) / side
    assert p([x]) == pytest.approx(value, abs=6e-5)
    # the z are rounded to 5e-4; the slope changes sign across them
    left, right = p([x - 1e-3]) - p([x]), p([x + 1e-3]) - p([x])
    assert np.sign(left) == np.sign(right)


@pytest.mark.parametrize(
    ("name", "settings", "mean", "sd"),
    [
        ("ackley", {}, 18.63, 4.92),
        ("levy", {"center": "paper"}, 6.83, 7.85),
        ("rastrigin", {}, 1.50, 2.31),
    ],
)
def test_mean_and_spread_over_points_and_shifts(name, settings, mean, sd):
    x = (np.arange(1000)[:, None] + 0.5) / 1000
    u = (np.arange(100) + 0.5) / 100 - 0.5
    make = [get(name, dim=1, shift=[v], **settings) for v in u]
    y = np.array([p(x) for p in make])
    # the known numbers were simulated with a relative error of some 1e-3
    assert y.mean() == pytest.approx(mean, rel=6e-3)
    assert y.std() == pytest.approx(sd, rel=6e-3)


TABLE = {
    ("ackley", 2): (21.93, 11.86),
    ("ackley", 5): (68.90, 57.85),
    ("ackley", 10): (154.97, 139.58),
    ("levy", 2): (1.508, 0.584),
    ("levy", 5): (8.485, 5.243),
    ("levy", 10): (29.72, 20.80),
    ("rastrigin", 2): (-2.298, -3.338),
    ("rastrigin", 5): (-0.918, -3.678),
    ("rastrigin", 10): (2.880, -1.256),
}


@pytest.mark.statistical
@pytest.mark.parametrize(("family", "dim"), TABLE)
def test_random_search_reaches_the_known_medians(family, dim):
    settings = {"center": "paper"} if family == "levy" else {}
    R = 300
    best = np.empty((R, 2))
    for r in range(R):
        p = get(f"{family}{dim}", seed=r, **settings)
        y = p(np.random.default_rng([4711, dim, r]).random((120, dim)))
        best[r] = y[:20].min(), y.min()
    # The known medians come from 300 replicates, too. The rank of the true median in
    # a sample of n has sd sqrt(n)/2. Two comparisons; z = 4.1 is 4e-5 each.
    width = 4.1 * 0.5 * np.sqrt(2 / R)
    low, high = np.quantile(best, [0.5 - width, 0.5 + width], axis=0)
    assert np.all(low < TABLE[family, dim])
    assert np.all(TABLE[family, dim] < high)


# ---------------------------------------------------------------- literal Levy


@pytest.mark.parametrize(("u", "floor"), [(0.49, 0.42167), (0.50, 0.62500)])
def test_literal_levy_has_a_floor_where_the_optimum_leaves_the_box(u, floor):
    p = get("levy", dim=1, shift=[u], center="paper")
    assert p.minimum == pytest.approx(floor, abs=5e-6)
    assert p.minimizer.tolist() == [1.0]


@pytest.mark.parametrize("u", [-0.5, -0.2, 0.449, 0.4501, 0.46, 0.473, 0.4999])
def test_literal_levy_minimum_is_the_lowest_on_a_grid(u):
    p = get("levy", dim=1, shift=[u], center="paper")
    x = np.linspace(0, 1, 20001)
    y = p(x[:, None])
    k = int(np.argmin(y))
    a, b = x[max(0, k - 1)], x[min(20000, k + 1)]
    polish: Any = minimize_scalar(lambda t: p([t]), bounds=(a, b), method="bounded")
    assert p.minimum == pytest.approx(min(y[k], polish.fun), abs=1e-9)
    assert p(p.minimizer) == p.minimum


@pytest.mark.statistical
@pytest.mark.parametrize(("dim", "share"), [(2, 0.0975), (5, 0.2262), (10, 0.4013)])
def test_literal_levy_is_floored_as_often_as_it_should_be(dim, share):
    n = 800
    floored = sum(
        get(f"levy{dim}", seed=s, center="paper").minimum > 0 for s in range(n)
    )
    # z = 4: 6e-5
    assert abs(floored / n - share) < 4 * np.sqrt(share * (1 - share) / n)


def test_literal_levy_differs_from_the_recentred_one_by_a_twentieth():
    u = [0.11, -0.32]
    literal = get("levy2", shift=u, center="paper")
    recentred = get("levy2", shift=u)
    x = np.array([0.41, 0.73])
    assert literal(x) == pytest.approx(recentred(x - 0.05), rel=1e-12)


# ---------------------------------------------------------------- bad settings


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("levy2", {"center": "middle"}, "center='middle'"),
        ("levy2", {"shift": [0.1]}, "not 2 numbers"),
        ("levy2", {"shift": [0.1, 0.51]}, r"0\.51"),
        ("levy2", {"shift": [0.1, float("nan")]}, "nan"),
        ("ackley", {"dim": 0}, "dim=0"),
        ("ackley", {"dim": True}, "dim=True"),
        ("ackley2", {"frequency": float("inf")}, "frequency=inf"),
        ("rastrigin2", {"seed": -1}, "seed=-1"),
    ],
)
def test_a_setting_that_cannot_be_used_is_refused(name, settings, message):
    with pytest.raises(ArgumentError, match=message):
        get(name, **settings)
