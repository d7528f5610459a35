"""Statistics against values computed by hand, by scipy, and by simulation."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from sumbo.errors import ArgumentError
from sumbo.study import statistics as st

Y = np.array([[5.0, 7.0, 6.0, 3.0, 9.0, 2.5, 4.0], [8.0, 8.5, 1.5, 3.0, 1.0, 7.0, 0.5]])


def test_best_so_far_at_batch_one():
    expected = [[5.0, 5.0, 3.0, 3.0, 2.5, 2.5], [8.0, 1.5, 1.5, 1.0, 1.0, 0.5]]
    assert_array_equal(st.best_so_far(Y, n_init=2, batch=1), expected)


def test_best_so_far_moves_when_a_batch_is_complete():
    # Two initial points, then batches (6, 3) (9, 2.5) and the shorter last one (4).
    expected = [[5.0, 5.0, 3.0, 3.0, 2.5, 2.5], [8.0, 8.0, 1.5, 1.5, 1.0, 0.5]]
    assert_array_equal(st.best_so_far(Y, n_init=2, batch=2), expected)


def test_best_so_far_does_not_change_its_input():
    y = Y.copy()
    y.setflags(write=False)
    st.best_so_far(y, n_init=3, batch=2)
    assert_array_equal(y, Y)


@pytest.mark.parametrize(("n_init", "batch"), [(0, 1), (8, 1), (2, 0)])
def test_best_so_far_rejects_impossible_designs(n_init, batch):
    with pytest.raises(ArgumentError, match="do not fit"):
        st.best_so_far(Y, n_init=n_init, batch=batch)


@pytest.mark.parametrize(
    ("count", "rank"),
    # 100/2 - 9.8 = 40.2, 30/2 - 5.37 = 9.6, 9/2 - 2.94 = 1.6, 5/2 - 2.19 = 0.3
    [(100, 40), (30, 9), (9, 1), (5, 1), (1, 1)],
)
def test_the_interval_ends_are_order_statistics(count, rank):
    values = np.random.default_rng(count).permutation(np.arange(1.0, count + 1))
    median, low, high = st.median_interval(values[:, None])
    assert median[0] == (count + 1) / 2
    assert low[0] == rank
    assert high[0] == count + 1 - rank


@pytest.mark.statistical
@pytest.mark.parametrize("count", [8, 23, 100])
def test_the_interval_covers_the_median_as_often_as_it_says(count):
    # Covered iff the number of values below the median is binomial within the ranks;
    # 5 standard errors: false alarm 6e-7.
    trials = 20000
    rng = np.random.default_rng(5151 + count)
    values = np.exp(rng.normal(0.7, 1.3, (count, trials)))
    _, low, high = st.median_interval(values)
    covered = np.mean((low <= np.exp(0.7)) & (np.exp(0.7) <= high))
    r = st.median_rank(count)
    expected = 1 - 2 * stats.binom.cdf(r - 1, count, 0.5)
    assert abs(covered - expected) < 5 * np.sqrt(expected * (1 - expected) / trials)
    assert expected > 0.95


def test_ranks_of_medians_average_ties():
    medians = np.array([[3.0, 1.5], [2.0, 1.5], [9.0, 0.5], [2.0, 7.0]])
    expected = [[3.0, 2.5], [1.5, 2.5], [4.0, 1.0], [1.5, 4.0]]
    assert_array_equal(st.median_ranks(medians), expected)


def test_mean_ranks_average_over_problems():
    # Problem 1 ranks (1, 2) then (2, 1); problem 2 ranks (1, 2) then a tie.
    medians = np.array([[[0.1, 5.0], [0.2, 4.0]], [[-3.0, 8.0], [-2.0, 8.0]]])
    assert_array_equal(st.mean_ranks(medians), [[1.0, 1.75], [2.0, 1.25]])


def test_the_gap_is_taken_to_the_minimum():
    best = np.array([-19.9, -19.0, -10.0])
    assert_allclose(st.log10_gap(best, -20.0), [-1.0, 0.0, 1.0], atol=1e-13)


def test_an_attained_minimum_has_a_finite_gap():
    assert_array_equal(st.log10_gap(np.array([-4.6, -5.0]), -4.6), [-10.0, -10.0])


def test_paired_counts_and_sign_test_by_hand():
    a = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.5])
    b = np.array([1.5, 2.7, 3.1, 4.9, 5.2, 5.0, 7.5])
    test = st.paired(a, b)
    assert (test.wins, test.losses, test.ties, test.count) == (5, 1, 1, 7)
    assert test.median == pytest.approx(-0.2)
    assert (test.low, test.high) == (pytest.approx(-0.9), pytest.approx(1.0))
    # Two-sided, 5 of 6: 2 (C(6,0) + C(6,1)) / 2^6.
    assert test.sign_p == pytest.approx(2 * 7 / 64)
    # |d| = .5 .7 .1 .9 .2 1.0: the one positive difference has rank 6. Of the 64 sign
    # patterns 14 have a rank sum of at most 6 on one side.
    assert test.wilcoxon_p == pytest.approx(2 * 14 / 64)


def test_paired_agrees_with_scipy():
    rng = np.random.default_rng(88)
    a, b = rng.gamma(2.0, 1.3, 37), rng.gamma(2.2, 1.3, 37)
    test = st.paired(a, b)
    _, p = stats.wilcoxon(a, b)
    assert test.wilcoxon_p == pytest.approx(p)
    below = int(np.sum(a < b))
    assert test.sign_p == pytest.approx(stats.binomtest(below, 37).pvalue)


def test_equal_runs_do_not_differ():
    a = np.array([2.5, 3.5, 1.25])
    test = st.paired(a, a.copy())
    assert (test.ties, test.sign_p, test.wilcoxon_p) == (3, 1.0, 1.0)


def test_tied_differences_raise_no_warning():
    a = np.array([2.0, 3.0, 4.0, 5.5])
    assert 0 < st.paired(a, a - np.array([0.5, 0.5, -0.5, 0.5])).wilcoxon_p <= 1


def test_nothing_to_compare_is_an_error():
    with pytest.raises(ArgumentError, match="no replicate"):
        st.paired(np.array([]), np.array([]))


def test_holm_by_hand():
    # Sorted .005 .011 .02 .04 .13 times 5 4 3 2 1 = .025 .044 .06 .08 .13.
    p = np.array([0.02, 0.005, 0.13, 0.04, 0.011])
    assert_allclose(st.holm(p), [0.06, 0.025, 0.13, 0.08, 0.044])


def test_holm_is_monotone_and_at_most_one():
    # .01 * 3 = .03; .4 * 2 = .8; .45 * 1 = .45, raised to .8.
    assert_allclose(st.holm(np.array([0.45, 0.01, 0.4])), [0.8, 0.03, 0.8])
    assert_array_equal(st.holm(np.array([0.7, 0.9])), [1.0, 1.0])
    assert st.holm(np.array([])).shape == (0,)


def test_targets_go_from_the_start_to_one_percent_of_the_goal():
    goals = st.targets(13.0, 3.0, count=4)
    assert_allclose(goals, 3.0 + 10.0 * np.array([10**-0.5, 0.1, 10**-1.5, 0.01]))


def test_solved_targets_stay_solved():
    best = np.array([[9.0, 4.0, 2.0], [6.0, 6.0, 1.0]])
    reached = st.solved(best, np.array([5.0, 2.0]))
    assert_array_equal(reached[0], [[False, True, True], [False, False, True]])
    assert_array_equal(reached[1], [[False, False, True], [False, False, True]])


def test_the_time_of_an_ask_is_shared_by_its_batch():
    seconds = np.array([[3.0, 6.0, 1.5]])
    per_point = st.cpu_per_acquisition(seconds, batch=3, acquisitions=7)
    assert_array_equal(per_point, [[1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 1.5]])
