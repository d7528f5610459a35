"""Textbook formulas in plain NumPy: slow, dense, and independent of the package.

Everything starts from the joint prior of all parts and the data, and conditions it
by the two lines of ``condition``. No factor is reused, nothing is packed or updated.
"""

from collections.abc import Callable

import numpy as np
from scipy.special import gamma, kv

SMOOTHNESS = {"matern12": 0.5, "matern32": 1.5, "matern52": 2.5}


# ---------------------------------------------------------------------- kernels
def correlation(name, r):
    """Return the correlation at scaled distance r; complex r are accepted."""
    if name == "rbf":
        return np.exp(-(r**2) / 2)
    if name == "matern12":
        return np.exp(-r)
    if name == "matern32":
        return (1 + np.sqrt(3) * r) * np.exp(-np.sqrt(3) * r)
    return (1 + np.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-np.sqrt(5) * r)


def correlation_by_bessel(nu, r):
    """Return the Matérn correlation of any smoothness; [rasmussen2006] Eq. (4.14)."""
    x = np.sqrt(2 * nu) * r
    return 2 ** (1 - nu) / gamma(nu) * x**nu * kv(nu, x)


def gram(name, lengthscales, variance, A, B):
    """Return the covariances between the rows of A and of B."""
    difference = (A[:, None, :] - B[None, :, :]) / lengthscales
    squared = (difference**2).sum(axis=-1)
    return variance * correlation(name, np.sqrt(squared))


def lengthscales_of(gp):
    """Return the length-scales of each group, whichever way the model keeps them."""
    if isinstance(gp.lengthscales, np.ndarray):
        return [gp.lengthscales[list(group)] for group in gp.groups]
    return [np.asarray(l) for l in gp.lengthscales]


def part_grams(gp, left, right):
    """Return K_m(left_m, right_m) for all m, from points in the groups' coordinates."""
    rows = zip(lengthscales_of(gp), gp.variances, left, right, strict=True)
    return [gram(gp.kernel, l, v, A, B) for l, v, A, B in rows]


def project(gp, X):
    """Return the points in the coordinates of each group."""
    return [X[:, list(group)] for group in gp.groups]


# ---------------------------------------------------------------------- posterior
def observed_covariance(gp, X):
    """Return Σ_m K_m(X, X) + τ²I."""
    parts = project(gp, X)
    return sum(part_grams(gp, parts, parts)) + gp.noise * np.eye(len(X))


def condition(prior_mean, prior_cov, cross, observed_mean, observed_cov, y):
    """Return mean and covariance given y; [rasmussen2006] Eq. (A.6)."""
    gain = np.linalg.solve(observed_cov, cross.T).T
    return prior_mean + gain @ (y - observed_mean), prior_cov - gain @ cross.T


def posterior_of_parts(gp, X, y, Z):
    """Return the joint mean (ΣB_m,) and covariance of all parts at all candidates."""
    sizes = [len(Zm) for Zm in Z]
    edges = np.concatenate([[0], np.cumsum(sizes)])
    prior = np.zeros((edges[-1], edges[-1]))
    for m, block in enumerate(part_grams(gp, Z, Z)):
        prior[edges[m] : edges[m + 1], edges[m] : edges[m + 1]] = block
    cross = np.vstack(part_grams(gp, Z, project(gp, X)))
    return condition(
        np.zeros(edges[-1]), prior, cross, gp.mean, observed_covariance(gp, X), y
    )


def posterior_of_sum(gp, X, y, X_new):
    """Return mean and covariance of f = c + Σ_m f_m at new points."""
    new, old = project(gp, X_new), project(gp, X)
    prior = sum(part_grams(gp, new, new))
    cross = sum(part_grams(gp, new, old))
    mean = np.full(len(X_new), gp.mean)
    return condition(mean, prior, cross, gp.mean, observed_covariance(gp, X), y)


def leave_one_out(gp, X, y):
    """Return mean and variance of each observation given all others, by deleting it."""
    means, variances = [], []
    for i in range(len(X)):
        rest = np.arange(len(X)) != i
        mean, cov = posterior_of_sum(gp, X[rest], y[rest], X[i : i + 1])
        means.append(mean[0])
        variances.append(cov[0, 0] + gp.noise)
    return np.array(means), np.array(variances)


