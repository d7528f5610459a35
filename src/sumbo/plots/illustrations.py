"""The two illustrations of [wycoff2025]: bilateral uncertainty, and how to lose it."""

from typing import Any

import numpy as np

from sumbo.drawing import BLACK, BLUE, GREY
from sumbo.gp import AdditiveGP, Posterior
from sumbo.linalg import cho_solve, cholesky
from sumbo.plots.style import HEAT, SMALL, Axes, some_axes, title
from sumbo.rng import rng_at
from sumbo.typing import Float, ndarray

HALF_SIDE = 32.768  # of the box on which Ackley's function is defined


def ackley_line(z: Float[ndarray, "*shape"]) -> Float[ndarray, "*shape"]:
    """Return Ackley's function of one coordinate, the form whose sums are additive."""
    wave = np.exp(np.cos(0.1 * np.pi * z))
    return -20.0 * np.exp(-0.2 * np.abs(z)) - wave + 20.0 + np.e


def bilateral(seed: int = 0, axes: Any = None) -> Any:
    """Return six axes: an additive model with and without bilateral covariances.

    A sum of two Ackley components and its posterior mean; below, the exact variance
    of the sum and the variance of the additive approximation, which adds those of the
    parts as if they were independent; below, one draw from each. Fig. 1 of
    [wycoff2025].

    Examples:
        >>> import sumbo
        >>> sumbo.plots.bilateral().shape
        (3, 2)
    """
    rng = rng_at(seed, "bilateral illustration")
    shift = rng.uniform(-0.25, 0.25, 2)
    U = rng.random((24, 2))
    gp = AdditiveGP(groups=((0,), (1,)))
    y = _ackley(U, shift)
    post = gp.fit(U, y).condition(U, y)
    grid = np.linspace(0.0, 1.0, 81)
    Z = [grid[:, None], grid[:, None]]
    a, b = np.meshgrid(grid, grid, indexing="xy")
    cube = np.stack([a.ravel(), b.ravel()], axis=1)
    mean, var = (v.reshape(a.shape) for v in post.predict(cube))
    first, second = (post.part_moments(m, Z[m])[1] for m in (0, 1))
    exact, additive = (
        post.gp.mean + f[0][0][None, :] + f[1][0][:, None]
        for f in (post.sample(Z, how=how, seed=seed) for how in ("joint", "marginal"))
    )
    used = some_axes(axes, 6, (2.6, 2.45), columns=2)
    truth = _ackley(cube, shift).reshape(a.shape)
    rows = (
        (("truth", truth), ("posterior mean", mean)),
        (("variance, exact", var), ("variance, additive", first + second[:, None])),
        (("draw, exact", exact), ("draw, additive", additive)),
    )
    for row, panels in enumerate(rows):
        pair = used[2 * row : 2 * row + 2]
        _surfaces(pair, panels, U, grid)
        pair[0].set_ylabel("$x_2$")
    for ax in used[4:]:
        ax.set_xlabel("$x_1$")
    return used.reshape(3, 2)


def conditional_independence(seed: int = 0, axes: Any = None) -> Any:
    """Return two axes: the parts at one point, given y and given the residual.

    Given the observed sums y = f_1(X) + f_2(X) + ε, the parts f_1(z_1) and f_2(z_2)
    are correlated: what one has more the other has less. Given y − f_1(X) instead
    they are independent, which is what a draw part by part rests on. Fig. 2 of
    [wycoff2025]. Ellipses hold 50 % and 95 %.

    Examples:
        >>> import sumbo
        >>> given_values, given_residual = sumbo.plots.conditional_independence()
    """
    rng = rng_at(seed, "independence illustration")
    gp = AdditiveGP(groups=((0,), (1,)), lengthscales=0.45, variances=1.0, noise=0.01)
    X = rng.random((9, 2))
    parts = [
        cholesky(k(X[:, [m]], X[:, [m]])).L @ rng.standard_normal(len(X))
        for m, k in enumerate(gp.kernels)
    ]
    y = parts[0] + parts[1] + np.sqrt(gp.noise) * rng.standard_normal(len(X))
    post = gp.condition(X, y)
    z = np.array([0.43, 0.62])

    Z = [z[:1, None], z[1:, None]]
    given_y = (
        np.concatenate([part.mean for part in post.parts(Z)]),
        post.joint_covariance(Z),
        np.hstack(post.sample(Z, n=300, how="joint", seed=seed)),
    )
    mean, cov = given_residual(post, z, y - parts[0])
    xi = rng.standard_normal((300, 2))
    draws = mean + xi @ cholesky(cov).L.T
    left, right = some_axes(axes, 2, (3.0, 3.1))
    _cloud(left, "given $y$", *given_y)
    _cloud(right, "given $y - f_1(X)$", mean, cov, draws)
    _same_window(left, right, [given_y, (mean, cov, draws)])
    return np.array([left, right], dtype=object)


