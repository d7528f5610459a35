"""The scikit-learn regressor: its conventions, and its numbers against scikit-learn's.

The laws of draws are checked at a false-alarm rate of 1e-6 each.
"""

import importlib
import io
import sys
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn import base
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import reference
import sklearn_kernels
from draws import law_p_value
from irregular import frozen, random_setting
from sumbo.errors import ArgumentError, MissingExtraError
from sumbo.integrations.sklearn import AdditiveGPRegressor

GROUPS = [(0,), (3, 1), (2,)]
clone: Any = base.clone  # its stubs promise any container


def fixed(gp, **changes):
    """Return a regressor that keeps a model's parameters."""
    return AdditiveGPRegressor(
        groups=gp.groups,
        kernel=gp.kernel,
        lengthscales=gp.lengthscales,
        variances=gp.variances,
        noise=gp.noise,
        mean=gp.mean,
        optimizer=None,
        **changes,
    )


def problem(rng, N=60):
    """Return data of a function with one pair of features, in uneven units."""
    U = rng.random((N, 4))
    X = U * [3e3, 0.02, 7.0, 40.0] + [1.7e4, -0.3, 5.0, 11.0]
    y = np.sin(5 * U[:, 0]) + 4 * (U[:, 1] - 0.6) * (U[:, 3] - 0.3) + U[:, 2] ** 2
    return frozen(X), frozen(260.0 + 31.0 * (y + 0.03 * rng.standard_normal(N)))


# ---------------------------------------------------------------------- conventions
@parametrize_with_checks(
    [
        AdditiveGPRegressor(),
        AdditiveGPRegressor("one", kernel="rbf", optimizer=None),
    ]
)
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


def test_every_parameter_survives_cloning(rng):
    regressor = fixed(random_setting(rng).gp, n_restarts_optimizer=4, random_state=7)
    copy = clone(regressor)
    assert repr(copy.get_params()) == repr(regressor.get_params())


def test_a_stored_regressor_predicts_the_same(rng):
    X, y = problem(rng)
    regressor = AdditiveGPRegressor(GROUPS, optimizer=None).fit(X, y)
    file = io.BytesIO()
    joblib.dump(regressor, file)
    file.seek(0)
    again = joblib.load(file)
    np.testing.assert_array_equal(again.sample_parts(X), regressor.sample_parts(X))


def test_grid_search_finds_the_groups_of_the_function(rng):
    X, y = problem(rng)
    regressor = AdditiveGPRegressor(n_restarts_optimizer=0, random_state=3)
    grid = {"groups": ["singletons", [(0,), (1,), (2, 3)], GROUPS]}
    search = GridSearchCV(regressor, grid, cv=3).fit(X, y)
    assert search.best_params_["groups"] == GROUPS
    assert search.best_estimator_.groups_ == ((0,), (3, 1), (2,))


def test_a_scaler_in_front_changes_nothing(rng):
    X, y = problem(rng)
    bare = AdditiveGPRegressor(GROUPS, n_restarts_optimizer=0).fit(X, y)
    pipeline = make_pipeline(StandardScaler(), clone(bare)).fit(X, y)
    # Fits stop at a relative change of 1e-7 of the objective, not at the same bits.
    np.testing.assert_allclose(pipeline.predict(X), bare.predict(X), rtol=1e-4)


def test_features_can_be_selected_by_importance(rng):
    X, _ = problem(rng)
    y = X[:, 0] / 3e3 + 1e-3 * np.sin(X[:, 2])
    regressor = AdditiveGPRegressor(n_restarts_optimizer=0)
    selector = SelectFromModel(regressor, threshold=0.5).fit(X, y)
    np.testing.assert_array_equal(selector.transform(X), X[:, :1])


# ---------------------------------------------------------------------- the posterior
@pytest.mark.parametrize("kernel", ["rbf", "matern12", "matern32", "matern52"])
def test_predictions_equal_those_of_scikit_learn(rng, kernel):
    s = random_setting(rng, kernel=kernel, noise=0.013)
    theirs: Any = sklearn_kernels.fitted(s.gp, s.X, s.y)
    ours = fixed(s.gp).fit(s.X, s.y)
    X_new = frozen(rng.uniform(-0.2, 1.3, (9, s.gp.dim)))
    mean, cov = theirs.predict(X_new, return_cov=True)
    np.testing.assert_allclose(ours.predict(X_new), mean + s.gp.mean, rtol=1e-9)
    np.testing.assert_allclose(
        ours.predict(X_new, return_cov=True)[1], cov, atol=1e-10 * s.scale
    )
    np.testing.assert_allclose(
        ours.predict(X_new, return_std=True)[1], np.sqrt(cov.diagonal()), rtol=1e-7
    )


