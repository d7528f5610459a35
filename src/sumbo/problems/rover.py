"""A rover crosses a field of obstacles on a smooth path; 60 coordinates."""

from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from scipy.interpolate import splev, splprep

from sumbo.errors import ProblemError
from sumbo.problems.base import Problem, found, nonnegative, problem
from sumbo.rng import Seed, as_seed
from sumbo.typing import Bool, Float, ndarray

START = np.array([0.05, 0.05])
GOAL = np.array([0.95, 0.95])
CONTROL_POINTS = 30
LOW, HIGH = -0.1, 1.1  # the range of a control point's coordinates
HALF_SIDE = 0.025  # of an obstacle
PATH_PARAMETERS = np.linspace(0.0, 1.0, 1000)
PATH_COST = 0.05  # per unit of length
COLLISION_COST = 20.0  # more, inside an obstacle or outside the unit square
MISS_COST = 10.0  # per unit of L1 distance from start and goal
OFFSET = 5.0
FAILURE = 40.0  # the value where there is no path

DESCRIPTION = "a rover's path through a field of obstacles"
CITE = "wang2018"


@dataclass(frozen=True, kw_only=True, eq=False)
class Rover(Problem):
    """Cost of a path, minus 5: its length, its collisions, and the missed ends.

    The path is a smoothing spline of degree 3 through 30 control points in the
    parameter of cumulative chord length. Where two consecutive control points
    coincide the parameter does not increase, there is no path, and the value is 40.

    ``noise`` is the standard deviation of what is added to the control points. The
    noise of the k-th evaluated point is the k-th draw of a stream that starts with
    the seed: a problem made anew repeats it, and the first value equals that of the
    authors' code with ``RandomState(seed)``. A copy, such as one sent to another
    process, continues the stream from where it was copied.
    """

    offset: float = OFFSET  # subtracted from the cost; the failure value is 40 always
    stream: np.random.RandomState | None = field(default=None, repr=False)

    def evaluate(self, X: Float[ndarray, "n P"]) -> Float[ndarray, " n"]:
        """Return the values of the rows."""
        return np.array([self._value(x) for x in X], dtype=float)

    def control_points(self, x: Any) -> Float[ndarray, "30 2"]:
        """Return the control points of the path of one point x."""
        return _scaled(self.point(x)).reshape(-1, 2)

    def path(self, x: Any) -> Float[ndarray, "1000 2"]:
        """Return the noise-free path of one point x.

        Raises:
            ProblemError: If consecutive control points coincide, so there is none.
        """
        q = _path(self.control_points(x))
        if q is None:
            msg = (
                "x has no path: consecutive control points coincide, that is, "
                "x[i] = x[i+2] and x[i+1] = x[i+3] for an even i. Move one of them."
            )
            raise ProblemError(msg)
        return q

    def _value(self, x: Float[ndarray, " P"]) -> float:
        p = _scaled(x)
        if self.stream is not None:
            p += self.stream.normal(0.0, self.noise, len(p))
        q = _path(p.reshape(-1, 2))
        return FAILURE if q is None else path_cost(q) - self.offset


def obstacles() -> Float[ndarray, "113 2"]:
    """Return the centres of the obstacles: squares of side 2 HALF_SIDE."""
    return _obstacles().copy()


def collides(q: Float[ndarray, "n 2"]) -> Bool[ndarray, " n"]:
    """Return which points are inside an obstacle or outside the unit square."""
    x_edges, y_edges, blocked = _cells()
    i = np.searchsorted(x_edges, q[:, 0], side="right")
    j = np.searchsorted(y_edges, q[:, 1], side="right")
    return blocked[i, j]


def path_cost(q: Float[ndarray, "n 2"]) -> float:
    """Return the cost of a path: trapezoidal rule, and L1 distance of both ends."""
    cost = PATH_COST + COLLISION_COST * collides(q)
    lengths = np.linalg.norm(np.diff(q, axis=0), axis=1)
    along = float(np.sum(lengths * (0.5 * (cost[:-1] + cost[1:]))))
    missed = np.abs(q[0] - START).sum() + np.abs(q[-1] - GOAL).sum()
    return along + MISS_COST * float(missed)


def _scaled(x: Float[ndarray, " P"]) -> Float[ndarray, " P"]:
    return x * (HIGH - LOW) + LOW


def _path(p: Float[ndarray, "30 2"]) -> Float[ndarray, "1000 2"] | None:
    # With the default smoothing m − √(2m) the residual condition holds at once in
    # this box: FITPACK adds no knot, and the spline is the least-squares cubic.
    try:
        spline, _ = splprep(p.T, k=3)
    except ValueError:  # the chord length does not increase
        return None
    return np.column_stack(splev(PATH_PARAMETERS, spline))


@cache
def _obstacles() -> Float[ndarray, "113 2"]:
    text = files("sumbo.problems").joinpath("rover_obstacles.csv").read_text("utf-8")
    return np.loadtxt(text.splitlines(), delimiter=",")


@cache
def _cells() -> tuple[ndarray, ndarray, ndarray]:
    """Return the edges of all squares, and which cells between them are blocked.

    Squares are half-open, low ≤ q < high, and so are the cells, so that looking up a
    point's cell is exact. A cell's lower edges stand for all of it.
    """
    low, high = _obstacles() - HALF_SIDE, _obstacles() + HALF_SIDE
    edges, covered, free = [], [], []
    for k in (0, 1):
        e = np.unique([*low[:, k], *high[:, k], 0.0, 1.0])
        corner = np.array([e[0] - 1.0, *e])[:, None]
        edges.append(e)
        covered.append((low[:, k] <= corner) & (corner < high[:, k]))
        free.append((corner >= 0.0) & (corner < 1.0))
    blocked = covered[0].astype(int) @ covered[1].astype(int).T > 0
    return edges[0], edges[1], blocked | ~(free[0] & free[1].T)


@problem("rover", dim=60, cost="0.3 ms", description=DESCRIPTION, cite=CITE)
def rover(*, noise: float = 0.0, seed: Seed = 0, offset: float = OFFSET) -> Rover:
    """Return the rover problem of [wang2018], negated for minimisation.

    The authors' code has ``noise=1e-4``, with which control points never coincide;
    ``seed`` matters only with noise. ``offset`` is subtracted from the cost of a path
    but not from the failure value 40; other public code has ``offset=0``.
    """
    sd = nonnegative("noise", noise)
    shift = nonnegative("offset", offset)
    value, x = found("rover")
    names = [f"{axis}{i}" for i in range(CONTROL_POINTS) for axis in "xy"]
    return Rover(
        name="rover",
        bounds=np.tile([0.0, 1.0], (len(names), 1)),
        parameters=tuple(names),
        description=DESCRIPTION,
        cite=CITE,
        best_known=value + OFFSET - shift,
        best_known_x=x,
        noise=sd,
        offset=shift,
        stream=np.random.RandomState(as_seed(seed) % 2**32) if sd else None,
    )
