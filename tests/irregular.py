"""Random irregular settings: unequal groups and candidate sets, shared coordinates."""

from dataclasses import dataclass

import numpy as np

import reference
from sumbo import AdditiveGP

KERNELS = ("rbf", "matern12", "matern32", "matern52")


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A model with data drawn from it and candidates for every part."""

    gp: AdditiveGP
    X: np.ndarray
    y: np.ndarray
    Z: list[np.ndarray]

    @property
    def post(self):
        return self.gp.condition(self.X, self.y)

    @property
    def exact(self):
        """Return the dense mean and covariance of all parts at all candidates."""
        return reference.posterior_of_parts(self.gp, self.X, self.y, self.Z)

    @property
    def scale(self):
        """Return the prior variance of the sum."""
        return float(self.gp.variances.sum())


def frozen(A):
    """Return a read-only copy: a function that writes into its argument fails."""
    A = np.array(A, dtype=float)
    A.setflags(write=False)
    return A


def random_groups(rng, M):
    """Return M groups of 1, 2 or 3 coordinates that cover, and often overlap by one."""
    sizes = rng.integers(1, 4, size=M)
    windows, end = [], 0
    for size in sizes:
        start = end - (1 if end and rng.random() < 0.4 else 0)
        windows.append(range(start, start + int(size)))
        end = max(end, start + int(size))
    order = rng.permutation(end)
    return tuple(tuple(int(order[p]) for p in window) for window in windows)


def random_gp(rng, groups, kernel="matern52", noise=1e-2, shared=None):
    """Return a model with uneven parameters; length-scales shared or per group."""
    dim = 1 + max(p for group in groups for p in group)
    shared = rng.random() < 0.5 if shared is None else shared
    lengthscales = (
        rng.uniform(0.17, 0.83, dim)
        if shared
        else [rng.uniform(0.17, 0.83, len(group)) for group in groups]
    )
    return AdditiveGP(
        groups=groups,
        kernel=kernel,
        lengthscales=lengthscales,
        variances=np.exp(rng.uniform(-1.2, 1.1, len(groups))),
        noise=noise,
        mean=float(rng.uniform(-2.3, 3.1)),
    )


def draw_outputs(rng, gp, X):
    """Return one draw of y from the model's prior."""
    K = reference.observed_covariance(gp, X) + 1e-10 * np.eye(len(X))
    return gp.mean + np.linalg.cholesky(K) @ rng.standard_normal(len(X))


def random_setting(
    rng, *, M=None, kernel=None, noise=None, N=None, most=6, shared=None
):
    """Return a setting; what is not given is drawn."""
    M = int(rng.integers(2, 13)) if M is None else M
    N = int(rng.integers(4, 15)) if N is None else N
    kernel = str(rng.choice(KERNELS)) if kernel is None else kernel
    noise = 10.0 ** rng.uniform(-6, 0) if noise is None else noise
    gp = random_gp(rng, random_groups(rng, M), kernel, noise, shared)
    X = rng.beta(0.8, 1.3, (N, gp.dim))
    y = draw_outputs(rng, gp, X)
    Z = [
        frozen(rng.uniform(-0.07, 1.11, (int(rng.integers(1, most + 1)), len(group))))
        for group in gp.groups
    ]
    return Setting(gp=gp, X=frozen(X), y=frozen(y), Z=Z)


def with_coincidences(s):
    """Return candidates that hold all data points, one of them twice, and others."""
    parts = reference.project(s.gp, s.X)
    return [np.vstack([A, A[:1], z]) for A, z in zip(parts, s.Z, strict=True)]


def block_diagonal(s):
    """Return the exact covariance with the blocks between parts set to zero."""
    _, cov = s.exact
    part = np.repeat(np.arange(len(s.Z)), [len(Zm) for Zm in s.Z])
    return np.where(part[:, None] == part, cov, 0.0)