def test_the_mean_does_not_depend_on_what_else_is_returned(rng):
    s = random_setting(rng)
    regressor = fixed(s.gp).fit(s.X, s.y)
    mean = regressor.predict(s.X)
    np.testing.assert_array_equal(regressor.predict(s.X, return_std=True)[0], mean)
    np.testing.assert_array_equal(regressor.predict(s.X, return_cov=True)[0], mean)


def test_part_predictions_and_the_constant_sum_to_the_prediction(rng):
    s = random_setting(rng)
    regressor = fixed(s.gp).fit(s.X, s.y)
    X_new = rng.uniform(-0.2, 1.3, (7, s.gp.dim))
    total = regressor.gp_.mean + regressor.predict_parts(X_new).sum(axis=1)
    np.testing.assert_allclose(total, regressor.predict(X_new), rtol=1e-10)


def test_part_predictions_equal_the_dense_posterior(rng):
    s = random_setting(rng, noise=0.07)
    regressor = fixed(s.gp).fit(s.X, s.y)
    X_new = rng.uniform(-0.2, 1.3, (5, s.gp.dim))
    Z = reference.project(s.gp, X_new)
    mean, cov = reference.posterior_of_parts(s.gp, s.X, s.y, Z)
    ours, std = regressor.predict_parts(X_new, return_std=True)
    np.testing.assert_allclose(ours.T.ravel(), mean, atol=1e-9 * s.scale)
    np.testing.assert_allclose(std.T.ravel() ** 2, cov.diagonal(), atol=1e-9 * s.scale)
    np.testing.assert_allclose(regressor.predict_parts(X_new), ours, rtol=1e-12)


def test_the_evidence_and_its_gradient_equal_those_of_scikit_learn(rng):
    s = random_setting(rng, shared=False, noise=0.11)
    value, gradient = sklearn_kernels.log_likelihood_and_gradient(s.gp, s.X, s.y)
    regressor = fixed(s.gp).fit(s.X, s.y)
    assert regressor.log_marginal_likelihood() == pytest.approx(value, rel=1e-10)
    for theta in (None, regressor.theta_):
        ours, slope = regressor.log_marginal_likelihood(theta, eval_gradient=True)
        assert ours == pytest.approx(value, rel=1e-10)
        np.testing.assert_allclose(slope[:-1], gradient, rtol=1e-6, atol=1e-8)


def test_the_evidence_can_be_asked_at_other_parameters(rng):
    s = random_setting(rng, noise=0.11)
    regressor = fixed(s.gp).fit(s.X, s.y)
    theta = regressor.theta_ + rng.normal(0.0, 0.4, regressor.theta_.shape)
    moved = s.gp.with_hyperparameters(s.gp.hyperparameters().from_log(theta))
    residual = s.y - s.gp.mean
    K = reference.observed_covariance(moved, s.X)
    wanted = -0.5 * residual @ np.linalg.solve(K, residual)
    wanted -= 0.5 * np.linalg.slogdet(2 * np.pi * K)[1]
    assert regressor.log_marginal_likelihood(theta) == pytest.approx(wanted, rel=1e-9)


# ---------------------------------------------------------------------- draws
def test_draws_follow_the_predicted_mean_and_covariance(rng):
    s = random_setting(rng, noise=0.02)
    regressor = fixed(s.gp).fit(s.X, s.y)
    X_new = np.vstack([rng.random((6, s.gp.dim)), s.X[:2]])
    mean, cov = regressor.predict(X_new, return_cov=True)
    draws = regressor.sample_y(X_new, 4000, random_state=5)
    # False alarms: 1e-6. Samplers add jitter of up to 1e-9 of the variance.
    assert law_p_value(draws.T, mean, cov, floor=1e-7 * s.scale) > 1e-6


def test_draws_of_parts_follow_their_joint_law(rng):
    s = random_setting(rng, M=4, noise=0.02)
    regressor = fixed(s.gp).fit(s.X, s.y)
    X_new = rng.random((3, s.gp.dim))
    Z = reference.project(s.gp, X_new)
    mean, cov = reference.posterior_of_parts(s.gp, s.X, s.y, Z)
    draws = regressor.sample_parts(X_new, 4000, random_state=6)
    flat = draws.transpose(2, 1, 0).reshape(4000, -1)
    assert law_p_value(flat, mean, cov, floor=1e-7 * s.scale) > 1e-6  # false alarms


def test_the_parts_of_a_draw_sum_to_the_draw(rng):
    s = random_setting(rng)
    regressor = fixed(s.gp).fit(s.X, s.y)
    X_new = rng.random((5, s.gp.dim))
    parts = regressor.sample_parts(X_new, 3, random_state=11)
    assert parts.shape == (5, len(s.gp.groups), 3)
    np.testing.assert_allclose(
        parts.sum(axis=1) + s.gp.mean,
        regressor.sample_y(X_new, 3, random_state=11),
        rtol=1e-12,
    )


