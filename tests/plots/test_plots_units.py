"""Pictures of runs: the user's units and sign, kinds of parameters, labels."""

import numpy as np
import pytest
from matplotlib import pyplot as plt

import sumbo
from drawn import Z95, artist, grid, model
from searches import MIXED, QUICK
from sumbo import Categorical, Integer, Optimizer, Outcome, Real, plots
from sumbo.errors import ArgumentError
from sumbo.plots.coordinates import coordinates_of
from sumbo.plots.shares import part_variances
from sumbo.plots.values import numbers, round_numbers, shortened
from sumbo.space import Space
from sumbo.space.parameters import to_unit

SETTINGS = {"seed": 4, "n_init": 23, "groups": [[0, 3], [1], [2]], **QUICK["logei"]}


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def loss(x):
    rate, layers, rule, weight = x
    wave = 5.0 * np.sin(2 * np.log10(rate)) * weight
    return 310.0 + wave + (layers - 4.2) ** 2 + 9 * (rule == "sum")


def told(*, maximize=False, transform="standardise", value=loss, **settings):
    opt = Optimizer(
        MIXED, maximize=maximize, transform=transform, **{**SETTINGS, **settings}
    )
    X = opt.ask(23)
    sign = -1.0 if maximize else 1.0
    opt.tell(X[:21], [sign * value(x) for x in X[:21]])
    opt.tell(X[21:], failed=True)
    opt.ask()
    return opt


@pytest.fixture(scope="module")
def opt():
    return told()


@pytest.fixture(scope="module")
def bent():
    return told(transform="log", value=lambda x: np.exp(loss(x) / 3.0 - 100.0))


# ---------------------------------------------------------------- units and sign


def test_effects_are_in_the_units_of_the_objective(opt):
    axes = plots.parts(opt, axes=grid(1, 3), objective="cost, $")
    post, sd = opt.model(), np.nanstd(opt.y)
    V = to_unit(MIXED[1], np.arange(2.0, 10.0))
    mean, var = post.part_moments(1, V)
    x, y = artist(axes[1], "mean").get_data()
    np.testing.assert_allclose(x, np.arange(1.5, 10.0))  # steps begin at half levels
    np.testing.assert_allclose(y[:-1], sd * mean, atol=1e-9)
    assert y[-1] == y[-2]
    band = artist(axes[1], "95 % band").get_paths()[0].vertices[:, 1]
    assert band.max() == pytest.approx((sd * (mean + Z95 * np.sqrt(var))).max())
    assert axes[0].get_ylabel() == "weight"
    assert axes[0].figure.axes[-1].get_ylabel() == r"effect on cost, \$"


def test_choices_are_marks_at_their_names(opt):
    ax = plots.parts(opt, axes=grid(1, 3))[2]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["sum", "max", "None"]
    mean, _ = opt.model().part_moments(2, np.eye(3))
    x, y = artist(ax, "mean").get_data()
    np.testing.assert_array_equal(x, [0, 1, 2])
    np.testing.assert_allclose(y, np.nanstd(opt.y) * mean, atol=1e-9)
    assert artist(ax, "mean").get_linestyle() == "None"


def test_slices_are_what_the_run_predicts(opt):
    x = {"rate": 0.02, "layers": 6, "rule": "max", "weight": -1.7}
    axes = plots.slices(opt, x, axes=grid(2, 2))
    for name, ax in zip(("layers", "rule"), axes[1:3], strict=True):
        p = opt.space.parameters[opt.space.names.index(name)]
        levels = p.choices if isinstance(p, Categorical) else range(p.lo, p.hi + 1)
        mean, _ = opt.predict([{**x, name: level} for level in levels])
        drawn = artist(ax, "mean").get_ydata()[: len(levels)]
        # one structure: the mixture of the prediction has one posterior
        np.testing.assert_allclose(drawn, mean, rtol=1e-9)
        assert artist(ax, "point").get_ydata()[0] == pytest.approx(
            opt.predict(x).mean[0]
        )
    assert axes[0].get_ylabel() == "value"
    assert axes[1].get_ylabel() == ""


def test_pictures_of_a_maximisation_are_mirrored(opt):
    up = told(maximize=True)
    one, two = (plots.parts(run, axes=grid(1, 3)) for run in (opt, up))
    for ax, mirror in zip(one[1:], two[1:], strict=True):
        y = artist(ax, "mean").get_ydata()
        np.testing.assert_allclose(artist(mirror, "mean").get_ydata(), -y, atol=1e-9)
    down, high = (plots.leave_one_out(run, axes=grid(1, 2))[0] for run in (opt, up))
    assert high.get_xlim() == pytest.approx([-v for v in down.get_xlim()[::-1]])


def test_an_effect_on_a_logarithm_says_so(bent):
    axes = plots.parts(bent, axes=grid(1, 3), objective="error")
    t = bent.surrogate().transform
    mean, _ = bent.model().part_moments(2, np.eye(3))
    np.testing.assert_allclose(artist(axes[2], "mean").get_ydata(), t.sd * mean)
    label = axes[0].figure.axes[-1].get_ylabel()
    assert label.startswith("effect on log(1 +\n(error − ")


