"""What the tests of pictures share: a model, axes without pyplot, drawn artists."""

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
from matplotlib.figure import Figure

from sumbo import AdditiveGP

# Half the width of a central 95 % interval, in sd.
Z95 = 1.959963984540054
GROUPS = ((0,), (1,), (2, 3), (4,), (5,))
SIXTY = tuple((p,) for p in range(60))


def model(groups=GROUPS, N=31, *, kernel="matern52", seed=4, noise=0.02):
    rng = np.random.default_rng(seed)
    P = 1 + max(p for g in groups for p in g)
    X = rng.random((N, P))
    y = np.sin(4.3 * X[:, 0]) + 0.7 + 0.1 * rng.standard_normal(N)
    y += sum(X[:, p] ** 2 * 2.1 / (1 + p) for p in range(1, P))
    lengthscales = rng.uniform(0.25, 0.6, P)
    variances = rng.uniform(0.4, 1.3, len(groups))
    gp = AdditiveGP(
        groups=groups,
        kernel=kernel,
        lengthscales=lengthscales,
        variances=variances,
        noise=noise,
        mean=0.8,
    )
    return gp.condition(X, y)


def grid(rows, columns):
    """Return axes of a figure that pyplot does not know."""
    figure = Figure(figsize=(3 * columns, 3 * rows))
    return figure.subplots(rows, columns, squeeze=False)


def artist(ax, label):
    """Return what was drawn under that label."""
    return next(child for child in ax.get_children() if child.get_label() == label)


def mapped(ax):
    """Return the values behind the heat map of the axes."""
    mesh = next(c for c in ax.collections if c.get_array() is not None)
    return np.asarray(mesh.get_array())
