"""Nothing is asked twice by accident."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np

from sumbo.space import Categorical, Integer, Space
from sumbo.typing import Float, ndarray

Snap = Callable[[Float[ndarray, "n P"]], Float[ndarray, "n P"]]


@dataclass(frozen=True, kw_only=True)
class Repeats:
    """How a point that is known already is replaced.

    Attributes:
        tries: Random steps away from it, from the smallest to the largest size.
        smallest_step: Standard deviation of the first step, in the unit cube.
        largest_step: Standard deviation of the last step.
        enumerable: A discrete space with at most this many points is then searched
            for one that is left.
        drawn: Random feasible points that are tried under constraints.
    """

    tries: int = 60
    smallest_step: float = 1e-3
    largest_step: float = 1.0
    enumerable: int = 20_000
    drawn: int = 500


REPEATS = Repeats()
_DIGITS = 9  # to which points under constraints are compared


def distinct(
    rng: np.random.Generator,
    space: Space,
    U: Float[ndarray, "q P"],
    seen: Float[ndarray, "n P"],
    snap: Snap | None = None,
) -> Float[ndarray, "q P"]:
    """Return representable points, none equal to another or to one already seen.

    A repeated point is moved a little, then further and further; in a small discrete
    space a random point that is left takes its place. Only when no point is left, or
    none is found, may a point repeat. Under constraints an infeasible point moves to
    the nearest feasible one found. ``snap`` gives representable points, by default
    those of the space; a context, which has no constraints, brings its own.
    """
    snap = snap or space.snap
    seen = _keyed(space, seen + 0.0)  # + 0.0: −0.0 equals 0.0
    taken = {row.tobytes() for row in seen}
    out = representable(space, U, snap)
    for i in range(len(out)):
        if _key(space, out[i]) in taken:
            out[i] = _another(rng, space, snap, out[i], taken)
        taken.add(_key(space, out[i]))
    return out


def representable(
    space: Space, U: Float[ndarray, "q P"], snap: Snap
) -> Float[ndarray, "q P"]:
    """Return the nearest points that may be asked, whether or not they are known."""
    out = snap(U) + 0.0  # −0.0 equals 0.0
    return out if space.region is None else space.region.nearest(out) + 0.0


def _key(space: Space, u: Float[ndarray, " P"]) -> bytes:
    """Return what is equal for equal points."""
    return _keyed(space, u).tobytes()


def _keyed(space: Space, U: Float[ndarray, "*n P"]) -> Float[ndarray, "*n P"]:
    """Return numbers that are equal for equal points.

    Equations are met to rounding: under constraints, points that differ by rounding
    are equal.
    """
    return U if space.region is None else np.round(U, _DIGITS) + 0.0


def _another(
    rng: np.random.Generator,
    space: Space,
    snap: Snap,
    u: Float[ndarray, " P"],
    taken: set[bytes],
) -> Float[ndarray, " P"]:
    for scale in np.geomspace(
        REPEATS.smallest_step, REPEATS.largest_step, REPEATS.tries
    ):
        moved = np.clip(u + scale * rng.standard_normal(len(u)), 0.0, 1.0)
        moved = snap(moved[None])[0] + 0.0
        if space.region is not None:
            moved = space.region.nearest(moved[None], u[None])[0] + 0.0
        if _key(space, moved) not in taken:
            return moved
    # Each counts once where it is snapped to: a context holds some parameters.
    points = snap(np.array(_all_points(space)).reshape(-1, space.dim)) + 0.0
    points = np.array(list({v.tobytes(): v for v in points}.values()))
    points = points.reshape(-1, space.dim)
    if space.region is not None:
        drawn = space.region.draw(rng, REPEATS.drawn) + 0.0
        points = np.vstack([points[space.region.feasible(points)], drawn])
    left = [v for v in points if _key(space, v) not in taken]
    return left[rng.integers(len(left))] if left else u


def _all_points(space: Space) -> list[Float[ndarray, " P"]]:
    levels: list[list] = []
    size = 1
    for p in space.parameters:
        if isinstance(p, Categorical):
            levels.append(list(p.choices))
        elif isinstance(p, Integer):
            size_here = int(p.hi - p.lo) + 1
            if size * size_here > REPEATS.enumerable:
                return []
            levels.append(list(range(int(p.lo), int(p.hi) + 1)))
        else:
            return []
        size *= len(levels[-1])
        if size > REPEATS.enumerable:
            return []
    return list(space.encode([list(point) for point in product(*levels)]) + 0.0)
