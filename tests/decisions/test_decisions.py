"""Problems of sequential decisions: choices, regret, beliefs, policies."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.linalg import hadamard

from sumbo.decisions import DECISIONS, POLICIES, play
from sumbo.decisions.belief import Belief
from sumbo.errors import ArgumentError, UnknownNameError

SMALL = {
    "accept": {"parts_count": 3},
    "balanced": {"factors": 4, "noise": 0.7},
    "designs": {"parts_count": 3, "count": 4},
    "options": {"parts_count": 3, "count": 4},
    "route": {"steps": 4, "states": 3},
    "team": {"members": 5, "chosen": 2},
}


def small(name, **more):
    return DECISIONS.get(name)(**{"replicates": 4, "rounds": 5, **SMALL[name], **more})


def every_choice(problem, offers):
    """All choices, (R, C, d), listed without the code under test."""
    name = DECISIONS.name_of(type(problem))
    if name == "route":
        H, S = problem.steps, problem.states
        rows = []
        for path in product(range(S), repeat=H + 1):
            row = np.zeros((H, S, S))
            for h in range(H):
                row[h, path[h], path[h + 1]] = 1.0
            rows.append(row.ravel())
    elif name == "team":
        codes = product([0.0, 1.0], repeat=problem.members)
        rows = [code for code in codes if sum(code) == problem.chosen]
    elif name == "balanced":
        codes = product([(1.0, 0.0), (0.0, 1.0)], repeat=problem.factors)
        rows = [np.ravel(code) for code in codes]
    else:
        return offers
    return np.tile(np.array(rows), (problem.replicates, 1, 1))


@pytest.mark.parametrize("name", DECISIONS.names())
def test_the_best_choice_is_the_least_of_all(name, rng):
    problem = small(name)
    offers = problem.offers(2)
    weights = rng.standard_normal(problem.theta.shape)
    choice = problem.best(offers, weights)
    listed = np.einsum("rcd,rd->rc", every_choice(problem, offers), weights)
    found = np.einsum("rd,rd->r", choice, weights)
    np.testing.assert_allclose(found, listed.min(axis=1), rtol=1e-12)


@pytest.mark.parametrize("name", DECISIONS.names())
@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_plays_every_problem(name, policy):
    problem = small(name)
    if policy == "bound" and not problem.listed:
        with pytest.raises(ArgumentError, match="bound-sum"):
            play(problem, policy)
        return
    regret = play(problem, policy)
    assert regret.shape == (4, 5)
    assert (regret >= -1e-12).all()
    np.testing.assert_array_equal(regret, play(small(name), policy))
    assert not np.array_equal(regret, play(small(name, seed=1), policy))


@pytest.mark.parametrize("name", DECISIONS.names())
def test_joint_draws_learn(name):
    problem = small(name, rounds=150, replicates=30, noise=0.3)
    regret = play(problem, "joint")
    assert regret[:, -30:].mean() < 0.5 * regret[:, :5].mean()


def test_a_belief_is_the_textbook_posterior(rng):
    parts, phi = np.array([0, 0, 1, 1]), rng.integers(0, 2, size=(6, 4)).astype(float)
    y = rng.standard_normal(6)
    known = Belief.prior(1, parts, 0.7)
    for row, value in zip(phi, y, strict=True):
        known = known.given(row[None], np.array([value]), 0.2)
    cov = np.linalg.inv(phi.T @ phi / 0.2 + np.eye(4) / 0.7)
    np.testing.assert_allclose(known.cov[0], cov, atol=1e-12)
    np.testing.assert_allclose(known.mean[0], cov @ phi.T @ y / 0.2, atol=1e-12)
    offers = rng.integers(0, 2, size=(1, 3, 4)).astype(float)
    found = known.total_deviations(offers)[0] ** 2
    np.testing.assert_allclose(found, np.diag(offers[0] @ cov @ offers[0].T))


def test_draws_have_the_covariances_of_the_belief(rng):
    # z-scores of 10 second moments; false alarm below 1e-5.
    n, parts = 20_000, np.array([0, 0, 1, 1])
    A = rng.standard_normal((4, 4))
    cov = A @ A.T + np.eye(4)
    known = Belief(mean=np.zeros((n, 4)), cov=np.tile(cov, (n, 1, 1)), parts=parts)
    # By hand: (a + b)/2 and (a − b)/2 of the two levels of each part.
    split = np.kron(np.eye(2), 0.5 * np.ones((2, 2)))
    averages = split @ cov @ split
    contrasts = (np.eye(4) - split) @ cov @ (np.eye(4) - split)
    for drawn, exact in (
        (known.joint(rng), cov),
        (known.marginal(rng), cov * known.within),
        (known.centred(rng), averages + contrasts * known.within),
    ):
        products = drawn[:, :, None] * drawn[:, None, :]
        z = (products.mean(axis=0) - exact) / np.sqrt(products.var(axis=0) / n)
        assert np.abs(z).max() < 5.5


def test_the_belief_of_designs_is_the_posterior_of_an_additive_process(rng):
    problem = small("designs")
    known = problem.belief()
    seen = [1, 3, 1]
    y = rng.standard_normal((3, 4))
    for k, values in zip(seen, y, strict=True):
        choice = np.tile(np.eye(4)[k], (4, 1))
        known = known.given(choice, values, problem.noise**2)
    blocks = problem.blocks[2]  # of the third replicate
    K = blocks.sum(axis=0)
    A = K[np.ix_(seen, seen)] + problem.noise**2 * np.eye(3)
    cov = K - K[:, seen] @ np.linalg.solve(A, K[seen])
    np.testing.assert_allclose(known.total[2].sum(axis=0), cov, atol=1e-12)
    mean = K[:, seen] @ np.linalg.solve(A, y[:, 2])
    np.testing.assert_allclose(known.mean[2], mean, atol=1e-12)
    own = [B - B[:, seen] @ np.linalg.solve(A, B[seen]) for B in blocks]
    np.testing.assert_allclose(known.own[2], own, atol=1e-12)
    summed = np.sqrt(np.einsum("mkk->mk", np.array(own))).sum(axis=0)
    np.testing.assert_allclose(known.deviations()[2], summed)


def test_centred_draws_of_designs_add_up_from_average_and_contrasts(rng):
    problem = small("designs")
    known = problem.belief().given(np.tile(np.eye(4)[1], (4, 1)), np.zeros(4), 0.09)
    f, own = known.total[0].sum(axis=0), known.own[0].sum(axis=0)
    repeated = replace(
        known,
        mean=np.zeros((20_000, 4)),
        own=np.broadcast_to(known.own[0], (20_000, *known.own[0].shape)),
        total=np.broadcast_to(known.total[0], (20_000, *known.total[0].shape)),
    )
    drawn = repeated.centred(rng)
    # Five standard errors of a variance: false alarms below 1e-5.
    error = 5 * np.sqrt(2 / len(drawn))
    assert drawn.mean(axis=1).var() == pytest.approx(f.mean(), rel=error)
    step = drawn[:, 0] - drawn[:, 2]
    assert step.var() == pytest.approx(own[0, 0] + own[2, 2] - 2 * own[0, 2], rel=error)


def test_a_balanced_log_says_all_but_the_total():
    # The textbook posterior of M effects with unit prior, from rows of ±1.
    problem = small("balanced", factors=8)
    known, tau2 = problem.belief(), problem.log_noise**2
    X = hadamard(8)[1:]
    assert (X.sum(axis=1) == 0).all()
    cov = np.linalg.inv(X.T @ X / tau2 + np.eye(8))
    high = known.cov[0][1::2, 1::2]
    np.testing.assert_allclose(high, cov, atol=1e-9)
    mean = cov @ X.T @ problem.log.values[2] / tau2
    np.testing.assert_allclose(known.mean[2][1::2], mean, atol=1e-9)
    np.testing.assert_allclose(known.mean[2][::2], -mean, atol=1e-9)
    one = np.ones(8) / np.sqrt(8)
    assert one @ high @ one == pytest.approx(1.0)  # the prior: nothing is known
    assert np.trace(high) - 1.0 < 0.02
    # Every effect is the same, and the best setting has one level everywhere.
    best = problem.best(None, problem.theta).reshape(4, 8, 2)
    assert (best[:, :, 0] == (problem.theta[:, :1] < 0)).all()
    worth = problem.values(problem.best(None, problem.theta))
    np.testing.assert_allclose(worth, -np.sqrt(8))
    assert len({*np.sign(problem.theta[:, 0])}) == 2


def test_a_declined_offer_costs_and_teaches_nothing():
    problem = small("accept")
    offers = problem.offers(0)
    nothing = offers[:, 1]
    np.testing.assert_array_equal(problem.values(nothing), 0.0)
    known = problem.belief()
    after = known.given(nothing, np.full(4, 7.3), 0.25)
    np.testing.assert_array_equal(after.cov, known.cov)


def test_bad_settings_are_refused():
    with pytest.raises(ArgumentError, match="rounds=0"):
        small("team", rounds=0)
    with pytest.raises(ArgumentError, match=r"noise=0\.0"):
        small("team", noise=0.0)
    with pytest.raises(ArgumentError, match="factors=12 is not a power of 2"):
        small("balanced", factors=12)
    with pytest.raises(ArgumentError, match="policy='best'"):
        play(small("team"), "best")
    with pytest.raises(UnknownNameError, match="route"):
        DECISIONS.get("routes")
