"""Does a sample follow a given normal law? Checks at a stated false-alarm rate.

``law_p_value`` is valid: under the law it is below ``a`` with probability at most
``a`` (Bonferroni over exact tests; the two marked ≈ rest on the central limit of
thousands of draws). A test that asks for ``> 1e-6`` is a false alarm in 1e-6 of runs.
"""

import numpy as np
from scipy import stats


def law_p_value(draws, mean, cov, floor=0.0):
    """Return a p-value of "the rows of ``draws`` are independent N(mean, cov)".

    Directions whose variance is below ``floor`` are only asked not to exceed it:
    samplers may add jitter, and the law may be singular.
    """
    deviation = draws - mean
    S = deviation.T @ deviation / len(draws)
    p = [
        *_means(deviation, cov, floor),
        *_pairs(S, cov, len(draws), floor),
        *_whitened(deviation, cov, floor),
    ]
    return min(1.0, min(p) * len(p))


def _means(deviation, cov, floor):
    """z-scores of the means, one per coordinate."""
    sd = np.sqrt(np.maximum(cov.diagonal(), floor))
    z = deviation.mean(axis=0) / sd * np.sqrt(len(deviation))
    p = 2 * stats.norm.sf(np.abs(z))
    return [min(1.0, p.min() * len(p))]


def _pairs(S, cov, n, floor):
    """Variances along e_i and e_i ± e_j (standardised): exactly χ² with n degrees.

    The pairs determine every entry of the covariance by polarization.
    """
    live = cov.diagonal() > floor
    if not live.any():
        return []
    sd = np.sqrt(cov.diagonal()[live])
    R = cov[np.ix_(live, live)] / np.outer(sd, sd)
    R_hat = S[np.ix_(live, live)] / np.outer(sd, sd)
    i, j = np.triu_indices(len(sd), 1)
    wanted = np.concatenate(
        [R.diagonal(), 2 + 2 * R[i, j], 2 - 2 * R[i, j]],
    )
    seen = np.concatenate(
        [
            R_hat.diagonal(),
            R_hat[i, i] + R_hat[j, j] + 2 * R_hat[i, j],
            R_hat[i, i] + R_hat[j, j] - 2 * R_hat[i, j],
        ]
    )
    # Sums and differences of nearly equal coordinates are known by rounding only.
    keep = wanted > max(1e-4, floor / sd.min() ** 2)
    ratio = n * seen[keep] / wanted[keep]
    return [min(1.0, _two_sided(stats.chi2(n), ratio).min() * len(ratio))]


def _whitened(deviation, cov, floor):
    """Tests on whitened vectors: total, mean, norms, lag and the dead directions."""
    n = len(deviation)
    values, vectors = np.linalg.eigh(cov)
    live = values > max(floor, 1e-12 * values.max())
    W = deviation @ vectors[:, live] / np.sqrt(values[live])
    r = W.shape[1]
    norms = (W**2).sum(axis=1)
    lag = (W[1:] * W[:-1]).sum() / np.sqrt((n - 1) * r)
    p = [
        float(_two_sided(stats.chi2(n * r), norms.sum())),
        float(stats.chi2(r).sf(n * (W.mean(axis=0) ** 2).sum())),
        float(stats.kstest(norms, stats.chi2(r).cdf, method="asymp").pvalue),  # ≈
        float(2 * stats.norm.sf(abs(lag))),  # ≈
    ]
    dead = ((deviation @ vectors[:, ~live]) ** 2).sum(axis=0)
    if len(dead) and floor > 0:
        bound = floor + np.maximum(values[~live], 0.0)
        p.append(min(1.0, stats.chi2(n).sf(dead / bound).min() * len(dead)))
    return p


def _two_sided(law, x):
    return np.minimum(1.0, 2 * np.minimum(law.cdf(x), law.sf(x)))
