"""Random spaces with random constraints: no infeasible ask, no duplicate, no crash."""

import numpy as np
import pytest
from benchmarks.constrained.spaces import Row, random_scene
from hypothesis import HealthCheck, given, settings, strategies as st

from sumbo import Optimizer

METHODS = ("logei", "ts", "ats", "alcb2", "uniform")


def check(seed):
    rng = np.random.default_rng(seed)
    scene = random_scene(rng)
    opt = Optimizer(
        scene.bounds,
        constraints=scene.constraints,
        method=str(rng.choice(METHODS)),
        seed=seed,
        n_init=4,
    )
    asked = []
    for n in (4, 1, 3):
        for x in opt.ask(n):
            assert scene.holds(opt.space, x), (scene.constraints, x)
            asked.append(x)
            opt.tell(x, float(np.sin(4 * opt.space.encode(x)).sum()))
    region = opt.space.region
    some = rng.random((60, opt.space.dim))
    some = opt.space.snap(some) if region is None else region.draw(rng, 60)
    if len(np.unique(some, axis=0)) >= 40:  # there are points enough
        assert len({tuple(x) for x in asked}) == len(asked)


@pytest.mark.parametrize(
    ("sign", "value", "good"),
    [
        ("<=", 3.7, True),
        ("<=", 3.7 + 1e-9, False),
        (">=", 3.7 - 1e-9, False),
        ("==", 3.7, True),
        ("==", 3.7 + 1e-6, False),
    ],
)
def test_the_check_tells_feasible_points_from_others(sign, value, good):
    row = Row(coefficients={"a": 2, "b": -1}, sign=sign, limit=3.7)
    assert row.holds({"a": 2.6, "b": 5.2 - value}) is good


FIXED = {"deadline": None, "derandomize": True, "database": None}
SLOW_EXAMPLES = [HealthCheck.too_slow]


@settings(max_examples=2, suppress_health_check=SLOW_EXAMPLES, **FIXED)
@given(st.integers(0, 10**6))
def test_a_few_random_constrained_runs(seed):
    check(seed)


@pytest.mark.slow
@settings(max_examples=300, suppress_health_check=SLOW_EXAMPLES, **FIXED)
@given(st.integers(0, 10**6))
def test_many_random_constrained_runs(seed):
    check(seed)
