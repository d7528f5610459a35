"""Noisy, counted and timed problems."""

import pickle  # noqa: TID251 - problems are sent to worker processes this way
from typing import Any

import numpy as np
import pytest

from sumbo import problems
from sumbo.errors import ArgumentError


def get(name, **settings) -> Any:
    return problems.get(name, **settings)


def inner():
    return get("levy5", seed=4)


def points(n):
    return np.random.default_rng(55).random((n, 5))


def test_noise_has_the_standard_deviation_asked_for():
    p, X = inner(), points(2000)
    noise = problems.noisy(p, 0.3, seed=1)(X) - p(X)
    # sd of the mean 0.0067, of the sd 0.0047; six of each
    assert abs(noise.mean()) < 6 * 0.0067
    assert abs(noise.std() - 0.3) < 6 * 0.0047


def test_noise_depends_on_the_point_and_not_on_the_order():
    X = points(6)
    forth = problems.noisy(inner(), 0.3, seed=1)(X)
    back = problems.noisy(inner(), 0.3, seed=1)(X[::-1])
    assert np.array_equal(forth, back[::-1])


def test_repeating_a_point_gives_another_value_and_starting_anew_the_same():
    x = points(1)[0]
    p, again = (problems.noisy(inner(), 0.3, seed=1) for _ in range(2))
    values = [p(x), p(x), p(x)]
    assert len(set(values)) == 3
    assert [again(x), again(x), again(x)] == values


def test_another_seed_gives_other_noise():
    X = points(4)
    a, b = (problems.noisy(inner(), 0.3, seed=s)(X) for s in (1, 2))
    assert not np.any(a == b)


def test_a_noisy_problem_keeps_the_facts_of_the_exact_one():
    p = problems.noisy(inner(), 0.3)
    assert p.noise == 0.3
    assert p.minimum == 0
    assert p.name == "levy5"
    assert np.array_equal(p.bounds, inner().bounds)


@pytest.mark.parametrize("sd", [-0.1, float("nan"), float("inf")])
def test_noise_needs_a_standard_deviation(sd):
    with pytest.raises(ArgumentError, match="sd="):
        problems.noisy(inner(), sd)


def test_points_are_counted_one_by_one_and_in_batches():
    p = problems.counted(inner())
    assert p.count == 0
    X = points(7)
    assert np.array_equal(p(X), inner()(X))
    p(X[0])
    assert p.count == 8


def test_refused_points_do_not_count():
    p = problems.counted(inner())
    with pytest.raises(ArgumentError):
        p([0.1, 0.2, 0.3, 0.4, 1.5])
    assert p.count == 0


def test_time_adds_up(monkeypatch):
    from sumbo.problems import wrappers

    ticks = iter([10.0, 10.5, 20.0, 21.0])
    monkeypatch.setattr(wrappers.time, "perf_counter", lambda: next(ticks))
    p = problems.timed(inner())
    assert np.isnan(p.per_point)
    p(points(2))
    p(points(1)[0])
    assert p.seconds == 1.5
    assert p.per_point == 0.5


def test_wrappers_nest_and_travel():
    p = problems.counted(problems.timed(problems.noisy(inner(), 0.2, seed=6)))
    x = points(1)[0]
    copy = pickle.loads(pickle.dumps(p))
    assert copy(x) == p(x) == problems.noisy(inner(), 0.2, seed=6)(x)
    assert copy.count == p.count == 1
