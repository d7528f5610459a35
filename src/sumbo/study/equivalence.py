"""Is a difference seen, is one excluded? Pooled statistics of a compared pair.

Arrays in, numbers out. Values are minimised; the first method wins a pair if its value
is lower. Intervals have 95 %; an equivalence test at the level 5 % rejects exactly if
the 90 % interval lies within the margins.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize, stats

from sumbo.errors import ArgumentError
from sumbo.rng import rng_at
from sumbo.typing import Float, ndarray

LEVEL = 0.05
POWER = 0.8
_SAME = 1e-12  # standard errors of log ratios below this are rounding
_DRAWS = 4000  # of the bootstrap: its 95 % ends are known to about 1 % of the width


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """An estimate with its 95 % interval and the test of equivalence."""

    value: float
    low: float
    high: float
    difference_p: float  # two-sided, against no difference
    equivalence_p: float  # the larger one of two one-sided tests
    margins: tuple[float, float]

    @property
    def different(self) -> bool:
        """Whether a difference was seen."""
        return self.difference_p < LEVEL

    @property
    def equivalent(self) -> bool:
        """Whether a difference beyond the margins is excluded."""
        return self.equivalence_p < LEVEL


def win_share(wins: int, losses: int, margins: tuple[float, float]) -> Estimate | None:
    """Return the share of pairs won, ties left out; ``None`` if nothing differs.

    The interval is Clopper and Pearson's. Both one-sided tests are exact binomial
    tests. If the share differs between problems, all of them are conservative for the
    average share over these problems.
    """
    n = wins + losses
    if n == 0:
        return None
    test = stats.binomtest(wins, n)
    interval = test.proportion_ci(1 - LEVEL, method="exact")
    low, high = margins
    above = stats.binomtest(wins, n, low, alternative="greater").pvalue
    below = stats.binomtest(wins, n, high, alternative="less").pvalue
    return Estimate(
        value=wins / n,
        low=float(interval.low),
        high=float(interval.high),
        difference_p=float(test.pvalue),
        equivalence_p=float(max(above, below)),
        margins=margins,
    )


def gap_ratio(
    logs: Sequence[Float[ndarray, " _"]], margins: tuple[float, float]
) -> Estimate | None:
    """Return the geometric mean of gap ratios; ``None`` without two pairs anywhere.

    ``logs`` holds log(gap of the first / gap of the second) by problem. Every problem
    has the same weight and its own variance; the degrees of freedom are those of Welch
    and Satterthwaite. Problems with a single pair are left out.
    """
    logs = [d for d in logs if len(d) > 1]
    if not logs:
        return None
    mean = float(np.mean([d.mean() for d in logs]))
    parts = np.array([d.var(ddof=1) / len(d) for d in logs]) / len(logs) ** 2
    error, freedom = float(np.sqrt(parts.sum())), 1.0
    if error > _SAME:
        shares = parts / parts.sum()
        weights = [len(d) - 1 for d in logs]
        freedom = float(1 / np.sum(shares**2 / weights))
    error = max(error, _SAME)
    t = stats.t(freedom)
    half = float(t.ppf(1 - LEVEL / 2)) * error
    low, high = np.log(margins)
    above, below = t.sf((mean - low) / error), t.cdf((mean - high) / error)
    return Estimate(
        value=float(np.exp(mean)),
        low=float(np.exp(mean - half)),
        high=float(np.exp(mean + half)),
        difference_p=float(2 * t.sf(abs(mean) / error)),
        equivalence_p=float(max(above, below)),
        margins=margins,
    )


def bootstrap_interval(
    values: Sequence[Float[ndarray, " _"]], *, draws: int = _DRAWS, seed: int = 0
) -> tuple[float, float]:
    """Return the 95 % interval of the mean over problems of their means.

    Problems are drawn with replacement, then the replicates of each drawn problem: the
    interval holds for problems like these, not for these problems alone. Few problems
    make it short: over 13 normal ones that differ much it covers 91 %, not 95 %.

    Raises:
        ArgumentError: If a problem has no value.
    """
    if not values or not all(len(v) for v in values):
        msg = "values hold a problem without replicates. Leave it out."
        raise ArgumentError(msg)
    rng = rng_at(seed, "study/bootstrap")
    chosen = rng.integers(len(values), size=(draws, len(values)))
    means = np.empty(chosen.shape)
    for k, v in enumerate(values):
        drawn = chosen == k
        rows = rng.integers(len(v), size=(int(drawn.sum()), len(v)))
        means[drawn] = v[rows].mean(axis=1)
    low, high = np.quantile(means.mean(axis=1), (LEVEL / 2, 1 - LEVEL / 2))
    return float(low), float(high)


def sign_power(pairs: int, share: float) -> float:
    """Return the probability that a two-sided sign test at 5 % sees this share."""
    # The test rejects at c or fewer wins, or at c or fewer losses.
    c = int(stats.binom.ppf(LEVEL / 2, pairs, 0.5))
    while c >= 0 and 2 * stats.binom.cdf(c, pairs, 0.5) >= LEVEL:
        c -= 1
    tails = stats.binom.cdf(c, pairs, share) + stats.binom.cdf(c, pairs, 1 - share)
    return float(tails)


def visible_share(pairs: int, power: float = POWER) -> float | None:
    """Return the smallest win share that a sign test sees with this power.

    ``None`` if so few pairs cannot show any preference.
    """
    if sign_power(pairs, 1.0) < power:
        return None
    found = optimize.root_scalar(
        lambda share: sign_power(pairs, share) - power, bracket=(0.5, 1.0)
    )
    return float(found.root)


def median_coverage(count: int, rank: int) -> float:
    """Return the exact coverage of the interval between two order statistics.

    The ends are the ``rank``-th smallest and the ``rank``-th largest of ``count``
    values; the values have a continuous distribution.
    """
    return max(0.0, float(1 - 2 * stats.binom.cdf(rank - 1, count, 0.5)))


def rank_biserial(d: Float[ndarray, " R"]) -> float:
    """Return the matched-pairs rank-biserial correlation of differences.

    It is the share of the rank sum above zero minus that below: −1 if every
    difference is negative, 0 if none prevails. Zeros are left out.
    """
    d = d[d != 0]
    if not len(d):
        return 0.0
    ranks = stats.rankdata(np.abs(d))
    return float(np.sum(np.sign(d) * ranks) / ranks.sum())
