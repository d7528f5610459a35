"""Runs that stop when little is left to gain."""

import numpy as np
import pytest

import sumbo
from searches import BOX, QUICK, bowl
from sumbo import Optimizer
from sumbo.errors import ArgumentError
from sumbo.optimizer.stopping import RULE, remaining_gain
from sumbo.rng import rng_at

RUN = {"budget": 40, "n_init": 10, "seed": 3, "groups": "singletons", **QUICK["logei"]}


@pytest.fixture(scope="module")
def stopped():
    return sumbo.minimize(bowl, BOX, stop=0.02, **RUN)


def test_a_run_stops_when_little_is_left_to_gain(stopped):
    assert 10 <= stopped.nfev < 40
    assert (stopped.nfev - 10) % RULE.every == 0
    assert stopped.success
    assert stopped.status == 0
    assert "expected remaining gain" in stopped.message
    assert "stop=0.02" in stopped.message
    assert stopped.fun < 3.7 + 0.05  # the minimum is near 3.7


def test_the_points_until_then_are_those_of_a_run_that_goes_on(stopped):
    whole = sumbo.minimize(bowl, BOX, **{**RUN, "budget": stopped.nfev})
    np.testing.assert_array_equal(stopped.x_iters, whole.x_iters)
    assert whole.message == "budget used"


def test_a_maximisation_stops_where_its_mirror_image_does(stopped):
    r = sumbo.maximize(lambda x: -bowl(x), BOX, stop=0.02, **RUN)
    assert (r.nfev, r.message) == (stopped.nfev, stopped.message)


def test_a_run_that_stopped_stops_at_once_when_it_is_resumed(tmp_path, stopped):
    path = tmp_path / "run.npz"
    sumbo.minimize(bowl, BOX, checkpoint=path, **{**RUN, "budget": 12})
    resumed = sumbo.minimize(bowl, BOX, checkpoint=path, stop=0.02, **RUN)
    assert (resumed.nfev, resumed.message) == (stopped.nfev, stopped.message)
    again = sumbo.minimize(bowl, BOX, checkpoint=path, stop=0.02, **RUN)
    assert (again.nfev, again.nit) == (stopped.nfev, 0)


def test_batches_are_complete_when_a_run_stops():
    r = sumbo.minimize(bowl, BOX, stop=0.1, batch=6, **RUN)
    assert r.nfev < 40
    assert (r.nfev % 6) == 0


def test_a_tiny_tolerance_uses_the_budget():
    r = sumbo.minimize(bowl, BOX, stop=1e-12, **{**RUN, "budget": 16})
    assert r.nfev == 16
    assert r.message == "budget used"


def test_the_expected_gain_is_that_of_many_draws_on_a_grid():
    opt = Optimizer([(0.2, 1.7)], seed=2, n_init=4, groups="one", **QUICK["logei"])
    x = np.array([[0.25], [0.6], [1.1], [1.6]])
    opt.tell(x, np.array([0.9, 0.31, 0.72, 1.4]))
    post = opt.model()
    transform = opt.surrogate().transform
    grid = np.linspace(0, 1, 400)[:, None]
    cov = post.predict_covariance(grid)
    L = np.linalg.cholesky(cov + 1e-9 * np.eye(400))
    z = rng_at(5, "grid draws").standard_normal((400, 4000))
    draws = post.predict(grid)[0][:, None] + L @ z
    low = transform.inverse(draws.min(axis=0)).mean()
    expected = opt.recommend().mean - low
    assert remaining_gain(opt) == pytest.approx(expected, abs=0.25 * abs(expected))


@pytest.mark.parametrize("stop", [0, -0.1, np.inf, np.nan, "soon", True])
def test_a_wrong_tolerance_is_explained_before_anything_is_evaluated(stop):
    calls = []
    with pytest.raises((ArgumentError, TypeError), match="stop"):
        sumbo.minimize(calls.append, BOX, budget=4, n_init=4, stop=stop)
    assert not calls


def test_a_method_without_a_model_cannot_stop_a_run():
    with pytest.raises(ArgumentError, match="'uniform' has none"):
        sumbo.minimize(bowl, BOX, budget=4, method="uniform", stop=0.1)