def recursion_covariance(gp, X, Z, i, *, printed):
    """Return the covariance of part i in the recursion of the paper.

    As printed, the residual's covariance is a sum over the parts *before* i; it must
    be the sum over the parts from i on.
    """
    parts = project(gp, X)
    K = part_grams(gp, parts, parts)
    residual = sum(K[:i] if printed else K[i:]) + gp.noise * np.eye(len(X))
    points = [np.vstack([Zm, Xm]) for Zm, Xm in zip(Z, parts, strict=True)]
    prior = part_grams(gp, points, points)[i]
    cross = part_grams(gp, points, parts)[i]
    return prior - cross @ np.linalg.solve(residual, cross.T)


# ---------------------------------------------------------------------- evidence
def log_likelihood(gp, X, y):
    """Return log N(y; c, ΣK + τ²I)."""
    K = observed_covariance(gp, X)
    residual = y - gp.mean
    _, log_determinant = np.linalg.slogdet(K)
    quadratic = residual @ np.linalg.solve(K, residual)
    return -0.5 * (quadratic + log_determinant + len(y) * np.log(2 * np.pi))


def log_likelihood_gradient(name, groups, X, residual, theta):
    """Return the gradient in (log ℓ of each group in turn, log variances, log noise).

    [rasmussen2006] Eq. (5.9) with ∂K by a complex step, exact to rounding.
    """
    cuts = np.cumsum([len(group) for group in groups])

    def covariance(theta):
        values = np.exp(theta)
        total = values[-1] * np.eye(len(X))
        for m, group in enumerate(groups):
            l = values[cuts[m] - len(group) : cuts[m]]
            Xm = X[:, list(group)]
            total = total + gram(name, l, values[cuts[-1] + m], Xm, Xm)
        return total

    K_inverse = np.linalg.inv(covariance(theta))
    alpha = K_inverse @ residual
    out = np.empty(len(theta))
    for j in range(len(theta)):
        step = np.zeros(len(theta), dtype=complex)
        step[j] = 1e-30j
        slope = covariance(theta + step).imag / 1e-30
        out[j] = 0.5 * np.trace((np.outer(alpha, alpha) - K_inverse) @ slope)
    return out


def log_prior(x, mode, sd):
    """Return the log density of log x ~ N(log mode, sd²), without its constant."""
    return np.sum(-((np.log(x) - np.log(mode)) ** 2) / (2 * sd**2))


def generalised_least_squares_mean(K, y):
    """Return the constant that maximises the likelihood under covariance K."""
    ones = np.ones(len(y))
    return ones @ np.linalg.solve(K, y) / (ones @ np.linalg.solve(K, ones))


# ---------------------------------------------------------------------- calculus
def finite_difference(
    f: Callable[[np.ndarray], np.ndarray], x: np.ndarray, step: float = 1e-6
) -> np.ndarray:
    """Return ∂f/∂x by central differences, the derivative's index last."""
    slopes = []
    for j in range(len(x)):
        e = np.zeros(len(x))
        e[j] = step
        slopes.append((np.asarray(f(x + e)) - np.asarray(f(x - e))) / (2 * step))
    return np.stack(slopes, axis=-1)


# ---------------------------------------------------------------------- projections
def posterior_of_projections(gp, X, y, X_new, points):
    """Return mean and variance of the sum where some parts are seen through points.

    Part m of ``points`` has the kernel K(A, G) K(G, G)⁻¹ K(G, B); the variance that
    it loses at the data is noise there.
    """
    rows = zip(
        lengthscales_of(gp), gp.variances, project(gp, X), project(gp, X_new),
        strict=True,
    )  # fmt: skip
    n = len(X)
    total, lost = 0.0, np.zeros(n)
    for m, (l, v, Xm, Zm) in enumerate(rows):
        A = np.vstack([Xm, Zm])
        K = gram(gp.kernel, l, v, A, A)
        if m in points:
            cross = gram(gp.kernel, l, v, A, points[m])
            inner = gram(gp.kernel, l, v, points[m], points[m])
            Q = cross @ np.linalg.solve(inner, cross.T)
            lost += (K - Q).diagonal()[:n]
            K = Q
        total = total + K
    observed = total[:n, :n] + np.diag(gp.noise + lost)
    mean, cov = condition(
        np.full(len(X_new), gp.mean), total[n:, n:], total[n:, :n], gp.mean, observed, y
    )
    return mean, cov.diagonal()
