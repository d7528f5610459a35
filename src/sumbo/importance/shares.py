"""Sobol shares of the parameters of an additive model, from joint draws of its parts.

A parameter's own parts, which depend on it alone, are integrated by quadrature: their
sum is g_k. The sum of all other parts is r. With independent random points A and B,
A_B^k the point A with parameter k from B, and

    G_k = g_k(B) − g_k(A),   Δ_k = r(A_B^k) − r(A),   Δ′_k = r(B) − r(B_A^k),

    Var E[f | x_k]      = Var g_k + ½ E[G_k (Δ_k + Δ′_k)] + ½ E[Δ_k Δ′_k],
    E Var[f | the rest] = Var g_k + ½ E[G_k (Δ_k + Δ′_k)] + ¼ E[Δ_k² + Δ′_k²],
    Var f               = Σ_k (Var g_k + 2 Cov(g_k, r)) + Var r.

The last terms of the first two are the estimators of [owen2013] and [saltelli2010] (f).
Expectations with r are averages over quasi-random points. Differences along k leave out
what does not depend on k, so that these averages are accurate where interactions are
small; if every part depends on one parameter, the error is that of the quadrature only.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sumbo.errors import ArgumentError, require_positive_integer
from sumbo.gp import Posterior
from sumbo.importance.closed import Expected, expected_variances
from sumbo.importance.draws import draw_parts
from sumbo.importance.table import Importance
from sumbo.rng import as_seed, rng_at
from sumbo.space.measure import Measure
from sumbo.typing import Float, Int, ndarray

# Random points A, and as many B: fewer where many parameters interact.
MOST_POINTS, FEWEST_POINTS = 1024, 64
# The same where shares are in closed form, and draws give their spread only.
SHIFTED_POINTS = 256
# Places at which parts of several parameters are drawn.
PLACES = 12_000


class Variances(NamedTuple):
    """Variances of n draws: due to each parameter alone, with others, and in all."""

    first: Float[ndarray, "n K"]
    total: Float[ndarray, "n K"]
    whole: Float[ndarray, " n"]

    def mean(self) -> Expected:
        """Return the averages over the draws."""
        first, total = self.first.mean(axis=0), self.total.mean(axis=0)
        return Expected(first, total, float(self.whole.mean()))


def importance_of(
    posteriors: Sequence[Posterior],
    measures: Sequence[Measure],
    names: Sequence[str],
    *,
    weights: Float[ndarray, " S"] | None = None,
    n: int = 200,
    seed: int = 0,
    level: float = 0.95,
) -> Importance:
    """Return the Sobol shares of the parameters of a model, with intervals.

    Those of orthogonal parts are in closed form, see ``importance.closed``; those of
    other models are averages over the draws, from which all intervals come.

    Args:
        posteriors: One posterior, or one for each plausible structure.
        measures: The distribution of each parameter, in order.
        names: The name of each parameter.
        weights: Probabilities of the posteriors; draws are divided among them.
        n: The number of joint draws.
        seed: Of the draws.
        level: The probability of the intervals.

    Raises:
        ArgumentError: If an argument has a value that cannot be used.
    """
    require_positive_integer("n", n)
    if not 0.0 < level < 1.0:
        msg = f"level={level!r} is not between 0 and 1. Pass one such as 0.95."
        raise ArgumentError(msg)
    shares = np.ones(1) if weights is None else np.asarray(weights) / np.sum(weights)
    rng = rng_at(as_seed(seed), "importance")
    counts = _apportioned(shares, n)
    each, means = [], []
    for post, count in zip(posteriors, counts, strict=True):
        if count:
            closed = expected_variances(post, measures)
            most = SHIFTED_POINTS if closed else MOST_POINTS
            draws = variance_draws(rng, post, measures, int(count), most)
            means.append(closed or draws.mean())
            each.append(_shares_of(draws, means[-1]))
    portions = counts[counts > 0] / n
    first, total = (
        portions @ np.array([getattr(mean, name) for mean in means])
        for name in ("first", "total")
    )
    whole = np.array([portions @ np.array([mean.whole for mean in means])])
    tail = 0.5 * (1.0 - level)
    lower, upper = np.quantile(np.concatenate(each), [tail, 1.0 - tail], axis=0)
    return Importance(
        names=tuple(names),
        first=_ratio(first, whole),
        total=_ratio(total, whole),
        lower=lower,
        upper=upper,
        level=level,
    )


def _shares_of(draws: Variances, mean: Expected) -> Float[ndarray, "n K"]:
    """Return the total shares of draws, with the average that is known."""
    each = _ratio(draws.total, draws.whole[:, None])
    own = draws.mean()
    shift = _ratio(mean.total, np.array([mean.whole]))
    shift = shift - _ratio(own.total, np.array([own.whole]))
    return np.clip(each + shift, 0.0, 1.0)


def _apportioned(shares: Float[ndarray, " S"], n: int) -> Int[ndarray, " S"]:
    """Return how many of n draws each posterior has: largest remainders."""
    exact = n * shares
    counts = np.floor(exact).astype(int)
    rest = np.argsort(counts - exact, kind="stable")[: n - counts.sum()]
    counts[rest] += 1
    return counts


def _ratio(
    part: Float[ndarray, "*n K"], whole: Float[ndarray, "*n 1"]
) -> Float[ndarray, "*n K"]:
    # A constant function has no shares.
    whole = np.broadcast_to(whole, part.shape)
    return np.divide(part, whole, out=np.zeros(part.shape), where=whole > 0)


# ---------------------------------------------------------------------- one posterior
class _Rules(NamedTuple):
    """The quadrature rule of each parameter, and the random points made of its nodes.

    ``A`` and ``B`` hold, for each random point, the node of each parameter.
    """

    nodes: list[Float[ndarray, "..."]]
    weights: list[Float[ndarray, "..."]]
    A: Int[ndarray, "b K"]
    B: Int[ndarray, "b K"]


def variance_draws(
    rng: np.random.Generator,
    post: Posterior,
    measures: Sequence[Measure],
    n: int,
    most: int = MOST_POINTS,
) -> Variances:
    """Return the variances of n joint draws of the sum of all parts."""
    owner = {p: k for k, one in enumerate(measures) for p in one.coordinates}
    users = [sorted({owner[p] for p in group}) for group in post.gp.groups]
    wide = [m for m, ks in enumerate(users) if len(ks) > 1]
    rules = _rules(measures, users, wide, most)
    Z = [
        _places(rules, measures, users[m], group)
        for m, group in enumerate(post.gp.groups)
    ]
    draws = draw_parts(rng, post, Z, n)
    own = [np.zeros((len(w), n)) for w in rules.weights]
    for m, ks in enumerate(users):
        if len(ks) == 1:
            own[ks[0]] += draws[m]
    own = [g - w @ g for g, w in zip(own, rules.weights, strict=True)]
    alone = np.stack([w @ g**2 for g, w in zip(own, rules.weights, strict=True)])
    if not wide:
        return Variances(alone.T, alone.T, alone.sum(axis=0))
    return _with_interactions(rules, own, alone, users, {m: draws[m] for m in wide})


def _with_interactions(
    rules: _Rules,
    own: list[Float[ndarray, "..."]],
    alone: Float[ndarray, "K n"],
    users: list[list[int]],
    draws: dict[int, Float[ndarray, "..."]],
) -> Variances:
    """Return the variances where parts of several parameters exist; the file's head."""
    b, n = len(rules.A), alone.shape[1]
    at_A, at_B = np.zeros((2, b, n))
    from_A, to_B = ([np.zeros((b, n)) for _ in own] for _ in range(2))
    interacting = np.zeros(len(own), dtype=bool)
    for m, values in draws.items():
        blocks = np.split(values, 2 + 2 * len(users[m]))
        at_A += blocks[0]
        at_B += blocks[1]
        for j, k in enumerate(users[m], start=1):
            from_A[k] += blocks[2 * j] - blocks[0]
            to_B[k] += blocks[1] - blocks[2 * j + 1]
            interacting[k] = True
    interacting &= [len(w) > 1 for w in rules.weights]  # others are constant
    both = np.concatenate([at_A, at_B])
    center = both.mean(axis=0)
    whole = alone.sum(axis=0) + both.var(axis=0)
    first, total = alone.copy(), alone.copy()
    for k in np.flatnonzero(interacting):
        g_A, g_B = own[k][rules.A[:, k]], own[k][rules.B[:, k]]
        whole += np.mean(g_A * (at_A - center) + g_B * (at_B - center), axis=0)
        d, e = from_A[k], to_B[k]
        shared = 0.5 * np.mean((g_B - g_A) * (d + e), axis=0)
        first[k] += shared + 0.5 * np.mean(d * e, axis=0)
        total[k] += shared + 0.25 * np.mean(d**2 + e**2, axis=0)
    # Averages over finitely many points may leave the range by their error.
    total = np.clip(total, 0.0, None)
    first = np.clip(first, 0.0, total)
    whole = np.maximum(whole, first.sum(axis=0))
    return Variances(first.T, np.minimum(total, whole).T, whole)


