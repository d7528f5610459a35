"""Lunar landing: known returns per episode, the controller, and the environment."""

import importlib
import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sumbo import problems
from sumbo.errors import ArgumentError
from sumbo.problems.base import load
from sumbo.problems.lunar import HEURISTIC, IDLE, LANDER, LEFT, MAIN, RIGHT, action

pytestmark = [
    pytest.mark.external,
    pytest.mark.skipif(not problems.available("lunar")[0], reason="needs gymnasium"),
]

DATA = Path(__file__).parents[1] / "data" / "lunar.json"
CASES = json.loads(DATA.read_text())["cases"]
ODD = [0.7, 1.3, 0.2, 0.9, 0.4, 1.1, 0.6, 1.7, 0.3, 0.8, 0.15, 0.25]


def get(name, **settings) -> Any:
    return problems.get(name, **settings)


@pytest.mark.parametrize("case", CASES)
def test_returns_of_some_episodes_equal_the_known_ones(case):
    seeds = (0, 13, 29, 49)
    rewards = get("lunar", seeds=seeds).rewards(case["x"])
    expected = [case["returns_by_seed"][s] for s in seeds]
    assert rewards == pytest.approx(expected, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_returns_of_all_episodes_equal_the_known_ones(case):
    p = get("lunar")
    assert p.rewards(case["x"]) == pytest.approx(case["returns_by_seed"], abs=1e-6)
    assert p(case["x"]) == pytest.approx(-case["mean_return"], abs=1e-6)


@pytest.mark.parametrize(
    ("x", "settings", "mean"),
    [
        (HEURISTIC, {}, 96.64),
        (np.zeros(12), {}, -145.5),
        pytest.param(np.ones(12), {}, -24.3, marks=pytest.mark.slow),
        pytest.param(np.full(12, 2.0), {}, -114.7, marks=pytest.mark.slow),
        pytest.param(
            np.ones(12), {"initial_random": 1000.0}, -48.3, marks=pytest.mark.slow
        ),
        pytest.param(HEURISTIC, {"steps": 1000}, 238.41, marks=pytest.mark.slow),
    ],
)
def test_mean_returns_equal_the_known_ones(x, settings, mean):
    digits = 2 if round(mean, 1) != mean else 1
    assert round(-get("lunar", **settings)(x), digits) == mean


def test_the_value_is_minus_the_mean_return():
    p = get("lunar", seeds=(4, 11, 30))
    assert p(ODD) == pytest.approx(-np.mean(p.rewards(ODD)), rel=1e-12)


def test_episodes_do_not_depend_on_their_order():
    there = get("lunar", seeds=(31, 2, 17)).rewards(ODD)
    back = get("lunar", seeds=(17, 2, 31)).rewards(ODD)
    assert np.array_equal(there, back[::-1])


def test_the_initial_push_of_gymnasium_is_left_as_it_was():
    module = load(LANDER, name="lunar", extra="games")
    before = module.INITIAL_RANDOM
    weak = get("lunar", seeds=(5,), initial_random=300.0)(ODD)
    assert before == module.INITIAL_RANDOM
    assert get("lunar", seeds=(5,))(ODD) != weak


def test_the_initial_push_is_restored_after_an_error(monkeypatch):
    module = load(LANDER, name="lunar", extra="games")
    before = module.INITIAL_RANDOM
    p = get("lunar", seeds=(5,))

    def fail(*_, **__):
        raise RuntimeError("no fuel")

    monkeypatch.setattr(module.LunarLander, "reset", fail)
    with pytest.raises(RuntimeError, match="no fuel"):
        p(ODD)
    assert before == module.INITIAL_RANDOM


def test_threads_do_not_disturb_each_other():
    p = get("lunar", seeds=(1, 2, 3, 4))
    expected, out = p.rewards(ODD), {}
    threads = [
        threading.Thread(target=lambda i=i: out.update({i: p.rewards(ODD)}))
        for i in range(3)
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(np.array_equal(out[i], expected) for i in range(3))


def test_the_environment_is_built_once(monkeypatch):
    module = load(LANDER, name="lunar", extra="games")
    p = get("lunar", seeds=(1, 2))
    p(ODD)

    def fail(*_, **__):
        raise AssertionError("built again")

    monkeypatch.setattr(module, "LunarLander", fail)
    p(ODD)


# ---------------------------------------------------------------- controller


def test_the_controller_generalises_that_of_gymnasium():
    lander = importlib.import_module(LANDER)
    rng = np.random.default_rng(8)
    scale = [0.5, 0.7, 0.6, 0.6, 0.4, 0.4]
    env = lander.LunarLander()
    for _ in range(500):
        flying = rng.normal(0, scale)
        legs = rng.integers(0, 2, 2) * (rng.random() < 0.3)
        s = np.array([*flying, *legs])
        assert action(HEURISTIC, s) == lander.heuristic(env, s)


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        # target = clip(0.7·0.1 + 1.3·0.3, ±0.2) = 0.2; turn = (0.2 − 0.05)·0.4 −
        # 1.1·0.03 = 0.027; lift = (0.9·0.1 − 0.4)·0.6 + 1.7·0.5 = 0.664 > 0.15
        ([0.1, 0.4, 0.3, -0.5, 0.05, 0.03, 0, 0], MAIN),
        # lift = −0.186 + 1.7·0.19 = 0.137 < 0.15, |turn| < 0.25
        ([0.1, 0.4, 0.3, -0.19, 0.05, 0.03, 0, 0], IDLE),
        # turn = (0.2 − 0.05)·0.4 − 1.1·0.4 = −0.38 < −0.25; lift < |turn|
        ([0.1, 0.4, 0.3, -0.19, 0.05, 0.4, 0, 0], RIGHT),
        # turn = (0.2 + 0.6)·0.4 + 1.1·0.2 = 0.54 > 0.25
        ([0.1, 0.4, 0.3, -0.19, -0.6, -0.2, 0, 0], LEFT),
        # a leg touches: turn = 0.3 > 0.25, lift = 0.8·0.2 = 0.16 < turn
        ([0.1, 0.4, 0.3, -0.2, -0.6, -0.2, 0, 1], LEFT),
        # lift = 0.8·0.5 = 0.4 > 0.3
        ([0.1, 0.4, 0.3, -0.5, -0.6, -0.2, 1, 0], MAIN),
    ],
)
def test_the_controller_follows_its_formulas(state, expected):
    assert action(ODD, np.array(state, dtype=float)) == expected


