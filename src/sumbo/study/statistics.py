"""Statistics of a study: arrays in, arrays out; nothing is read or drawn here.

Axes: R replicates, T numbers of evaluations, M methods, K problems. Values are
minimised, so smaller is better and rank 1 is best.
"""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from sumbo.errors import ArgumentError
from sumbo.study import equivalence
from sumbo.typing import Bool, Float, ndarray

_Z = 1.96  # the normal quantile of a two-sided 95 % interval
# A gap below this is drawn as this: the logarithm of an attained minimum is -inf.
GAP_FLOOR = 1e-10


@dataclass(frozen=True, kw_only=True)
class Paired:
    """A paired comparison a − b over the same replicates; negative: a is better."""

    count: int
    median: float
    low: float
    high: float
    coverage: float  # exact, of the median by the interval from low to high
    wins: int  # a smaller
    losses: int  # a larger
    ties: int
    sign_p: float
    wilcoxon_p: float
    effect: float  # rank-biserial correlation: −1 if a is always better


def best_so_far(
    y: Float[ndarray, "R N"], *, n_init: int, batch: int
) -> Float[ndarray, "R T"]:
    """Return the best value known after 0, 1, … N − n_init acquired evaluations.

    The values of a batch become known together, when its last point is evaluated, so
    the result moves in steps of ``batch`` (a shorter last batch at its own end).

    Raises:
        ArgumentError: If there are fewer values than initial points.
    """
    N = y.shape[1]
    if not 1 <= n_init <= N or batch < 1:
        msg = f"n_init={n_init}, batch={batch} do not fit {N} values per run."
        raise ArgumentError(msg)
    running = np.minimum.accumulate(y, axis=1)
    acquired = np.arange(N - n_init + 1)
    known = acquired // batch * batch
    known[-1] = acquired[-1]
    return running[:, n_init - 1 + known]


def median_interval(
    values: Float[ndarray, "R T"],
) -> tuple[Float[ndarray, " T"], Float[ndarray, " T"], Float[ndarray, " T"]]:
    """Return the median over replicates and its asymptotic 95 % interval.

    With r = ⌊R/2 − 1.96·√R/2⌋ the ends are the r-th smallest and the r-th largest
    value. Below 8 replicates r is 0, and the whole range is the best there is.
    `median_coverage` gives the exact coverage.
    """
    ordered = np.sort(values, axis=0)
    r = median_rank(len(values))
    return np.median(ordered, axis=0), ordered[r - 1], ordered[-r]


def median_rank(count: int) -> int:
    """Return which order statistic from either end bounds the median's interval."""
    return max(1, int(np.floor(count / 2 - _Z * np.sqrt(count) / 2)))


def median_coverage(count: int) -> float:
    """Return the exact coverage of `median_interval`: 0.9375 for five values."""
    return equivalence.median_coverage(count, median_rank(count))


def median_ranks(medians: Float[ndarray, "M *rest"]) -> Float[ndarray, "M *rest"]:
    """Return the rank of each method's median, 1 for the best, ties averaged."""
    return np.asarray(stats.rankdata(medians, method="average", axis=0), dtype=float)


def mean_ranks(medians: Float[ndarray, "K M T"]) -> Float[ndarray, "M T"]:
    """Return each method's rank averaged over problems, per number of evaluations."""
    return np.mean([median_ranks(of_problem) for of_problem in medians], axis=0)


def log10_gap(
    best: Float[ndarray, "*shape"], minimum: float
) -> Float[ndarray, "*shape"]:
    """Return log10 of the distance to ``minimum``, not below log10 of `GAP_FLOOR`."""
    return np.log10(np.maximum(best - minimum, GAP_FLOOR))


def paired(a: Float[ndarray, " R"], b: Float[ndarray, " R"]) -> Paired:
    """Return the comparison of two methods over the same replicates.

    The sign test is two-sided and leaves ties out; so does the Wilcoxon signed-rank
    test. Where nothing differs, both give p = 1.

    Raises:
        ArgumentError: If there is no replicate to compare.
    """
    if len(a) == 0:
        msg = "a and b hold no replicate. Compare runs that share at least one."
        raise ArgumentError(msg)
    d = a - b
    median, low, high = (float(v[0]) for v in median_interval(d[:, None]))
    wins, losses = int(np.sum(d < 0)), int(np.sum(d > 0))
    sign_p = wilcoxon_p = 1.0
    if wins + losses:
        sign_p = float(stats.binomtest(wins, wins + losses).pvalue)
        wilcoxon_p = float(np.asarray(stats.wilcoxon(d[d != 0]))[1])
    return Paired(
        count=len(d),
        median=median,
        low=low,
        high=high,
        coverage=median_coverage(len(d)),
        wins=wins,
        losses=losses,
        ties=len(d) - wins - losses,
        sign_p=sign_p,
        wilcoxon_p=wilcoxon_p,
        effect=equivalence.rank_biserial(d),
    )


def holm(p: Float[ndarray, " K"]) -> Float[ndarray, " K"]:
    """Return p-values adjusted for K tests by Holm's step-down procedure."""
    order = np.argsort(p)
    steps = np.arange(len(p), 0, -1) * p[order]
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return adjusted


def interquartile_range(values: Float[ndarray, " n"]) -> float:
    """Return the distance between the upper and the lower quartile."""
    low, high = np.quantile(values, (0.25, 0.75))
    return float(high - low)


def targets(
    start: float, goal: float, *, count: int = 20
) -> Float[ndarray, " targets"]:
    """Return values from close to ``start`` to within 1 % of ``goal``.

    Target j asks for the fraction 1 − 10^(−2j/count), j = 1 … count, of the way.
    """
    left = 10.0 ** (-2.0 * np.arange(1, count + 1) / count)
    return goal + left * (start - goal)


def solved(
    best: Float[ndarray, "R T"], goals: Float[ndarray, " targets"]
) -> Bool[ndarray, "R targets T"]:
    """Return which targets each run has reached after each number of evaluations."""
    return best[:, None, :] <= goals[None, :, None]


def cpu_per_acquisition(
    seconds: Float[ndarray, "R A"], *, batch: int, acquisitions: int
) -> Float[ndarray, "R T"]:
    """Return the CPU seconds of each acquired point: its ask, divided by its batch."""
    sizes = np.full(seconds.shape[1], float(batch))
    if seconds.shape[1]:
        sizes[-1] = acquisitions - batch * (seconds.shape[1] - 1)
    return np.repeat(seconds / sizes, sizes.astype(int), axis=1)
