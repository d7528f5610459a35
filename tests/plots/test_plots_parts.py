"""The parts plot: what is drawn is what the posterior says."""

import re

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex

from drawn import SIXTY, Z95, artist, grid, mapped, model
from sumbo import AdditiveGP, plots
from sumbo.errors import ArgumentError
from sumbo.plots.shares import part_shares
from sumbo.space import Categorical, Integer, Real


@pytest.fixture(scope="module")
def post():
    return model()


@pytest.fixture(scope="module")
def post60():
    return model(SIXTY, N=43, noise=0.05)


@pytest.fixture(scope="module")
def axes(post):
    return plots.parts(post, axes=grid(2, 3))


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def candidates(post, n=121):
    """Return what ``parts`` draws jointly: grids of singles, the best point else."""
    best = post.X[post.y.argmin()]
    return [
        np.linspace(0, 1, n)[:, None] if len(g) == 1 else best[list(g)][None]
        for g in post.gp.groups
    ]


def test_curves_are_the_posterior_means_of_the_parts(post, axes):
    wanted = post.parts(candidates(post))
    for m in (0, 1, 3, 4):
        x, y = artist(axes[m], "mean").get_data()
        np.testing.assert_allclose(x, np.linspace(0, 1, 121))
        np.testing.assert_allclose(y, wanted[m].mean, atol=1e-12)


def test_bands_hold_95_percent_of_each_part(post, axes):
    wanted = post.parts(candidates(post))
    band = artist(axes[3], "95 % band").get_paths()[0].vertices[:, 1]
    sd = np.sqrt(wanted[3].cov.diagonal())
    assert band.max() == pytest.approx((wanted[3].mean + Z95 * sd).max(), abs=1e-9)
    assert band.min() == pytest.approx((wanted[3].mean - Z95 * sd).min(), abs=1e-9)


def test_draws_are_joint_and_look_the_same_in_all_panels(post):
    axes = plots.parts(post, draws=4, seed=11, axes=grid(2, 3))
    wanted = post.sample(candidates(post), n=4, how="joint", seed=11)
    looks = set()
    for k in range(4):
        lines = [artist(axes[m], f"draw {k + 1}") for m in (0, 1, 3, 4)]
        for m, line in zip((0, 1, 3, 4), lines, strict=True):
            np.testing.assert_allclose(line.get_ydata(), wanted[m][k])
        look = {(line.get_color(), line.get_linestyle()) for line in lines}
        assert len(look) == 1
        # get_linestyle calls all custom dashes "--"; the pattern tells them apart
        looks.add((lines[0].get_color(), str(lines[0]._unscaled_dash_pattern)))
    assert len(looks) == 4


def test_two_coordinates_make_a_heat_map_of_the_mean(post, axes):
    ax = axes[2]
    u = np.linspace(0, 1, 61)
    a, b = np.meshgrid(u, u)
    Z = candidates(post)
    some = np.random.default_rng(17).integers(0, a.size, 200)
    Z[2] = np.stack([a.ravel(), b.ravel()], axis=1)[some]
    drawn = mapped(ax).ravel()[some]
    np.testing.assert_allclose(drawn, post.parts(Z)[2].mean, atol=1e-12)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x2", "x3")
    x, y = artist(ax, "observed").get_data()
    np.testing.assert_array_equal(np.stack([x, y], axis=1), post.X[:, [2, 3]])


def test_contours_of_the_sd_appear_where_it_varies():
    X = np.array([[0.1, 0.2], [0.3, 0.15], [0.2, 0.35]])
    gp = AdditiveGP(groups=[(0, 1)], lengthscales=[0.3, 0.4], noise=1e-3)
    (ax,) = plots.parts(gp.condition(X, np.array([0.3, -0.2, 0.9])), axes=grid(1, 1))
    assert len(ax.texts) > 0  # the contours' labels
    assert "sd" not in ax.get_title(loc="right")


def test_the_best_point_is_marked_on_the_mean(post, axes):
    best = post.X[post.y.argmin()]
    x, y = artist(axes[1], "best").get_data()
    assert x == pytest.approx(best[1])
    assert y == pytest.approx(post.part_moments(1, best[[1]][None])[0][0], abs=1e-3)
    x, y = artist(axes[2], "best").get_data()
    assert (x, y) == (best[2], best[3])


def test_a_given_best_point_is_marked_instead(post):
    best = np.array([0.11, 0.72, 0.43, 0.64, 0.35, 0.86])
    axes = plots.parts(post, best=best, axes=grid(2, 3))
    assert artist(axes[4], "best").get_xdata() == pytest.approx(0.86)


def test_the_rug_is_the_observed_points(post, axes):
    rug = artist(axes[3], "observed").get_xdata()
    np.testing.assert_array_equal(rug, post.X[:, 4])


def test_all_curves_have_the_same_scale(axes):
    assert len({axes[m].get_ylim() for m in (0, 1, 3, 4)}) == 1


