"""The exact joint draw by Matheron's rule, groups factorized independently.

Draw every part from its *prior* at ``[Z_m, X_m]``, then move all of them by one shared
update with the misfit to the data:

    f_m(Z_m) += K_m(Z_m, X) (Σ_j K_j + τ²I)⁻¹ (y − c − Σ_j f_j(X) − ε),  ε ~ N(0, τ²I).

Conditioning a Gaussian on a linear observation equals adding its regression on the
difference between the observation and its simulated value; [wilson2020] Eq. (11).
The law is that of the recursion in [wycoff2025], bilateral covariances included, but
no part waits for another, and overlapping groups need nothing special.
"""

from typing import NamedTuple

import numpy as np

from sumbo.gp import SAMPLERS, Posterior
from sumbo.kernels import GroupKernel
from sumbo.linalg import cho_solve, parallel_map, times_lower
from sumbo.sampling.factors import prior_factor
from sumbo.typing import Float, ndarray


class Prior(NamedTuple):
    """One part drawn from its prior at its candidates and at the data."""

    f_Z: Float[ndarray, "B n"]
    f_X: Float[ndarray, "N n"]
    K_XZ: Float[ndarray, "N B"]
    jitter: float


@SAMPLERS.register("joint")
def sample_joint(
    rng: np.random.Generator,
    post: Posterior,
    Z: list[Float[ndarray, "..."]],
    n: int,
    workers: int = 1,
) -> list[Float[ndarray, "..."]]:
    """Return n exact joint draws in O(Σ_m (N + B_m)³ + N³).

    Memory is M·N·B plus one (N + B)² factor per worker: a group's factor is dropped
    once its prior draw and its cross covariance are kept.
    """
    N = post.N
    noises = [rng.standard_normal((len(Zm) + N, n)) for Zm in Z]
    jobs = list(zip(post.groups(), Z, noises, strict=True))

    def draw(job: tuple) -> Prior:
        (kernel, Xm), Zm, xi = job
        return draw_prior(kernel, Xm, Zm, xi)

    priors = parallel_map(draw, jobs, workers)
    misfit = (post.y - post.gp.mean)[:, None] - sum(p.f_X for p in priors)
    misfit -= simulated_noise(rng, post, n, sum(p.jitter for p in priors))
    v = cho_solve(post.L, misfit)
    return [np.ascontiguousarray((p.f_Z + p.K_XZ.T @ v).T) for p in priors]


def draw_prior(
    kernel: GroupKernel,
    Xm: Float[ndarray, "N d"],
    Zm: Float[ndarray, "B d"],
    xi: Float[ndarray, "A n"],
) -> Prior:
    """Return L ξ for the prior of one part at ``[Z_m, X_m]``."""
    B = len(Zm)
    factor = prior_factor(kernel, np.vstack([Zm, Xm]))
    f = times_lower(factor.L, xi)
    # Recomputing the cross block is cheaper than copying it before factorizing.
    return Prior(f[:B], f[B:], kernel(Xm, Zm), factor.jitter)


def simulated_noise(
    rng: np.random.Generator, post: Posterior, n: int, spent: float
) -> Float[ndarray, "N n"]:
    """Return noise such that prior draws plus noise have the covariance ΣK + τ²I.

    The jitter that the prior factors needed is already noise at the data: it is
    taken out of the variance here, so that it does not widen the draws.
    """
    variance = max(post.gp.noise + post.jitter - spent, 0.0)
    return np.sqrt(variance) * rng.standard_normal((post.N, n))
