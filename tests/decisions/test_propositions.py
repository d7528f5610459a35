"""The statements of the page "When does bilateral uncertainty matter?".

Statements about covariances are checked exactly; statements about draws by z-scores
with stated false-alarm rates.
"""

import numpy as np
import pytest

import irregular
from sumbo import AdditiveGP
from sumbo.decisions import DECISIONS
from sumbo.decisions.belief import Belief
from sumbo.rng import rng_at

ALARM = 4.9  # |z| above it has probability 1e-6


def data_of(rng, problem, rounds):
    """The belief after random choices were observed."""
    known = problem.belief()
    for t in range(rounds):
        weights = rng.standard_normal(problem.theta.shape)
        choice = problem.best(problem.offers(t), weights)
        known = known.given(choice, problem.observed(t, choice), problem.noise**2)
    return known


def floor_of(arms, variance):
    """What stays unknown of the coefficients if all arms are known exactly."""
    prior = variance * np.eye(arms.shape[1])
    gain = prior @ arms.T @ np.linalg.pinv(arms @ prior @ arms.T, rcond=1e-10)
    return prior - gain @ arms @ prior


def arms_of(rng, problem, count=300):
    """Many different choices of a problem, one row each."""
    found = [
        problem.best(problem.offers(t), rng.standard_normal(problem.theta.shape))
        for t in range(count)
    ]
    return np.unique(np.vstack(found), axis=0)


@pytest.mark.parametrize(
    ("name", "settings", "positive"),
    [
        ("accept", {"parts_count": 4, "levels": 3}, True),
        ("route", {"steps": 4, "states": 2}, True),
        ("options", {"parts_count": 4, "levels": 3}, False),
        ("team", {"members": 6, "chosen": 2}, False),
    ],
)
def test_marginal_draws_keep_the_floor_and_joint_draws_have_none(
    name, settings, positive, rng
):
    # Theorem 4, parts 1 and 3.
    problem = DECISIONS.get(name)(replicates=3, seed=4, **settings)
    arms = arms_of(rng, problem)
    if name == "accept":
        arms = np.vstack([arms, np.zeros_like(arms[:1])])
    rest = floor_of(arms, problem.variance)
    within = problem.parts[:, None] == problem.parts
    differences = arms - arms[rng.integers(len(arms))]
    floor = np.einsum("ai,ij,aj->a", differences, rest * within, differences)
    assert (floor.max() > 1e-3) == positive
    total = np.einsum("ai,ij,aj->a", differences, rest, differences)
    np.testing.assert_allclose(total, 0.0, atol=1e-9)
    known = data_of(rng, problem, 60)
    for cov in known.cov:
        marginal = np.einsum("ai,ij,aj->a", differences, cov * within, differences)
        assert (marginal >= floor - 1e-9).all()


def test_regret_of_marginal_draws_tends_to_the_floor_that_theory_predicts(rng):
    # Everything that can be known is known: f' = f + c ξ with c² the floor of Cor. 5.
    # Expected regret (2π)^-½ (1 − (1 + c²)^-½) = 0.0705 for 20 parts of two levels.
    problem = DECISIONS.get("accept")(replicates=400, rounds=1, seed=5)
    c2 = 19 / 40
    expected = (1 - (1 + c2) ** -0.5) / np.sqrt(2 * np.pi)
    assert expected == pytest.approx(0.0705, abs=5e-5)
    # A gauge: constants of the parts that add up to zero.
    arms = np.vstack([problem.offers(t)[:, 0] for t in range(3)])
    rest = floor_of(arms, problem.variance)
    regret = []
    for t in range(100):
        offers = problem.offers(t)
        known = Belief(
            mean=problem.theta,
            cov=np.tile(rest, (400, 1, 1)),
            parts=problem.parts,
        )
        drawn = known.marginal(rng_at(6, "regret", t))
        # The mean is right up to the gauge, which no sum sees.
        regret.append(problem.regret(offers, problem.best(offers, drawn)))
    means = np.mean(regret, axis=0)  # one number for each truth
    z = (means.mean() - expected) / (means.std(ddof=1) / np.sqrt(400))
    assert abs(z) < ALARM


