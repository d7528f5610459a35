"""The numbers of a report are those of the API, in the user's units and sign."""

from dataclasses import replace

import numpy as np
import pytest

from searches import everything
from sumbo import Categorical, Integer, Optimizer, Outcome, Real, Simplex
from sumbo.report import content_of
from sumbo.report.ahead import apportioned
from sumbo.report.effects import base_points, effect_of, joint_reach
from sumbo.report.lines import allowed, axis_of, encoded, moved
from sumbo.report.model import check_of, held_out, pair_of
from sumbo.report.units import moments, units_of
from sumbo.surrogate.noise import expecting_noise

SPACE = (
    Real("rate", 1e-3, 0.9, log=True),
    Real("angle", -1.3, 2.1),
    Integer("stages", 2, 7),
    Categorical("solvent", ("THF", "toluene", None)),
)
CHEAP = {"starts": 1, "refit": 30, "groups": "singletons", "transform": "standardise"}


def value(x):
    rate, angle, stages, solvent = x
    y = (
        1.7 * (np.log10(rate) + 1.6) ** 2
        + np.sin(2 * angle)
        + 0.3 * (stages - 4.2) ** 2
    )
    return float(y + 0.9 * (solvent == "toluene") + 0.4 * angle * (solvent is None))


def run_of(space=SPACE, f=value, n=18, seed=5, **settings):
    opt = Optimizer(space, seed=seed, n_init=n, **{**CHEAP, **settings})
    X = opt.ask(n)
    opt.tell(X, [f(x) for x in X])
    return opt


@pytest.fixture(scope="module")
def opt():
    return run_of(n=26, groups="auto")


@pytest.fixture(scope="module")
def content(opt):
    return content_of(opt)


def test_best_and_recommended_are_those_of_the_run(opt, content):
    assert content.best == int(np.argmin(opt.y))
    there, here = content.recommended, opt.recommend()
    assert there.x.tolist() == here.x.tolist()
    assert there[1:] == here[1:]
    np.testing.assert_array_equal(content.evaluations.best[-1], opt.best[1])
    np.testing.assert_array_equal(
        content.evaluations.best, np.minimum.accumulate(opt.y)
    )


def test_a_slice_is_the_prediction_of_the_model(opt, content):
    s = content.model.slices[0]
    k = int(content.model.order[0])
    center = opt.space.numbers(content.recommended.x)[0]
    points = np.tile(center, (len(s.axis.values), 1))
    points[:, k] = s.axis.values
    surrogate = expecting_noise(opt.surrogate())
    U = opt.space.encode(opt.space.points(points))
    each = [p.predict(U) for p in surrogate.posteriors]
    w = surrogate.weights / surrogate.weights.sum()
    mean = sum(a * m for a, (m, _) in zip(w, each, strict=True))
    second = sum(a * (v + m**2) for a, (m, v) in zip(w, each, strict=True))
    sd = np.sqrt(np.maximum(second - mean**2, 0))
    inverse = surrogate.transform.inverse
    np.testing.assert_allclose(s.band.mid, inverse(mean), rtol=1e-9)
    np.testing.assert_allclose(s.band.low, inverse(mean - 1.959964 * sd), atol=1e-5)
    np.testing.assert_allclose(s.band.high, inverse(mean + 1.959964 * sd), atol=1e-5)


@pytest.mark.parametrize("k", range(4))
def test_an_effect_is_the_centred_average_of_predictions(opt, k):
    # Oracle: predictions with their whole covariance at all points, averaged.
    surrogate, space = opt.surrogate(), opt.space
    base = base_points(space, 4)
    post = surrogate.posterior
    alone = type(surrogate)(posteriors=(post,), weights=np.ones(1), data=surrogate.data)
    effect = effect_of(alone, space, k, base, scale=2.5)
    G = len(effect.axis.values)
    numbers, _ = moved(space, base, k, effect.axis.values)
    U = encoded(space, numbers)
    mean, cov = post.predict(U)[0], post.predict_covariance(U)
    A = np.kron(np.eye(G), np.full((1, len(base)), 1 / len(base)))
    A = A - A.mean(axis=0)
    np.testing.assert_allclose(effect.band.mid, 2.5 * A @ mean, atol=1e-8)
    wanted = A @ cov @ A.T
    half = 2.5 * joint_reach(wanted) * np.sqrt(np.maximum(wanted.diagonal(), 0))
    np.testing.assert_allclose(effect.band.high - effect.band.mid, half, atol=3e-4)