def test_comparisons_of_the_controller_are_strict():
    flying, landed = [0.0] * 8, [0.0] * 6 + [1.0, 1.0]
    w = [0.0] * 12
    assert action(w, flying) == IDLE
    w[8] = 0.25
    assert action(w, landed) == LEFT
    w[11] = 0.25
    assert action(w, landed) == IDLE


# ---------------------------------------------------------------- flights


def test_a_flight_tells_its_states_ground_and_return():
    p = get("lunar", seeds=(6, 8))
    flight = p.fly(HEURISTIC, 8)
    assert flight.reward == p.rewards(HEURISTIC)[1]
    assert flight.states.shape == (101, 8)
    assert flight.ground[[0, -1], 0].tolist() == [-1.0, 1.0]
    pad = np.abs(flight.ground[:, 0]) < 0.21
    assert np.ptp(flight.ground[pad, 1]) < 1e-9


def test_a_crash_ends_the_flight():
    flight = get("lunar", steps=400).fly(np.zeros(12), 3)
    assert len(flight.states) < 200
    assert flight.states[-1, 1] < 0.2


def test_different_seeds_are_different_terrains():
    p = get("lunar")
    a, b = p.fly(ODD, 3).ground, p.fly(ODD, 4).ground
    assert not np.allclose(a, b)


# ---------------------------------------------------------------- settings


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"seeds": ()}, "seeds="),
        ({"seeds": (1, -2)}, "seeds="),
        ({"seeds": (True,)}, "seeds="),
        ({"steps": 0}, "steps=0"),
        ({"initial_random": float("nan")}, "initial_random=nan"),
    ],
)
def test_a_setting_that_cannot_be_used_is_refused(settings, message):
    with pytest.raises(ArgumentError, match=message):
        get("lunar", **settings)
