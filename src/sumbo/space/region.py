"""``Region``: the points of a space that meet all known constraints.

Inside, points have the coordinates w, in which every linear constraint is linear: those
of the unit cube, but linear in the user's numbers for integers, and for logarithmic
parameters that a linear constraint names. Other logarithmic parameters keep u.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sumbo.errors import ArgumentError
from sumbo.space.constraints import Feasible
from sumbo.space.draws import FeasibleDraws, first_points
from sumbo.space.linear import Linear, rows_of
from sumbo.space.parameters import Categorical, Integer, Real, from_unit, to_unit
from sumbo.space.polytope import Polytope
from sumbo.typing import Bool, Float, Group, Groups, ndarray

if TYPE_CHECKING:
    from sumbo.space.space import Space

# What rounding may add to a sum, as a share of its largest possible terms.
TOLERANCE = 1e-12
HALVINGS = 10  # of a step that leads out of the region
ANCHORS = 4  # feasible points from which an infeasible one is approached
KNOWN = 100_000  # answers of tests that are kept


@dataclass(frozen=True, kw_only=True, eq=False)
class Region:
    """The feasible points of a space; see ``sumbo.typing.Region``."""

    space: "Space"
    linear: tuple[Linear, ...] = ()
    tests: tuple[Feasible, ...] = ()
    _answers: dict[bytes, bool] = field(default_factory=dict, repr=False)
    _parts: dict[Group, Any] = field(default_factory=dict, repr=False)

    # ------------------------------------------------------------------ questions
    def feasible(
        self, U: Float[ndarray, "n P"], slack: float = 0.0
    ) -> Bool[ndarray, " n"]:
        """Return which points, rounded to representable ones, meet all constraints.

        ``slack`` is a share of the terms of linear constraints that is allowed beyond.
        """
        U = self.space.snap(U)
        value, more = self._numbers(U) @ self._C.T, slack * self._terms
        within = (value >= self._lower - more) & (value <= self._upper + more)
        good = np.asarray(within.all(axis=1))
        if self.tests and good.any():
            rows = np.flatnonzero(good)
            good[rows] = self._passed(U[rows])
        return good

    def require_points(self) -> None:
        """Check that there is a feasible point; see ``walk`` for the error."""
        self.draws.draw(np.random.default_rng(1), 1)

    @property
    def coupled(self) -> Groups:
        """Coordinates that constraints couple, one group for each constraint."""
        if self.tests:
            return (tuple(range(self.space.dim)),)
        blocks = dict(zip(self.space.names, self.space.blocks, strict=True))
        groups = [
            tuple(sorted({p for name in row.names for p in blocks[name]}))
            for row in self.linear
        ]
        return tuple(dict.fromkeys(groups))

    def part(self, coordinates: Group) -> "Region | None":
        """Return the region of some coordinates, None if no constraint is theirs.

        Every constraint must have all its coordinates among them, or none. Points of
        the part have the coordinates in ascending order.
        """
        key = tuple(sorted(coordinates))
        if key not in self._parts:
            self._parts[key] = self._part(set(key))
        return self._parts[key]

    def _part(self, coordinates: set[int]) -> "Region | None":
        if len(coordinates) == self.space.dim:
            return self
        parameters = tuple(
            p
            for p, block in zip(self.space.parameters, self.space.blocks, strict=True)
            if coordinates >= set(block)
        )
        names = {p.name for p in parameters}
        linear = tuple(row for row in self.linear if names >= set(row.names))
        if not linear:
            return None
        space = replace(self.space, parameters=parameters, constraints=linear)
        return space.region

    # ------------------------------------------------------------------ points
    def draw(self, rng: np.random.Generator, n: int) -> Float[ndarray, "n P"]:
        """Return n feasible points, close to uniform in the unit cube."""
        if n == 0:
            return np.empty((0, self.space.dim))
        return self.to_u(self.draws.draw(rng, n))

    def nearest(
        self,
        U: Float[ndarray, "n P"],
        anchors: Float[ndarray, "a P"] | None = None,
    ) -> Float[ndarray, "n P"]:
        """Return feasible points near some points; feasible ones stay as they are.

        Args:
            U: Points of the cube.
            anchors: Feasible points from which to approach the others.
        """
        out = self.space.snap(U)
        bad = np.flatnonzero(~self.feasible(out))
        if len(bad) == 0:
            return out
        known = self.to_u(self.draws.seeds)
        if anchors is not None and len(anchors):
            known = np.vstack([anchors, known])
        W, A = self.to_w(out[bad]), self.to_w(known)
        W = self.polytope.approached(W)
        here = self.to_u(W)
        done = self.feasible(here)
        out[bad[done]] = here[done]
        bad, W = bad[~done], W[~done]
        distance = ((W[:, None] - A[None]) ** 2).sum(axis=2)
        order = np.argsort(distance, axis=1, kind="stable")[:, :ANCHORS]
        best = np.full(len(bad), np.inf)
        target = out[bad].copy()
        for column in order.T:
            found = self._towards(A[column], W)
            far = ((found - target) ** 2).sum(axis=1)
            closer = far < best
            out[bad[closer]], best[closer] = found[closer], far[closer]
        return out

    def towards(
        self, anchors: Float[ndarray, "n P"], U: Float[ndarray, "n P"]
    ) -> Float[ndarray, "n P"]:
        """Return the feasible points closest to U on the way from feasible anchors."""
        return self._towards(self.to_w(anchors), self.to_w(self.space.snap(U)))

    def _towards(
        self, anchors: Float[ndarray, "n P"], W: Float[ndarray, "n P"]
    ) -> Float[ndarray, "n P"]:
        # The levels of the target, if the anchor can take them.
        fixed = self.polytope.levels > 0
        begin = self.polytope.corrected(np.where(fixed, W, anchors))
        able = self.feasible(self.to_u(begin)) & self.polytope.inside(begin)
        begin[~able] = anchors[~able]
        W = self.polytope.corrected(np.where(fixed, begin, W))
        D = W - begin
        share = np.minimum(1.0, self.polytope.reach(begin, D))
        out = self.to_u(begin)
        full = self.to_u(begin + share[:, None] * D)
        good = self.feasible(full)
        out[good] = full[good]
        rows = np.flatnonzero(~good)
        low, high = np.zeros(len(rows)), share[rows]
        for _ in range(HALVINGS):
            if len(rows) == 0:
                break
            middle = 0.5 * (low + high)
            tried = self.to_u(begin[rows] + middle[:, None] * D[rows])
            good = self.feasible(tried)
            out[rows[good]] = tried[good]
            low, high = np.where(good, middle, low), np.where(good, high, middle)
        return out

    # ------------------------------------------------------------------ rows
    @property
    def limits(self) -> tuple[Float[ndarray, " m"], Float[ndarray, " m"]]:
        """The lower and upper limits of ``rows``, with margins in inequalities."""
        lower, upper = self.polytope.inner
        middle = 0.5 * (self.polytope.lower + self.polytope.upper)
        equal = self.polytope.equal
        return np.where(equal, middle, lower), np.where(equal, middle, upper)

    def rows(
        self, u: Float[ndarray, " P"]
    ) -> tuple[Float[ndarray, " m"], Float[ndarray, "m P"]]:
        """Return the linear constraints at a point, and their gradients in u."""
        slope = np.ones(len(u))
        for p, block in self.curved:
            x = float(from_unit(p, u[None, [block]])[0])
            slope[block] = x * np.log(p.hi / p.lo) / (p.hi - p.lo)
        A = self.polytope.A
        return A @ self.to_w(u[None])[0], A * slope

    @cached_property
    def polytope(self) -> Polytope:
        """The linear constraints in w."""
        lower, upper = rows_of(self.linear, self.space.names)[1:]
        C = self._C
        A = np.zeros((len(C), self.space.dim))
        levels = np.zeros(self.space.dim, dtype=int)
        blocks = zip(self.space.parameters, self.space.blocks, strict=True)
        for k, (p, block) in enumerate(blocks):
            if isinstance(p, Categorical):
                levels[list(block)] = 2
                continue
            if isinstance(p, Integer):
                levels[block[0]] = int(p.hi) - int(p.lo) + 1
            A[:, block[0]] = C[:, k] * (p.hi - p.lo)
            lower, upper = lower - C[:, k] * p.lo, upper - C[:, k] * p.lo
        scale = np.abs(A).sum(axis=1)
        return Polytope(
            A=A / scale[:, None],
            lower=lower / scale,
            upper=upper / scale,
            levels=levels,
            rounding=1e-14 + 8e-16 * self._terms / scale,
        ).flattened()

    @cached_property
    def draws(self) -> FeasibleDraws:
        """How feasible points are drawn.

        Raises:
            ArgumentError: If no feasible point exists, or none is found.
        """
        return first_points(self)

    @cached_property
    def plain(self) -> "Region | None":
        """The region of the linear constraints alone; None if there are none."""
        return replace(self.space, constraints=self.linear).region

    # ------------------------------------------------------------------ w and u
    def to_w(self, U: Float[ndarray, "n P"]) -> Float[ndarray, "n P"]:
        """Return the coordinates w of representable points."""
        W = np.array(U)
        for p, b in (*self.curved, *self.whole):
            x = from_unit(p, U[:, [b]])
            W[:, b] = (x - p.lo) / (p.hi - p.lo)
        return W

    def to_u(self, W: Float[ndarray, "n P"]) -> Float[ndarray, "n P"]:
        """Return the representable points of coordinates w."""
        W = np.clip(W, 0.0, 1.0)
        U = W.copy()
        for p, b in self.curved:
            x = np.clip(p.lo + W[:, b] * (p.hi - p.lo), p.lo, p.hi)
            U[:, b] = to_unit(p, x)[:, 0]
        for p, b in self.whole:
            U[:, b] = to_unit(p, np.rint(p.lo + W[:, b] * (p.hi - p.lo)))[:, 0]
        return self.space.snap(U)

    @cached_property
    def curved(self) -> list[tuple[Real, int]]:
        """Logarithmic parameters of linear constraints, with their coordinates."""
        used = {name for row in self.linear for name in row.names}
        pairs = zip(self.space.parameters, self.space.blocks, strict=True)
        return [
            (p, block[0])
            for p, block in pairs
            if isinstance(p, Real) and p.log and p.name in used
        ]

    @cached_property
    def whole(self) -> list[tuple[Integer, int]]:
        """Integers, with their coordinates."""
        pairs = zip(self.space.parameters, self.space.blocks, strict=True)
        return [(p, block[0]) for p, block in pairs if isinstance(p, Integer)]

    # ------------------------------------------------------------------ tests
    def _numbers(self, U: Float[ndarray, "n P"]) -> Float[ndarray, "n K"]:
        pairs = zip(self.space.parameters, self.space.blocks, strict=True)
        columns = [from_unit(p, U[:, list(block)]) for p, block in pairs]
        return np.stack(columns, axis=1).astype(np.float64)

    @cached_property
    def _C(self) -> Float[ndarray, "m K"]:
        return rows_of(self.linear, self.space.names)[0]

    @cached_property
    def _terms(self) -> Float[ndarray, " m"]:
        """The largest possible sum of absolute terms of each row."""
        C, lower, upper = rows_of(self.linear, self.space.names)
        limits = np.where(np.isfinite(lower), np.abs(lower), 0.0)
        limits = np.maximum(limits, np.where(np.isfinite(upper), np.abs(upper), 0.0))
        return np.abs(C) @ np.abs(self.space.bounds).max(axis=1) + limits

    @cached_property
    def _allowed(self) -> Float[ndarray, " m"]:
        """What is allowed beyond the limits in the user's numbers.

        Nothing in inequalities with a real parameter, since a margin can be kept
        there; rounding in the others.
        """
        real = {p.name for p in self.space.parameters if isinstance(p, Real)}
        equal = self.polytope.equal[: len(self.linear)]
        smooth = [not real.isdisjoint(row.names) for row in self.linear]
        soft = ~equal & np.array(smooth, dtype=bool)
        return np.where(soft, 0.0, TOLERANCE * self._terms)

    @cached_property
    def _lower(self) -> Float[ndarray, " m"]:
        return rows_of(self.linear, self.space.names)[1] - self._allowed

    @cached_property
    def _upper(self) -> Float[ndarray, " m"]:
        return rows_of(self.linear, self.space.names)[2] + self._allowed

    def _passed(self, U: Float[ndarray, "n P"]) -> list[bool]:
        """Return which points pass the tests; answers are kept.

        Raises:
            ArgumentError: If a test fails with an error, or returns no boolean.
        """
        out = []
        if len(self._answers) > KNOWN:
            self._answers.clear()
        for u, x in zip(U, self.space.decode(U), strict=True):
            key = u.tobytes()
            if key not in self._answers:
                self._answers[key] = all(_ask(test, x) for test in self.tests)
            out.append(self._answers[key])
        return out


def _ask(test: Feasible, x: ndarray) -> bool:
    try:
        return test(x.copy())
    except ArgumentError:
        raise
    except Exception as error:
        msg = f"Feasible({test.name}) failed at {x!r}: {type(error).__name__}: {error}."
        raise ArgumentError(f"{msg} Return False where it cannot tell.") from error
