"""Pooled statistics of a compared pair, against SciPy and by simulation."""

import numpy as np
import pytest
from scipy import stats

from sumbo.errors import ArgumentError
from sumbo.study import equivalence as eq

SHARES, RATIOS = (0.45, 0.55), (0.9, 1.11)


def test_win_share_by_hand():
    # 7 of 10: two-sided p = 2 (120 + 45 + 10 + 1) / 1024.
    found = eq.win_share(7, 3, SHARES)
    assert found.value == 0.7
    assert found.difference_p == pytest.approx(2 * 176 / 1024)
    # Clopper and Pearson's ends are quantiles of beta distributions.
    assert found.low == pytest.approx(stats.beta.ppf(0.025, 7, 4))
    assert found.high == pytest.approx(stats.beta.ppf(0.975, 8, 3))


def test_share_is_equivalent_exactly_if_the_90_percent_interval_is_within():
    for wins in range(560, 740, 7):
        found = eq.win_share(wins, 1300 - wins, SHARES)
        low = stats.beta.ppf(0.05, wins, 1301 - wins)
        high = stats.beta.ppf(0.95, wins + 1, 1300 - wins)
        assert found.equivalent == (low > 0.45 and high < 0.55)


def test_estimates_agree_with_statsmodels():
    # statsmodels 0.15: DescrStatsW.ttost_mean, proportion_confint(method="beta") and
    # binom_tost, whose p-value is the larger one of two exact one-sided tests.
    d = np.array([0.031, -0.052, 0.011, 0.073, -0.008, 0.024, -0.017, 0.005])
    ratio = eq.gap_ratio([d], RATIOS)
    assert ratio.equivalence_p == pytest.approx(7.688050888438252e-05)
    share = eq.win_share(613, 687, SHARES)
    assert share.low == pytest.approx(0.444108644607847)
    assert share.high == pytest.approx(0.49909723341760576)
    assert share.equivalence_p == pytest.approx(0.06276202302641785)


def test_nothing_that_differs_has_no_share():
    assert eq.win_share(0, 0, SHARES) is None


def test_gap_ratio_of_one_problem_is_a_t_test():
    d = np.array([0.31, -0.52, 0.11, 0.73, -0.08, 0.24])
    found = eq.gap_ratio([d], RATIOS)
    test = stats.ttest_1samp(d, 0.0)
    ends = np.exp(test.confidence_interval(0.95))
    assert found.value == pytest.approx(np.exp(d.mean()))
    assert found.difference_p == pytest.approx(test.pvalue)
    assert (found.low, found.high) == (pytest.approx(ends[0]), pytest.approx(ends[1]))
    sides = (
        stats.ttest_1samp(d, np.log(0.9), alternative="greater").pvalue,
        stats.ttest_1samp(d, np.log(1.11), alternative="less").pvalue,
    )
    assert found.equivalence_p == pytest.approx(max(sides))


def test_gap_ratio_of_two_problems_is_welchs_test():
    # mean(a)/2 + mean(b)/2 is half the difference between a and −b.
    a = np.array([0.4, -0.1, 0.25, 0.9, 0.3])
    b = np.array([2.5, -3.1, 1.4, 0.2, 0.8, -0.6, 1.9])
    test = stats.ttest_ind(a, -b, equal_var=False)
    found = eq.gap_ratio([a, b], RATIOS)
    assert found.difference_p == pytest.approx(test.pvalue)
    ends = np.exp(np.array(test.confidence_interval(0.95)) / 2)
    assert (found.low, found.high) == (pytest.approx(ends[0]), pytest.approx(ends[1]))


def test_ratios_that_are_all_alike_need_no_spread():
    found = eq.gap_ratio([np.full(4, 0.05), np.full(3, 0.05)], RATIOS)
    assert found.value == pytest.approx(np.exp(0.05))
    assert found.equivalent
    assert found.different


def test_problem_with_one_pair_is_left_out():
    d = np.array([0.31, -0.52, 0.11])
    assert eq.gap_ratio([d, np.array([9.0])], RATIOS) == eq.gap_ratio([d], RATIOS)
    assert eq.gap_ratio([np.array([9.0])], RATIOS) is None


def test_visible_share_is_seen_with_the_power_asked_for():
    share = eq.visible_share(1300)
    assert eq.sign_power(1300, share) == pytest.approx(0.8)
    # The normal approximation: 1/2 + (1.96 / 2 + 0.84 sqrt(p q)) / sqrt(n).
    assert share == pytest.approx(0.539, abs=0.002)


