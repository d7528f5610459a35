"""The constrained problems of the benchmark: optima are reached, and not beaten."""

import importlib
from pathlib import Path

import numpy as np
import pytest

from sumbo.rng import rng_at
from sumbo.space import Space

ROOT = Path(__file__).parents[2]
# Where the optima are, from the sources of the problems or from SLSQP.
MINIMISERS = {
    "welded-beam": [0.20572964, 3.47048601, 9.0366239, 0.20572964],
    "pressure-vessel": [13, 7, 42.09844560, 176.63659584],
    "speed-reducer": [3.5, 0.7, 17, 7.3, 7.71531991, 3.35021467, 5.28665446],
    "tension-spring": [0.05168905, 0.35671753, 11.28897833],
    "g04": [78, 33, 29.99525603, 45, 36.77581291],
    "g06": [14.09499998, 0.84296075],
    "g08": [1.22797133, 4.24537333],
    "g09": [
        *[2.33049932, 1.95137231, -0.47754135, 4.36572641],
        *[-0.62448707, 1.03813087, 1.59422658],
    ],
    "gardner": [4.71238895, 1.2532359],
    "mixture": [0.41968912, 0.58031088, 0, 0],
    "mixture-process": [0.40403308, 0.59596692, 0, 0, 41.19019814, 3.74594802],
    "known-limits": [
        *[0.50259297, 0.40002264, 0.29738439, 0.86504432, 0.76504432, 0.66114101]
    ],
}


NAMES = sorted([*MINIMISERS, "coupled-sum"])


@pytest.fixture(scope="module")
def problems():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT))
        yield importlib.import_module("benchmarks.constrained.problems").PROBLEMS


def test_every_problem_has_its_minimiser(problems):
    assert sorted(problems) == NAMES


def water_filling():
    """Return the minimiser of the coupled sum, by bisection of the price."""
    i = np.arange(20)
    w, c = 1.0 + i % 5, 0.35 + 0.6 * (0.618 * (i + 1) % 1)
    low, high = 0.0, 20.0
    for _ in range(100):
        price = (low + high) / 2
        x = np.maximum(0.0, c - price / (2 * w))
        low, high = (price, high) if x.sum() > 7.5 else (low, price)
    return x


@pytest.mark.parametrize("name", NAMES)
def test_the_optimum_is_reached_at_a_feasible_point(name, problems):
    problem = problems[name]
    x = np.array(MINIMISERS[name] if name in MINIMISERS else water_filling())
    value, outcomes = problem.evaluate(x)
    assert value == pytest.approx(problem.optimum, rel=2e-6, abs=2e-6)
    # Minimisers are rounded to eight decimals.
    assert max(outcomes.values(), default=0.0) < 2e-6
    space = Space.of(problem.bounds).constrained(problem.known)
    if space.region is not None:
        assert space.region.feasible(space.encode(x), 1e-6).all()


@pytest.mark.parametrize("name", NAMES)
def test_no_random_feasible_point_is_lower(name, problems):
    problem = problems[name]
    space = Space.of(problem.bounds).constrained(problem.known)
    rng = rng_at(3, "constrained problems")
    U = rng.random((1000, space.dim))
    X = space.decode(space.region.draw(rng, 300) if space.region else U)
    for x in X:
        value, outcomes = problem.evaluate(x)
        if all(g <= 0 for g in outcomes.values()):
            assert value >= problem.optimum