def test_a_joint_band_holds_whole_curves_and_is_wider_than_a_pointwise_one(rng):
    t = np.linspace(0, 1, 20)
    cov = np.exp(-0.5 * ((t[:, None] - t) / 0.13) ** 2) * (0.4 + t[:, None] * t)
    reach = joint_reach(cov)
    root = np.linalg.cholesky(cov + 1e-9 * np.eye(20))
    draws = rng.standard_normal((4000, 20)) @ root.T
    inside = (np.abs(draws) <= reach * np.sqrt(cov.diagonal())).all(axis=1).mean()
    # 400 draws set the quantile: its coverage has sd 0.011; 5 sd both ways.
    assert 0.89 < inside < 0.995
    assert reach > 2.2


def test_effects_are_in_the_units_and_the_sign_of_the_user():
    low = run_of(f=lambda x: 40.0 + 12.0 * x[1], n=14)
    high = run_of(f=lambda x: -40.0 - 12.0 * x[1], n=14, maximize=True)
    for opt, slope in ((low, 12.0), (high, -12.0)):
        content = content_of(opt)
        k = [e.axis.name for e in content.model.effects].index("angle")
        effect = content.model.effects[k]
        run = np.ptp(effect.axis.values)
        rise = effect.band.mid[-1] - effect.band.mid[0]
        assert rise == pytest.approx(slope * run, rel=0.02)
        assert content.model.slices[k].band.mid.mean() == pytest.approx(
            np.sign(slope) * (40 + 12 * 0.4), rel=0.02
        )


def test_a_held_out_value_does_not_change_its_own_prediction(opt):
    surrogate = opt.surrogate()
    post, data = surrogate.posterior, surrogate.data
    mean, var = held_out(post, data)
    y = data.y.copy()
    y[3] += 4.7
    other, _ = held_out(post, replace(data, y=y))
    assert other[3] == pytest.approx(mean[3], abs=1e-9)
    assert np.abs(other - mean).max() > 0.05  # the other folds learned from it
    assert (var > 0).all()


def test_the_check_of_many_values_is_the_leave_one_out_prediction(opt):
    surrogate = opt.surrogate()
    one = type(surrogate)(
        posteriors=surrogate.posteriors[:1], weights=np.ones(1), data=surrogate.data
    )
    check = check_of(one, units_of(opt, one), few=0)
    assert check.folds == 0
    mean, var = surrogate.posterior.leave_one_out()
    np.testing.assert_allclose(check.band.mid, surrogate.transform.inverse(mean))
    z = (surrogate.data.y - mean) / np.sqrt(var)
    inside = np.mean(np.abs(z) < 1.2815515655)  # 80 %
    assert check.within[1] == pytest.approx(inside)
    np.testing.assert_array_equal(check.observed, opt.y)


@pytest.mark.parametrize("maximize", [False, True])
def test_draws_of_the_optimum_are_no_worse_than_the_recommended_point(maximize):
    sign = -1.0 if maximize else 1.0
    opt = run_of(f=lambda x: sign * value(x), maximize=maximize)
    content = content_of(opt)
    optimum = content.model.optimum
    low, high = optimum.interval()
    assert low < high
    edge = low if not maximize else high
    assert sign * edge <= sign * opt.best[1] + 0.5
    gain = sign * (content.recommended.mean - optimum.values.mean())
    assert optimum.gain == pytest.approx(max(0.0, gain))
    assert opt.space.contains(opt.space.points(optimum.points))


def test_draws_are_divided_by_largest_remainders():
    counts = apportioned(np.array([0.501, 0.334, 0.165]), 10)
    assert counts.tolist() == [5, 3, 2]
    assert apportioned(np.array([2.0, 0.001]), 7).tolist() == [7, 0]


def test_a_report_tells_the_next_point_and_changes_nothing():
    opt = run_of(n=12)
    before = everything(opt)
    content = content_of(opt)
    assert everything(opt) == before
    assert content.next.exact
    np.testing.assert_array_equal(content.next.x, opt.space.numbers(opt.ask()[None])[0])


def test_peeking_without_a_refit_leaves_the_model_as_it_stands(monkeypatch):
    opt = Optimizer([(0.3, 1.9)] * 2, seed=4, n_init=4, starts=1, refit=1, growth=0.0)
    for _ in range(6):
        x = opt.ask()
        opt.tell(x, float((x**2).sum()))

    def refuse(*arguments, **settings):
        raise AssertionError("the model was fitted")

    monkeypatch.setattr(type(opt._engine.method), "_refit", refuse)
    assert opt.space.contains(opt.peek(refit=False))
    with pytest.raises(AssertionError, match="was fitted"):
        opt.peek()


def test_the_importance_is_that_of_the_run(opt, content):
    here, there = opt.importance(n=100), content.model.importance
    np.testing.assert_array_equal(here.total, there.total)
    np.testing.assert_array_equal(here.upper, there.upper)
    assert content.model.order[0] == here.total.argmax()


