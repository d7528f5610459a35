"""Pushing: values of the authors' code, noise, and the course of events."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sumbo import problems
from sumbo.errors import ArgumentError
from sumbo.problems.push import GOALS, STARTS

pytestmark = [
    pytest.mark.external,
    pytest.mark.skipif(not problems.available("push")[0], reason="needs Box2D"),
]

DATA = Path(__file__).parents[1] / "data" / "push.json"
CASES = json.loads(DATA.read_text())["cases"]
IDS = [f"{i}-{case['kind']}" for i, case in enumerate(CASES)]
CONTACT = CASES[5]["x"]


def get(name, **settings) -> Any:
    return problems.get(name, **settings)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_values_equal_those_of_the_authors(case):
    value = get("push")(case["x"])
    assert value == pytest.approx(-case["reward_no_noise"], abs=1e-6)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_noisy_values_equal_those_of_the_authors(case):
    p = get("push", noise=0.01, seed=case["noise_seed"])
    assert p(case["x"]) == pytest.approx(-case["reward_noisy"], abs=1e-6)


def test_most_reference_cases_touch_an_object():
    assert sum(abs(case["reward_no_noise"]) > 1e-3 for case in CASES) >= 15


def test_noise_repeats_with_the_seed_and_goes_on_with_the_calls():
    first, second = (get("push", noise=0.01, seed=8) for _ in range(2))
    one_by_one = [first(CONTACT), first(CONTACT), first(CONTACT)]
    assert np.array_equal(second(np.tile(CONTACT, (3, 1))), one_by_one)
    assert len(set(one_by_one)) == 3


def test_noise_of_the_velocities_moves_the_value_a_little():
    p, exact = get("push", noise=0.01, seed=5), get("push")(CONTACT)
    values = np.array([p(CONTACT) for _ in range(10)])
    assert 0 < np.abs(values - exact).max() < 0.5


@pytest.mark.parametrize("noise", [-1.0, float("nan")])
def test_noise_must_be_a_standard_deviation(noise):
    with pytest.raises(ArgumentError, match="noise="):
        get("push", noise=noise)


def test_the_minimum_is_attained():
    p = get("push")
    assert p.exact
    assert p.minimum == pytest.approx(-(np.hypot(4, 1.5) + np.hypot(-4, 5.5)))
    # contact amplifies rounding, which other processors do differently
    assert p(p.minimizer) == pytest.approx(p.minimum, abs=1e-3)


def test_no_value_is_below_the_minimum():
    p = get("push")
    X = np.random.default_rng(2).uniform(*p.bounds.T, size=(60, 14))
    y = p(X)
    assert y.min() > p.minimum
    # a hand that touches nothing changes nothing
    assert np.sum(y == 0) > 5


def test_the_scene_ends_where_the_value_says():
    p = get("push")
    scene = p.simulate(CONTACT)
    assert scene.value == p(CONTACT)
    assert np.array_equal(scene.positions[0, :2], STARTS)
    assert scene.positions[0, 2:] == pytest.approx(
        np.array([CONTACT[0:2], CONTACT[6:8]]), abs=1e-6
    )
    left = np.linalg.norm(scene.positions[-1, :2] - GOALS, axis=1).sum()
    initial = np.linalg.norm(STARTS - GOALS, axis=1).sum()
    assert left - initial == pytest.approx(scene.value, abs=1e-12)


def test_the_scene_lasts_as_long_as_the_longer_push_and_the_settling():
    p = get("push")
    x = np.array(CONTACT)
    x[4], x[10] = 7.89, 12.39
    scene = p.simulate(x)
    assert len(scene.positions) == 1 + 123 + 100
    assert scene.angles.shape == (224, 4)


def test_each_velocity_drives_its_own_hand():
    p = get("push")
    x = p.bounds.mean(axis=1)
    x[[0, 1, 6, 7]] = 4.0, -4.5, -4.0, -4.5  # far from the objects
    x[[2, 3, 8, 9]] = 1.5, -0.5, -0.7, -1.1
    x[[4, 10]] = 11.0, 7.0
    moved = p.simulate(x).positions
    step = moved[40, 2:] - moved[39, 2:]
    assert step / 0.01 == pytest.approx(np.array([[1.5, -0.5], [-0.7, -1.1]]), rel=0.6)
    assert np.array_equal(np.sign(step), [[1, -1], [-1, -1]])
