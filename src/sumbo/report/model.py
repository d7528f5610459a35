"""What the model says: slices, a contour, how well it predicts, what it learned."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtr

from sumbo.data import Data
from sumbo.gp import Posterior
from sumbo.gp.fit import NOISY, Priors
from sumbo.report.lines import Axis, allowed, axis_of, encoded, moved
from sumbo.report.units import Band, Units, mixed, moments
from sumbo.rng import rng_at
from sumbo.space import Space
from sumbo.structure import co_membership_matrix
from sumbo.surrogate import Surrogate
from sumbo.typing import Bool, Float, Groups, Int, ndarray

SLICE, CONTOUR = 41, 25
LEVELS = (0.5, 0.8, 0.95)
# Cross-validation: folds, iterations of a fit, and values from which it is left out.
FOLDS, STEPS, FEW = 5, 40, 250
# Noise variance, in units of the variance of the values, of a model that expects noise.
LOUD = 1e-3
# Curves of calibration: nominal probabilities of central intervals.
NOMINAL = np.linspace(0.05, 0.95, 19)
# Total share below which a parameter does next to nothing.
IDLE = 0.01
# Predictive quality, as share of the variance, from which a model is called good.
GOOD, FAIR = 0.8, 0.4
# Share of values in their 95 % intervals from which intervals are worth a headline.
WORTH = 0.7


@dataclass(frozen=True, kw_only=True, eq=False)
class Slice:
    """The prediction along one parameter through a point, all others held there.

    Attributes:
        axis: The values of the parameter.
        band: Median and 95 % interval of the objective, noise aside, in user units.
        allowed: Which points meet the constraints.
        at: The value of the parameter at the point.
    """

    axis: Axis
    band: Band
    allowed: Bool[ndarray, " G"]
    at: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Contour:
    """The prediction over two parameters through a point, in the user's units."""

    x: Axis
    y: Axis
    mid: Float[ndarray, "Y X"]
    allowed: Bool[ndarray, "Y X"]
    at: tuple[float, float]
    pair: tuple[int, int]


@dataclass(frozen=True, kw_only=True, eq=False)
class Check:
    """Each value predicted by a model that was fitted without it.

    Attributes:
        folds: The number of models that were fitted, each without one fold of the
            values; 0 if the fit to all values was used.
        rows: The evaluations, by number.
        observed: Their values.
        band: Medians and 95 % intervals, noise included, in the user's units.
        levels: Probabilities where the value lies in its predictive distribution.
        explained: Share of the variance that is predicted, in model units.
        within: Fractions of values inside their central intervals of ``LEVELS``.
    """

    folds: int
    rows: Int[ndarray, " n"]
    observed: Float[ndarray, " n"]
    band: Band
    levels: Float[ndarray, " n"]
    explained: float
    within: tuple[float, ...]

    @property
    def honest(self) -> bool:
        """Whether the 95 % intervals hold as many values as they should, by chance."""
        n = len(self.rows)
        slack = 2.6 * float(np.sqrt(0.05 * 0.95 / n)) + 0.5 / n
        return self.within[-1] > 0.95 - slack

    @property
    def usable(self) -> bool:
        """Whether pictures of the model mean something."""
        return self.explained >= FAIR and self.within[-1] >= WORTH

    def coverage(self, nominal: Float[ndarray, " q"]) -> Float[ndarray, " q"]:
        """Return the fractions of values inside central intervals."""
        off = 2.0 * np.abs(self.levels - 0.5)
        return np.array([float(np.mean(off <= q)) for q in nominal])


def slice_of(
    surrogate: Surrogate,
    units: Units,
    space: Space,
    x: Float[ndarray, " K"],
    k: int,
) -> Slice:
    """Return the prediction along parameter k through the point x, plain numbers."""
    axis = axis_of(space, k, SLICE)
    numbers, inside = moved(space, x[None], k, axis.values)
    U = encoded(space, numbers)
    band = units.band(*moments(surrogate, U))
    good = allowed(space, U, inside)
    return Slice(axis=axis, band=band, allowed=good, at=float(x[k]))


def contour_of(
    surrogate: Surrogate,
    units: Units,
    space: Space,
    x: Float[ndarray, " K"],
    pair: tuple[int, int],
) -> Contour:
    """Return the prediction over two parameters through the point x."""
    i, j = pair
    across, up = (axis_of(space, k, CONTOUR) for k in pair)
    points = np.tile(x, (len(up.values) * len(across.values), 1))
    points[:, i] = np.tile(across.values, len(up.values))
    points[:, j] = np.repeat(up.values, len(across.values))
    U = encoded(space, points)
    shape = (len(up.values), len(across.values))
    good = allowed(space, U, np.ones(len(U), dtype=bool)).reshape(shape)
    mid = units.values(moments(surrogate, U)[0]).reshape(shape)
    return Contour(
        x=across,
        y=up,
        mid=mid,
        allowed=good,
        at=(float(x[i]), float(x[j])),
        pair=pair,
    )