def test_values_of_a_logarithm_are_mapped_back(bent):
    left, right = plots.leave_one_out(bent, axes=grid(1, 2), objective="error")
    shown = np.concatenate([c.lines[0].get_xdata() for c in left.containers])
    told = bent.y[np.isfinite(bent.y)]
    np.testing.assert_allclose(np.sort(shown), np.sort(told), rtol=1e-6)
    ends = left.transData.transform(np.column_stack([told, np.full(21, told[0])]))[:, 0]
    z = bent.surrogate().transform.forward(told)
    # places on the axis are linear in what the model sees
    assert np.corrcoef(ends, z)[0, 1] > 0.999999
    assert (left.get_xlabel(), right.get_ylabel()) == (
        "error, observed",
        "(observed − predicted) / sd",
    )
    texts = [t.get_text() for t in left.get_xticklabels()]
    assert len(set(texts)) == len(texts) == 5
    ax = plots.slices(bent, axes=grid(2, 2))[2]
    mean, _ = bent.model().predict(_along(bent, 2))
    wanted = bent.surrogate().transform.inverse(mean)
    np.testing.assert_allclose(artist(ax, "median").get_ydata(), wanted, rtol=1e-9)


def _along(opt, k):
    """Return the best point with every choice of parameter k."""
    best = opt.space.encode(opt.best[0])
    U = np.tile(best, (3, 1))
    U[:, opt.space.blocks[k]] = np.eye(3)
    return U


def test_failed_evaluations_are_not_shown_as_observed(opt):
    axes = plots.parts(opt, axes=grid(1, 3))
    assert len(artist(axes[1], "observed").get_xdata()) == 21
    left, _ = plots.leave_one_out(opt, axes=grid(1, 2))
    assert sum(len(c.lines[0].get_xdata()) for c in left.containers) == 21


# ---------------------------------------------------------------- what is accepted


def test_optimizer_result_and_checkpoint_give_the_same_picture(opt, tmp_path):
    path = tmp_path / "run.npz"
    opt.save(path)
    settings = {"transform": "standardise", **SETTINGS}
    r = sumbo.minimize(loss, MIXED, budget=23, checkpoint=path, **settings)
    for run in (opt, r, path, str(path)):
        ax = plots.variance_shares(run)
        widths = [bar.get_width() for bar in ax.containers[0]]
        found = [t.get_text() for t in ax.get_yticklabels()]
        if run is opt:
            wanted, names = widths, found
        np.testing.assert_allclose(widths, wanted)
        assert found == names
    assert sorted(names) == ["layers", "rate, weight", "rule"]


def test_a_run_without_a_model_is_refused():
    with pytest.raises(ArgumentError, match="no model of 0 values"):
        plots.parts(Optimizer(MIXED, seed=1))
    r = sumbo.minimize(loss, MIXED, budget=4, method="uniform", seed=1)
    with pytest.raises(ArgumentError, match="uniform"):
        plots.slices(r)
    with pytest.raises(ArgumentError, match="learned no groups"):
        plots.co_membership(r)
    with pytest.raises(ArgumentError, match="neither a run nor a posterior"):
        plots.parts(None)
    with pytest.raises(ArgumentError, match="knows its own"):
        plots.parts(told(), bounds=MIXED)


def test_convergence_of_a_run_counts_feasible_values_only():
    opt = Optimizer([(0.0, 2.0)], seed=3, constraints=[Outcome("load", upper=3.0)])
    y = [5.1, 1.2, 4.4, 2.9]
    X = opt.ask(4)
    opt.tell(X, y, outcomes={"load": [1.0, 7.3, 2.2, 2.6]})
    ax = plots.convergence(opt, objective="mass, kg")
    assert list(artist(ax, "best so far").get_ydata()) == [5.1, 5.1, 4.4, 2.9]
    assert artist(ax, "breaks a constraint").get_xydata().tolist() == [[2.0, 1.2]]
    assert ax.get_ylabel() == "mass, kg"


# ---------------------------------------------------------------- shares


def test_shares_are_those_of_random_points_of_the_space():
    space = Space.of(MIXED)
    rng = np.random.default_rng(12)
    X, y = rng.random((30, space.dim)), rng.standard_normal(30)
    groups = [(0, 1), (1, 2, 3, 4), (0, 2, 3, 4, 5)]
    gp = sumbo.AdditiveGP(groups=groups, lengthscales=0.4)
    post = gp.condition(space.snap(X), y)
    U = space.snap(rng.random((40_000, space.dim)))
    wanted = [post.part_mean(m, U[:, g]).var() for m, g in enumerate(groups)]
    # relative error of a variance of 40 000 points: about 1 %
    found = part_variances(post, coordinates_of(post, bounds=space))
    np.testing.assert_allclose(found, wanted, rtol=0.06)


