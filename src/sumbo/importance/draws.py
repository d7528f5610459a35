"""Joint draws of all parts at many places, for integrals over the whole space.

Parts at few places, and parts on one coordinate, are drawn exactly. A part of several
coordinates at more than ``MOST_DENSE`` places has a prior draw made of ``FEATURES``
random cosines and sines, which all draws share; its update by the data is exact.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from sumbo.gp import Posterior
from sumbo.gp.solvers.semiseparable import multiply_markov
from sumbo.gp.solvers.statespace import is_markov
from sumbo.linalg import one_blas_thread
from sumbo.sampling.features import features_of
from sumbo.sampling.joint import is_linear_cheaper, update
from sumbo.sampling.kronecker import part_factor
from sumbo.sampling.markov import draw_markov
from sumbo.typing import Float, ndarray

# Candidates and data of a part that are drawn with a dense factor. More take seconds.
MOST_DENSE = 2000
# Random features of a part with more places: correlations are off by about 3 %.
FEATURES = 2048
# Doubles of one panel of features.
PANEL = 2**22


class _Prior(NamedTuple):
    """n prior draws of a part at the data, and what makes joint draws of them.

    ``finish(v)`` are the draws at the part's places, given the update v.
    """

    f_X: Float[ndarray, "N n"]
    finish: Callable[[Float[ndarray, "N n"]], Float[ndarray, "B n"]]
    jitter: float = 0.0


def draw_parts(
    rng: np.random.Generator, post: Posterior, Z: list[Float[ndarray, "..."]], n: int
) -> list[Float[ndarray, "..."]]:
    """Return n joint draws of every part at its places: arrays (B_m, n)."""
    with one_blas_thread():
        priors = [_prior(rng, post, m, Zm, n) for m, Zm in enumerate(Z)]
        jitters = [prior.jitter for prior in priors]
        v = update(rng, post, [prior.f_X for prior in priors], jitters)
        return [prior.finish(v) for prior in priors]


def _prior(
    rng: np.random.Generator,
    post: Posterior,
    m: int,
    Zm: Float[ndarray, "B d"],
    n: int,
) -> _Prior:
    kernel, X = post.gp.kernels[m], post.X[:, list(post.gp.groups[m])]
    A = len(Zm) + post.N
    if m in post.solver.features:
        known = post.solver.features[m]
        w = rng.standard_normal((known.at_data.shape[1], n))
        return _Prior(
            known.at_data @ w, lambda v: known.at(Zm) @ (w + known.at_data.T @ v)
        )
    if is_markov(kernel) and is_linear_cheaper(A, n):
        (f,) = draw_markov(rng, [kernel], [np.vstack([Zm, X])], n)
        return _Prior(
            f[-post.N :],
            lambda v: f[: -post.N] + multiply_markov([kernel], [Zm], [X], v)[0],
        )
    if A > MOST_DENSE:
        side = max(1.0, float(np.ptp(np.vstack([Zm, X]), axis=0).max()))
        phi = features_of(rng, kernel, FEATURES, side)
        w = rng.standard_normal((2 * len(phi.weights), n))
        return _Prior(
            phi(X) @ w,
            lambda v: np.vstack(
                [phi(B) @ w + kernel(B, X) @ v for B in _panels(Zm, len(w) + post.N)]
            ),
        )
    factor = part_factor(kernel, Zm, X)
    f_Z, f_X = factor.draw(rng.standard_normal((A, n)))
    return _Prior(f_X, lambda v: f_Z + factor.K_ZX @ v, factor.jitter)


def _panels(Z: Float[ndarray, "B d"], columns: int) -> Iterator[Float[ndarray, "b d"]]:
    rows = max(1, PANEL // columns)
    for start in range(0, len(Z), rows):
        yield Z[start : start + rows]
