"""Noisy values: told or estimated, repeats, and the point that is recommended."""

import numpy as np
import pytest

import sumbo
from searches import BOX, QUICK, bowl, everything
from sumbo import Integer, Optimizer
from sumbo.data import Transform, prepare
from sumbo.errors import ArgumentError, SumboError
from sumbo.gp import AdditiveGP
from sumbo.methods import names
from sumbo.optimizer.predict import in_users_units
from sumbo.optimizer.recommend import Recommendation, recommended_row
from sumbo.rng import rng_at
from sumbo.space import Space
from sumbo.surrogate.base import single
from sumbo.surrogate.noise import expecting_noise
from sumbo.testing import scenes

SMALL = [Integer("a", 1, 3), Integer("b", 2, 5)]
USES_NOISE = ("alcb2", "ats", "logei", "rducb", "ts")


def level(x):
    """Return a function of the small space with its minimum at (2, 4)."""
    return float((x[0] - 2) ** 2 + 0.7 * (x[1] - 4) ** 2)


def observed(seed, share, N=100):
    """Return data of a sum of sines with noise, a share of its standard deviation."""
    rng = rng_at(seed, "noisy data")
    U = rng.random((N, 3))
    f = np.sin(5 * U[:, 0]) + 0.8 * np.cos(4 * U[:, 1]) + 0.5 * U[:, 2]
    y = f + share * f.std() * rng.standard_normal(N)
    return prepare(
        U=U,
        y=y,
        failed=np.zeros(N, dtype=bool),
        pending=np.empty((0, 3)),
        domain=Space.of([(0.0, 1.0)] * 3),
        step=N,
    )


# ------------------------------------------------------------------- is it noisy?
@pytest.fixture(scope="module")
def noisy():
    """Return an optimizer with a fitted model of noisy values."""
    rng = rng_at(11, "noisy run")
    opt = Optimizer(BOX, seed=3, n_init=60, groups="singletons", **QUICK["logei"])
    X = opt.ask(60)
    f = np.array([bowl(x) for x in X])
    opt.tell(X, f + 0.5 * f.std() * rng.standard_normal(60))
    opt.ask()
    return opt


def test_the_noise_of_the_model_is_about_that_of_the_values(noisy):
    surrogate = noisy.surrogate()
    assert noisy.info.noisy
    assert 0.05 < surrogate.posterior.gp.noise < 0.5  # 0.25 / 1.25 = 0.2


# ----------------------------------------------------------------------- repeats
def play(opt, turns, noise=0.0, told=None):
    rng = rng_at(7, "repeats")
    for _ in range(turns):
        x = opt.ask()
        opt.tell(x, level(x) + noise * rng.standard_normal(), noise=told)
    return [tuple(x) for x in opt.X]


def test_points_repeat_where_noise_is_known():
    points = play(Optimizer(SMALL, seed=2, n_init=4), 10, noise=0.8, told=0.8)
    assert len(set(points)) < len(points) == 10


def test_points_do_not_repeat_where_there_is_no_noise():
    points = play(Optimizer(SMALL, seed=2, n_init=4), 12)
    assert len(set(points)) == 12


def test_repeats_may_be_ruled_out():
    opt = Optimizer(SMALL, seed=2, n_init=4, repeats=False)
    points = play(opt, 10, noise=0.8, told=0.8)
    assert len(set(points)) == 10


def test_repeats_may_be_allowed():
    points = play(Optimizer(SMALL, seed=2, n_init=4, repeats=True), 12)
    assert len(set(points)) < 12


@pytest.mark.parametrize("repeats", ["yes", 3])
def test_repeats_are_allowed_or_not(repeats):
    with pytest.raises((ArgumentError, TypeError), match="repeats"):
        Optimizer(SMALL, repeats=repeats)


