"""The parameters of a model as axes of a picture: range, name, the user's units."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from sumbo.drawing import plain
from sumbo.errors import ArgumentError
from sumbo.gp import Posterior
from sumbo.plots.style import Axes
from sumbo.plots.values import numbers, shortened
from sumbo.space import Categorical, Integer, Parameter, Real, Space
from sumbo.space.parameters import from_unit, to_unit
from sumbo.typing import Float, Group, Groups, ndarray

POINTS = 121  # of a curve
LEVELS = 121  # of an integer that are drawn as steps; more are drawn as a curve
CHOICE = 12  # letters of a choice's name at an axis


@dataclass(frozen=True, kw_only=True)
class Coordinate:
    """One parameter, or one coordinate of a model whose parameters are not known.

    Attributes:
        name: What the axis is called.
        block: The coordinates of the model, several for choices.
        low: The lower end in the model.
        high: The upper end in the model.
        lo: The lower end in the user's units.
        hi: The upper end in the user's units.
        log: Whether the axis is logarithmic.
        parameter: The parameter, if it is an integer or one of several choices.
    """

    name: str
    block: Group
    low: float = 0.0
    high: float = 1.0
    lo: float = 0.0
    hi: float = 1.0
    log: bool = False
    parameter: Integer | Categorical | None = None

    @property
    def kind(self) -> Literal["curve", "steps", "marks"]:
        """How a function of the parameter is drawn."""
        if isinstance(self.parameter, Categorical):
            return "marks"
        p = self.parameter
        return "curve" if p is None or p.hi - p.lo >= LEVELS else "steps"

    def grid(self, n: int = POINTS) -> Float[ndarray, "G d"]:
        """Return values of the model's coordinates from one end to the other.

        These are all values of a discrete parameter, and else about ``n`` equally
        spaced ones.
        """
        p = self.parameter
        if isinstance(p, Categorical):
            return np.eye(len(p.choices))
        if isinstance(p, Integer) and self.kind == "steps":
            return to_unit(p, np.arange(p.lo, p.hi + 1, dtype=float))
        u = np.linspace(self.low, self.high, n)[:, None]
        if p is None:
            return u
        return to_unit(p, np.unique(from_unit(p, u)))

    def user(self, V: Float[ndarray, "G d"]) -> Float[ndarray, " G"]:
        """Return where values of the model's coordinates are on the axis."""
        if self.parameter is not None:
            return from_unit(self.parameter, V).astype(float)
        t = (V[:, 0] - self.low) / (self.high - self.low)
        if self.log:
            return self.lo * (self.hi / self.lo) ** t
        return self.lo + (self.hi - self.lo) * t

    def show(self, ax: Axes, which: Literal["x", "y"]) -> None:
        """Set the scale, the limits and the label of an axis, "x" or "y"."""
        getattr(ax, f"set_{which}scale")("log" if self.log else "linear")
        getattr(ax, f"set_{which}lim")(self.lo, self.hi)
        axis: Any = getattr(ax, f"{which}axis")
        axis.set_label_text(self.name)
        p = self.parameter
        if isinstance(p, Categorical):
            labels = [plain(c) for c in shortened([str(c) for c in p.choices], CHOICE)]
            turned = which == "x" and sum(len(c) + 2 for c in labels) > 24
            axis.set_ticks(np.arange(len(labels)), labels=labels)
            ax.tick_params(axis=which, length=0, rotation=45 if turned else 0)
        elif isinstance(p, Integer) and p.hi - p.lo < 8:
            levels = np.arange(p.lo, p.hi + 1)
            axis.set_ticks(levels, labels=numbers(levels))
            axis.set_ticks([], minor=True)


def edges(c: Coordinate, at: Float[ndarray, " G"]) -> Float[ndarray, " E"]:
    """Return where the steps of an integer begin, and where the last one ends."""
    return np.append(at - 0.5, at[-1] + 0.5) if c.kind == "steps" else at