def given_residual(
    post: Posterior, z: Float[ndarray, " 2"], r: Float[ndarray, " N"]
) -> tuple[Float[ndarray, " 2"], Float[ndarray, "2 2"]]:
    """Return mean and covariance of (f_1(z_1), f_2(z_2)) given y − f_1(X) = r.

    Textbook conditioning of the stacked vector (f_1(z_1), f_2(z_2), f_1(X), f_2(X), ε)
    on a linear map of it: nothing is assumed independent but the parts a priori.
    """
    N = post.N
    (k1, X1), (k2, X2) = post.groups()
    prior = np.zeros((2 + 3 * N, 2 + 3 * N))
    for i, (k, Xm) in enumerate(((k1, X1), (k2, X2))):
        at = [i, *range(2 + i * N, 2 + (i + 1) * N)]
        both = np.vstack([z[i : i + 1, None], Xm])
        prior[np.ix_(at, at)] = k(both, both)
    prior[2 + 2 * N :, 2 + 2 * N :] = post.gp.noise * np.eye(N)
    eye, none = np.eye(N), np.zeros((N, 2))
    y_of = np.hstack([none, eye, eye, eye])
    f1_of = np.hstack([none, eye, 0 * eye, 0 * eye])
    A = y_of - f1_of
    cross = (prior @ A.T)[:2]
    L = cholesky(A @ prior @ A.T, what="covariance of the residual").L
    mean = cross @ cho_solve(L, r - post.gp.mean)
    return mean, prior[:2, :2] - cross @ cho_solve(L, cross.T)


# ---------------------------------------------------------------- how it is drawn


def _ackley(
    U: Float[ndarray, "n 2"], shift: Float[ndarray, " 2"]
) -> Float[ndarray, " n"]:
    z = 2 * HALF_SIDE * (U - 0.5 - shift)
    return ackley_line(z).sum(axis=1)


def _surfaces(
    pair: Any,
    panels: tuple[tuple[str, Any], ...],
    U: Float[ndarray, "N 2"],
    grid: Float[ndarray, " n"],
) -> None:
    """Draw two surfaces over the box with one colour scale, and the observed points."""
    x = 2 * HALF_SIDE * (grid - 0.5)
    low = min(float(values.min()) for _, values in panels)
    high = max(float(values.max()) for _, values in panels)
    meshes = [
        ax.pcolormesh(
            x,
            x,
            values,
            cmap=HEAT,
            vmin=low,
            vmax=high,
            shading="gouraud",
            rasterized=True,
        )
        for ax, (_, values) in zip(pair, panels, strict=True)
    ]
    for ax, (name, _) in zip(pair, panels, strict=True):
        at = 2 * HALF_SIDE * (U.T - 0.5)
        ax.plot(*at, "o", ms=3, color=BLACK, mec="white", mew=0.5, clip_on=False)
        ax.set(aspect="equal", xticks=(-30, 0, 30), yticks=(-30, 0, 30))
        ax.set(xlim=(-HALF_SIDE, HALF_SIDE), ylim=(-HALF_SIDE, HALF_SIDE))
        title(ax, name)
    bar = pair[0].figure.colorbar(meshes[0], ax=list(pair), pad=0.02)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=SMALL)


def _cloud(
    ax: Axes,
    name: str,
    mean: Float[ndarray, " 2"],
    cov: Float[ndarray, "2 2"],
    draws: Float[ndarray, "n 2"],
) -> None:
    from matplotlib.patches import Ellipse

    ax.plot(*draws.T, "o", ms=2.5, color=BLUE, mec="none", alpha=0.5)
    scales, axes = np.linalg.eigh(cov)
    angle = float(np.degrees(np.arctan2(axes[1, 1], axes[0, 1])))
    for share, dashes in ((0.5, "--"), (0.95, "-")):
        radius = np.sqrt(-2.0 * np.log(1.0 - share))  # of a standard normal in 2-D
        width, height = 2 * radius * np.sqrt(np.maximum(scales[::-1], 0.0))
        ellipse = Ellipse(tuple(mean), width, height, angle=angle)
        ellipse.set(facecolor="none", edgecolor=BLACK, linestyle=dashes, zorder=3)
        ax.add_patch(ellipse)
    ax.axhline(mean[1], color=GREY, lw=0.6, zorder=0)
    ax.axvline(mean[0], color=GREY, lw=0.6, zorder=0)
    # + 0.0 so that a rounded −0.00 loses its sign
    correlation = round(float(cov[0, 1] / np.sqrt(cov[0, 0] * cov[1, 1])), 2) + 0.0
    title(ax, name, f"correlation {correlation:.2f}".replace("-", "−"))
    ax.set_xlabel("$f_1(z_1)$")
    ax.set_ylabel("$f_2(z_2)$")


def _same_window(
    left: Axes, right: Axes, clouds: list[tuple[Float[ndarray, "..."], ...]]
) -> None:
    """Give both axes the window that holds all ellipses and all draws."""
    corners = []
    for mean, cov, draws in clouds:
        reach = np.sqrt(-2.0 * np.log(0.05) * cov.diagonal())  # of the 95 % ellipse
        corners += [mean - reach, mean + reach, *draws]
    low, high = np.min(corners, axis=0), np.max(corners, axis=0)
    center, half = 0.5 * (low + high), 0.53 * float((high - low).max())
    for ax in (left, right):
        ax.set(
            xlim=(center[0] - half, center[0] + half),
            ylim=(center[1] - half, center[1] + half),
            aspect="equal",
        )
