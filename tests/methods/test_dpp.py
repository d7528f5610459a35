"""k-DPP draws against the enumeration of all subsets."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from irregular import frozen
from sumbo.errors import ArgumentError
from sumbo.methods.struct.dpp import log_elementary, sample_kdpp


def random_kernel(rng, B, rank):
    A = rng.standard_normal((B, rank)) * np.exp(rng.uniform(-1, 1, (B, 1)))
    return frozen(A @ A.T)


def subset_law(C, k):
    """Return all subsets of k items and their probabilities, by determinants."""
    subsets = list(combinations(range(len(C)), k))
    weights = np.array([np.linalg.det(C[np.ix_(S, S)]) for S in subsets])
    return subsets, weights / weights.sum()


def p_value(counts, probabilities):
    """Return the chi-square p-value, cells with fewer than 8 expected pooled."""
    expected = probabilities * counts.sum()
    small = expected < 8
    seen, wanted = counts[~small], expected[~small]
    if expected[small].sum() >= 8:
        seen = np.r_[seen, counts[small].sum()]
        wanted = np.r_[wanted, expected[small].sum()]
    else:  # too few to pool: they join the largest cell
        top = np.argmax(wanted)
        seen[top] += counts[small].sum()
        wanted[top] += expected[small].sum()
    return stats.chisquare(seen, wanted).pvalue


@pytest.mark.statistical
@pytest.mark.parametrize(("B", "rank", "k"), [(6, 8, 3), (5, 2, 2), (7, 5, 5)])
def test_subsets_have_the_probabilities_of_their_determinants(rng, B, rank, k):
    # Chi-square: a false alarm in about 1e-6 of runs.
    C = random_kernel(rng, B, rank)
    subsets, law = subset_law(C, k)
    place = {S: i for i, S in enumerate(subsets)}
    counts = np.zeros(len(subsets))
    for _ in range(2000):
        counts[place[tuple(sorted(sample_kdpp(rng, C, k)))]] += 1
    assert p_value(counts, law) > 1e-6


def test_elementary_polynomials_are_sums_over_subsets(rng):
    values = np.exp(rng.uniform(-4, 3, 7))
    table = np.exp(log_elementary(np.log(values), 4))
    for i in range(8):
        for l in range(5):
            brute = sum(np.prod(S) for S in combinations(values[:i], l))
            np.testing.assert_allclose(table[l, i], brute, rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-180, 1e180])
def test_scale_of_the_kernel_changes_no_draw(rng, scale):
    C = random_kernel(rng, 40, 50)
    first, second = (
        sample_kdpp(np.random.default_rng(52), scaled, 9) for scaled in (C, scale * C)
    )
    np.testing.assert_array_equal(first, second)


def test_all_items_are_drawn_once_when_all_are_wanted(rng):
    C = random_kernel(rng, 9, 9)
    assert sorted(sample_kdpp(rng, C, 9)) == list(range(9))


def test_nothing_is_drawn_when_nothing_is_wanted(rng):
    assert len(sample_kdpp(rng, random_kernel(rng, 4, 4), 0)) == 0


def test_nearly_singular_kernel_gives_distinct_items(rng):
    # A smooth kernel on a fine grid: most eigenvalues are rounding, some negative.
    x = np.linspace(0.03, 0.91, 200)
    C = np.exp(-0.5 * ((x[:, None] - x) / 0.27) ** 2)
    assert np.linalg.eigvalsh(C).min() < 0
    for _ in range(20):
        assert len(set(sample_kdpp(rng, C, 8))) == 8


def test_rank_below_k_is_refused(rng):
    with pytest.raises(ArgumentError, match="rank 3"):
        sample_kdpp(rng, random_kernel(rng, 6, 3), 4)