def coordinates_of(
    post: Posterior, names: Sequence[str] | None = None, bounds: Any = None
) -> tuple[Coordinate, ...]:
    """Return the axes of a posterior, named and in the user's units.

    With ``bounds`` (all that ``Space.of`` reads) the posterior lives in the unit cube
    and there is an axis for each parameter. Without, axes show the coordinates as they
    are: the unit cube if all observed points are in it, else the range of the data.

    Raises:
        ArgumentError: If names or bounds do not fit the number of coordinates.
    """
    P = post.gp.dim
    if bounds is None:
        out = _bare(post.X)
    else:
        space = Space.of(bounds)
        if space.dim != P:
            msg = (
                f"bounds describe {space.dim} coordinates, the model has {P}. Pass "
                "the bounds of all of its parameters."
            )
            raise ArgumentError(msg)
        pairs = zip(space.parameters, space.blocks, strict=True)
        out = [c for p, b in pairs for c in _of_parameter(p, b, post.gp.groups)]
    labels = [c.name for c in out]
    if names is not None:
        if len(names) == P and len(out) < P:  # one name for each coordinate: no blocks
            out = [Coordinate(name="", block=(i,)) for i in range(P)]
        labels = names_of(names, len(out))
    labels = [plain(name) for name in shortened(labels)]
    return tuple(replace(c, name=n) for c, n in zip(out, labels, strict=True))


def require_posterior(post: Any) -> None:
    """Check that there is a model to draw.

    Raises:
        ArgumentError: If it is not a posterior; a run has none before it is fitted.
    """
    if not isinstance(post, Posterior):
        msg = f"{post!r} is neither a run nor a posterior. Pass an Optimizer, a result,"
        msg += " the path of a checkpoint, or gp.condition(X, y). The model of a run is"
        raise ArgumentError(f"{msg} None before values are observed.")


def names_of(names: Sequence[str] | None, P: int) -> list[str]:
    """Return one name for each of P coordinates; x0, x1, … by default.

    Raises:
        ArgumentError: If there are more or fewer names.
    """
    if names is None:
        return [f"x{p}" for p in range(P)]
    if isinstance(names, str) or len(names) != P:
        msg = f"names={names!r} are not the names of {P} coordinates. Pass one each."
        raise ArgumentError(msg)
    return [str(name) for name in names]


def point_of(post: Posterior, x: Any = None) -> Float[ndarray, " P"]:
    """Return the point ``x`` of the model, or the best observed one.

    Raises:
        ArgumentError: If ``x`` is not one finite point with the model's coordinates.
    """
    if x is None:
        return post.X[int((np.argmax if post.maximised else np.argmin)(post.y))]
    point = np.asarray(x, dtype=float)
    if point.shape != (post.gp.dim,) or not np.isfinite(point).all():
        msg = (
            f"the point {x!r} is not one of the model's {post.gp.dim} coordinates. "
            "Pass a finite array of that length, in the units of post.X."
        )
        raise ArgumentError(msg)
    return point


def _bare(X: Float[ndarray, "N P"]) -> list[Coordinate]:
    names = names_of(None, X.shape[1])
    if X.min() >= 0 and X.max() <= 1:
        return [Coordinate(name=name, block=(p,)) for p, name in enumerate(names)]
    low, high = X.min(axis=0), X.max(axis=0)
    # A coordinate that was never varied still needs a width.
    high = np.where(high > low, high, low + 1.0)
    return [
        Coordinate(name=name, block=(p,), low=a, high=b, lo=a, hi=b)
        for p, (name, a, b) in enumerate(
            zip(names, low.tolist(), high.tolist(), strict=True)
        )
    ]


def _of_parameter(p: Parameter, block: Group, groups: Groups) -> list[Coordinate]:
    if isinstance(p, Real):
        return [Coordinate(name=p.name, block=block, lo=p.lo, hi=p.hi, log=p.log)]
    if isinstance(p, Integer):
        # An integer owns half a level beyond both ends, as in the space.
        lo, hi = p.lo - 0.5, p.hi + 0.5
        return [
            Coordinate(name=p.name, block=block, lo=lo, hi=hi, log=p.log, parameter=p)
        ]
    if any(0 < len({*block} & {*group}) < len(block) for group in groups):
        # Parts on some of the choices only: each is a coordinate of its own.
        pairs = zip(p.choices, block, strict=True)
        return [Coordinate(name=f"{p.name}={c}", block=(i,)) for c, i in pairs]
    hi = len(p.choices) - 0.5
    return [Coordinate(name=p.name, block=block, lo=-0.5, hi=hi, parameter=p)]