@pytest.mark.parametrize("noise", [1e-6, 1e-2])
def test_variances_of_the_parts_never_fall_below_the_floor(noise, rng):
    # Corollary 5 for Matérn-1/2: ‖1‖² = (1 + 1/(2ℓ))/v on [0, 1].
    l, v = np.array([0.3, 0.7, 1.1]), np.array([0.8, 1.4, 0.5])
    gp = AdditiveGP(
        groups=[(0,), (1,), (2,)],
        kernel="matern12",
        lengthscales=l,
        variances=v,
        noise=noise,
    )
    X = rng.random((250, 3))
    post = gp.condition(X, irregular.draw_outputs(rng, gp, X))
    s2 = v / (1 + 1 / (2 * l))
    floor = s2.sum() - (s2**2).sum() / s2.sum()
    Z = rng.random((40, 3))
    total = sum(post.part_moments(m, Z[:, [m]])[1] for m in range(3))
    assert (total >= floor - 1e-7).all()
    assert total.min() < 1.3 * floor  # and it is nearly reached
    assert post.sum_moments(Z)[1].max() < floor  # which the sum is not bound by


def test_an_interval_of_the_optimum_needs_joint_draws(rng):
    # Corollary 5 (v): widths with marginal draws stay above 3.92 √floor; the interval
    # of joint draws gets as narrow as the data allow.
    v, l, M = 0.25, 0.6, 4
    gp = AdditiveGP(
        groups=[(m,) for m in range(M)],
        kernel="matern12",
        lengthscales=np.full(M, l),
        variances=np.full(M, v),
        noise=1e-6,
    )
    X = rng.random((200, M))
    post = gp.condition(X, irregular.draw_outputs(rng, gp, X))
    low, high = post.minimum(n=120, seed=3).interval()
    Z = [np.linspace(0, 1, 60)[:, None]] * M
    drawn = post.sample(Z, n=400, how="marginal", seed=4)
    marginal = np.subtract(
        *np.quantile(sum(d.min(axis=1) for d in drawn), [0.975, 0.025])
    )
    floor = (M - 1) * v / (1 + 1 / (2 * l))
    # A standard deviation of 400 draws is within 18 % with probability 1 − 1e-6.
    assert marginal > 0.8 * 3.92 * np.sqrt(floor)
    assert high - low < 0.5 * marginal


def test_nothing_is_lost_in_the_expected_next_value(rng):
    # Proposition 1: equal means of any additive function, for real posteriors; false
    # alarm 3e-6. Variances differ, so that the test compares different samplers.
    for trial in range(3):
        gp = AdditiveGP(
            groups=[(0,), (1, 2), (3,)],
            lengthscales=[[0.3], [0.5, 0.4], [0.35]],
            variances=[0.9, 1.1, 0.7],
            noise=1e-2,
        )
        X = rng.random((8, 4))
        post = gp.condition(X, irregular.draw_outputs(rng, gp, X))
        Z = [rng.random((25, len(group))) for group in gp.groups]
        truth = [rng.standard_normal(25) for _ in Z]
        values = {}
        for how in ("joint", "marginal"):
            draws = post.sample(Z, n=4_000, how=how, seed=trial)
            values[how] = sum(
                g[draw.argmin(axis=1)] for g, draw in zip(truth, draws, strict=True)
            )
        a, b = values["joint"], values["marginal"]
        z = (a.mean() - b.mean()) / np.sqrt((a.var() + b.var()) / 4_000)
        assert abs(z) < ALARM


def test_variances_of_values_differ_by_the_covariances_of_the_parts():
    # Proposition 2, part 1, for g_m(x) = w_m x and signs, whose covariances are known
    # (2/π arcsin ρ); false alarm 2e-6.
    n, w = 200_000, np.array([0.7, -1.3, 0.9])
    A = rng_at(12, "covariance", 1).standard_normal((3, 3))
    cov = A @ A.T
    scale = np.sqrt(np.diag(cov))
    rho = cov / np.outer(scale, scale)
    between = 2 / np.pi * np.arcsin(rho - np.diag(np.diag(rho)))
    known = Belief(
        mean=np.zeros((n, 3)), cov=np.tile(cov, (n, 1, 1)), parts=np.arange(3)
    )
    found = {}
    for how in ("joint", "marginal"):
        values = -np.sign(getattr(known, how)(rng_at(13, how, 1))) @ w
        found[how] = values.var(), values.var() * np.sqrt(2 / n) * 2
    difference = found["joint"][0] - found["marginal"][0]
    error = np.hypot(found["joint"][1], found["marginal"][1])
    expected = w @ between @ w
    assert abs(expected) > 2 * ALARM * error  # so that the test sees it
    assert abs(difference - expected) < ALARM * error


