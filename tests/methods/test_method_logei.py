"""Expected improvement: averaged over structures, exploration steps, joint draws."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from searches import MIXED, data_of, undecided
from sumbo.acquisition.improvement import log_improvement
from sumbo.errors import ArgumentError
from sumbo.methods import logei, make
from sumbo.rng import rng_at
from sumbo.surrogate.neighbourhood import neighbourhood


def expected_improvement(surrogate, U, target=0.0):
    """Return the textbook formula, averaged over the structures."""
    total = np.zeros(len(U))
    for weight, post in zip(surrogate.weights, surrogate.posteriors, strict=True):
        best = post.predict(post.X)[0].min() - target
        mean, var = post.predict(U)
        sd = np.sqrt(np.maximum(var, 1e-12))
        z = (best - mean) / sd
        total += weight * sd * (norm.pdf(z) + z * norm.cdf(z))
    return total


# ---------------------------------------------------------------------- structures
@pytest.mark.parametrize("target", [0.0, 0.2])
@pytest.mark.parametrize("bounds", [None, MIXED], ids=["reals", "mixed"])
def test_improvement_is_the_average_over_plausible_structures(bounds, target, rng):
    data = data_of(rng, [0, 1, 1, 2], 14, bounds)
    surrogate = make("logei").surrogate(undecided(rng, data), data)
    assert surrogate.weights == pytest.approx([0.6, 0.4])
    U = data.domain.snap(rng.random((40, data.domain.dim)))
    found = np.exp(-logei.improvement(surrogate, target).value(U))
    expected = expected_improvement(surrogate, U, target)
    likely = expected > 1e-6  # the textbook formula has no digits below
    assert likely.any()
    np.testing.assert_allclose(found[likely], expected[likely], rtol=1e-5)


@pytest.mark.parametrize("bounds", [None, MIXED], ids=["reals", "mixed"])
def test_each_point_of_a_batch_improves_on_the_fantasised_ones(bounds, rng):
    data = data_of(rng, [0, 1, 1, 2], 14, bounds)
    method, state = make("logei"), undecided(rng, data)
    surrogate = method.surrogate(state, data)
    found, _, _ = method.propose(rng, state, data, 2)
    U = data.domain.snap(rng.random((1000, data.domain.dim)))
    for u in found[:, None]:
        best = expected_improvement(surrogate, U).max()
        assert expected_improvement(surrogate, u)[0] > 0.99 * best
        surrogate = surrogate.fantasised(u)


# ---------------------------------------------------------------------- stagnation
@pytest.mark.parametrize(
    ("y", "stagnated"),
    [
        # Spread about 1: two values level with the best, no gain.
        ([1.4, -0.9, 0.3, -1.2, -1.2005, -1.1998], True),
        ([1.4, -0.9, 0.3, -1.2, 0.2, -1.2001, -1.1998], True),
        ([1.4, -0.9, 0.3, -1.2, -1.2001, -1.17], False),  # one is elsewhere
        ([1.4, -0.9, 0.3, -1.2, 0.2, -1.2001], False),
        ([1.4, -0.9, 0.3, -1.19, -1.1999, -1.2001], False),  # there is gain
        ([-1.2, -1.2], False),
        ([0.0, 0.0, 0.0, 0.0], False),
    ],
)
def test_stagnation_is_noticed_in_any_units(y, stagnated):
    y = np.array(y)
    assert logei.has_stagnated(y) is stagnated
    assert logei.has_stagnated(31.0 * y - 7.0) is stagnated


def test_an_infeasible_point_ends_an_exploration():
    y = np.array([1.4, -0.9, np.inf, 0.3, -1.2, -1.2005, -1.1998])
    assert logei.has_stagnated(y)
    assert not logei.has_stagnated(np.append(y, np.inf))
    assert not logei.has_stagnated(np.append(y, [np.inf, -1.2003]))
    assert not logei.has_stagnated(np.array([np.inf, np.inf, -1.2, -1.2]))


def test_exploration_is_in_units_of_the_feasible_values(rng):
    data = stagnating(rng)
    violation = np.zeros(len(data.y))
    violation[np.argmax(data.y)] = 0.3
    values = np.where(violation > 0, 1e4, data.y)
    method = make("logei")
    limited = replace(data, y=values, violation=violation)
    target = method._target(limited)
    assert target == logei.STAGNATION.target * values[violation == 0].std()
    assert method._target(replace(limited, violation=None)) > 100 * target


def stagnating(rng):
    """Return data whose last two points are next to the best one, and as good."""
    data = data_of(rng, [0, 1, 2], 14)
    best = int(np.argmin(data.y))
    U, y = data.U.copy(), data.y.copy()
    U[-2:] = np.clip(U[best] + [[1e-4], [-1e-4]], 0, 1)
    y[-2:] = y[best] + 1e-4
    return replace(data, U=U, y=y)


@pytest.mark.parametrize("pending", [0, 1])
def test_after_stagnation_the_first_point_promises_more(rng, pending):
    data = stagnating(rng).with_pending(rng.random((pending, 3)))
    assert logei.has_stagnated(data.y)
    method = make("logei", groups="singletons", kernel="matern52")
    _, state = method.update(rng, None, data)
    target = logei.STAGNATION.target * data.y.std()
    seen = [method.propose(np.random.default_rng(s), state, data, 1)[0] for s in (1, 2)]
    surrogate = method.surrogate(state, data).fantasised(data.pending)
    U = rng.random((2000, 3))
    wanted = 0.0 if pending else target  # one exploration step at a time
    for u in seen:
        at = expected_improvement(surrogate, u, wanted)[0]
        assert at > 0.99 * expected_improvement(surrogate, U, wanted).max()


# ---------------------------------------------------------------------- draws
@pytest.mark.parametrize(
    ("N", "step", "q", "pending", "every", "draws"),
    [
        (36, 40, 10, 0, 5, 2),
        (36, 43, 10, 0, 5, 2),
        (36, 40, 6, 0, 5, 1),
        (36, 44, 4, 0, 5, 0),  # too few are pending
        (36, 44, 1, 0, 5, 0),
        (36, 44, 1, 9, 5, 1),  # workers that come back one by one: every fifth ask
        (36, 45, 1, 9, 5, 0),
        (36, 40, 10, 0, 11, 0),
        (36, 47, 2, 0, 1, 2),  # nothing but draws
        (35, 40, 10, 0, 5, 0),  # too few observations of three parameters
    ],
)
def test_some_of_many_pending_points_minimise_draws(
    N, step, q, pending, every, draws, rng
):
    data = replace(data_of(rng, [0, 1, 2], N), step=step)
    data = data.with_pending(rng.random((pending, 3)))
    method = make("logei", groups="singletons", draw_every=every)
    assert method._draws(data, q) == draws


def test_draws_do_not_depend_on_pending_points(rng):
    data = data_of(rng, [0, 1, 2], 40)
    method = make("logei", groups="singletons", draw_every=1)
    _, state = method.update(rng, None, data)
    waiting = data.with_pending(rng.random((4, 3)))
    alone, busy = (
        method.propose(np.random.default_rng(5), state, given, 2)[0]
        for given in (data, waiting)
    )
    np.testing.assert_array_equal(alone, busy)


def test_draws_of_a_batch_are_low_points_of_the_model(rng):
    data = data_of(rng, [0, 1, 1], 40)
    method = make("logei", groups=[[0], [1, 2]], draw_every=1)
    surrogate, state = method.update(rng, None, data)
    found, _, _ = method.propose(rng, state, data, 6)
    post = surrogate.posterior
    usual = post.predict(rng.random((400, 3)))[0]
    assert np.max(post.predict(found)[0]) < np.quantile(usual, 0.1)
    # Draws differ; two may share the candidate that is flat enough for both.
    assert len(np.unique(found.round(6), axis=0)) >= 4


# ------------------------------------------------------------------- neighbourhood
def asked(data, q=1, **settings):
    """Return the points that are proposed after a refit."""
    method = make("logei", groups="singletons", **settings)
    return method.propose(rng_at(7, "asked"), None, data, q)[0]


@pytest.mark.parametrize("steps", [20, 21])
def test_the_neighbourhood_competes_for_every_second_point(steps, rng):
    data = replace(data_of(rng, [0, 1, 1, 2], 20), step=steps)
    same = np.array_equal(asked(data), asked(data, neighbourhood=False))
    assert same == (steps == 20)


def test_a_batch_has_points_of_both_kinds(rng):
    data = data_of(rng, [0, 1, 1, 2], 20)
    data = replace(data, step=20)
    both, whole = asked(data, 2), asked(data, 2, neighbourhood=False)
    np.testing.assert_array_equal(both[0], whole[0])
    assert not np.array_equal(both[1], whole[1])


@pytest.mark.parametrize("steps", [20, 21])
def test_the_fit_of_the_neighbourhood_is_counted(steps, rng):
    data = replace(data_of(rng, [0, 1, 1, 2], 20), step=steps)
    method = make("logei", groups="singletons")
    _, state, _ = method.propose(rng_at(7, "asked"), None, data, 1)
    info = method.propose(rng_at(7, "asked"), state, data, 1)[2]
    assert (info.fits, info.fit_cpu_s > 0) == ((1, True) if steps == 21 else (0, False))


def test_integers_and_choices_do_without_a_neighbourhood(rng):
    data = replace(data_of(rng, [0, 1, 1, 2], 40, MIXED), step=41)
    found = asked(data), asked(data, neighbourhood=False)
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_the_model_that_promises_more_chooses(factor, rng):
    data = replace(data_of(rng, [0, 1, 1, 2], 30), step=31)
    method = make("logei", groups="singletons", descents=2)
    surrogate, _ = method.update(rng, None, data)
    near = neighbourhood(surrogate)
    gp = replace(near.post.gp, variances=factor * near.post.gp.variances)
    near = replace(near, post=gp.condition(near.post.X, near.post.y))

    def promised(U):
        here, whole = near.post, surrogate.posterior
        inside = log_improvement(here.fitted().min(), *here.predict(near.map(U)))
        return inside, log_improvement(whole.fitted().min(), *whole.predict(U))

    U = rng.random((3000, data.domain.dim))
    winner = int(promised(U)[0].max() < promised(U)[1].max())
    assert winner == int(factor < 1)
    u = method._maximise_either(rng_at(5, "either"), surrogate, near)[None]
    assert promised(u)[winner][0] > promised(U)[winner].max() - 0.05


def test_whether_there_is_a_neighbourhood_is_true_or_false():
    with pytest.raises((ArgumentError, TypeError), match="neighbourhood"):
        make("logei", neighbourhood=3)