def _rules(
    measures: Sequence[Measure], users: list[list[int]], wide: list[int], most: int
) -> _Rules:
    """Return the quadrature rules, and random points if parts need them."""
    pairs = [one.rule() for one in measures]
    nodes, weights = [a for a, _ in pairs], [w for _, w in pairs]
    K = len(measures)
    A = B = np.zeros((0, K), dtype=int)
    if wide:
        each = sum(2 + 2 * len(users[m]) for m in wide)
        b = most
        while b > FEWEST_POINTS and b * each > PLACES:
            b //= 2
        from scipy.stats import qmc  # a second of import time that few calls need

        # Fixed scrambling: all draws, and all calls, integrate over the same points.
        sobol = qmc.Sobol(2 * K, rng=np.random.default_rng(0)).random(b)
        indices = [
            np.searchsorted(np.cumsum(weights[j % K])[:-1], sobol[:, j], side="right")
            for j in range(2 * K)
        ]
        A, B = np.stack(indices[:K], axis=1), np.stack(indices[K:], axis=1)
    return _Rules(nodes, weights, A, B)


def _places(
    rules: _Rules, measures: Sequence[Measure], ks: list[int], group: tuple[int, ...]
) -> Float[ndarray, "B d"]:
    """Return where a part is drawn: at the nodes, or at A, B, every A_B^k and B_A^k."""
    columns = [
        (k, measures[k].coordinates.index(p))
        for p in group
        for k in ks
        if p in measures[k].coordinates
    ]
    if len(ks) == 1:
        return rules.nodes[ks[0]][:, [j for _, j in columns]]
    blocks = [rules.A, rules.B]
    for k in ks:
        for mine, other in ((rules.A, rules.B), (rules.B, rules.A)):
            changed = mine.copy()
            changed[:, k] = other[:, k]
            blocks.append(changed)
    which = np.concatenate(blocks)
    return np.stack([rules.nodes[k][which[:, k], j] for k, j in columns], axis=1)