# --------------------------------------------------------------------- told noise
def test_known_noise_reaches_the_model_in_its_units():
    opt = Optimizer(BOX, seed=4, n_init=5, transform="standardise", **QUICK["logei"])
    X = opt.ask(6)
    y = np.array([bowl(x) for x in X])
    opt.tell(X[:4], y[:4], noise=[0.3, 0.1, 0.2, 0.0])
    opt.tell(X[4], failed=True)
    opt.tell(X[5], y[5])
    sd = y[[0, 1, 2, 3, 5]].std()
    expected = np.array([0.3, 0.1, 0.2, 0.0, 0.0, 0.0]) ** 2 / sd**2
    np.testing.assert_allclose(opt.data().noise, expected, rtol=1e-12)
    post = opt.surrogate().posterior
    rest = post.solver.noise - post.jitter - post.gp.noise
    np.testing.assert_allclose(rest, expected, atol=1e-12)


def test_known_noise_follows_the_slope_of_the_transform():
    y = np.array([1.0, 2.0, 4.0, 9.0, 30.0, 400.0, 5000.0, 7e4, 8e5])
    data = prepare(
        U=np.linspace(0.05, 0.93, 9)[:, None],
        y=y,
        failed=np.zeros(9, dtype=bool),
        pending=np.empty((0, 1)),
        domain=Space.of([(0.0, 1.0)]),
        step=9,
        kind="log",
        noise=1e-4 * y,
    )
    up, down = data.transform.forward(y + 1e-6 * y), data.transform.forward(y)
    slopes = (up - down) / (1e-6 * y)
    np.testing.assert_allclose(data.noise, (1e-4 * y * slopes) ** 2, rtol=1e-4)
    assert data.at_most(3).noise == pytest.approx(data.noise[[0, 4, 8]])


@pytest.mark.parametrize("method", sorted(set(names()) & set(QUICK)))
def test_every_method_takes_known_noise_or_says_that_it_does_not_use_it(
    method, recwarn
):
    opt = Optimizer(scenes.BOX, method=method, seed=5, n_init=5, **QUICK[method])
    X = opt.ask(6)
    y = [scenes.value(opt.space, x) for x in X]
    opt.tell(X, y, noise=0.2)
    warned = any("estimates the noise itself" in str(w.message) for w in recwarn)
    assert warned == (method not in USES_NOISE)
    assert opt.space.contains(opt.ask())


def test_a_run_with_known_noise_goes_on_bit_for_bit(tmp_path):
    def run(opt, turns, through):
        for t in range(turns):
            x = opt.ask()
            noise = None if t % 3 == 0 else 0.1 + 0.05 * t
            opt.tell(x, level(x), noise=noise)
            opt = through(opt)
        return opt

    def through_file(opt):
        opt.save(tmp_path / "run.npz")
        return Optimizer.load(tmp_path / "run.npz")

    begin = {"seed": 2, "n_init": 4, "maximize": True, **QUICK["logei"]}
    whole = run(Optimizer(SMALL, **begin), 9, lambda opt: opt)
    broken = run(Optimizer(SMALL, **begin), 9, through_file)
    assert everything(whole) == everything(broken)
    here, there = whole.recommend(), broken.recommend()
    np.testing.assert_array_equal(here.x, there.x)
    assert here[1:] == there[1:]


# ------------------------------------------------------------------ recommended
def test_the_recommended_point_has_the_best_posterior_mean(noisy):
    found = noisy.recommend()
    surrogate = expecting_noise(noisy.surrogate())
    means = sum(
        w * post.predict(post.X)[0]
        for w, post in zip(surrogate.weights, surrogate.posteriors, strict=True)
    )
    np.testing.assert_array_equal(found.x, noisy.X[np.argmin(means)])
    value = surrogate.transform.inverse(np.array(means.min()))
    assert found.mean == pytest.approx(float(value), rel=1e-9)
    assert found.sd > 0


def test_the_recommended_point_of_a_maximisation_is_that_of_the_negative(noisy):
    cheap = {"seed": 3, "groups": "singletons", **QUICK["logei"]}
    X, y = noisy.X[:25], noisy.y[:25]
    mirrored = Optimizer(BOX, maximize=True, x0=X, y0=-y, **cheap)
    plain = Optimizer(BOX, x0=X, y0=y, **cheap)
    up, down = mirrored.recommend(), plain.recommend()
    np.testing.assert_array_equal(up.x, down.x)
    assert (up.mean, up.sd) == (-down.mean, down.sd)