def test_rows_that_share_a_value_share_the_draw_of_its_part(rng):
    X, y = problem(rng)
    regressor = AdditiveGPRegressor(optimizer=None).fit(X, y)
    X_new = rng.permuted(X[:8], axis=0)
    X_new[3, 2] = X_new[1, 2]
    part = regressor.sample_parts(X_new, 2, random_state=1)[:, 2]
    np.testing.assert_array_equal(part[1], part[3])
    assert (part[0] != part[1]).all()


def test_a_random_state_moves_on_between_draws(rng):
    X, y = problem(rng)
    regressor = AdditiveGPRegressor(optimizer=None).fit(X, y)
    state = np.random.RandomState(4)
    first = regressor.sample_y(X[:3], random_state=state)
    assert (first != regressor.sample_y(X[:3], random_state=state)).all()


# ---------------------------------------------------------------------- what matters
def test_part_importances_are_shares_of_the_variance_of_the_mean(rng):
    X, y = problem(rng)
    regressor = AdditiveGPRegressor(GROUPS, optimizer=None).fit(X, y)
    low, high = X.min(axis=0), X.max(axis=0)
    t = (np.arange(150) + 0.5) / 150
    grid = np.empty((150**2, 4))
    grid[:, [0, 3]] = np.repeat(t, 150)[:, None]
    grid[:, [1, 2]] = np.tile(t, 150)[:, None]
    parts = regressor.predict_parts(low + grid * (high - low))
    variances = parts.var(axis=0)
    np.testing.assert_allclose(
        regressor.part_importances_, variances / variances.sum(), rtol=1e-4
    )


def test_feature_importances_are_total_shares(rng):
    X, y = problem(rng)
    regressor = AdditiveGPRegressor(GROUPS, optimizer=None).fit(X, y)
    total = regressor.importance().total
    np.testing.assert_array_equal(regressor.feature_importances_, total / total.sum())
    # Against the mean on a dense grid: the data leave little uncertainty.
    low, high = X.min(axis=0), X.max(axis=0)
    t = (np.arange(80) + 0.5) / 80
    grid = np.full((6400, 4), 0.37)
    grid[:, 3], grid[:, 1] = np.repeat(t, 80), np.tile(t, 80)
    pair = regressor.predict_parts(low + grid * (high - low))[:, 1].reshape(80, 80)
    dense = np.array([pair.var(axis=0).mean(), pair.var(axis=1).mean()])
    assert total[3] / total[1] == pytest.approx(dense[0] / dense[1], rel=0.15)


def test_importances_sum_to_one_and_forget_what_is_ignored(rng):
    X, y = problem(rng)
    lengthscales = [900.0, 1e5, 2.1, 12.0]
    regressor = AdditiveGPRegressor("one", lengthscales=lengthscales, optimizer=None)
    regressor.fit(X, y)
    shares = regressor.feature_importances_
    assert shares.sum() == pytest.approx(1.0, rel=1e-12)
    assert shares[1] < 1e-9
    assert (shares[[0, 2, 3]] > 0.01).all()


def test_a_constant_prediction_has_no_importances(rng):
    X, _ = problem(rng)
    regressor = AdditiveGPRegressor(optimizer=None).fit(X, np.full(len(X), 5.3))
    assert not regressor.feature_importances_.any()


# ---------------------------------------------------------------------- data
@pytest.mark.parametrize("shared", [False, True])
def test_units_do_not_matter(rng, shared):
    X, y = problem(rng)
    groups, how = ([(0, 3), (3, 1), (2,)], None) if shared else (GROUPS, "map")
    regressor = AdditiveGPRegressor(groups, optimizer=how, random_state=2).fit(X, y)
    factors = np.array([3e-7, 41.0, 1.3e9, 0.7])
    other = clone(regressor).fit(X * factors - 17.0 * factors, 2e-5 * y + 3.0)
    mean, std = regressor.predict(X[:9], return_std=True)
    scaled = other.predict((X[:9] - 17.0) * factors, return_std=True)
    np.testing.assert_allclose((scaled[0] - 3.0) / 2e-5, mean, rtol=1e-3)
    np.testing.assert_allclose(scaled[1] / 2e-5, std, rtol=1e-2)


def test_a_constant_feature_is_harmless(rng):
    X, y = problem(rng)
    with_constant = np.insert(X, 2, 8.4, axis=1)
    groups = [(0,), (4, 1), (3, 2)]
    regressor = AdditiveGPRegressor(groups, n_restarts_optimizer=0)
    regressor.fit(with_constant, y)
    assert regressor.score(with_constant, y) > 0.95
    assert regressor.feature_importances_[2] == 0.0
    assert np.isfinite(regressor.sample_y(with_constant)).all()


