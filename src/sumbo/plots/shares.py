"""How much of the model's variation is due to each part; draws nothing."""

import numpy as np

from sumbo.gp import Posterior
from sumbo.plots.coordinates import Coordinate, coordinates_of
from sumbo.space.measure import Measure, distribution_of
from sumbo.typing import Float, ndarray

# Cells per axis of the composite Gauss rule, two nodes in each. Rough kernels have a
# kink at every observation, so that many cells beat a rule of high order.
CELLS = {1: 512, 2: 32}
SOBOL_EXPONENT = 13


def part_variances(
    post: Posterior, coordinates: tuple[Coordinate, ...] | None = None
) -> Float[ndarray, " M"]:
    """Return Var f̄_m(x) of each part's posterior mean f̄_m, x uniform on the space.

    The integrals over the part's own parameters are done by a composite Gauss rule
    for one and two of them (relative error about 1e-6 or less), by sums over choices
    and levels, and by 8 192 Sobol points for three parameters and more (about 1e-3).
    If no parameter is in two groups, the variances add up to that of the posterior
    mean of f. The space is that of ``coordinates_of``.
    """
    coordinates = coordinates or coordinates_of(post)
    owner = {p: c for c in coordinates for p in c.block}
    out = np.empty(len(post.gp.groups))
    for m, (kernel, Xm) in enumerate(post.groups()):
        group = post.gp.groups[m]
        box = list({owner[p].block: owner[p] for p in group}.values())
        V, w = _rule(box)
        columns = [p for c in box for p in c.block]
        f = kernel(V[:, [columns.index(p) for p in group]], Xm) @ post.alpha
        out[m] = w @ (f - w @ f) ** 2
    return out


def part_shares(
    post: Posterior, coordinates: tuple[Coordinate, ...] | None = None
) -> Float[ndarray, " M"]:
    """Return each part's variance as a fraction of their sum; zeros if all are flat."""
    variances = part_variances(post, coordinates)
    total = variances.sum()
    return variances / total if total > 0 else variances


def _rule(box: list[Coordinate]) -> tuple[Float[ndarray, "B d"], Float[ndarray, " B"]]:
    """Return nodes in the coordinates of the parameters, and weights for the mean."""
    if len(box) > 2:
        from scipy.stats import qmc  # half a second to import

        # Fixed scrambling: the same model always gets the same numbers.
        sobol = qmc.Sobol(len(box), rng=np.random.default_rng(0))
        U = sobol.random_base2(SOBOL_EXPONENT)
        V = np.hstack([_at(c, u) for c, u in zip(box, U.T, strict=True)])
        return V, np.full(len(V), 1.0 / len(V))
    rules = [_line(c, CELLS[len(box)]) for c in box]
    mesh = np.meshgrid(*[np.arange(len(w)) for _, w in rules], indexing="ij")
    pairs = list(zip(rules, [i.ravel() for i in mesh], strict=True))
    V = np.hstack([nodes[i] for (nodes, _), i in pairs])
    return V, np.prod([weights[i] for (_, weights), i in pairs], axis=0)


def measure_of(c: Coordinate) -> Measure:
    """Return how the parameter is distributed when it is uniform in its space."""
    if c.parameter is None:
        return Measure(coordinates=c.block, low=c.low, high=c.high)
    return distribution_of(c.parameter, c.block)


def _line(
    c: Coordinate, cells: int
) -> tuple[Float[ndarray, "G d"], Float[ndarray, " G"]]:
    """Return nodes and weights along one parameter; exact for a discrete one."""
    measure = measure_of(c)
    if measure.atoms is not None:
        return measure.atoms, measure.weights
    offset = 0.5 / np.sqrt(3.0)  # two-point Gauss rule in each cell, equal weights
    nodes = (np.arange(cells)[:, None] + 0.5 + np.array([-offset, offset])) / cells
    u = c.low + nodes.reshape(-1, 1) * (c.high - c.low)
    return u, np.full(len(u), 1.0 / len(u))


def _at(c: Coordinate, u: Float[ndarray, " B"]) -> Float[ndarray, "B d"]:
    """Return the parameter at quantiles of its distribution."""
    measure = measure_of(c)
    if measure.atoms is None:
        return c.low + u[:, None] * (c.high - c.low)
    cumulated = np.cumsum(measure.weights)[:-1]
    return measure.atoms[np.searchsorted(cumulated, u, side="right")]