@pytest.mark.parametrize("M", [2, 5, 9])
def test_expected_improvements_differ_at_most_by_the_bound(M):
    # Proposition 2, part 2: at break-even, b = E g(X) = 0 for symmetric signs. Sums of
    # signs of random covariances, and the extreme case of equal signs.
    n = 4_000
    for trial in range(6):
        A = rng_at(14, "covariance", M, trial).standard_normal((M, M))
        cov = A @ A.T if trial else np.ones((M, M))
        w = rng_at(14, "weights", M, trial).exponential(size=M) if trial else np.ones(M)
        known = Belief(
            mean=np.zeros((n, M)), cov=np.tile(cov, (n, 1, 1)), parts=np.arange(M)
        )
        gains = {
            how: np.maximum(np.sign(getattr(known, how)(rng_at(15, how, M))) @ w, 0)
            for how in ("joint", "marginal")
        }
        ratio = gains["joint"].mean() / gains["marginal"].mean()
        assert ratio <= 2 * np.sqrt(2 * M)
        if trial == 0:  # the order of the bound is attained
            assert ratio > 0.9 * np.sqrt(np.pi * M / 2)


def test_balanced_data_make_marginal_draws_miss_the_optimum():
    # Proposition 3: all contrasts known, the total not; false alarm 3e-6.
    M, n = 4, 20_000
    cov = np.tile(np.ones((M, M)), (n, 1, 1))
    known = Belief(mean=np.zeros((n, M)), cov=cov, parts=np.arange(M))
    best = np.full(M, -1.0)  # for s > 0
    hits = {}
    for how in ("joint", "marginal"):
        drawn = getattr(known, how)(rng_at(8, "balanced", 1))
        x = -np.sign(drawn)
        hits[how] = (x == best).all(axis=1).mean()
        improvement = np.maximum(0.0, -x.sum(axis=1)).mean()
        # E max(0, −Σx) is M/2 for joint draws, ½E|Σε| = 0.75 for independent signs.
        expected = {"joint": M / 2, "marginal": 0.75}[how]
        assert abs(improvement - expected) < ALARM * M / np.sqrt(n)
    for how, p in (("joint", 0.5), ("marginal", 0.5**M)):
        assert abs(hits[how] - p) < ALARM * np.sqrt(p * (1 - p) / n)


@pytest.mark.parametrize("orthogonal", [True, False])
def test_after_an_orthogonal_array_the_parts_are_independent(orthogonal):
    # Proposition 6: contrasts of different parts are uncorrelated, so that minimisers
    # have the same distribution under joint and marginal draws.
    L, M = 3, 3
    levels = np.array(
        [(a, b, (a + b) % L if orthogonal else a) for a in range(L) for b in range(L)]
    )
    phi = (levels[..., None] == np.arange(L)).reshape(len(levels), -1).astype(float)
    known = Belief.prior(1, np.repeat(np.arange(M), L), 0.7)
    for i, row in enumerate(phi):
        known = known.given(row[None], np.array([0.3 * i]), 0.2)
    centre = np.kron(np.eye(M), np.eye(L) - 1 / L)
    contrasts = centre @ known.cov[0] @ centre
    between = contrasts[~known.within]
    assert (np.abs(between).max() < 1e-12) == orthogonal


def test_marginal_variances_are_too_wide_by_what_theory_says(rng):
    # n observations of one point: the ratio is 1 + n (M − 1) v/τ².
    M, v, tau2, n = 5, 0.4, 0.3, 7
    gp = AdditiveGP(
        groups=[(m,) for m in range(M)], variances=np.full(M, v), noise=tau2
    )
    x = rng.random((1, M))
    post = gp.condition(np.repeat(x, n, axis=0), rng.standard_normal(n))
    assert post.inflation(x)[0] == pytest.approx(1 + n * (M - 1) * v / tau2, rel=1e-6)
