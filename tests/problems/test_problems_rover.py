"""The rover: values of the authors' code, failures, noise, obstacles."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sumbo import problems
from sumbo.errors import ArgumentError, ProblemError
from sumbo.problems.rover import HALF_SIDE, collides, obstacles, path_cost

DATA = Path(__file__).parents[1] / "data" / "rover.json"
CASES = json.loads(DATA.read_text())["cases"]
IDS = [f"{i}-{case['kind']}" for i, case in enumerate(CASES)]


def get(name, **settings) -> Any:
    return problems.get(name, **settings)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_values_equal_those_of_the_authors(case):
    value = case["value_no_noise"]
    expected = 40.0 if value is None else -value
    assert get("rover")(case["x"]) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_noisy_values_equal_those_of_the_authors(case):
    p = get("rover", noise=1e-4, seed=case["noise_seed"])
    assert p(case["x"]) == pytest.approx(-case["value_noisy"], abs=1e-9)


def test_some_reference_cases_fail():
    assert sum(case["value_no_noise"] is None for case in CASES) == 2


# ---------------------------------------------------------------- failures


def scattered():
    return np.random.default_rng(17).uniform(0.02, 0.98, 60)


def test_coinciding_consecutive_control_points_give_the_constant():
    p = get("rover")
    for i in (0, 13, 28):
        x = scattered()
        x[2 * i + 2 : 2 * i + 4] = x[2 * i : 2 * i + 2]
        assert p(x) == 40.0
        with pytest.raises(ProblemError, match="coincide"):
            p.path(x)


@pytest.mark.parametrize("corner", [0.0, 1.0])
def test_all_control_points_in_one_corner_give_the_constant(corner):
    assert get("rover")(np.full(60, corner)) == 40.0


def test_equal_control_points_that_are_not_consecutive_do_not_fail():
    p = get("rover")
    x = scattered()
    x[58:60] = x[0:2]
    x[30:32] = x[10:12]
    assert p(x) != 40.0


def test_one_equal_coordinate_does_not_fail():
    x = scattered()
    x[0::2] = 0.0
    assert get("rover")(x) != 40.0


@pytest.mark.parametrize(("gap", "fails"), [(1e-15, False), (1e-17, True)])
def test_chord_length_must_increase_in_floating_point(gap, fails):
    # Near the origin of the control points a gap far below 1e-16 is representable,
    # but it vanishes in the cumulative chord length.
    x = scattered()
    x[40:42] = 1 / 12
    x[42:44] = 1 / 12
    p = get("rover")
    q = p.control_points(x).ravel()
    q[40:44] = [0.0, 0.0, gap, 0.0]
    low = np.zeros(60)
    noisy = get("rover", noise=1.0)
    # the noise is chosen so that the control points become exactly q
    stub = type("Stub", (), {"normal": lambda *_: q - (low * 1.2 - 0.1)})()
    object.__setattr__(noisy, "stream", stub)
    assert (noisy(low) == 40.0) == fails


def test_boundary_heavy_points_are_finite_and_often_fail():
    rng = np.random.default_rng(3)
    X = np.clip(rng.normal(0.5, 0.8, (400, 60)), 0, 1)
    y = get("rover")(X)
    same = np.all(np.diff(X.reshape(400, 30, 2), axis=1) == 0, axis=2).any(axis=1)
    assert np.array_equal(y == 40.0, same)
    assert 50 < same.sum() < 350


# ---------------------------------------------------------------- noise


def test_noise_repeats_with_the_seed_and_goes_on_with_the_calls():
    x = scattered()
    first, second = (get("rover", noise=1e-3, seed=8) for _ in range(2))
    one_by_one = [first(x), first(x), first(x)]
    assert np.array_equal(second(np.tile(x, (3, 1))), one_by_one)
    assert len(set(one_by_one)) == 3
    assert get("rover", noise=1e-3, seed=9)(x) not in one_by_one


def test_noise_separates_coinciding_control_points():
    assert get("rover", noise=1e-4, seed=2)(np.full(60, 0.5)) != 40.0


def test_negative_noise_is_refused():
    with pytest.raises(ArgumentError, match=r"noise=-0\.1"):
        get("rover", noise=-0.1)


# ---------------------------------------------------------------- the course


def naive_collides(q):
    inside = np.all((q >= 0) & (q < 1), axis=1)
    for centre in obstacles():
        low, high = centre - HALF_SIDE, centre + HALF_SIDE
        inside &= ~np.all((q >= low) & (q < high), axis=1)
    return ~inside


def test_collisions_are_found_as_by_testing_every_square():
    rng = np.random.default_rng(29)
    q = rng.uniform(-0.1, 1.1, (20000, 2))
    assert np.array_equal(collides(q), naive_collides(q))


def test_collisions_are_exact_on_the_edges():
    a, b = obstacles() - HALF_SIDE, obstacles() + HALF_SIDE
    corners = np.concatenate([a, b, np.c_[a[:, 0], b[:, 1]], np.c_[b[:, 0], a[:, 1]]])
    near = [np.nextafter(corners, d) for d in (-9.0, 9.0)]
    frame = np.array([[0, 0.5], [1, 0.5], [0.5, 0], [0.5, 1], [-1, -1], [2, 2.0]])
    q = np.concatenate([corners, *near, frame])
    assert np.array_equal(collides(q), naive_collides(q))


def test_there_are_113_obstacles_and_they_cannot_be_changed():
    centres = obstacles()
    assert centres.shape == (113, 2)
    centres[:] = 0
    assert obstacles().min() > 0


def test_the_path_is_the_least_squares_cubic_in_chord_length():
    p = get("rover")
    rng = np.random.default_rng(41)
    for x in rng.random((10, 60)):
        points = p.control_points(x)
        chord = np.linalg.norm(np.diff(points, axis=0), axis=1)
        u = np.concatenate([[0], np.cumsum(chord)]) / chord.sum()
        fit = np.linalg.lstsq(np.vander(u, 4), points, rcond=None)[0]
        expected = np.vander(np.linspace(0, 1, 1000), 4) @ fit
        assert np.abs(p.path(x) - expected).max() < 1e-10


def test_the_value_is_the_cost_of_the_path_minus_5():
    p = get("rover")
    x = scattered()
    assert p(x) == path_cost(p.path(x)) - 5


def test_a_free_straight_piece_costs_its_length_and_its_missed_ends():
    q = np.linspace([0.2, 0.02], [0.25, 0.02], 7)
    assert not naive_collides(q).any()
    missed = 10 * (0.15 + 0.03) + 10 * (0.70 + 0.93)
    assert path_cost(q) == pytest.approx(0.05 * 0.05 + missed, rel=1e-12)


def test_the_best_known_value_is_above_the_bound():
    p = get("rover")
    assert not p.exact
    assert p(p.best_known_x) == pytest.approx(p.best_known, abs=1e-9)
    assert -5 + 0.05 * 0.9 * np.sqrt(2) < p.best_known <= -4.5593


def test_the_offset_moves_paths_but_not_failures():
    x = np.random.default_rng(3).uniform(size=60)
    plain, moved = get("rover"), get("rover", offset=0.0)
    assert moved(x) == pytest.approx(plain(x) + 5.0)
    assert moved(np.zeros(60)) == plain(np.zeros(60)) == 40.0