def test_55_pairs_hardly_show_a_preference_of_55_to_45():
    rejected = [w for w in range(56) if stats.binomtest(w, 55).pvalue < 0.05]
    expected = stats.binom.pmf(rejected, 55, 0.55).sum()
    assert eq.sign_power(55, 0.55) == pytest.approx(expected)
    assert expected < 0.12


def test_five_pairs_show_nothing():
    assert eq.visible_share(5) is None


@pytest.mark.parametrize(("count", "covered"), [(5, 0.9375), (1, 0.0), (8, 1 - 2**-7)])
def test_range_of_few_values_has_its_exact_coverage(count, covered):
    assert eq.median_coverage(count, 1) == covered


def test_rank_biserial_by_hand():
    # Ranks of .5 .7 .1 .9: 2 3 1 4, the third is positive: (1 − 9) / 10.
    assert eq.rank_biserial(np.array([-0.5, -0.7, 0.1, -0.9])) == pytest.approx(-0.8)
    assert eq.rank_biserial(np.zeros(3)) == 0.0


def test_bootstrap_of_one_problem_is_scipys():
    v = np.random.default_rng(17).gamma(2.3, 1.7, 40)
    low, high = eq.bootstrap_interval([v], draws=20000)
    other = stats.bootstrap(
        (v,), np.mean, method="percentile", rng=4, n_resamples=20000
    )
    width = high - low
    assert low == pytest.approx(other.confidence_interval.low, abs=0.05 * width)
    assert high == pytest.approx(other.confidence_interval.high, abs=0.05 * width)


def test_bootstrap_varies_the_problems_too():
    # Without variation within problems only the choice of problems remains.
    values = [np.full(7, 1.3), np.full(4, 2.9), np.full(9, 7.1)]
    low, high = eq.bootstrap_interval(values)
    assert (low, high) == (pytest.approx(1.3), pytest.approx(7.1))


def test_bootstrap_refuses_an_empty_problem():
    with pytest.raises(ArgumentError, match="without replicates"):
        eq.bootstrap_interval([np.array([])])


@pytest.mark.statistical
def test_equivalence_of_shares_has_size_and_power():
    # On the margin at most 5 % of 4000 studies are called equivalent (5 standard errors
    # above: false alarm 3e-7); with equal methods almost all of them are.
    rng = np.random.default_rng(606)
    for share, low, high in ((0.55, 0.0, 0.05 + 5 * 0.00345), (0.5, 0.9, 1.0)):
        wins = rng.binomial(1300, share, 4000).tolist()
        seen = {w: eq.win_share(w, 1300 - w, SHARES).equivalent for w in set(wins)}
        assert low <= np.mean([seen[w] for w in wins]) <= high


@pytest.mark.statistical
def test_equivalence_of_ratios_has_size_and_power():
    # Problems of different spread; bounds as above.
    rng = np.random.default_rng(707)
    spreads = (0.3, 0.9, 0.1, 0.5)
    for mean, low, high in ((np.log(1.11), 0.0, 0.05 + 5 * 0.00487), (0.0, 0.8, 1.0)):
        found = [
            eq.gap_ratio([rng.normal(mean, s, 90) for s in spreads], RATIOS).equivalent
            for _ in range(2000)
        ]
        assert low <= np.mean(found) <= high


@pytest.mark.statistical
def test_equivalence_holds_where_problems_have_different_shares():
    # The average share is on the margin, single problems are far from it on both
    # sides; pooling is conservative then. Bound as above.
    rng = np.random.default_rng(808)
    shares = 0.55 + np.array([-0.3, -0.1, 0.05, 0.1, 0.25])
    wins = rng.binomial(260, shares, (4000, 5)).sum(axis=1)
    seen = [eq.win_share(w, 1300 - w, SHARES).equivalent for w in wins.tolist()]
    assert np.mean(seen) <= 0.05


@pytest.mark.statistical
@pytest.mark.parametrize("spread", [0.0, 0.3])
def test_bootstrap_covers_the_mean_of_all_problems(spread):
    # 13 problems with 20 replicates: a bootstrap of few units covers a little less
    # than 95 % where problems differ, and more where they do not. 400 studies, four
    # standard errors of 0.011 to 0.014: false alarm 1e-4.
    rng = np.random.default_rng(909)
    hits = 0
    for _ in range(400):
        centres = rng.normal(0.37, spread, 13)
        values = [rng.normal(centre, 0.6, 20) for centre in centres]
        low, high = eq.bootstrap_interval(values, draws=600)
        hits += low <= 0.37 <= high
    expected = 0.935 if spread else 0.985
    assert hits / 400 == pytest.approx(expected, abs=0.05)