def pair_of(
    total: Float[ndarray, " K"], together: Float[ndarray, "K K"] | None
) -> tuple[int, int]:
    """Return the most important pair, the more important parameter first.

    Pairs of parameters that act together count by the smaller of their shares; without
    such pairs the two most important parameters are taken.
    """
    order = np.argsort(-total, kind="stable")
    best = (int(order[0]), int(order[1]))
    if together is None:
        return best
    smaller = np.minimum(total[:, None], total[None])
    strength = np.triu(together * smaller, 1)
    # A pair that acts together for certain, and matters half as much, is shown first.
    if strength.max() < 0.5 * smaller[best]:
        return best
    i, j = np.unravel_index(int(strength.argmax()), strength.shape)
    first, second = sorted((int(i), int(j)), key=lambda k: -total[k])
    return first, second


def check_of(surrogate: Surrogate, units: Units, few: int = FEW) -> Check:
    """Return predictions of all values that did not fail, each without that value.

    A fit to few values can follow any of them. So with few values, hyperparameters are
    also fitted again without those that are predicted; the groups and the transform
    stay. With more than ``few`` values the fit hardly depends on one of them. The fit
    to all values may be the worse one, too; the worse of the two checks is returned.
    """
    posteriors, data = surrogate.posteriors, surrogate.data
    left_out = [post.leave_one_out() for post in posteriors]
    found = [_compared(surrogate, units, left_out, folds=0)]
    if len(data.y) <= few:
        folded = [held_out(post, data) for post in posteriors]
        found.append(_compared(surrogate, units, folded, folds=FOLDS))
    return min(found, key=lambda check: check.explained)


def _compared(
    surrogate: Surrogate,
    units: Units,
    predicted: list[tuple[Float[ndarray, " N"], Float[ndarray, " N"]]],
    *,
    folds: int,
) -> Check:
    """Return the comparison of predictions of each structure with the values."""
    rows = np.flatnonzero(~surrogate.data.failed)
    each = [(mean[rows], var[rows]) for mean, var in predicted]
    y = surrogate.data.y[rows]
    weights = surrogate.weights / surrogate.weights.sum()
    mean, sd = mixed(weights, each)
    below = [ndtr((y - m) / np.sqrt(v)) for m, v in each]
    levels = weights @ np.array(below)
    spread = float(np.sum((y - y.mean()) ** 2))
    explained = 1.0 - float(np.sum((y - mean) ** 2)) / spread if spread else 0.0
    off = 2.0 * np.abs(levels - 0.5)
    return Check(
        folds=folds,
        rows=rows,
        observed=units.sign * surrogate.data.values[rows],
        band=units.band(mean, sd),
        levels=levels if units.sign > 0 else 1.0 - levels,
        explained=explained,
        within=tuple(float(np.mean(off <= q)) for q in LEVELS),
    )


def held_out(
    post: Posterior, data: Data
) -> tuple[Float[ndarray, " N"], Float[ndarray, " N"]]:
    """Return mean and variance of each value, noise included, by cross-validation."""
    N = len(data.y)
    fold = rng_at(0, "report", N).permutation(N) % FOLDS
    mean, var = np.zeros(N), np.zeros(N)
    known = np.zeros(N) if data.noise is None else data.noise
    loud = post.gp.noise >= LOUD
    start = replace(post.gp, lengthscales=None, variances=None)
    for k in range(FOLDS):
        out, rest = fold == k, fold != k
        if not out.any():
            continue
        U, y, noise = data.U[rest], data.y[rest], known[rest]
        gp = start.fit(
            U,
            y,
            noise=noise,
            spans=1.0,
            starts=1,
            steps=STEPS,
            priors=NOISY if loud else Priors(),
        )
        fitted = gp.condition(U, y, noise=noise)
        mean[out], part = fitted.predict(data.U[out])
        var[out] = part + gp.noise + known[out]
    return mean, var


def structures_of(surrogate: Surrogate, space: Space) -> list[tuple[float, Groups]]:
    """Return the plausible structures as groups of parameters, with probabilities."""
    owner = {p: k for k, block in enumerate(space.blocks) for p in block}
    weights = surrogate.weights / surrogate.weights.sum()
    found: dict[Groups, float] = {}
    for post, weight in zip(surrogate.posteriors, weights, strict=True):
        groups = [tuple(sorted({owner[p] for p in g})) for g in post.gp.groups]
        key = tuple(dict.fromkeys(groups))
        found[key] = found.get(key, 0.0) + float(weight)
    return sorted(((w, g) for g, w in found.items()), key=lambda pair: -pair[0])


def together_of(
    opt: Any, structures: list[tuple[float, Groups]]
) -> tuple[Float[ndarray, "K K"], bool]:
    """Return how probable it is that two parameters act together, and if learned."""
    learned = opt.co_membership()
    if learned is not None:
        return learned, True
    K = len(opt.space.names)
    out = np.zeros((K, K))
    for weight, groups in structures:
        # A part on all parameters takes up what is not additive; it is no group.
        own = tuple(g for g in groups if len(g) < K) if len(groups) > 1 else groups
        alone = tuple((k,) for k in range(K) if all(k not in g for g in own))
        out += weight * co_membership_matrix([(*own, *alone)])
    return out, False