def test_a_large_part_is_sliced_through_the_best_point():
    post = model(((0, 1, 2), (3,)))
    axes = plots.parts(post, axes=grid(1, 4))
    best = post.X[post.y.argmin()]
    for j in range(3):
        Z = np.tile(best[:3], (121, 1))
        Z[:, j] = np.linspace(0, 1, 121)
        mean = post.parts([Z, best[[3]][None]])[0].mean
        np.testing.assert_allclose(artist(axes[j], "mean").get_ydata(), mean)
        assert axes[j].get_xlabel() == f"x{j}"
        assert "slice" in axes[j].get_title(loc="left")
        lows = [np.interp(best[j], Z[:, j], d.get_ydata()) for d in _draws(axes[j])]
        # the three slices of a draw meet at the best point
        np.testing.assert_allclose(
            lows,
            [np.interp(best[0], Z0, d) for Z0, d in _lines(axes[0])],
            atol=5e-3,
        )


def _draws(ax):
    return [artist(ax, f"draw {k}") for k in (1, 2, 3)]


def _lines(ax):
    return [(d.get_xdata(), d.get_ydata()) for d in _draws(ax)]


def test_sixty_parts_show_the_largest_and_count_the_others(post60):
    axes = plots.parts(post60)
    shares = part_shares(post60)
    order = np.argsort(-shares)
    assert len(axes) == 24
    assert [ax.get_xlabel() for ax in axes[:-1]] == [f"x{p}" for p in order[:23]]
    (text,) = axes[-1].texts
    left = 100 * shares[order[23:]].sum()
    assert "37 more parts" in text.get_text()
    (shown,) = re.findall(r"([\d.]+) %", text.get_text())
    assert float(shown) == pytest.approx(left, abs=0.51)


def test_few_given_axes_hold_the_largest_parts(post60):
    given = grid(1, 3)
    axes = plots.parts(post60, axes=given)
    assert list(axes) == list(given.ravel())
    assert "58 more parts" in axes[2].texts[0].get_text()


def test_axes_show_the_units_of_the_space():
    post = model(((0,), (1,), (2,), (3, 4)))
    space = [
        Real("rate", 1e-4, 10.0, log=True),
        Real("$cost", -3.0, 7.0),
        Integer("layers", 2, 6),
        Categorical("kind", ("a", "b")),
    ]
    axes = plots.parts(post, bounds=space, axes=grid(2, 2))
    u = np.linspace(0, 1, 121)
    assert axes[0].get_xscale() == "log"
    np.testing.assert_allclose(artist(axes[0], "mean").get_xdata(), 10 ** (5 * u - 4))
    np.testing.assert_allclose(artist(axes[1], "mean").get_xdata(), 10 * u - 3)
    assert axes[1].get_xlabel() == r"\$cost"
    # the outer levels own whole intervals
    np.testing.assert_allclose(axes[2].get_xlim(), (1.5, 6.5))
    assert axes[3].get_xlabel() == "kind"
    assert [t.get_text() for t in axes[3].get_xticklabels()] == ["a", "b"]


def test_a_model_outside_the_cube_is_shown_on_the_range_of_its_data():
    rng = np.random.default_rng(8)
    X = rng.uniform([-3.0, 20.0], [4.0, 90.0], (17, 2))
    gp = AdditiveGP(groups=[(0,), (1,)], lengthscales=[2.0, 30.0])
    axes = plots.parts(gp.condition(X, X[:, 0] ** 2), axes=grid(1, 2))
    np.testing.assert_allclose(axes[1].get_xlim(), (X[:, 1].min(), X[:, 1].max()))


def test_centring_takes_each_draws_average_and_the_doubt_about_it(post):
    axes = plots.parts(post, centred=True, seed=3, axes=grid(2, 3))
    cov = post.parts(candidates(post))[1].cov
    A = np.eye(121) - 1 / 121
    sd = np.sqrt((A @ cov @ A.T).diagonal())
    mean = artist(axes[1], "mean").get_ydata()
    assert abs(mean.mean()) < 1e-12
    assert abs(artist(axes[1], "draw 2").get_ydata().mean()) < 1e-12
    band = artist(axes[1], "95 % band").get_paths()[0].vertices[:, 1]
    assert band.max() == pytest.approx((mean + Z95 * sd).max(), abs=1e-8)


def test_parts_refuse_what_does_not_fit(post):
    with pytest.raises(ArgumentError, match="6 coordinates"):
        plots.parts(post, names=["a", "b"])
    with pytest.raises(ArgumentError, match="bounds describe 2"):
        plots.parts(post, bounds=[(0, 1), (2, 3)])
    with pytest.raises(ArgumentError, match="draws=-2"):
        plots.parts(post, draws=-2)
    with pytest.raises(ArgumentError, match="6 coordinates"):
        plots.parts(post, best=[0.3, 0.4])
    with pytest.raises(ArgumentError, match="pass more axes"):
        plots.parts(post, axes=grid(1, 1))


def test_curves_use_colours_that_differ_in_grey(axes):
    lines = [artist(axes[0], name) for name in ("mean", "draw 1", "draw 2", "draw 3")]
    looks = {(to_hex(l.get_color()), str(l._unscaled_dash_pattern)) for l in lines}
    assert len({dashes for _, dashes in looks if dashes}) >= 3
