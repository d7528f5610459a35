"""The paper's recursion, corrected: parts one after the other, given the residual."""

import numpy as np

from sumbo.gp import SAMPLERS, Posterior
from sumbo.linalg import cho_solve, cholesky, times_lower
from sumbo.typing import Float, ndarray


@SAMPLERS.register("sequential")
def sample_sequential(
    rng: np.random.Generator,
    post: Posterior,
    Z: list[Float[ndarray, "..."]],
    n: int,
    workers: int = 1,
) -> list[Float[ndarray, "..."]]:
    """Return n exact joint draws, part i given y − Σ_{j<i} f_j(X).

    Deviation from [wycoff2025] Alg. 2: the residual still holds f_i, …, f_M and the
    noise, so its covariance is the tail sum ``K̃_i = Σ_{j≥i} K_j + τ²I``; the printed
    head sum makes the conditional covariance indefinite.
    """
    del workers
    groups = list(post.groups())
    noise = np.diag(post.solver.noise)
    tails = np.cumsum([k(Xm, Xm) for k, Xm in reversed(groups)], axis=0)[::-1]
    tails = tails + post.gp.constant  # a random constant is in every residual
    residual = np.repeat((post.y - post.gp.mean)[:, None], n, axis=1)
    out = []
    for (kernel, Xm), Zm, tail in zip(groups, Z, tails, strict=True):
        A = np.vstack([Zm, Xm])  # [Z_m, X_m]
        cross = kernel(Xm, A)
        K = cholesky(tail + noise, what="covariance of the residual").L
        B = cho_solve(K, cross)
        cov = kernel(A, A) - cross.T @ B
        L, _ = cholesky(
            cov, what="conditional covariance of a part", scale=kernel.variance
        )
        f = B.T @ residual + times_lower(L, rng.standard_normal((len(A), n)))
        out.append(np.ascontiguousarray(f[: len(Zm)].T))
        residual = residual - f[len(Zm) :]
    return out
