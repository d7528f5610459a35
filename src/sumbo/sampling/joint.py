"""The exact joint draw by Matheron's rule, groups factorized independently.

Draw every part from its *prior* at ``[Z_m, X_m]``, then move all of them by one shared
update with the misfit to the data:

    f_m(Z_m) += K_m(Z_m, X) (Σ_j K_j + τ²I)⁻¹ (y − c − Σ_j f_j(X) − ε),  ε ~ N(0, τ²I).

Conditioning a Gaussian on a linear observation equals adding its regression on the
difference between the observation and its simulated value; [wilson2020] Eq. (11).
The distribution is that of the recursion in [wycoff2025], bilateral covariances
included, but no part waits for another, and overlapping groups need nothing special.

Matérn parts of one coordinate are Markov processes: from some size on they are drawn
and updated in linear time, by ``sampling.markov`` and ``gp.solvers.semiseparable``.
Squared-exponential parts on a product grid are drawn axis by axis, by
``sampling.kronecker``.
"""

from typing import NamedTuple

import numpy as np

from sumbo.gp import DRAWS, SAMPLERS, Posterior
from sumbo.gp.solvers.semiseparable import multiply_markov
from sumbo.gp.solvers.statespace import is_markov
from sumbo.kernels import GroupKernel
from sumbo.linalg import cholesky, parallel_map, times_lower
from sumbo.sampling.kronecker import GridCross, part_factor
from sumbo.sampling.markov import draw_markov
from sumbo.typing import Float, ndarray

# Candidates and data of a part below which its Markov form is never the cheaper one.
LEAST_POINTS = 256
# Doubles of prior draws at the data that are held at a time, where no part has a
# factor that all draws share; more draws go in turns.
MOST_VALUES = 2**24


class DensePrior(NamedTuple):
    """Prior draws of one part made with a factor, and what their update needs."""

    f_Z: Float[ndarray, "B n"]
    f_X: Float[ndarray, "N n"]
    K_ZX: Float[ndarray, "B N"] | GridCross
    jitter: float


class PriorDraws(NamedTuple):
    """Prior draws of the parts, by the number of the part.

    ``lines`` were drawn as Markov processes, candidates first, then data.
    """

    dense: dict[int, DensePrior]
    lines: dict[int, Float[ndarray, "A n"]]


@SAMPLERS.register("joint")
def sample_joint(
    rng: np.random.Generator,
    post: Posterior,
    Z: list[Float[ndarray, "..."]],
    n: int,
    workers: int = 1,
) -> list[Float[ndarray, "..."]]:
    """Return n joint draws in O(Σ_m (N + B_m)³ + N³).

    Memory is M·N·B plus one (N + B)² factor per worker: a group's factor is dropped
    once its prior draw and its cross covariance are kept. Parts that are Markov
    processes take O(N + B_m) of time and memory instead, for each draw. Draws are
    exact with the exact posterior. With an iterative one, its features stand for the
    prior of some parts, and the update is as good as its tolerance.
    """
    return sample_with_constant(rng, post, Z, n, workers)[1]