@pytest.mark.statistical
def test_a_report_on_noisy_values_expects_noise(rng):
    opt = Optimizer([Real("dose", -1.7, 2.9)], seed=4, n_init=34, **CHEAP)
    X = opt.ask(34)
    sd = 0.8
    opt.tell(X, (X[:, 0] - 0.4) ** 2 + sd * rng.standard_normal(34))
    content = content_of(opt)
    # The mean square of 30 residuals, a chi-square: false alarms below 1e-5.
    assert 0.4 * sd < content.model.noise < 1.8 * sd
    effect = content.model.effects[0]
    truth = (effect.axis.values - 0.4) ** 2
    error = effect.band.mid - (truth - truth.mean())
    # About 4 of 34 degrees of freedom are fitted, so that 0.34 sd is expected; its
    # square is a chi-square of 4, which exceeds 8.5 times its mean at a rate of 3e-7.
    assert np.sqrt(np.mean(error**2)) < sd
    # At least 25 of 34 values that were left out lie in 95 % intervals; binomial, 1e-6.
    assert content.model.check.within[2] > 0.72


def test_too_few_values_have_no_model_and_say_so():
    opt = Optimizer(SPACE, seed=3)
    assert "0 values" in content_of(opt).why
    X = opt.ask(5)
    opt.tell(X[:4], [3.1, 2.2, 4.7, 1.9])
    opt.tell(X[4], failed=True)
    content = content_of(opt)
    assert content.model is None
    assert "4 values so far" in content.why
    assert content.best == 3
    assert content.evaluations.status == ["ok"] * 4 + ["failed"]


def test_a_method_without_a_model_gets_the_default_one():
    opt = Optimizer([(0.2, 1.4), (-2.0, 0.7)], seed=6, method="uniform")
    X = opt.ask(12)
    opt.tell(X, [float(3 * x[0] + 0.1 * x[1]) for x in X])
    content = content_of(opt)
    assert content.model.stand_in
    assert content.model.importance.total.argmax() == 0


@pytest.mark.slow
def test_outcomes_and_constraints_decide_the_best_point():
    opt = Optimizer(
        [Real("a", 0.1, 1.9), Real("b", -0.7, 0.6)],
        constraints=["a + b <= 0.9", Outcome("heat", upper=0.9)],
        seed=2,
        n_init=14,
        **CHEAP,
    )
    X = opt.ask(14)
    for x in X:
        opt.tell(x, float(x[0] + x[1]), outcomes={"heat": float(1.5 - x[0])})
    content = content_of(opt)
    ok = 1.5 - X[:, 0] <= 0.9
    wanted = np.flatnonzero(ok)[X.sum(axis=1)[ok].argmin()]
    assert content.best == wanted
    assert content.evaluations.status == ["ok" if k else "infeasible" for k in ok]
    assert not all(s.allowed.all() for s in content.model.slices)


def test_shares_of_a_mixture_move_such_that_they_add_up():
    space = Optimizer([Simplex("mix", 3), Real("heat", 0.2, 0.9)]).space
    base = np.array([[0.2, 0.5, 0.3, 0.7], [1.0, 0.0, 0.0, 0.4]])
    numbers, inside = moved(space, base, 0, np.array([0.1, 0.6]))
    np.testing.assert_allclose(numbers[:, :3].sum(axis=1), 1.0)
    np.testing.assert_allclose(numbers[0], [0.1, 0.5625, 0.3375, 0.7])
    np.testing.assert_allclose(numbers[3], [0.6, 0.2, 0.2, 0.4])
    assert inside.all()
    assert allowed(space, encoded(space, numbers), inside).all()


def test_axes_show_levels_choices_and_logarithms():
    space = Optimizer(SPACE).space
    rate, angle, stages, solvent = (axis_of(space, k, 9) for k in range(4))
    np.testing.assert_allclose(np.diff(np.log(rate.values)), np.log(900) / 8)
    assert (rate.values[0], rate.values[-1]) == (1e-3, 0.9)
    np.testing.assert_allclose(np.diff(angle.values), 3.4 / 8)
    assert stages.values.tolist() == [2, 3, 4, 5, 6, 7]
    assert solvent.labels == ("THF", "toluene", "None")


def test_the_pair_that_acts_together_is_shown():
    total = np.array([0.5, 0.1, 0.3, 0.28])
    together = np.eye(4)
    together[2, 3] = together[3, 2] = 0.9
    assert pair_of(total, together) == (2, 3)
    assert pair_of(total, None) == (0, 2)
    assert pair_of(total, np.eye(4)) == (0, 2)


def test_moments_do_not_depend_on_panels(opt, monkeypatch):
    surrogate = opt.surrogate()
    U = opt.space.encode(opt.X)
    whole = moments(surrogate, U)
    monkeypatch.setattr("sumbo.report.units.PANEL", 7)
    np.testing.assert_allclose(moments(surrogate, U), whole, rtol=1e-9)
