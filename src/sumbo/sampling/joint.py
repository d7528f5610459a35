"""The exact joint draw by Matheron's rule, groups factorized independently.

Draw every part from its *prior* at ``[Z_m, X_m]``, then move all of them by one shared
update with the misfit to the data:

    f_m(Z_m) += K_m(Z_m, X) (Σ_j K_j + τ²I)⁻¹ (y − c − Σ_j f_j(X) − ε),  ε ~ N(0, τ²I).

Conditioning a Gaussian on a linear observation equals adding its regression on the
difference between the observation and its simulated value; [wilson2020] Eq. (11).
The law is that of the recursion in [wycoff2025], bilateral covariances included, but
no part waits for another, and overlapping groups need nothing special.
"""

import numpy as np

from sumbo.gp import SAMPLERS, Posterior
from sumbo.linalg import cho_solve, parallel_map
from sumbo.sampling.factors import PartFactor
from sumbo.typing import Float, ndarray


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
    noises = [rng.standard_normal((len(Zm) + post.N, n)) for Zm in Z]
    jobs = list(zip(post.groups(), Z, noises, strict=True))

    def draw(job: tuple) -> tuple:
        (kernel, Xm), Zm, xi = job
        factor = PartFactor.of(kernel, Zm, Xm)
        return *factor.draw(xi), factor.K_ZX, factor.jitter

    priors = parallel_map(draw, jobs, workers)
    v = update(rng, post, [f_X for _, f_X, _, _ in priors], [p[-1] for p in priors])
    return [np.ascontiguousarray((f_Z + K_ZX @ v).T) for f_Z, _, K_ZX, _ in priors]


def update(
    rng: np.random.Generator,
    post: Posterior,
    f_X: list[Float[ndarray, "N n"]],
    jitters: list[float],
) -> Float[ndarray, "N n"]:
    """Return (ΣK + τ²I)⁻¹ (y − c − Σ f_j(X) − ε) for prior draws at the data.

    The jitter that the prior factors needed is already noise at the data: it is
    taken out of the variance of ε, so that it does not widen the draws.
    """
    variance = max(post.gp.noise + post.jitter - sum(jitters), 0.0)
    noise = rng.standard_normal(f_X[0].shape)
    misfit = (post.y - post.gp.mean)[:, None] - np.sqrt(variance) * noise
    for f in f_X:
        misfit -= f
    return cho_solve(post.L, misfit)