@DRAWS.register("with constant")
def sample_with_constant(
    rng: np.random.Generator,
    post: Posterior,
    Z: list[Float[ndarray, "..."]],
    n: int,
    workers: int = 1,
) -> tuple[Float[ndarray, " n"], list[Float[ndarray, "..."]]]:
    """Return the draws of ``sample_joint``, and those of the constant with them."""
    linear = linear_parts(post, Z, n)
    width = n
    if len(linear) + len(post.solver.features) == len(Z):
        width = max(1, MOST_VALUES // (post.N * len(Z)))
    turns = [
        _draw(rng, post, Z, min(width, n - start), linear, workers)
        for start in range(0, n, width)
    ]
    constant = np.concatenate([turn[0] for turn in turns])
    if len(turns) == 1:
        return constant, [np.ascontiguousarray(f.T) for f in turns[0][1]]
    parts = [turn[1] for turn in turns]
    return constant, [np.hstack(fs).T for fs in zip(*parts, strict=True)]


def _draw(
    rng: np.random.Generator,
    post: Posterior,
    Z: list[Float[ndarray, "..."]],
    n: int,
    linear: list[int],
    workers: int,
) -> tuple[Float[ndarray, " n"], list[Float[ndarray, "..."]]]:
    """Return n joint draws of the constant, and of the parts, arrays (B_m, n).

    The parts ``linear`` are drawn as processes.
    """
    groups = list(post.groups())
    features = post.solver.features
    prior = draw_prior(rng, post, Z, n, linear, workers)
    w = {
        m: rng.standard_normal((phi.at_data.shape[1], n)) for m, phi in features.items()
    }
    f_X = [part.f_X for part in prior.dense.values()]
    f_X += [f[-post.N :] for f in prior.lines.values()]
    f_X += [phi.at_data @ w[m] for m, phi in features.items()]
    constant = draw_constant(rng, post, f_X[0])
    jitters = [part.jitter for part in prior.dense.values()]
    v = update(rng, post, f_X, jitters, constant)

    moved = parallel_map(
        lambda part: part.f_Z + part.K_ZX @ v, list(prior.dense.values()), workers
    )
    out: dict[int, Float[ndarray, "B n"]] = dict(zip(prior.dense, moved, strict=True))
    moves = multiply_markov(
        [groups[m][0] for m in linear],
        [Z[m] for m in linear],
        [groups[m][1] for m in linear],
        v,
    )
    for (m, f), move in zip(prior.lines.items(), moves, strict=True):
        out[m] = f[: -post.N] + move
    for m, phi in features.items():
        out[m] = phi.at(Z[m]) @ (w[m] + phi.at_data.T @ v)
    drawn = [out[m] for m in range(len(groups))]
    return moved_constant(post, constant, v), drawn


def draw_prior(
    rng: np.random.Generator,
    post: Posterior,
    Z: list[Float[ndarray, "..."]],
    n: int,
    linear: list[int],
    workers: int = 1,
) -> PriorDraws:
    """Return n prior draws of every part that has no features."""
    groups = list(post.groups())
    other = {*linear, *post.solver.features}
    dense = [m for m in range(len(groups)) if m not in other]
    noises = [rng.standard_normal((len(Z[m]) + post.N, n)) for m in dense]

    def draw(job: tuple) -> DensePrior:
        m, xi = job
        kernel, Xm = groups[m]
        factor = part_factor(kernel, Z[m], Xm)
        return DensePrior(*factor.draw(xi), factor.K_ZX, factor.jitter)

    priors = parallel_map(draw, list(zip(dense, noises, strict=True)), workers)
    kernels = [groups[m][0] for m in linear]
    A = [np.vstack([Z[m], groups[m][1]]) for m in linear]
    lines = draw_markov(rng, kernels, A, n)
    return PriorDraws(
        dict(zip(dense, priors, strict=True)), dict(zip(linear, lines, strict=True))
    )


def linear_parts(post: Posterior, Z: list[Float[ndarray, "..."]], n: int) -> list[int]:
    """Return the parts that are better drawn as Markov processes."""
    features = post.solver.features
    return [
        m
        for m, (kernel, _) in enumerate(post.groups())
        if m not in features
        and is_markov(kernel)
        and is_linear_cheaper(len(Z[m]) + post.N, n)
    ]


def is_linear_cheaper(points: int, n: int) -> bool:
    """Return whether a Markov part at so many points is better drawn in linear time.

    Nanoseconds per point, as measured: kernel values, products with the factor and
    its making on one side, the recursion's share per part and per draw on the other.
    The dense draw wins where many draws share one factor.
    """
    dense = points * (4.0 + 0.1 * n) + 0.022 * points**2
    return points >= LEAST_POINTS and dense > 300.0 + 110.0 * n


def update(
    rng: np.random.Generator,
    post: Posterior,
    f_X: list[Float[ndarray, "N n"]],
    jitters: list[float],
    constant: Float[ndarray, " n"] | None = None,
) -> Float[ndarray, "N n"]:
    """Return (ΣK + τ²I)⁻¹ (y − c − Σ f_j(X) − ε) for prior draws at the data.

    The jitter that the prior factors needed is already noise at the data: it is
    taken out of the variance of ε, so that it does not widen the draws. ``constant``
    are the prior draws of a random constant, drawn here if they are not given.
    """
    variances = np.maximum(post.solver.noise - sum(jitters), 0.0)
    noise = rng.standard_normal(f_X[0].shape)
    misfit = (post.y - post.gp.mean)[:, None] - np.sqrt(variances)[:, None] * noise
    for f in f_X:
        misfit -= f
    if post.gp.constant:
        misfit -= draw_constant(rng, post, misfit) if constant is None else constant
    return post.solve(misfit)


def draw_constant(
    rng: np.random.Generator, post: Posterior, like: Float[ndarray, "N n"]
) -> Float[ndarray, " n"]:
    """Return prior draws of the random constant, less ``gp.mean``."""
    n = like.shape[1]
    if not post.gp.constant:
        return np.zeros(n)
    return np.sqrt(post.gp.constant) * rng.standard_normal(n)


def moved_constant(
    post: Posterior, before: Float[ndarray, " n"], v: Float[ndarray, "N n"]
) -> Float[ndarray, " n"]:
    """Return joint draws of the constant, from prior draws and the update."""
    return post.gp.mean + before + post.gp.constant * v.sum(axis=0)


def update_alone(
    rng: np.random.Generator,
    post: Posterior,
    kernel: GroupKernel,
    Xm: Float[ndarray, "N d"],
    f_X: Float[ndarray, "N n"],
) -> Float[ndarray, "N n"]:
    """Return the same for one part that has its own simulation of all others.

    The draw of the part then has the exact marginal distribution and is independent of
    the draws of other parts.
    """
    L, _ = cholesky(
        post.covariance - kernel(Xm, Xm),
        what="covariance of the other parts",
        scale=float(post.gp.variances.sum()),
    )
    g_X = times_lower(L, rng.standard_normal(f_X.shape))
    return post.solve((post.y - post.gp.mean)[:, None] - f_X - g_X)
