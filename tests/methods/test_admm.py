"""Consensus ADMM: against the exact minimum of convex sums, and by hand."""

import numpy as np
import pytest
from scipy.optimize import minimize

from reference import finite_difference
from sumbo.methods.dumbo.admm import Pull, minimise_consensus

GROUPS = ((0, 1), (1, 2, 3), (3,), (0, 3))
DIM = 4


def quadratics(rng, groups):
    """Return a positive definite matrix and a centre for each group."""
    out = []
    for group in groups:
        B = rng.standard_normal((len(group), len(group)))
        out.append(
            (B @ B.T + 0.4 * np.eye(len(group)), rng.uniform(-0.4, 1.3, len(group)))
        )
    return out


def sum_of(parts, groups, counts, x):
    total = 0.0
    for (A, c), group, count in zip(parts, groups, counts, strict=True):
        gap = x[list(group)] - c
        total += 0.5 * count * gap @ A @ gap
    return total


def exact_sweep(parts, bounds=None):
    """Return the sweep that minimises each part exactly (or by L-BFGS-B in a box)."""

    def sweep(copies, pulls):
        out = []
        for i, (A, c) in enumerate(parts):
            H, b = A, A @ c
            if pulls is not None:
                pull = pulls[i]
                H = A + pull.penalty * np.eye(len(c))
                b = b - pull.multiplier + pull.penalty * pull.anchor
            x = np.linalg.solve(H, b)
            if bounds is not None:
                x = minimize(
                    lambda x, H=H, b=b: (0.5 * x @ H @ x - b @ x, H @ x - b),
                    np.clip(x, *bounds),
                    jac=True,
                    method="L-BFGS-B",
                    bounds=[bounds] * len(c),
                    options={"ftol": 1e-16, "gtol": 1e-12},
                ).x
            out.append(x)
        return out

    return sweep


def brute_force(parts, groups, counts, bounds):
    start = np.full(DIM, 0.37)
    return minimize(
        lambda x: sum_of(parts, groups, counts, x),
        start,
        method="L-BFGS-B",
        bounds=None if bounds is None else [bounds] * DIM,
        options={"ftol": 1e-16, "gtol": 1e-10},
    ).x


@pytest.mark.parametrize("bounds", [None, (0.0, 1.0)])
@pytest.mark.parametrize("penalty", [0.02, 1.0, 60.0])
def test_consensus_is_the_minimum_of_a_convex_sum(rng, bounds, penalty):
    parts = quadratics(rng, GROUPS)
    sweep = exact_sweep(parts, bounds)
    result = minimise_consensus(
        sweep, GROUPS, DIM, rounds=2000, precision=1e-9, penalty=penalty
    )
    exact = brute_force(parts, GROUPS, [1] * 4, bounds)
    # precision 1e-9 stops the copies; brute force differentiates numerically: 1e-5.
    np.testing.assert_allclose(result.z, exact, atol=2e-5)
    assert result.gap < 1e-9


def test_counts_stand_for_repeated_parts(rng):
    parts, counts = quadratics(rng, GROUPS), [1, 3, 2, 1]
    short = minimise_consensus(
        exact_sweep(parts), GROUPS, DIM, counts, rounds=7, precision=1e-12
    )
    repeated = [i for i, count in enumerate(counts) for _ in range(count)]
    long = minimise_consensus(
        exact_sweep([parts[i] for i in repeated]),
        tuple(GROUPS[i] for i in repeated),
        DIM,
        rounds=7,
        precision=1e-12,
    )
    np.testing.assert_allclose(short.z, long.z, rtol=1e-12)
    assert short.penalty == long.penalty
    for i, copy in zip(repeated, long.copies, strict=True):
        np.testing.assert_allclose(copy, short.copies[i], rtol=1e-12)


def test_first_round_has_no_pulls_and_later_ones_do(rng):
    parts = quadratics(rng, GROUPS)
    sweep, seen = exact_sweep(parts), []

    def watched(copies, pulls):
        seen.append((copies is None, pulls is None))
        return sweep(copies, pulls)

    minimise_consensus(watched, GROUPS, DIM, rounds=3, precision=1e-12)
    assert seen == [(True, True), (False, False), (False, False)]


def test_two_rounds_follow_the_formulas(rng):
    groups, copies = ((0, 1), (1,)), [np.array([0.21, 0.43]), np.array([0.87])]
    seen = []

    def sweep(last, pulls):
        seen.append(pulls)
        return copies

    minimise_consensus(sweep, groups, 2, [1, 3], rounds=3, precision=1e-3, penalty=0.8)
    average = (0.43 + 3 * 0.87) / 4
    first = seen[1]
    np.testing.assert_allclose(first[0].anchor, [0.21, average])
    np.testing.assert_allclose(first[0].multiplier, [0, 0.8 * (0.43 - average)])
    np.testing.assert_allclose(first[1].multiplier, [0.8 * (0.87 - average)])
    assert first[0].penalty == 0.8
    # The copies did not move: z stands still while they disagree, so η is doubled.
    second = seen[2]
    np.testing.assert_allclose(second[1].multiplier, [1.6 * (0.87 - average)])
    assert second[0].penalty == 1.6


def test_penalty_falls_where_the_consensus_runs_away_from_agreeing_copies():
    places = iter([0.1, 0.9, 0.2, 0.7])
    gaps = iter([0.5, 1e-3, 1e-3, 1e-3])

    def sweep(copies, pulls):
        place, gap = next(places), next(gaps)
        return [np.array([place - gap]), np.array([place + gap])]

    result = minimise_consensus(sweep, ((0,), (0,)), 1, rounds=4, precision=1e-6)
    assert result.penalty == 0.125


def test_rounds_stop_when_the_copies_agree(rng):
    copies = [np.array([0.31, 0.52]), np.array([0.53])]
    result = minimise_consensus(lambda *_: copies, ((0, 1), (1,)), 2, precision=0.05)
    assert result.rounds == 1
    assert result.gap == pytest.approx(0.005)
    np.testing.assert_allclose(result.z, [0.31, 0.525])


def test_pull_and_its_gradient_agree(rng):
    pull = Pull(rng.random(3), rng.standard_normal(3), 2.7)
    x = rng.random(3)
    value, slope = pull(x[None])
    gap = x - pull.anchor
    by_hand = pull.multiplier @ gap + 1.35 * gap @ gap
    assert value[0] == pytest.approx(by_hand)
    numeric = finite_difference(lambda x: pull(x[None])[0][0], x)
    np.testing.assert_allclose(slope[0], numeric, rtol=1e-7)
