"""Pictures of problems: what they show equals what the problem does."""

from typing import Any

import numpy as np
import pytest

from drawn import artist, grid
from sumbo import problems
from sumbo.errors import ArgumentError
from sumbo.plots.problem import problem
from sumbo.problems.rover import collides

games = [
    pytest.mark.external,
    pytest.mark.skipif(not problems.available("lunar")[0], reason="needs gymnasium"),
]


def get(name, **settings) -> Any:
    return problems.get(name, **settings)


def picture(p, x=None) -> Any:
    ax = grid(1, 1)[0, 0]
    assert problem(p, x, ax=ax) is ax
    ax.figure.canvas.draw()
    return ax


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize(
    "p",
    [
        get("ackley10", seed=4),
        get("rover"),
        pytest.param("push", marks=games),
        pytest.param("lunar", marks=games),
    ],
    ids=["slices", "rover", "push", "lunar"],
)
def test_axes_are_labelled_and_titled(p):
    ax = picture(get(p) if isinstance(p, str) else p)
    assert ax.get_xlabel()
    assert ax.get_ylabel()
    assert ax.get_title(loc="left").startswith(p if isinstance(p, str) else p.name)
    rows = [t.get_text() for t in ax.get_yticklabels()]
    assert ax.get_legend() is not None or rows == list(p.parameters)


def test_the_course_shows_the_path_and_where_it_collides():
    p = get("rover")
    x = np.random.default_rng(5).random(60)
    ax = picture(p, x)
    q = p.path(x)
    assert np.array_equal(artist(ax, "path").get_xydata(), q)
    drawn = artist(ax, "collision").get_xydata()
    assert np.array_equal(np.isfinite(drawn[:, 0]), collides(q))
    assert len(ax.collections[0].get_paths()) == 113
    assert f"{p(x):.4g}" in ax.get_title(loc="left")


def test_several_paths_share_a_course():
    X = np.random.default_rng(6).random((3, 60))
    ax = picture(get("rover"), X)
    paths = [name for name in labels(ax) if name.startswith("path")]
    assert len(paths) == 3
    assert labels(ax).count("collision") == 1


def test_a_course_without_path_says_so():
    ax = picture(get("rover"), np.full(60, 0.3))
    assert ax.get_title(loc="left") == "rover: value 40, no path"
    assert len(artist(ax, "path").get_xydata()) == 0


def test_a_picture_of_a_noisy_rover_leaves_its_noise_alone():
    x = np.random.default_rng(8).random(60)
    p, other = (get("rover", noise=1e-3, seed=3) for _ in range(2))
    ax = picture(p, x)
    assert f"{get('rover')(x):.4g}" in ax.get_title(loc="left")
    assert p(x) == other(x)


def test_slices_go_through_the_minimiser():
    p = get("levy5", seed=2)
    ax = picture(p)
    for i in range(5):
        line = artist(ax, f"x{i}").get_xydata()
        k = int(np.argmin(line[:, 1]))
        assert line[k] == pytest.approx([p.minimizer[i], p.minimum], abs=1e-12)
        other = p.minimizer.copy()
        other[i] = line[40, 0]
        assert line[40, 1] == pytest.approx(p(other), rel=1e-12)
    assert "minimum" in labels(ax)


def test_slices_of_a_wrapped_problem_are_those_of_the_problem():
    p = get("levy2", seed=2)
    a, b = picture(problems.noisy(p, 3.0), [0.3, 0.6]), picture(p, [0.3, 0.6])
    assert np.array_equal(artist(a, "x1").get_ydata(), artist(b, "x1").get_ydata())


@pytest.mark.parametrize("name", [pytest.param("push", marks=games)])
def test_the_scene_shows_where_things_end(name):
    p = get(name)
    ax = picture(p)
    end = p.simulate(p.minimizer).positions[-1]
    assert artist(ax, "disc").get_center() == pytest.approx(end[1])
    square = artist(ax, "square").get_path().vertices
    corners = artist(ax, "square").get_patch_transform().transform(square)[:4]
    assert corners.mean(axis=0) == pytest.approx(end[0])


@pytest.mark.parametrize("name", [pytest.param("lunar", marks=games)])
def test_flights_are_those_of_the_first_seeds(name):
    p = get(name, seeds=(9, 4, 21), steps=30)
    x = p.bounds.mean(axis=1)
    ax = picture(p, x)
    flight = p.fly(x, 4)
    line = artist(ax, f"seed 4: return {flight.reward:.0f}")
    assert np.array_equal(line.get_xydata(), flight.states[:, :2])
    assert sum(name.startswith("seed") for name in labels(ax)) == 3


def test_slices_show_one_point():
    with pytest.raises(ArgumentError, match=r"shape \(2, 5\).*one point"):
        picture(get("levy5"), np.full((2, 5), 0.3))


def test_many_slices_are_rows_with_names():
    p = get("levy10", seed=3)
    ax = picture(p)
    assert [t.get_text() for t in ax.get_yticklabels()] == list(p.parameters)
    lines = [line for line in ax.lines if line.get_label() in p.parameters]
    assert [line.get_label() for line in lines] == list(p.parameters)
    floors = ax.get_yticks()
    tallest = float(ax.get_title(loc="right").split()[2].strip(";"))
    for i, (line, floor) in enumerate(zip(lines, floors, strict=True)):
        u, y = line.get_data()
        X = np.tile(p.minimizer, (len(u), 1))
        X[:, i] = u
        heights = (y - floor) / 0.9
        values = p.evaluate(X)
        # one scale for all rows: the tallest is one
        np.testing.assert_allclose(heights * tallest, values, rtol=0.01, atol=1e-9)
        assert y.max() < floor + 1


def test_of_very_many_slices_those_that_vary_most_are_shown():
    ax = grid(1, 1)[0, 0]
    problem(get("levy", dim=27, seed=4), ax=ax)
    assert len(ax.get_yticks()) == 20
    assert "7 more" in ax.get_title(loc="right")
