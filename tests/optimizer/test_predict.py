"""Predictions in the user's units and sign, at points in any form."""

import numpy as np
import pandas as pd
import pytest

import sumbo
from searches import MIXED, QUICK
from sumbo import Optimizer
from sumbo.errors import ArgumentError, SumboError
from sumbo.rng import rng_at

POINTS = [
    {"rate": 2e-3, "layers": 4, "rule": "max", "weight": -1.1},
    {"rate": 0.17, "layers": 7, "rule": None, "weight": 0.2},
    {"rate": 0.04, "layers": 2, "rule": "sum", "weight": -2.3},
]


def loss(x):
    rate, layers, rule, weight = x
    return 310.0 + 23.0 * np.log10(rate) ** 2 + layers + 9 * (rule == "sum") + weight


def told(*, maximize=False, transform="standardise", value=loss):
    opt = Optimizer(
        MIXED,
        seed=4,
        n_init=19,
        maximize=maximize,
        transform=transform,
        **QUICK["logei"],
    )
    X = opt.ask(19)
    sign = -1.0 if maximize else 1.0
    opt.tell(X, [sign * value(x) for x in X])
    opt.ask()
    return opt


@pytest.fixture(scope="module")
def opt():
    return told()


def test_a_point_may_have_any_form(opt):
    rows = [list(point.values()) for point in POINTS]
    mean, sd = opt.predict(POINTS)
    assert mean.shape == sd.shape == (3,)
    shuffled = pd.DataFrame(POINTS)[["weight", "rule", "layers", "rate"]]
    for X in (np.array(rows, dtype=object), rows, shuffled):
        np.testing.assert_array_equal(opt.predict(X).mean, mean)
    np.testing.assert_allclose(opt.predict(POINTS[1]).mean, mean[1:2], rtol=1e-9)
    np.testing.assert_allclose(opt.predict(rows[2]).sd, sd[2:], rtol=1e-9)


def test_moments_of_standardised_values_are_those_of_the_mixture(opt):
    surrogate = opt.surrogate()
    U = opt.space.encode(POINTS)
    found = [post.predict(U) for post in surrogate.posteriors]
    means, variances = (np.array(column) for column in zip(*found, strict=True))
    w = surrogate.weights / surrogate.weights.sum()
    z = w @ means
    var = w @ (variances + means**2) - z**2
    y = opt.y
    mean, sd = opt.predict(POINTS)
    np.testing.assert_allclose(mean, y.mean() + y.std() * z, rtol=1e-10)
    np.testing.assert_allclose(sd, y.std() * np.sqrt(var), rtol=1e-6)


def test_the_function_is_predicted_in_its_units(opt):
    truth = np.array([loss(point.values()) for point in POINTS])
    mean, sd = opt.predict(POINTS)
    assert (np.abs(mean - truth) < 5 * sd + 1e-6).all()
    np.testing.assert_allclose(mean, truth, atol=0.5 * opt.y.std())


def test_moments_of_logarithms_are_those_of_many_draws():
    opt = told(transform="log", value=lambda x: np.exp(loss(x) / 40.0))
    surrogate = opt.surrogate()
    assert surrogate.transform.kind == "log"
    U, rng = opt.space.encode(POINTS), rng_at(6, "many draws")
    n = 200_000
    which = rng.choice(len(surrogate.weights), size=n, p=surrogate.weights)
    found = [post.predict(U) for post in surrogate.posteriors]
    for i, (mean, sd) in enumerate(zip(*opt.predict(POINTS), strict=True)):
        means, variances = (np.array([f[k][i] for f in found]) for k in (0, 1))
        z = means[which] + np.sqrt(variances[which]) * rng.standard_normal(n)
        y = surrogate.transform.inverse(z)
        # sd of the mean of draws is sd/√n; 5 of them: false alarm below 1e-6
        assert mean == pytest.approx(y.mean(), abs=5 * y.std() / np.sqrt(n))
        assert sd == pytest.approx(y.std(), rel=0.05)


def test_a_maximised_objective_is_predicted_in_its_sign(opt):
    up = told(maximize=True)
    np.testing.assert_allclose(up.predict(POINTS).mean, -opt.predict(POINTS).mean)
    np.testing.assert_allclose(up.predict(POINTS).sd, opt.predict(POINTS).sd)


def test_a_result_predicts_as_its_optimizer_did():
    r = sumbo.minimize(loss, MIXED, budget=13, n_init=9, seed=2, **QUICK["logei"])
    mean, _ = r.predict(r.x_iters)
    np.testing.assert_array_equal(mean, r.optimizer.predict(r.x_iters).mean)
    assert np.corrcoef(mean, r.func_vals)[0, 1] > 0.9


def test_many_points_are_predicted_in_panels(opt, monkeypatch):
    U = np.random.default_rng(3).random((29, opt.space.dim))
    X = opt.space.decode(U)
    whole = opt.predict(X)
    monkeypatch.setattr("sumbo.optimizer.predict.PANEL", 7)
    np.testing.assert_allclose(opt.predict(X).mean, whole.mean, rtol=1e-12)


def test_points_outside_the_space_are_refused(opt):
    with pytest.raises(ArgumentError, match="rate"):
        opt.predict({**POINTS[0], "rate": 77.0})
    with pytest.raises(ArgumentError, match="misses"):
        opt.predict({"rate": 0.1})


def test_without_a_model_there_is_an_error_with_a_remedy():
    with pytest.raises(SumboError, match="no model of 0 values"):
        Optimizer(MIXED, seed=1).predict(POINTS[0])
    r = sumbo.minimize(loss, MIXED, budget=5, method="uniform", seed=1)
    with pytest.raises(SumboError, match="uniform"):
        r.predict(POINTS)
