"""The additive approximation: every part from its own marginal posterior."""

import numpy as np

from sumbo.gp import SAMPLERS, Posterior
from sumbo.gp.solvers.semiseparable import multiply_markov
from sumbo.linalg import cholesky, parallel_map, solve_lower, times_lower
from sumbo.sampling.joint import draw_prior, linear_parts, update_alone
from sumbo.sampling.markov import draw_markov
from sumbo.typing import Float, ndarray


@SAMPLERS.register("marginal")
def sample_marginal(
    rng: np.random.Generator,
    post: Posterior,
    Z: list[Float[ndarray, "..."]],
    n: int,
    workers: int = 1,
) -> list[Float[ndarray, "..."]]:
    """Return n draws from the marginal posterior of each part, parts independent.

    [wycoff2025] Alg. 1: bilateral covariances are ignored. A part costs O(B_m³ + N³);
    one that is a Markov process, at more candidates than data, O(N³ + B_m).
    """
    linear = [m for m in linear_parts(post, Z, n) if len(Z[m]) >= post.N]
    dense = [m for m in range(len(Z)) if m not in set(linear)]
    groups = list(post.groups())
    jobs = [(groups[m], Z[m], rng.standard_normal((len(Z[m]), n))) for m in dense]

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

    out = dict(zip(dense, parallel_map(draw, jobs, workers), strict=True))
    kernels = [groups[m][0] for m in linear]
    f_A = draw_markov(
        rng, kernels, [np.vstack([Z[m], groups[m][1]]) for m in linear], n
    )
    for m, kernel, f in zip(linear, kernels, f_A, strict=True):
        X = groups[m][1]
        v = update_alone(rng, post, kernel, X, f[-post.N :])
        (move,) = multiply_markov([kernel], [Z[m]], [X], v)
        out[m] = np.ascontiguousarray((f[: -post.N] + move).T)
    return [out[m] for m in range(len(Z))]


def sample_marginal_paired(
    rng: np.random.Generator,
    post: Posterior,
    Z: list[Float[ndarray, "..."]],
    n: int,
    workers: int = 1,
) -> list[Float[ndarray, "..."]]:
    """Return n draws with the distribution of ``sample_marginal``.

    They start from the prior draws that ``sample_joint`` makes with the same generator:
    the two differ only in how the other parts enter. Each part is moved by Matheron's
    rule with its own simulation of all other parts at the data. A part
    costs O((N + B_m)³), or O(N³ + N B_m) as a Markov process.
    """
    prior = draw_prior(rng, post, Z, n, linear_parts(post, Z, n), workers)
    out = []
    for m, (kernel, X) in enumerate(post.groups()):
        if m in prior.dense:
            f_Z, f_X, K_ZX, _ = prior.dense[m]
        else:
            f_Z, f_X = np.split(prior.lines[m], [len(Z[m])])
            K_ZX = kernel(Z[m], X)
        v = update_alone(rng, post, kernel, X, f_X)
        out.append(np.ascontiguousarray((f_Z + K_ZX @ v).T))
    return out
