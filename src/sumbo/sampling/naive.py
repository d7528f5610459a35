"""The textbook draw: one Cholesky factor of the whole ΣB_m × ΣB_m covariance."""

import numpy as np

from sumbo.gp import SAMPLERS, Posterior
from sumbo.linalg import cholesky, times_lower
from sumbo.typing import Float, ndarray


@SAMPLERS.register("naive")
def sample_naive(
    rng: np.random.Generator,
    post: Posterior,
    Z: list[Float[ndarray, "..."]],
    n: int,
    workers: int = 1,
) -> list[Float[ndarray, "..."]]:
    """Return n exact joint draws in O((ΣB_m)³); the oracle of the fast samplers."""
    del workers
    mean = np.concatenate([part.mean for part in post.parts(Z)])
    L, _ = cholesky(
        post.joint_covariance(Z),
        what="joint posterior covariance",
        scale=float(post.gp.variances.mean()),
    )
    values = mean[:, None] + times_lower(L, rng.standard_normal((len(mean), n)))
    cuts = np.cumsum([len(Zm) for Zm in Z])[:-1]
    return [np.ascontiguousarray(f.T) for f in np.split(values, cuts)]
