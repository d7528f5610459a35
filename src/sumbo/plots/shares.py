"""How much of the model's variation is due to each part; draws nothing."""

import numpy as np
from scipy.stats import qmc

from sumbo.gp import Posterior
from sumbo.plots.coordinates import Coordinate, coordinates_of
from sumbo.typing import Float, ndarray

# Cells per axis of the composite Gauss rule, two nodes in each. Rough kernels have a
# kink at every observation, so that many cells beat a rule of high order.
CELLS = {1: 512, 2: 32}
SOBOL_EXPONENT = 13


def part_variances(
    post: Posterior, coordinates: tuple[Coordinate, ...] | None = None
) -> Float[ndarray, " M"]:
    """Return Var f̄_m(x) of each part's posterior mean f̄_m, x uniform on the box.

    The integrals over the part's own coordinates are done by a composite Gauss rule
    for one and two of them (relative error about 1e-6 or less) and by 8 192 Sobol
    points beyond (about 1e-3). If no coordinate is in two groups, the variances add
    up to that of the posterior mean of f. The box is that of ``coordinates_of``.
    """
    coordinates = coordinates or coordinates_of(post)
    out = np.empty(len(post.gp.groups))
    for m, (kernel, Xm) in enumerate(post.groups()):
        U, w = _rule(len(post.gp.groups[m]))
        box = [coordinates[p] for p in post.gp.groups[m]]
        low = np.array([c.low for c in box])
        high = np.array([c.high for c in box])
        f = kernel(low + U * (high - low), Xm) @ post.alpha
        out[m] = w @ (f - w @ f) ** 2
    return out


def part_shares(
    post: Posterior, coordinates: tuple[Coordinate, ...] | None = None
) -> Float[ndarray, " M"]:
    """Return each part's variance as a fraction of their sum; zeros if all are flat."""
    variances = part_variances(post, coordinates)
    total = variances.sum()
    return variances / total if total > 0 else variances


def _rule(d: int) -> tuple[Float[ndarray, "B d"], Float[ndarray, " B"]]:
    """Return nodes and weights for the mean over the unit cube."""
    if d > 2:
        # Fixed scrambling: the same model always gets the same numbers.
        U = qmc.Sobol(d, rng=np.random.default_rng(0)).random_base2(SOBOL_EXPONENT)
        return U, np.full(len(U), 1.0 / len(U))
    cells = CELLS[d]
    offset = 0.5 / np.sqrt(3.0)  # two-point Gauss rule in each cell, equal weights
    nodes = (np.arange(cells)[:, None] + 0.5 + np.array([-offset, offset])) / cells
    mesh = np.meshgrid(*[nodes.ravel()] * d, indexing="ij")
    U = np.stack([g.ravel() for g in mesh], axis=1)
    return U, np.full(len(U), 1.0 / len(U))
