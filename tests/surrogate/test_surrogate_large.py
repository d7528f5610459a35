"""Many observations: rows that are fitted, factors that grow, the projected form."""

import copy
from dataclasses import replace

import numpy as np
import pytest

from sumbo import AdditiveGP, Optimizer, Space
from sumbo.data import prepare
from sumbo.gp.solvers import Dense, Projected
from sumbo.methods import make
from sumbo.rng import rng_at
from sumbo.surrogate import additive, large

P = 3
GROUPS = ((0,), (1, 2))


def value(X):
    return np.sin(4 * X[:, 0]) + np.cos(3 * X[:, 1] * X[:, 2])


def data(N, seed=5):
    U = rng_at(seed, "points").random((N, P))
    y = value(U)
    return prepare(
        U=U, y=y, failed=np.zeros(N, dtype=bool), pending=np.empty((0, P)),
        domain=Space.of([(0.0, 1.0)] * P), step=N,
    )  # fmt: skip


@pytest.fixture
def few(monkeypatch):
    """Observations are many from 20 on, and too many for the exact form from 40 on."""
    rule = large.ManyObservations(
        fitted=20, exact=40, renewed=8, anchors=24, batch_growth=0.5
    )
    monkeypatch.setattr(large, "MANY", rule)
    monkeypatch.setattr(additive, "MANY", rule)
    return rule


def test_important_rows_are_the_best_the_newest_and_spread_ones():
    seen = data(100)
    rows = large.important_rows(seen, 30)
    assert len(set(rows)) == 30
    assert set(seen.order[:10]) <= set(rows)
    assert set(range(90, 100)) <= set(rows)
    assert len(set(rows) & set(range(50))) > 3
    np.testing.assert_array_equal(large.important_rows(seen, 100), np.arange(100))


@pytest.mark.parametrize(("N", "kind"), [(30, Dense), (60, Projected)])
def test_grown_factors_are_those_of_all_data(few, N, kind):
    gp = AdditiveGP(groups=GROUPS, noise=1e-4)
    memory, one_by_one = large.SolverMemory(), None
    for n in range(N, N + 9):
        seen = data(N + 9).rows(np.arange(n))
        one_by_one = large.condition(gp, seen, N - 5, memory, 0, projected=True)
    at_once = large.condition(
        gp, data(N + 9).rows(np.arange(N + 8)), N - 5, large.SolverMemory(), 0,
        projected=True,
    )  # fmt: skip
    assert isinstance(at_once.solver, kind)
    U = rng_at(1, "new").random((5, P))
    for a, b in zip(one_by_one.predict(U), at_once.predict(U), strict=True):
        np.testing.assert_array_equal(a, b)  # bit for bit
    exact = gp.condition(data(N + 9).U[: N + 8], one_by_one.y)
    np.testing.assert_allclose(one_by_one.predict(U)[0], exact.predict(U)[0], atol=0.1)


def test_methods_that_read_moments_only_get_the_exact_posterior(few):
    gp, seen = AdditiveGP(groups=GROUPS, noise=1e-4), data(60)
    post = large.condition(gp, seen, 60, large.SolverMemory(), 0, projected=False)
    assert isinstance(post.solver, Dense)


def test_a_memory_is_not_used_for_other_observations(few):
    gp, memory = AdditiveGP(groups=GROUPS, noise=1e-4), large.SolverMemory()
    large.condition(gp, data(30), 30, memory, 0, projected=True)
    other = data(30, seed=6)
    found = large.condition(gp, other, 30, memory, 0, projected=True)
    np.testing.assert_array_equal(found.X, other.U)
    fresh = large.condition(gp, other, 30, large.SolverMemory(), 0, projected=True)
    np.testing.assert_array_equal(found.alpha, fresh.alpha)


def test_known_noise_and_changed_values_are_used(few):
    gp, memory, seen = AdditiveGP(groups=GROUPS), large.SolverMemory(), data(30)
    large.condition(gp, seen, 28, memory, 0, projected=True)
    noisy = replace(seen, deviations=np.full(30, 0.3), y=seen.y[::-1])
    found = large.condition(gp, noisy, 28, memory, 0, projected=True)
    exact = gp.condition(noisy.U, noisy.y, noise=noisy.noise)
    np.testing.assert_allclose(found.alpha, exact.alpha, rtol=0, atol=1e-8)


def test_a_copy_of_a_memory_is_empty(few):
    gp, memory = AdditiveGP(groups=GROUPS, noise=1e-4), large.SolverMemory()
    large.condition(gp, data(30), 30, memory, 0, projected=True)
    assert copy.copy(memory).find((0, False), 30, data(30)) is None


def test_batches_wait_with_their_refit_while_observations_are_many(few):
    method = make("ts")
    assert method.next_refit(20, q=10) == 25
    assert method.next_refit(60, q=10) == 70  # growth is 0.25
    assert method.next_refit(60) == 75
    assert make("ts", growth=0.0).next_refit(60, q=10) == 65


@pytest.mark.parametrize("name", ["logei", "ts"])
def test_runs_go_on_bit_for_bit_in_every_form(few, name, tmp_path):
    settings = {"candidates": 20} if name == "ts" else {}
    U = rng_at(3, "given").random((36, P))
    opt = Optimizer(
        [(0.0, 1.0)] * P, method=name, groups=GROUPS, seed=2, n_init=5, **settings
    )
    opt.tell(U, value(U))
    kinds = set()
    for i in range(12):
        if i in (2, 9):
            opt.save(tmp_path / "run.npz")
            other = Optimizer.load(tmp_path / "run.npz")
            np.testing.assert_array_equal(other.ask(), opt.ask())
        x = opt.ask()
        opt.tell(x, float(value(x[None])[0]))
        kinds |= {kind for _, kind in opt._now.state.solvers._last}
    assert kinds == {False, True}
    assert np.isfinite(opt.best[1])
