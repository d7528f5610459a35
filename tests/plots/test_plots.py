"""Pictures in general, of runs, and the two illustrations."""

import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from scipy.optimize import OptimizeResult

from drawn import artist, grid, mapped, model
from sumbo import AdditiveGP, plots
from sumbo.errors import ArgumentError, MissingExtraError
from sumbo.plots.illustrations import ackley_line, given_residual

STRUCTURES = (((0, 3), (1,), (2,)), ((0, 3, 1), (2,)))
VALUES = np.array([4.2, 5.1, np.nan, 3.3, 3.9, 1.7, 2.6])
BEST = [4.2, 4.2, 4.2, 3.3, 3.3, 1.7, 1.7]


@pytest.fixture(scope="module")
def post():
    return model()


@pytest.fixture(autouse=True)
def _no_show_and_no_figures_left(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("show() was called")

    monkeypatch.setattr(plt, "show", refuse)
    yield
    plt.close("all")


# ---------------------------------------------------------------- for all pictures

PICTURES = {
    "parts": (plots.parts, (2, 3)),
    "slices": (plots.slices, (2, 3)),
    "leave_one_out": (plots.leave_one_out, (1, 2)),
    "variance_shares": (plots.variance_shares, None),
    "importance": (plots.importance, (1, 2)),
    "bilateral": (lambda post, **k: plots.bilateral(3, **k), (3, 2)),
    "conditional_independence": (
        lambda post, **k: plots.conditional_independence(3, **k),
        (1, 2),
    ),
    "co_membership": (lambda post, **k: plots.co_membership(STRUCTURES, **k), None),
    "convergence": (lambda post, **k: plots.convergence(VALUES, **k), None),
}
every_picture = pytest.mark.parametrize("name", PICTURES)


@every_picture
def test_given_axes_are_used_and_no_figure_is_made(name, post):
    draw, shape = PICTURES[name]
    before = plt.get_fignums()
    given = grid(*(shape or (1, 1)))
    if shape is None:
        assert draw(post, ax=given[0, 0]) is given[0, 0]
    else:
        drawn = np.ravel(draw(post, axes=given))
        assert list(drawn) == list(given.ravel()[: len(drawn)])
    assert plt.get_fignums() == before


@every_picture
def test_without_axes_one_figure_is_made_and_can_be_drawn(name, post):
    draw, _ = PICTURES[name]
    settings = dict(mpl.rcParams)
    first = np.ravel(draw(post))[0]
    assert len(plt.get_fignums()) == 1
    first.figure.canvas.draw()
    assert dict(mpl.rcParams) == settings


@every_picture
def test_a_missing_matplotlib_is_named_with_its_extra(name, post, monkeypatch):
    draw, _ = PICTURES[name]
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingExtraError, match=r"sumbo\[plots\]"):
        draw(post)


def test_pictures_change_neither_model_nor_arguments(post):
    before = [a.copy() for a in (post.X, post.y, post.L, post.alpha)]
    best = np.array([0.11, 0.72, 0.43, 0.64, 0.35, 0.86])
    best.setflags(write=False)
    values = VALUES.copy()
    values.setflags(write=False)
    plots.parts(post, best=best, centred=True)
    plots.slices(post, best)
    plots.leave_one_out(post)
    plots.variance_shares(post)
    plots.convergence(values, minimum=1.2, log=True)
    for a, b in zip(before, (post.X, post.y, post.L, post.alpha), strict=True):
        np.testing.assert_array_equal(a, b)


def test_too_few_axes_are_refused(post):
    with pytest.raises(ArgumentError, match="2 panels"):
        plots.leave_one_out(post, axes=grid(1, 1))
    with pytest.raises(ArgumentError, match="at least 2"):
        plots.slices(post, axes=grid(1, 1))


def test_importing_plots_does_not_import_matplotlib():
    code = "import sys, sumbo.plots; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ---------------------------------------------------------------- convergence


@pytest.mark.parametrize("given", [VALUES, VALUES.tolist(), "result"])
def test_convergence_shows_the_running_minimum_and_the_values(given):
    given = OptimizeResult(func_vals=VALUES) if isinstance(given, str) else given
    (ax,) = grid(1, 1).ravel()
    assert plots.convergence(given, minimum=1.1, ax=ax) is ax
    x, y = artist(ax, "best so far").get_data()
    np.testing.assert_array_equal(x, np.arange(1, 8))
    np.testing.assert_array_equal(y, BEST)
    np.testing.assert_array_equal(artist(ax, "value").get_ydata(), VALUES)
    np.testing.assert_array_equal(artist(ax, "failed").get_xdata(), [3])
    assert set(artist(ax, "minimum").get_ydata()) == {1.1}


def test_a_logarithmic_axis_shows_the_gap_to_the_minimum():
    (ax,) = grid(1, 1).ravel()
    plots.convergence(VALUES, minimum=1.7, log=True, ax=ax)  # hits it exactly
    assert ax.get_yscale() == "log"
    drawn = artist(ax, "best so far").get_ydata()
    np.testing.assert_allclose(drawn, np.array(BEST) - 1.7)
    assert 0 < ax.get_ylim()[0] < 3.3 - 1.7


