"""Pictures of what matters: parameters, parts, and which parameters act together."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sumbo.drawing import BLACK, BLUE, GREY, PALE, SKY, plain
from sumbo.errors import ArgumentError
from sumbo.importance import Importance, importance_of
from sumbo.plots.coordinates import names_of
from sumbo.plots.shares import measure_of, part_shares
from sumbo.plots.source import Source, optimizer_of, source_of
from sumbo.plots.style import (
    HEAT,
    SMALL,
    Axes,
    one_axes,
    percent,
    require_positive,
    some_axes,
    title,
)
from sumbo.plots.values import shortened
from sumbo.structure import co_membership_matrix
from sumbo.typing import Float, Int, ndarray

# Share of the variance below which a parameter has almost no effect.
INERT = 0.01


def importance(
    run: Any,
    *,
    names: Sequence[str] | None = None,
    bounds: Any = None,
    top: int = 20,
    axes: Any = None,
) -> Any:
    """Return two axes: the importance of each parameter, and the shares of the parts.

    On the left the total Sobol share of each parameter, with its 95 % interval over
    joint draws; the darker bar is what the parameter causes alone, the rest are
    interactions (``Optimizer.importance``). Total shares add up to more than one if
    there are interactions. On the right ``variance_shares``.

    Args:
        run: An ``Optimizer``, a result, the path of a checkpoint, or a posterior.
        names: One name per parameter.
        bounds: For a posterior: the space of its parameters.
        top: The largest number of bars on each side.
        axes: Where to draw; a new figure by default.

    Examples:
        >>> import sumbo
        >>> def f(x):
        ...     return x[0] ** 2 + x[1] * x[2]
        >>> r = sumbo.minimize(f, [(0.2, 0.9)] * 3, budget=11, n_init=10, seed=1)
        >>> left, right = sumbo.plots.importance(r)
        >>> left.figure.savefig("importance.png")
    """
    require_positive(top, "top")
    source = source_of(run, names, bounds)
    table = _table(run, source)
    order = np.argsort(-table.total, kind="stable")[:top]
    count = max(len(order), min(top, len(source.post.gp.groups))) + 1
    if axes is None:
        left, right = some_axes(None, 2, (4.4, 0.75 + 0.21 * count))
    else:
        left, right = some_axes(axes, 2, (4.4, 3.0))
    rows, total = np.arange(len(order)), 100 * table.total[order]
    left.barh(rows, total, color=SKY, height=0.7, label="with interactions")
    alone = 100 * table.first[order]
    left.barh(rows, alone, color=BLUE, height=0.7, label="alone")
    ends = 100 * np.array([table.lower[order], table.upper[order]])
    bars: dict[str, Any] = {"fmt": "none", "ecolor": BLACK, "elinewidth": 0.9}
    reach = np.maximum([total - ends[0], ends[1] - total], 0.0)
    interval = f"{100 * table.level:g} % interval"
    left.errorbar(total, rows, xerr=reach, capsize=2, label=interval, **bars)
    left.set_yticks(rows, [source.coordinates[k].name for k in order])
    left.set_ylim(len(rows) - 0.4, -0.6)
    left.set_xlim(0, 1.06 * max(1.0, float(ends[1].max(initial=0.0))))
    left.set_xlabel("share of the variance, %")
    left.tick_params(axis="y", length=0)
    left.legend(loc="lower right", fontsize=SMALL, frameon=False)
    rest = len(table.total) - len(order)
    title(left, "Parameters", _remainder(table, rest) if rest else "")
    variance_shares(run, names=names, bounds=bounds, top=top, ax=right)
    title(right, "Parts")
    return np.array([left, right], dtype=object)


def _remainder(table: Importance, rest: int) -> str:
    """Return how important the parameters without a bar are at most."""
    most = percent(float(np.sort(table.total)[rest - 1]))
    return f"{rest} more, each {most}" if most[0] == "<" else f"{rest} more, ≤ {most}"


def _table(run: Any, source: Source) -> Importance:
    """Return the importance of the parameters, in the order of the picture."""
    opt = optimizer_of(run)
    if opt is not None and len(source.coordinates) == len(opt.space.names):
        return opt.importance()
    measures = [measure_of(c) for c in source.coordinates]
    return importance_of([source.post], measures, [c.name for c in source.coordinates])


def variance_shares(
    run: Any,
    *,
    names: Sequence[str] | None = None,
    bounds: Any = None,
    top: int = 20,
    ax: Axes | None = None,
) -> Axes:
    """Return axes with a bar per part: its share of the model's variance.

    The share is Var f̄_m / Σ_j Var f̄_j, where f̄_m is the posterior mean of the part
    and x is uniform on the space, by quadrature (``sumbo.plots.shares``). It says what
    the fitted model has found, not how sure it is. Parts beyond the ``top`` largest
    share the last bar.

    Args:
        run: An ``Optimizer``, a result, the path of a checkpoint, or a posterior.
        names: One name per parameter.
        bounds: For a posterior: the space whose units the axes show.
        top: The largest number of parts with a bar of their own.
        ax: Where to draw; a new figure by default.

    Examples:
        >>> import numpy as np
        >>> import sumbo
        >>> X = np.random.default_rng(1).random((9, 3))
        >>> gp = sumbo.AdditiveGP(groups=[(0,), (1, 2)], noise=1e-3)
        >>> post = gp.condition(X, X[:, 0] ** 2 + X[:, 1] * X[:, 2])
        >>> ax = sumbo.plots.variance_shares(post)
        >>> len(ax.patches)
        2
    """
    require_positive(top, "top")
    source = source_of(run, names, bounds)
    shares = part_shares(source.post, source.coordinates)
    order = np.argsort(-shares, kind="stable")[:top].tolist()
    labels = shortened([_part_name(source, m) for m in range(len(shares))])
    labels = [labels[m] for m in order]
    values = shares[order].tolist()
    rest = len(shares) - len(order)
    if rest:
        labels.append(f"{rest} more")
        values.append(max(0.0, 1.0 - sum(values)))
    ax = one_axes(ax, (4.6, 0.7 + 0.21 * len(values)))
    bars(ax, labels, values, [BLUE] * len(order) + [GREY] * bool(rest))
    ax.set_xlabel("share of the variance of the posterior mean, %")
    return ax


def bars(ax: Axes, labels: list[str], values: list[float], colours: list[str]) -> None:
    """Draw shares as bars with their names and percentages."""
    rows = np.arange(len(values))
    ax.barh(rows, 100 * np.array(values), color=colours, height=0.7)
    for row, value in zip(rows, values, strict=True):
        ax.annotate(
            percent(value),
            (100 * value, row),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            fontsize=SMALL,
        )
    ax.set_yticks(rows, labels)
    ax.set_ylim(len(values) - 0.4, -0.6)
    ax.set_xlim(0, 112 * max(*values, 0.01))
    ax.tick_params(axis="y", length=0)


def _part_name(source: Source, m: int) -> str:
    users = source.parameters_of(m)
    P = len(source.coordinates)
    if len(users) == P > 2 and len(source.post.gp.groups) > 1:
        return f"residual, all {P}"
    return ", ".join(source.coordinates[k].name for k in users)


def co_membership(
    run: Any,
    names: Sequence[str] | None = None,
    *,
    cluster: bool = False,
    inert: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Return axes with a heat map of how often two parameters share a group.

    The data say nothing about the groups of a parameter that does nothing: its cells
    are grey, as is its name. Of a run these are parameters whose share of the variance
    (``importance``) is below one percent.

    Args:
        run: An ``Optimizer``, a result or the path of a checkpoint; or structures over
            the same parameters, such as sampled ones; or how probable it is that two
            parameters share a group, from ``Optimizer.co_membership``.
        names: One name per parameter.
        cluster: Whether to order parameters such that those that often share a group
            are neighbours (average linkage).
        inert: Numbers of the parameters that do nothing; by default known of a run.
        ax: Where to draw; a new figure by default.

    Examples:
        >>> import sumbo
        >>> sampled = [((0, 1), (2,)), ((0, 1, 2),)]
        >>> ax = sumbo.plots.co_membership(sampled, names=["span", "chord", "mass"])
        >>> [label.get_text() for label in ax.get_yticklabels()]
        ['span', 'chord', 'mass']

    Raises:
        ArgumentError: If probabilities are not those of pairs, or a run learned no
            groups.
    """
    together, label = _together(run)
    P = len(together)
    opt = optimizer_of(run)
    if opt is not None:
        names = opt.space.names if names is None else names
        inert = _inert(opt) if inert is None else inert
    grey = np.isin(np.arange(P), [] if inert is None else np.asarray(inert))
    short = [plain(name) for name in shortened(names_of(names, P))]
    labels = np.array(short, dtype=object)
    order = _clustered(together) if cluster and P > 2 else np.arange(P)
    grey = grey[order]
    shown = together[np.ix_(order, order)]
    np.fill_diagonal(shown, np.nan)  # always 1, and would only outshine the others
    shown[grey] = np.nan
    shown[:, grey] = np.nan
    side = 2.2 + 0.085 * P if P > 8 else 3.0
    ax = one_axes(ax, (side + 0.7, side))
    image = ax.imshow(shown, cmap=HEAT, vmin=0.0, vmax=1.0, interpolation="nearest")
    ax.set_facecolor(PALE)  # seen through the diagonal, and where nothing is known
    for edge in ax.spines.values():
        edge.set_visible(False)
    ticks = np.arange(P)
    size = SMALL if P <= 30 else 5.0
    ax.set_xticks(ticks, labels[order], rotation=90, fontsize=size)
    ax.set_yticks(ticks, labels[order], fontsize=size)
    for tick in (*ax.get_xticklabels(), *ax.get_yticklabels()):
        if grey[round(sum(tick.get_position()))]:
            tick.set_color(GREY)
    ax.tick_params(length=0)
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.8, pad=0.02)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=SMALL)
    bar.set_label(label, fontsize=SMALL + 1)
    if grey.any():
        text = f"grey: {grey.sum()} of {P} with almost no effect"
        ax.set_title(text, loc="right", color=GREY, fontsize=SMALL)
    return ax