def test_the_recommended_value_of_a_deterministic_function_is_the_best_one():
    r = sumbo.minimize(bowl, BOX, budget=24, n_init=10, seed=3, **QUICK["logei"])
    assert isinstance(r.recommended, Recommendation)
    assert r.recommended.mean == pytest.approx(r.fun, abs=0.02)
    assert r.recommended.sd < 0.05


def test_failed_points_are_not_recommended():
    opt = Optimizer(BOX, seed=4, n_init=5, **QUICK["logei"])
    X = opt.ask(7)
    y = [bowl(x) for x in X]
    best = int(np.argmin(y))
    for i, x in enumerate(X):
        opt.tell(x, *([] if i == best else [y[i]]), failed=i == best)
    assert not np.array_equal(opt.recommend().x, X[best])


def test_without_a_model_the_best_value_is_recommended():
    r = sumbo.minimize(bowl, BOX, budget=6, n_init=6, method="uniform", seed=1)
    np.testing.assert_array_equal(r.recommended.x, r.x)
    assert r.recommended.mean == r.fun
    assert np.isnan(r.recommended.sd)


def test_nothing_is_recommended_before_a_value():
    with pytest.raises(SumboError, match="no best point yet"):
        Optimizer(BOX).recommend()


def test_moments_in_the_users_units_are_those_of_many_draws():
    transform = Transform(kind="log", anchor=1.3, width=0.7, mean=2.1, sd=0.8)
    weights, means, sds = np.array([0.3, 0.7]), np.array([0.2, 0.9]), [0.4, 0.6]
    rng = rng_at(4, "moments")
    which = rng.choice(2, size=400_000, p=weights)
    z = means[which] + np.array(sds)[which] * rng.standard_normal(400_000)
    y = transform.inverse(z)
    columns = means[:, None], np.array(sds)[:, None]
    (mean,), (sd,) = in_users_units(transform, weights, *columns)
    assert mean == pytest.approx(y.mean(), rel=0.01)
    assert sd == pytest.approx(y.std(), rel=0.02)


def test_moments_of_standardised_values_are_exact():
    transform = Transform(kind="standardise", anchor=1e6, mean=-2.5, sd=3.7)
    means, sds = np.array([[0.31, 2.6]]), np.array([[2e-7, 0.4]])
    (mean, _), (sd, _) = in_users_units(transform, np.ones(1), means, sds)
    assert mean == pytest.approx(1e6 - 2.5 + 3.7 * 0.31, rel=1e-15)
    assert sd == pytest.approx(3.7 * 2e-7, rel=1e-4)


def test_noise_that_the_asks_did_not_assume_is_expected_where_it_is_probable():
    data = observed(4, 0.5, N=60)
    rough = AdditiveGP(
        groups=[(0,), (1,), (2,)], lengthscales=[0.02, 0.08, 0.08], noise=1e-6
    )
    before = single(rough.condition(data.U, data.y), data)
    after = expecting_noise(before)
    assert after.posterior.gp.noise > 0.05
    assert after.posterior.gp.groups == rough.groups


def test_no_noise_is_expected_where_there_is_none():
    data = observed(4, 0.0, N=60)
    gp = AdditiveGP(groups=[(0,), (1,), (2,)]).fit(data.U, data.y, starts=1)
    before = single(gp.condition(data.U, data.y), data)
    assert expecting_noise(before).posterior is before.posterior


def test_a_lucky_value_is_not_recommended():
    U = np.array([[0.2], [0.21], [0.22], [0.23], [0.7], [0.71], [0.72], [0.73]])
    y = np.array([-1.0, -1.1, -0.9, -1.0, 1.0, -1.9, 1.1, 0.9])
    data = prepare(
        U=U,
        y=y,
        failed=np.zeros(8, dtype=bool),
        pending=np.empty((0, 1)),
        domain=Space.of([(0.0, 1.0)]),
        step=8,
        kind="none",
    )
    gp = AdditiveGP(groups=[(0,)], lengthscales=0.3, variances=1.0, noise=0.6)
    choice = recommended_row(single(gp.condition(U, y), data), U, y)
    assert choice.row < 4