# ---------------------------------------------------------------- labels


def test_long_names_stay_different():
    names = [f"wing_section_parameter_{i}_of_the_left_half" for i in range(3)]
    names += ["short", "x" * 200, "x" * 100 + "y" + "x" * 99]
    found = shortened(names)
    assert len(set(found)) == len(names)
    assert max(len(name) for name in found) <= 28
    assert found[3] == "short"
    assert shortened(["abcdefghij", "klm"], most=12) == ["abcdefghij", "klm"]


def test_numbers_have_as_many_digits_as_tell_them_apart():
    assert numbers([1200.0, 1.5, -3.0]) == ["1200", "1.5", "−3"]
    assert numbers([1.23456, 1.23457]) == ["1.23456", "1.23457"]
    assert numbers([3e-9, 7.25e9]) == ["3e-09", "7.25e+09"]
    assert numbers([2.0, 2.0]) == ["2", "2"]


def test_ticks_are_round_and_near_where_they_were():
    at = [3.41, 13.9, 83.5, 560.0, 3841.0]
    assert round_numbers(at).tolist() == [3.0, 14.0, 80.0, 600.0, 4000.0]
    close = [1000.12, 1000.58, 1000.93]
    found = round_numbers(close)
    assert np.abs(found - close).max() < 0.12
    assert len(set(found)) == 3


def test_an_integer_of_many_levels_is_a_curve():
    space = Space.of([Integer("many", 1, 900), Real("a", -1.0, 2.0)])
    rng = np.random.default_rng(2)
    post = sumbo.AdditiveGP(groups=[(0,), (1,)]).condition(
        rng.random((9, 2)), rng.random(9)
    )
    axes = plots.parts(post, bounds=space, axes=grid(1, 2))
    x = artist(axes[0], "mean").get_xdata()
    assert (x == np.rint(x)).all()
    assert (len(x), x[0], x[-1]) == (121, 1.0, 900.0)


# ---------------------------------------------------------------- co-membership


def test_parameters_that_do_nothing_are_grey():
    together = np.array([[1.0, 0.7, 0.9], [0.7, 1.0, 0.2], [0.9, 0.2, 1.0]])
    ax = plots.co_membership(together, ["a", "b", "idle"], inert=[2])
    shown = np.asarray(ax.images[0].get_array().filled(np.nan))
    assert np.isnan(shown[2]).all()
    assert np.isnan(shown[:, 2]).all()
    assert shown[0, 1] == 0.7
    colours = {t.get_text(): t.get_color() for t in ax.get_yticklabels()}
    assert colours["a"] == colours["b"] != colours["idle"]
    assert "1 of 3" in ax.get_title(loc="right")
    assert together[2, 0] == 0.9


@pytest.fixture(scope="module")
def idle():
    """Return a run whose objective ignores two of its four parameters."""
    opt = Optimizer([(0.0, 1.0)] * 4, seed=6, n_init=26, **QUICK["logei"])
    X = opt.ask(26)
    opt.tell(X, 40.0 + 3.0 * np.sin(4 * X[:, 1]) + 5.1 * (X[:, 3] - 0.3) ** 2)
    opt.ask()
    return opt


def test_parameters_of_a_run_that_do_nothing_are_found(idle):
    ax = plots.co_membership(idle)
    colours = {t.get_text(): t.get_color() for t in ax.get_yticklabels()}
    assert colours["x0"] == colours["x2"] != colours["x1"] == colours["x3"]


def test_importance_shows_the_table_of_the_run(idle):
    left, right = plots.importance(idle, axes=grid(1, 2))
    table = idle.importance()
    order = np.argsort(-table.total)
    assert [t.get_text() for t in left.get_yticklabels()] == [f"x{k}" for k in order]
    bars = [[bar.get_width() for bar in c] for c in left.containers[:2]]
    np.testing.assert_allclose(bars[0], 100 * table.total[order])
    np.testing.assert_allclose(bars[1], 100 * table.first[order])
    drawn = left.containers[2].lines[2][0].get_segments()
    ends = [(s[0][0], s[-1][0]) for s in drawn]
    wanted = 100 * np.column_stack([table.lower, table.upper])[order]
    low = np.minimum(wanted[:, 0], 100 * table.total[order])
    np.testing.assert_allclose(ends, np.column_stack([low, wanted[:, 1]]))
    assert right.get_title(loc="left") == "Parts"
    few, _ = plots.importance(idle, top=1, axes=grid(1, 2))
    assert few.get_title(loc="right").startswith("3 more, ≤ ")


def test_importance_of_a_posterior_is_that_of_its_box():
    left, _ = plots.importance(model(), names=list("abcdef"), axes=grid(1, 2))
    widths = [bar.get_width() for bar in left.containers[0]]
    assert widths == sorted(widths, reverse=True)
    assert 90 < sum(widths) < 160
