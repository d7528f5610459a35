"""Joint draws given very many observations: linear prior draws, iterative update."""

import numpy as np

from sumbo.gp.iterative import IterativePosterior
from sumbo.sampling.markov import draw_markov
from sumbo.typing import Float, ndarray

# Doubles of prior draws at the data that are held at a time; more draws go in turns.
MOST_VALUES = 2**24


def sample_iterative(
    rng: np.random.Generator,
    post: IterativePosterior,
    Z: list[Float[ndarray, "..."]],
    n: int,
) -> list[Float[ndarray, "..."]]:
    """Return n joint draws by Matheron's rule; see ``joint``.

    Prior draws are exact in law; the update is as good as the posterior's tolerance.
    """
    width = max(1, MOST_VALUES // (post.N * len(Z)))
    sizes = [min(width, n - start) for start in range(0, n, width)]
    draws = [_draw_some(rng, post, Z, k) for k in sizes]
    return [np.hstack(parts).T for parts in zip(*draws, strict=True)]


def _draw_some(
    rng: np.random.Generator,
    post: IterativePosterior,
    Z: list[Float[ndarray, "..."]],
    k: int,
) -> list[Float[ndarray, "..."]]:
    noise = rng.standard_normal((post.N, k))
    misfit = (post.y - post.gp.mean)[:, None] - np.sqrt(post.D)[:, None] * noise
    f_Z: dict[int, Float[ndarray, ...]] = {}
    for m, (kernel, group) in enumerate(
        zip(post.gp.kernels, post.gp.groups, strict=True)
    ):
        if m in post.inducing:
            part = post.inducing[m]
            w = rng.standard_normal((len(part.G), k))
            f_Z[m] = part(Z[m]) @ w
            misfit -= post.Phi[:, post.cuts[m]] @ w
        else:
            A = np.vstack([Z[m], post.X[:, group]])
            (f,) = draw_markov(rng, [kernel], [A], k)
            f_Z[m] = f[: len(Z[m])]
            misfit -= f[len(Z[m]) :]
    moves = post.moves(Z, post.solve(misfit))
    return [f_Z[m] + move for m, move in enumerate(moves)]
