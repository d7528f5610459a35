"""Draws of the sum at whole points, without a matrix of points by points.

Matheron's rule of ``sampling.joint`` needs a prior draw of every part at its own
*distinct* places, and products of kernel matrices with vectors. How the prior of a part
is drawn depends on how many places there are:

- up to ``MOST_DENSE``: with a dense factor, exactly;
- Matérn parts of one coordinate: as Markov processes in linear time, exactly;
- squared-exponential parts of one or two coordinates: with quadrature features,
  exactly to 1e-8 of the variance;
- other parts: with random frequencies ω_j from the spectral density,

      f(z) = √(v/F) Σ_j a_j cos(ω_j·z − ψ_j),

  new ones for every draw. Averaged over the frequencies the covariance is v k exactly,
  and the update by the data is linear: mean and covariance of the draws are exact. The
  joint distribution is a mixture of normal distributions, whose covariances differ from
  v k by O(F^-½).
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from sumbo.gp import DRAWS, Posterior
from sumbo.gp.solvers.semiseparable import multiply_markov
from sumbo.gp.solvers.statespace import is_markov
from sumbo.kernels import GroupKernel
from sumbo.linalg import cholesky, times_lower
from sumbo.sampling.factors import LADDER
from sumbo.sampling.features import CentredFeatures, features_of
from sumbo.sampling.joint import (
    draw_constant,
    is_linear_cheaper,
    update,
    update_alone,
)
from sumbo.sampling.markov import draw_markov
from sumbo.typing import Float, Int, ndarray

# Distinct places of a part up to which it is drawn with a dense factor. More take
# seconds: the cost grows with their cube.
MOST_DENSE = 1500
# Random frequencies that all parts with more places share, and those of one at least.
FREQUENCIES, FEWEST = 512, 64
# Doubles of draws, and of cosines or covariances, that are held at a time.
MOST_VALUES = 2**24
PANEL = 2**20

# K(X_new, X) v of the sum, from v (N, n) to (b, n).
Product = Callable[[Float[ndarray, "N n"]], Float[ndarray, "b n"]]


class Places(NamedTuple):
    """Where a part is evaluated: its distinct places, and which one each row has.

    The rows are the new points, then the observed ones.
    """

    A: Float[ndarray, "A d"]
    which: Int[ndarray, " r"]

    @classmethod
    def of(cls, rows: Float[ndarray, "r d"]) -> "Places":
        """Return the distinct rows."""
        rows = rows + 0.0  # −0.0 and 0.0 are the same place
        # Sorting numbers is many times faster than sorting rows. Different rows have
        # the same number by accident only, and then rows are sorted.
        key = rows @ np.sqrt(2.0 + np.arange(rows.shape[1]))
        _, first, which = np.unique(key, return_index=True, return_inverse=True)
        found = rows[first]
        if not np.array_equal(found[which], rows):
            found, which = np.unique(rows, axis=0, return_inverse=True)
        return cls(found, which.reshape(-1))


@DRAWS.register("sum")
def sample_sum(
    rng: np.random.Generator,
    post: Posterior,
    X: Float[ndarray, "b P"],
    n: int,
    product: Product | None = None,
) -> Float[ndarray, "n b"]:
    """Return n joint draws of f = c + Σ_m f_m at points; the file's head says how.

    Equal rows have equal values, to rounding. Memory is linear in the number of rows.
    ``product`` is given by who knows the products with the kernel already.
    """
    rows, B = np.vstack([X, post.X]), len(X)
    out = np.empty((n, B))
    for some in _turns(out):
        total = np.zeros((len(rows), len(some)))
        jitters = []
        for f, places, jitter in _prior_draws(rng, post, rows, len(some)):
            total += f[places.which]
            jitters.append(jitter)
        constant = draw_constant(rng, post, total[B:])
        v = update(rng, post, [total[B:]], jitters, constant)
        moved = product(v) if product else _times_kernel(post, X, v)
        some[:] = (post.gp.mean + constant + total[:B] + moved).T
    return out


def sample_sum_marginal(
    rng: np.random.Generator,
    post: Posterior,
    X: Float[ndarray, "b P"],
    n: int,
    product: Product | None = None,
) -> Float[ndarray, "n b"]:
    """Return the sums of n *independent* draws of the parts: [wycoff2025] Alg. 1.

    Their variance at a point is Σ_m σ_m², not that of the sum. Needs the exact solver.
    """
    del product  # of the sum: parts have their own updates
    rows, B = np.vstack([X, post.X]), len(X)
    out = np.empty((n, B))
    mean, variance = post.constant()
    for some in _turns(out):
        constant = np.full(len(some), mean)
        if variance:
            constant += np.sqrt(variance) * rng.standard_normal(len(some))
        total = np.tile(constant, (B, 1))
        drawn = _prior_draws(rng, post, rows, len(some))
        for m, (f, places, _) in enumerate(drawn):
            kernel, group = post.gp.kernels[m], list(post.gp.groups[m])
            values = f[places.which]
            v = update_alone(rng, post, kernel, post.X[:, group], values[B:])
            total += values[:B] + times_part(post, m, X[:, group], v)
        some[:] = total.T
    return out


def _turns(out: Float[ndarray, "n b"]) -> Iterator[Float[ndarray, "k b"]]:
    """Yield the rows of ``out``, as many at a time as memory allows."""
    width = max(1, MOST_VALUES // max(1, out.shape[1]))
    for start in range(0, len(out), width):
        yield out[start : start + width]


def _prior_draws(
    rng: np.random.Generator, post: Posterior, rows: Float[ndarray, "r P"], n: int
) -> Iterator[tuple[Float[ndarray, "A n"], Places, float]]:
    """Yield n prior draws of each part, its places, and the jitter that was added."""
    each = [Places.of(rows[:, list(group)]) for group in post.gp.groups]
    features = post.solver.features
    wide = [
        m
        for m, kernel in enumerate(post.gp.kernels)
        if len(each[m].A) > MOST_DENSE and not is_markov(kernel) and m not in features
    ]
    count = max(FEWEST, FREQUENCIES // max(1, len(wide)))
    for m, (kernel, places) in enumerate(zip(post.gp.kernels, each, strict=True)):
        A = places.A
        if m in features:
            w = rng.standard_normal((features[m].at_data.shape[1], n))
            yield features[m].at(A) @ w, places, 0.0
        elif m in wide:
            span = max(1.0, float(np.ptp(A, axis=0).max()))
            yield draw_waves(rng, kernel, A, n, count, span), places, 0.0
        elif is_markov(kernel) and is_linear_cheaper(len(A), n):
            yield draw_markov(rng, [kernel], [A], n)[0], places, 0.0
        else:
            L, jitter = cholesky(
                kernel.lower(A),
                ladder=LADDER,
                what="prior covariance of the points",
                scale=kernel.variance,
            )
            yield times_lower(L, rng.standard_normal((len(A), n))), places, jitter


def draw_waves(
    rng: np.random.Generator,
    kernel: GroupKernel,
    Z: Float[ndarray, "B d"],
    n: int,
    count: int,
    span: float = 1.0,
) -> Float[ndarray, "B n"]:
    """Return n prior draws as sums of cosines, each with ``count`` frequencies.

    ``features_of`` says which frequencies; ``span`` is the side of the box.
    """
    out = np.empty((len(Z), n))
    for i in range(n):
        phi = features_of(rng, kernel, 2 * count, span)
        if isinstance(phi, CentredFeatures):
            w = rng.standard_normal(2 * len(phi.weights))
            for some in _panels(len(Z), len(w)):
                out[some, i] = phi(Z[some]) @ w
            continue
        # w_1 cos(p) + w_2 sin(p) = a cos(p − ψ): one cosine instead of two functions.
        w = rng.standard_normal((2, len(phi.weights)))
        a, psi = np.sqrt(phi.weights) * np.hypot(*w), np.arctan2(w[1], w[0])
        for some in _panels(len(Z), len(a)):
            phase = Z[some] @ phi.frequencies.T
            phase -= psi
            out[some, i] = np.cos(phase, out=phase) @ a
    return out


def _times_kernel(
    post: Posterior, X: Float[ndarray, "b P"], v: Float[ndarray, "N n"]
) -> Float[ndarray, "b n"]:
    """Return Σ_m K_m(X_new, X) v."""
    out = np.zeros((len(X), v.shape[1]))
    for m, group in enumerate(post.gp.groups):
        out += times_part(post, m, X[:, list(group)], v)
    return out + post.gp.constant * v.sum(axis=0) if post.gp.constant else out


def times_part(
    post: Posterior, m: int, Z: Float[ndarray, "b d"], v: Float[ndarray, "N n"]
) -> Float[ndarray, "b n"]:
    """Return K_m(Z, X) v, in linear time where the part is a Markov process."""
    kernel, Xm = post.gp.kernels[m], post.X[:, list(post.gp.groups[m])]
    markov = is_markov(kernel) and m not in post.solver.features
    if markov and is_linear_cheaper(len(Z) + post.N, v.shape[1]):
        return multiply_markov([kernel], [Z], [Xm], v)[0]
    panels = _panels(len(Z), post.N)
    return np.vstack([post.solver.products([m], [Z[some]], v)[0] for some in panels])


def _panels(rows: int, columns: int) -> Iterator[slice]:
    """Yield slices of rows of a matrix, so that each takes ``PANEL`` doubles."""
    width = max(1, PANEL // columns)
    for start in range(0, rows, width):
        yield slice(start, start + width)