def test_several_runs_show_median_and_quartiles_up_to_the_shortest():
    rng = np.random.default_rng(9)
    runs = [rng.exponential(3.0, 12 + k) for k in range(5)]
    (ax,) = grid(1, 1).ravel()
    plots.convergence([OptimizeResult(func_vals=r) for r in runs], ax=ax)
    best = np.array([np.minimum.accumulate(r)[:12] for r in runs])
    line = artist(ax, "median of 5 runs")
    np.testing.assert_allclose(line.get_ydata(), np.median(best, axis=0))
    band = artist(ax, "quartiles").get_paths()[0].vertices[:, 1]
    assert band.max() == pytest.approx(np.quantile(best, 0.75, axis=0).max())
    assert band.min() == pytest.approx(np.quantile(best, 0.25, axis=0).min())


def test_a_run_that_fails_at_first_does_not_spoil_the_median():
    runs = [[np.nan, 3.1], [5.2, 4.4], [6.3, 2.2]]
    (ax,) = grid(1, 1).ravel()
    plots.convergence(runs, ax=ax)
    np.testing.assert_allclose(artist(ax, "median of 3 runs").get_ydata(), [6.3, 3.1])


@pytest.mark.parametrize("given", [[], [np.nan, np.inf], 3.4, [[[1.2]]]])
def test_convergence_refuses_what_is_no_run(given):
    with pytest.raises(ArgumentError):
        plots.convergence(given)


def test_a_logarithmic_axis_needs_a_positive_value():
    with pytest.raises(ArgumentError, match="minimum"):
        plots.convergence([-3.2, -4.1], log=True)


# ---------------------------------------------------------------- illustrations


def test_ackley_component_has_its_minimum_at_zero():
    z = np.linspace(-32.768, 32.768, 4001)
    assert ackley_line(np.zeros(1))[0] == pytest.approx(0.0, abs=1e-14)
    assert (ackley_line(z)[np.abs(z) > 0.01] > 0).all()
    wanted = -20 * np.exp(-0.2 * 3.7) - np.exp(np.cos(0.37 * np.pi)) + 20 + np.e
    assert ackley_line(np.array([-3.7]))[0] == pytest.approx(wanted)


def test_exact_variance_vanishes_at_the_design_points_and_additive_does_not():
    axes = plots.bilateral(seed=5, axes=grid(3, 2))
    assert axes.shape == (3, 2)
    at = axes[0, 0].lines[0].get_xydata()
    i = np.rint((at + 32.768) / 65.536 * 80).astype(int)
    exact, additive = (mapped(ax).reshape(81, 81) for ax in axes[1])
    assert exact[i[:, 1], i[:, 0]].mean() < 0.5 * additive[i[:, 1], i[:, 0]].mean()
    # rows and columns of an additive surface differ by constants
    assert np.ptp(np.diff(additive, axis=0), axis=1).max() < 1e-9
    assert np.ptp(np.diff(exact, axis=0), axis=1).max() > 1e-3


def test_the_exact_draw_passes_the_data():
    axes = plots.bilateral(seed=5, axes=grid(3, 2))
    at = axes[0, 0].lines[0].get_xydata()
    i = np.rint((at + 32.768) / 65.536 * 80).astype(int)
    truth, exact, additive = (
        mapped(ax).reshape(81, 81)[i[:, 1], i[:, 0]]
        for ax in (axes[0, 0], axes[2, 0], axes[2, 1])
    )
    # the grid misses the points by up to half a cell, hence not exactly
    assert np.abs(exact - truth).mean() < 1.0
    assert np.abs(additive - truth).mean() > np.abs(exact - truth).mean()


def test_residual_conditioning_equals_the_corrected_formula():
    post = model(((0,), (1,)), N=9, noise=0.03)
    post = AdditiveGP(
        groups=post.gp.groups,
        lengthscales=post.gp.lengthscales,
        variances=post.gp.variances,
        noise=0.03,
    ).condition(post.X, post.y)
    (k1, _), (k2, X2) = post.groups()
    z = np.array([0.37, 0.81])
    r = np.random.default_rng(3).standard_normal(9)
    mean, cov = given_residual(post, z, r)
    K = k2(X2, X2) + 0.03 * np.eye(9)
    k = k2(z[1:, None], X2)[0]
    assert mean[0] == pytest.approx(0.0, abs=1e-12)
    assert mean[1] == pytest.approx(k @ np.linalg.solve(K, r))
    wanted = np.diag([k1.variance, k2.variance - k @ np.linalg.solve(K, k)])
    np.testing.assert_allclose(cov, wanted, atol=1e-10)


def test_the_correlations_shown_are_those_of_the_draws():
    left, right = plots.conditional_independence(seed=2, axes=grid(1, 2))
    shown = [
        float(ax.get_title(loc="right").split()[1].replace("−", "-"))
        for ax in (left, right)
    ]
    drawn = [np.corrcoef(ax.lines[0].get_xydata().T)[0, 1] for ax in (left, right)]
    assert shown[0] < -0.7
    assert shown[1] == 0.0
    # Fisher's z of 300 draws has sd 0.058; 4.5 sd: false alarm below 1e-5
    np.testing.assert_allclose(np.arctanh(drawn), np.arctanh(shown), atol=0.26)


def test_ellipses_hold_half_and_95_percent_of_the_draws():
    for ax in plots.conditional_independence(seed=6, axes=grid(1, 2)):
        points = ax.lines[0].get_xydata()
        inside = [
            e.get_patch_transform().inverted().transform(points) for e in ax.patches
        ]
        fractions = [(np.hypot(*q.T) <= 1).mean() for q in inside]
        # binomial sd of 300: 0.029 and 0.0126; 4.5 sd
        assert fractions[0] == pytest.approx(0.5, abs=0.13)
        assert fractions[1] == pytest.approx(0.95, abs=0.057)