def test_without_noise_the_prediction_interpolates(rng):
    X, y = problem(rng, N=15)
    regressor = AdditiveGPRegressor(noise=0.0, optimizer=None).fit(X, y)
    mean, std = regressor.predict(X, return_std=True)
    np.testing.assert_allclose(mean, y, rtol=1e-6)
    assert (std < 1e-3 * y.std()).all()
    assert np.isfinite(regressor.log_marginal_likelihood())
    assert regressor.theta_[-1] == -np.inf


def test_a_data_frame_names_the_groups_and_the_parts(rng):
    X, y = problem(rng)
    table = pd.DataFrame(X, columns=["height", "width", "mass", "angle"])
    groups = [("height",), ("angle", "width"), (2,)]
    regressor = AdditiveGPRegressor(groups, optimizer=None).fit(table, y)
    assert regressor.part_names_ == ["height", "angle, width", "mass"]
    by_number = AdditiveGPRegressor(GROUPS, optimizer=None).fit(X, y)
    assert by_number.part_names_ == ["x0", "x3, x1", "x2"]
    np.testing.assert_array_equal(regressor.predict(table), by_number.predict(X))


# ---------------------------------------------------------------------- fits
def test_the_fit_raises_the_evidence(rng):
    X, y = problem(rng)
    before = AdditiveGPRegressor(GROUPS, optimizer=None).fit(X, y)
    after = AdditiveGPRegressor(GROUPS, n_restarts_optimizer=0).fit(X, y)
    gain = after.log_marginal_likelihood() - before.log_marginal_likelihood()
    assert gain > 1.0
    assert after.gp_.info is not None


def test_the_number_of_restarts_and_their_seed_reach_the_fit(rng):
    X, y = problem(rng, N=20)
    infos: list[Any] = [
        AdditiveGPRegressor(n_restarts_optimizer=n, random_state=seed)
        .fit(X, y)
        .gp_.info
        for n, seed in [(0, 1), (3, 1), (3, 2)]
    ]
    assert [info.starts for info in infos] == [1, 4, 4]
    assert infos[1].evaluations != infos[2].evaluations


def test_adam_keeps_the_mean(rng):
    X, y = problem(rng, N=20)
    regressor: Any = AdditiveGPRegressor(mean=251.0, optimizer="adam").fit(X, y)
    assert regressor.gp_.mean == 251.0
    assert regressor.gp_.info.how == "adam"


# ---------------------------------------------------------------------- errors
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"groups": "pairs"}, "groups='pairs' is unknown"),
        ({"groups": [(0,), (1, 2)]}, "missing 3"),
        ({"groups": ["x0", ("x1", "x2", "x3")]}, "bare name 'x0'"),
        ({"groups": [(0, 1, 2), ("x33",)]}, "'x33', which is not in X. Did you mean"),
        ({"groups": 5}, "groups=5 is not a sequence"),
        ({"groups": [0, 1, 2, 3]}, "bare number 0"),
        ({"optimizer": "sgd"}, "optimizer='sgd' is unknown. Use 'map', 'adam'"),
        ({"n_restarts_optimizer": -1}, "n_restarts_optimizer=-1"),
        (
            {"lengthscales": [0.2, 0.3]},
            r"lengthscales=\[0.2, 0.3\] is neither one number, nor 4",
        ),
        ({"noise": -1.0}, "noise=-1.0"),
        ({"kernel": "mattern52"}, "Did you mean 'matern52'"),
    ],
)
def test_an_unusable_parameter_is_refused_by_fit(rng, changes, message):
    X, y = problem(rng)
    regressor = AdditiveGPRegressor(**changes)
    with pytest.raises(ArgumentError, match=message):
        regressor.fit(X, y)


def test_unusable_arguments_of_methods_are_refused(rng):
    X, y = problem(rng)
    regressor = AdditiveGPRegressor(optimizer=None).fit(X, y)
    with pytest.raises(ArgumentError, match="ask for one of the two"):
        regressor.predict(X, return_std=True, return_cov=True)
    with pytest.raises(ArgumentError, match="n_samples=0"):
        regressor.sample_y(X, n_samples=0)
    with pytest.raises(ArgumentError, match=r"theta has shape \(2,\).* 9 parameters"):
        regressor.log_marginal_likelihood(np.zeros(2))


def test_nothing_is_known_before_the_fit():
    regressor = AdditiveGPRegressor()
    for name in ("theta_", "part_importances_", "feature_importances_"):
        with pytest.raises(NotFittedError):
            getattr(regressor, name)


def test_without_scikit_learn_the_extra_is_named(monkeypatch):
    monkeypatch.delitem(sys.modules, "sumbo.integrations.sklearn")
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    with pytest.raises(MissingExtraError, match=r"sumbo\[sklearn\]"):
        importlib.import_module("sumbo.integrations.sklearn")