def _together(run: Any) -> tuple[Float[ndarray, "P P"], str]:
    """Return how probable it is that pairs share a group, and what that is called.

    Raises:
        ArgumentError: If a run learned no groups, or an array is none of pairs.
    """
    opt = optimizer_of(run)
    label = "probability of sharing a group"
    if opt is not None:
        found = opt.co_membership()
        if found is None:
            msg = f"this run of method={opt.method_name!r} learned no groups. Use one "
            raise ArgumentError(f'{msg}with groups="auto", after its first asks.')
        return found.copy(), label
    if not isinstance(run, ndarray):
        together = co_membership_matrix(run)
        return together, f"share a group: fraction of {len(run)}"
    if run.ndim != 2 or run.shape[0] != run.shape[1]:
        msg = f"structures has the shape {run.shape}, not that of pairs."
        raise ArgumentError(f"{msg} Pass Optimizer.co_membership().")
    return run.copy(), label


def _inert(opt: Any) -> Int[ndarray, " n"]:
    """Return the parameters of a run that have almost no effect."""
    return np.flatnonzero(opt.importance().total < INERT)


def _clustered(together: Float[ndarray, "P P"]) -> Int[ndarray, " P"]:
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    distance = 1.0 - together
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform(distance, checks=False), "average", optimal_ordering=True)
    return leaves_list(tree)
