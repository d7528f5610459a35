"""The additive approximation: every part from its own marginal posterior."""

import numpy as np

from sumbo.gp import SAMPLERS, Posterior
from sumbo.linalg import cholesky, parallel_map, solve_lower, times_lower
from sumbo.typing import Float, ndarray


@SAMPLERS.register("marginal")
def sample_marginal(
    rng: np.random.Generator,
    post: Posterior,
    Z: list[Float[ndarray, "..."]],
    n: int,
    workers: int = 1,
) -> list[Float[ndarray, "..."]]:
    """Return n draws with the right law of each part, parts independent.

    [wycoff2025] Alg. 1: bilateral covariances are ignored.
    """
    noises = [rng.standard_normal((len(Zm), n)) for Zm in Z]
    jobs = list(zip(post.groups(), Z, noises, strict=True))

    def draw(job: tuple) -> Float[ndarray, "n B"]:
        (kernel, Xm), Zm, xi = job
        cross = kernel(Xm, Zm)
        V = solve_lower(post.L, cross)
        C = np.zeros((len(Zm), len(Zm)), order="F")
        kernel.add_lower(Zm, C)
        C -= V.T @ V
        L, _ = cholesky(C, what="posterior covariance of a part", scale=kernel.variance)
        f = times_lower(L, xi)
        f += (cross.T @ post.alpha)[:, None]
        return np.ascontiguousarray(f.T)

    return parallel_map(draw, jobs, workers)
