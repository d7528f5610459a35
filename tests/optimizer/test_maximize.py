"""Maximising: the same points as minimising −f, and values in the user's sign."""

import json

import numpy as np
import pytest

import sumbo
from searches import BOX, QUICK, bowl
from sumbo import Optimizer, checkpoint, plots
from sumbo.errors import ArgumentError, CheckpointError

RUN = {"budget": 14, "n_init": 8, "seed": 3, **QUICK["logei"]}


def hill(x):
    """Return a function of the box with one summit."""
    return 1.3 - bowl(x)


def minus_hill(x):
    return -hill(x)


@pytest.fixture(scope="module")
def result():
    return sumbo.maximize(hill, BOX, **RUN)


def test_the_points_are_those_of_minimising_the_negative(result):
    mirrored = sumbo.minimize(minus_hill, BOX, **RUN)
    np.testing.assert_array_equal(result.x_iters, mirrored.x_iters)
    np.testing.assert_array_equal(result.func_vals, -mirrored.func_vals)
    np.testing.assert_array_equal(result.x, mirrored.x)


def test_values_are_in_the_sign_of_the_user(result):
    assert result.fun == max(hill(x) for x in result.x_iters) == hill(result.x)
    assert result.func_vals.tolist() == [hill(x) for x in result.x_iters]
    assert result.optimizer.best[1] == result.fun
    assert result.maximize


def test_the_transform_is_described_in_the_sign_of_the_user(result):
    mean = np.mean(result.func_vals[:8])  # of those at the first and only refit
    assert f"({mean:.4g} - y)" in result.transform


@pytest.mark.parametrize("kind", ["log", "none"])
def test_every_transform_is_described_in_the_sign_of_the_user(kind):
    opt = Optimizer(BOX, seed=3, n_init=6, maximize=True, transform=kind)
    X = opt.ask(6)
    y = [hill(x) for x in X]
    opt.tell(X, y)
    said = opt.data().transform.describe(negated=True)
    wanted = {
        "log": f"({max(y):.4g} - y)",
        "none": "-y is used as it is.",
    }
    assert wanted[kind] in said
    if kind == "log":
        assert f"linear above {max(y):.4g}" in said


def test_the_model_predicts_values_in_the_sign_of_the_user(result):
    post = result.model
    mean, var = post.predict(post.X)
    order = np.argsort(result.func_vals)
    assert mean[order[-1]] > mean[order[0]]
    np.testing.assert_allclose(mean, post.y, atol=0.1)
    mirrored, same = result.optimizer.surrogate().posterior.predict(post.X)
    np.testing.assert_allclose(mean, -mirrored, atol=1e-12)
    np.testing.assert_array_equal(var, same)


def test_pictures_of_the_model_mark_the_largest_value(result):
    pytest.importorskip("matplotlib")
    from sumbo.plots.coordinates import point_of

    best = result.optimizer.space.encode(result.x)[0]
    np.testing.assert_allclose(point_of(result.model), best, rtol=1e-14)


def test_the_curve_of_a_run_rises_to_the_largest_value(result):
    pytest.importorskip("matplotlib")
    ax = plots.convergence(result, minimum=1.4)
    best = next(line for line in ax.lines if line.get_label() == "best so far")
    np.testing.assert_array_equal(
        best.get_ydata(), np.maximum.accumulate(result.func_vals)
    )
    assert "maximum" in [line.get_label() for line in ax.lines]
    gap = plots.convergence(result.func_vals, minimum=1.4, log=True, maximize=True)
    drawn = next(line for line in gap.lines if line.get_label() == "best so far")
    np.testing.assert_allclose(
        drawn.get_ydata(), 1.4 - np.maximum.accumulate(result.func_vals)
    )
    several = plots.convergence([result, result])
    median = several.lines[-1].get_ydata()
    np.testing.assert_array_equal(median, np.maximum.accumulate(result.func_vals))


def test_results_of_both_kinds_are_not_drawn_together(result):
    pytest.importorskip("matplotlib")
    other = sumbo.minimize(bowl, BOX, budget=3, n_init=3, seed=1)
    with pytest.raises(ArgumentError, match="maximise"):
        plots.convergence([result, other])


def test_callback_progress_and_errors_show_the_sign_of_the_user(capfd):
    seen = []
    sumbo.maximize(hill, BOX, callback=seen.append, progress=True, **RUN)
    values = [hill(x) for x in seen[-1].x_iters]
    assert [r.fun for r in seen] == np.maximum.accumulate(values).tolist()
    assert f"best={max(values):.6g}" in capfd.readouterr().err


def test_a_run_goes_on_bit_for_bit_and_its_file_holds_the_users_values(
    tmp_path, result
):
    path = tmp_path / "run.npz"
    sumbo.maximize(hill, BOX, checkpoint=path, **{**RUN, "budget": 10})
    header, arrays = checkpoint.load(path)
    assert header["maximize"]
    np.testing.assert_array_equal(arrays["history.y"], result.func_vals[:10])
    resumed = sumbo.maximize(hill, BOX, checkpoint=path, **RUN)
    np.testing.assert_array_equal(resumed.x_iters, result.x_iters)
    np.testing.assert_array_equal(resumed.func_vals, result.func_vals)


def test_a_run_that_maximises_is_not_continued_as_one_that_minimises(tmp_path):
    path = tmp_path / "run.npz"
    sumbo.maximize(hill, BOX, checkpoint=path, **{**RUN, "budget": 8})
    with pytest.raises(CheckpointError, match="maximize is False here and True there"):
        sumbo.minimize(hill, BOX, checkpoint=path, **{**RUN, "budget": 8})


def test_failed_evaluations_are_avoided_also_when_maximising():
    opt = Optimizer(BOX, seed=5, n_init=4, maximize=True, **QUICK["logei"])
    X = opt.ask(6)
    opt.tell(X[:5], [hill(x) for x in X[:5]])
    opt.tell(X[5], failed=True)
    seen = opt.data()
    assert seen.y[5] == seen.y[:5].max()  # the worst, for a model that minimises
    assert json.dumps(opt.best[1])  # a plain number


@pytest.mark.parametrize("wrong", ["yes", 2, None])
def test_maximize_is_true_or_false(wrong):
    with pytest.raises((ArgumentError, TypeError), match="maximize"):
        sumbo.minimize(hill, BOX, budget=4, n_init=4, maximize=wrong)
