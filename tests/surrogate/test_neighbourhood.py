"""The model of the neighbourhood of the best point."""

import numpy as np
import pytest

from sumbo.data import prepare
from sumbo.gp import AdditiveGP
from sumbo.rng import rng_at
from sumbo.space import Space
from sumbo.surrogate import neighbourhood as room
from sumbo.surrogate.base import single
from sumbo.surrogate.neighbourhood import RULE, neighbourhood

P = 3
MIDDLE = np.array([0.42, 0.57, 0.36])
# The axes of a narrow valley, of which none is a coordinate axis.
TURN = np.linalg.qr(np.array([[1.3, 0.4, -0.7], [0.2, 1.1, 0.9], [-0.8, 0.5, 1.6]]))[0]
STEEPNESS = np.array([1.0, 60.0, 900.0])


def valley(U):
    """Return a quadratic function with a narrow, turned valley."""
    return ((U - MIDDLE) @ TURN) ** 2 @ STEEPNESS


def surrogate_of(N, noise=None, y=None, purpose="valley"):
    """Return a surrogate of observations that gather around the minimum."""
    rng = rng_at(5, purpose, N)
    far = rng.random((N // 2, P))
    near = MIDDLE + 0.08 * (rng.standard_normal((N - N // 2, P)) / STEEPNESS**0.3) @ (
        TURN.T
    )
    U = np.clip(np.vstack([far, near]), 0.0, 1.0)
    data = prepare(
        U=U,
        y=valley(U) if y is None else y,
        failed=np.zeros(N, dtype=bool),
        pending=np.empty((0, P)),
        domain=Space.of([(0.0, 1.0)] * P),
        step=N,
        kind="standardise",
        noise=noise,
    )
    gp = AdditiveGP(groups=[(i,) for i in range(P)], noise=1e-4)
    return single(gp.condition(data.U, data.y, noise=data.noise), data)


def test_the_best_observations_have_unit_variance_in_its_coordinates():
    surrogate = surrogate_of(40)
    found = neighbourhood(surrogate)
    data = surrogate.data
    k = max(RULE.fewest_best, round(RULE.best * P))
    V = found.map(data.U[data.order[:k]])
    weights = np.log(k + 0.5) - np.log(np.arange(1, k + 1))
    second_moment = (V * (weights / weights.sum())[:, None]).T @ V
    np.testing.assert_allclose(V[0], 0.0, atol=1e-12)
    # The ridge takes a little variance from the flattest directions.
    values = np.linalg.eigvalsh(second_moment)
    assert values[0] > 0.5
    assert values[-1] < 1.0 + 1e-9


def test_it_predicts_a_turned_valley_better_than_a_sum_over_coordinates():
    surrogate, rng = surrogate_of(60), rng_at(6, "near the valley")
    found = neighbourhood(surrogate)
    U = MIDDLE + 0.05 * (rng.standard_normal((50, P)) / STEEPNESS**0.3) @ TURN.T
    truth = surrogate.data.transform.forward(valley(U))
    near = np.abs(found.post.predict(found.map(U))[0] - truth).mean()
    whole = np.abs(surrogate.posterior.predict(U)[0] - truth).mean()
    assert near < 0.1 * whole


def test_there_is_none_with_few_observations():
    fewest = round(RULE.after * P)
    assert neighbourhood(surrogate_of(fewest - 1)) is None
    assert neighbourhood(surrogate_of(fewest)) is not None


def test_there_is_none_where_all_values_are_equal():
    assert neighbourhood(surrogate_of(20, y=np.full(20, 3.7))) is None


def test_one_point_that_was_observed_many_times_has_coordinates():
    U = np.tile([[0.3, 0.8, 0.55]], (25, 1))
    centre, A = room._coordinates(U)
    np.testing.assert_array_equal(centre, U[0])
    assert np.isfinite(A).all()


def test_known_noise_counts():
    values = valley(surrogate_of(40).data.U)
    exact = neighbourhood(surrogate_of(40))
    noisy = neighbourhood(surrogate_of(40, noise=np.full(40, values.std())))
    V = np.zeros((1, P))
    assert noisy.post.predict(V)[1][0] > 10 * exact.post.predict(V)[1][0]


def test_a_fantasised_point_keeps_the_mean_and_takes_variance():
    found, u = neighbourhood(surrogate_of(40)), np.array([[0.47, 0.52, 0.41]])
    after = found.fantasised(u)
    mean, var = found.post.predict(found.map(u))
    new_mean, new_var = after.post.predict(after.map(u))
    assert new_mean == pytest.approx(mean, abs=1e-6)
    assert new_var[0] < 0.5 * var[0]
    assert found.fantasised(np.empty((0, P))) is found


def test_at_most_so_many_observations_are_fitted():
    found = neighbourhood(surrogate_of(90))
    assert round(RULE.near * P) == found.post.N
