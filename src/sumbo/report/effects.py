"""Average effects: what a parameter does while all others vary.

The effect of parameter k is E[f(x) | x_k] − E f(x), with the others as in a sample of
the search space. It is a linear functional of f, so its posterior is normal; parts
without the parameter drop out of the difference. The band holds the *whole* curve with
95 % probability: mean ± c·sd, where c is the quantile of the largest standardised
deviation of joint draws.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import qmc

from sumbo.gp import Posterior
from sumbo.linalg import one_blas_thread, solve_lower
from sumbo.report.lines import Axis, allowed, axis_of, encoded, moved
from sumbo.report.units import Band, mixed
from sumbo.space import Space
from sumbo.surrogate import Surrogate
from sumbo.typing import Bool, Float, ndarray

LEVEL = 0.95
# Points over which the other parameters are averaged, and values of the parameter.
BASE, GRID = 16, 25
DRAWS = 400


@dataclass(frozen=True, kw_only=True, eq=False)
class Effect:
    """The average effect of a parameter.

    Attributes:
        axis: The values of the parameter.
        band: The effect with its joint band, in the user's units if these are linear
            in the model's, else on the scale of the transform.
    """

    axis: Axis
    band: Band


def base_points(space: Space, count: int = BASE) -> Float[ndarray, "b K"]:
    """Return points that represent the search space, as plain numbers."""
    rng = np.random.default_rng(0)  # fixed: a report of the same run is the same
    if space.region is not None:
        U = space.region.draw(rng, count)
    else:
        U = qmc.Sobol(space.dim, rng=rng).random(count)
    return space.numbers(space.decode(U))


def effect_of(
    surrogate: Surrogate,
    space: Space,
    k: int,
    base: Float[ndarray, "b K"],
    scale: float = 1.0,
) -> Effect:
    """Return the average effect of parameter k."""
    axis = axis_of(space, k, GRID)
    numbers, inside = moved(space, base, k, axis.values)
    U = encoded(space, numbers)
    good = allowed(space, U, inside).reshape(len(axis.values), len(base))
    # Where no base point is allowed, all of them stand in.
    good[~good.any(axis=1)] = True
    each, reach = [], 0.0
    for post, weight in zip(surrogate.posteriors, surrogate.weights, strict=True):
        mean, cov = _functional(post, space, k, U, good)
        each.append((mean, cov.diagonal()))
        if weight >= 0.05 * surrogate.weights.max():
            reach = max(reach, joint_reach(cov))
    mean, sd = mixed(surrogate.weights, each)
    mean, half = scale * mean, abs(scale) * reach * sd
    return Effect(axis=axis, band=Band(mid=mean, low=mean - half, high=mean + half))


def joint_reach(cov: Float[ndarray, "G G"]) -> float:
    """Return how many standard deviations a band needs to hold the whole curve."""
    sd = np.sqrt(np.maximum(cov.diagonal(), 0.0))
    known = sd > 1e-9 * max(1e-300, float(sd.max()))
    if not known.any():
        return 0.0
    values, vectors = np.linalg.eigh(cov)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    draws = np.random.default_rng(1).standard_normal((DRAWS, len(sd))) @ root.T
    largest = np.max(np.abs(draws[:, known]) / sd[known], axis=1)
    return float(np.quantile(largest, LEVEL))


def _functional(
    post: Posterior,
    space: Space,
    k: int,
    U: Float[ndarray, "n P"],
    good: Bool[ndarray, "G b"],
) -> tuple[Float[ndarray, " G"], Float[ndarray, "G G"]]:
    """Return mean and covariance of the centred averages over the base points."""
    G, b = good.shape
    share = good / good.sum(axis=1, keepdims=True)
    block = set(space.blocks[k])
    # Other coordinates change too where an equation couples them.
    coupled = space.region is not None
    cross, prior = np.zeros((post.N, G)), np.zeros((G, G))
    for (kernel, Xm), group in zip(post.groups(), post.gp.groups, strict=True):
        if not (coupled or block & set(group)):
            continue
        Z = U[:, group]
        if block >= set(group) and not coupled:
            one = Z[::b]  # the same at all base points
            cross += kernel(Xm, one)
            prior += kernel(one, one)
            continue
        cross += np.einsum("ngb,gb->ng", kernel(Xm, Z).reshape(-1, G, b), share)
        K = kernel(Z, Z).reshape(G, b, G, b)
        prior += np.einsum("gbhc,gb,hc->gh", K, share, share, optimize=True)
    cross -= cross.mean(axis=1, keepdims=True)
    prior -= prior.mean(axis=0)
    prior -= prior.mean(axis=1, keepdims=True)
    with one_blas_thread():
        V = solve_lower(post.L, cross)
        return cross.T @ post.alpha, prior - V.T @ V


def effects_of(
    surrogate: Surrogate, space: Space, rows: Any, scale: float = 1.0
) -> list[Effect]:
    """Return the average effects of some parameters, given by number."""
    base = base_points(space)
    return [effect_of(surrogate, space, int(k), base, scale) for k in rows]
