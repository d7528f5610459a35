"""The coordinates of a model as axes of a picture: range, name, user units."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumbo.drawing import plain
from sumbo.errors import ArgumentError
from sumbo.gp import Posterior
from sumbo.plots.style import Axes
from sumbo.space import Categorical, Integer, Parameter, Space
from sumbo.typing import Float, ndarray


@dataclass(frozen=True, kw_only=True)
class Coordinate:
    """One coordinate: [low, high] in the model, [lo, hi] in the user's units."""

    name: str
    low: float = 0.0
    high: float = 1.0
    lo: float = 0.0
    hi: float = 1.0
    log: bool = False

    def grid(self, n: int) -> Float[ndarray, " n"]:
        """Return n equally spaced values of the model's coordinate."""
        return np.linspace(self.low, self.high, n)

    def user(self, u: Any) -> Any:
        """Return values of the model's coordinate in the user's units."""
        t = (np.asarray(u) - self.low) / (self.high - self.low)
        if self.log:
            return self.lo * (self.hi / self.lo) ** t
        return self.lo + (self.hi - self.lo) * t

    def show_x(self, ax: Axes) -> None:
        """Set the scale, the limits and the label of the horizontal axis."""
        ax.set_xscale("log" if self.log else "linear")
        ax.set_xlim(self.lo, self.hi)
        ax.set_xlabel(plain(self.name))

    def show_y(self, ax: Axes) -> None:
        """Set the scale, the limits and the label of the vertical axis."""
        ax.set_yscale("log" if self.log else "linear")
        ax.set_ylim(self.lo, self.hi)
        ax.set_ylabel(plain(self.name))


def coordinates_of(
    post: Posterior, names: Sequence[str] | None = None, bounds: Any = None
) -> tuple[Coordinate, ...]:
    """Return the coordinates of a posterior, named and in the user's units.

    With ``bounds`` (all that ``Space.of`` reads) the posterior lives in the unit cube
    and axes show the space's units. Without, axes show the coordinates as they are:
    the unit cube if all observed points are in it, else the range of the data.

    Raises:
        ArgumentError: If names or bounds do not fit the number of coordinates.
    """
    require_posterior(post)
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
        out = [c for p in space.parameters for c in _of_parameter(p)]
    if names is None:
        return tuple(out)
    labels = names_of(names, P)
    return tuple(
        Coordinate(name=n, low=c.low, high=c.high, lo=c.lo, hi=c.hi, log=c.log)
        for n, c in zip(labels, out, strict=True)
    )


def require_posterior(post: Any) -> None:
    """Check that there is a model to draw.

    Raises:
        ArgumentError: If it is not a posterior; a run has none before it is fitted.
    """
    if not isinstance(post, Posterior):
        msg = f"post={post!r} is no posterior. Pass gp.condition(X, y), or the model "
        raise ArgumentError(f"{msg}of a run, which is None before values are told.")


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
        return [Coordinate(name=name) for name in names]
    low, high = X.min(axis=0), X.max(axis=0)
    # A coordinate that was never varied still needs a width.
    high = np.where(high > low, high, low + 1.0)
    return [
        Coordinate(name=name, low=a, high=b, lo=a, hi=b)
        for name, a, b in zip(names, low.tolist(), high.tolist(), strict=True)
    ]


def _of_parameter(p: Parameter) -> list[Coordinate]:
    if isinstance(p, Categorical):
        return [Coordinate(name=f"{p.name}={choice}") for choice in p.choices]
    # An integer owns half a level beyond both ends, as in the space.
    pad = 0.5 if isinstance(p, Integer) else 0.0
    return [Coordinate(name=p.name, lo=p.lo - pad, hi=p.hi + pad, log=p.log)]
