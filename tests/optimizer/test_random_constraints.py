"""Random spaces with random constraints: no infeasible ask, no duplicate, no crash."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from sumbo import Categorical, Feasible, Integer, Optimizer, Real, Simplex, Space

METHODS = ("logei", "ts", "ats", "alcb2", "uniform")


def random_bounds(rng):
    """Return one to five parameters of random kinds."""
    bounds = []
    for k in range(rng.integers(1, 6)):
        kind = rng.choice(["real", "log", "integer", "choice", "simplex"])
        low = float(rng.uniform(-5, 3))
        if kind == "real":
            bounds.append(Real(f"r{k}_", low, low + float(rng.uniform(0.1, 9))))
        elif kind == "log":
            bounds.append(Real(f"l{k}_", 10 ** rng.uniform(-5, -1), 2.7, log=True))
        elif kind == "integer":
            bounds.append(
                Integer(f"i{k}_", int(low), int(low) + int(rng.integers(1, 30)))
            )
        elif kind == "choice":
            bounds.append(Categorical(f"c{k}_", ("a", "b", "c")[: rng.integers(2, 4)]))
        else:
            bounds.append(Simplex(f"s{k}_", int(rng.integers(2, 5))))
    return bounds


def random_constraints(rng, space):
    """Return constraints that hold at one random point, with a check of their own."""
    region = space.region
    u = region.draw(rng, 1) if region else space.snap(rng.random((1, space.dim)))
    known = space.as_dict(space.decode(u)[0])
    numbers = {k: v for k, v in known.items() if not isinstance(v, str)}
    texts, checks = [], []
    for _ in range(rng.integers(0, 4)):
        if not numbers:
            break
        names = rng.permutation(list(numbers))[: rng.integers(1, len(numbers) + 1)]
        c = {str(n): int(rng.integers(1, 4) * rng.choice([-1, 1])) for n in names}
        total = sum(a * numbers[n] for n, a in c.items())
        sign = rng.choice(["<=", ">=", "=="], p=[0.45, 0.4, 0.15])
        room = 0.0 if sign == "==" else float(rng.uniform(0.05, 2.0))
        limit = float(total + room if sign == "<=" else total - room)
        sides = " + ".join(f"{a}*{n}" for n, a in c.items())
        texts.append(f"{sides} {sign} {limit!r}")
        checks.append((c, sign, limit))
    if rng.random() < 0.3:
        radius = float(rng.uniform(0.3, 1.5))
        texts.append(
            Feasible(lambda x: bool(np.linalg.norm(space.encode(x) - u) <= radius))
        )
    return texts, checks


def holds(space, x, checks, tests):
    point = space.as_dict(x)
    for c, sign, limit in checks:
        total = sum(a * point[n] for n, a in c.items())
        size = sum(abs(a * point[n]) for n, a in c.items()) + abs(limit)
        if sign == "==":
            good = abs(total - limit) <= 1e-9 * size
        else:
            # Rounding of integers times decimals, and of this sum itself.
            low, high = (total, limit) if sign == "<=" else (limit, total)
            good = low <= high + 1e-12 * size
        if not good:
            return False
    return all(test(x) for test in tests)


def check(seed):
    rng = np.random.default_rng(seed)
    bounds = random_bounds(rng)
    space = Space.of(bounds)
    constraints, checks = random_constraints(rng, space)
    tests = [c for c in constraints if isinstance(c, Feasible)]
    method = str(rng.choice(METHODS))
    opt = Optimizer(bounds, constraints=constraints, method=method, seed=seed, n_init=4)
    asked = []
    for n in (4, 1, 3):
        for x in opt.ask(n):
            assert space.contains(x)
            assert holds(space, x, checks, tests), (constraints, x)
            asked.append(x)
            opt.tell(x, float(np.sin(4 * opt.space.encode(x)).sum()))
    sums = [c for c in opt.space.constraints if not isinstance(c, Feasible)]
    for x in asked:
        point = opt.space.as_dict(x)
        for row in sums:
            if row.lower == row.upper:
                total = sum(a * point[n] for n, a in row.coefficients)
                size = sum(abs(a * point[n]) for n, a in row.coefficients) + 1e-300
                assert abs(total - row.lower) <= 1e-9 * max(size, abs(row.lower))
    region = opt.space.region
    some = rng.random((60, opt.space.dim))
    some = opt.space.snap(some) if region is None else region.draw(rng, 60)
    if len(np.unique(some, axis=0)) >= 40:  # there are points enough
        assert len({tuple(x) for x in asked}) == len(asked)


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
