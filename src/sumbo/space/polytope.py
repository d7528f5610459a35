"""Points of the unit cube between linear limits: chords, corrections, interior points.

Coordinates are continuous or have levels. Equations are kept by moving in their null
space; inequalities with continuous coordinates are kept with a margin, so that
rounding cannot break them.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from scipy.linalg import null_space, pinv

from sumbo.typing import Bool, Float, Int, ndarray

# Distance that is kept from a limit, as a share of the range of its row.
MARGIN = 1e-10
# Width below which a set is flat: linear programs are solved to 1e-7.
FLAT = 1e-7
SWEEPS = 20  # over all rows, when a point is moved towards the set


@dataclass(frozen=True, kw_only=True, eq=False)
class Polytope:
    """The points w of [0, 1]^P with lower ≤ A w ≤ upper.

    Attributes:
        A: Rows, scaled so that the absolute values of each add up to one.
        lower: Lower limits, −inf where there is none.
        upper: Upper limits.
        levels: The number of levels of each coordinate, 0 if it is continuous.
        rounding: What rounding may change in the value of each row.
    """

    A: Float[ndarray, "m P"]
    lower: Float[ndarray, " m"]
    upper: Float[ndarray, " m"]
    levels: Int[ndarray, " P"]
    rounding: Float[ndarray, " m"]

    # ------------------------------------------------------------------ structure
    @cached_property
    def involved(self) -> Bool[ndarray, " P"]:
        """Whether a coordinate is in any row."""
        return (self.A != 0).any(axis=0)

    @cached_property
    def moving(self) -> Int[ndarray, " J"]:
        """The continuous coordinates that are in any row."""
        return np.flatnonzero(self.involved & (self.levels == 0))

    @cached_property
    def equal(self) -> Bool[ndarray, " m"]:
        """Which rows are equations."""
        return self.upper - self.lower <= 4 * MARGIN

    @cached_property
    def inner(self) -> tuple[Float[ndarray, " m"], Float[ndarray, " m"]]:
        """The limits with margins, for moves."""
        soft = ~self.equal & (self.A[:, self.moving] != 0).any(axis=1)
        margin = np.where(soft, np.maximum(MARGIN, 8 * self.rounding), -self.rounding)
        return self.lower + margin, self.upper - margin

    @cached_property
    def basis(self) -> Float[ndarray, "J k"]:
        """An orthonormal basis of moves of ``moving`` that keep all equations."""
        E = self.A[self.equal][:, self.moving]
        return null_space(E) if len(E) else np.eye(len(self.moving))

    @cached_property
    def _correction(self) -> Float[ndarray, "J e"]:
        return np.asarray(pinv(self.A[self.equal][:, self.moving]))

    @cached_property
    def _normals(self) -> list[tuple[int, Float[ndarray, " J"]]]:
        """Inequalities with their normals within the equations, not normalised."""
        across = self.basis @ self.basis.T
        out = []
        for r in np.flatnonzero(~self.equal):
            a = across @ self.A[r, self.moving]
            if a @ a > 1e-20:
                out.append((int(r), a / (a @ a)))
        return out

    # ------------------------------------------------------------------ points
    def corrected(self, W: Float[ndarray, "n P"]) -> Float[ndarray, "n P"]:
        """Return the points moved by the smallest step that meets all equations."""
        if not self.equal.any():
            return W
        E = self.A[self.equal]
        target = 0.5 * (self.lower + self.upper)[self.equal]
        out = W.copy()
        for _ in range(2):  # the second step removes the rounding of the first
            out[:, self.moving] += (target - out @ E.T) @ self._correction.T
        # Rounding may leave the cube by a last bit, which is no violation.
        return np.where(np.abs(out - 0.5) <= 0.5 + 1e-14, np.clip(out, 0, 1), out)

    def inside(self, W: Float[ndarray, "n P"]) -> Bool[ndarray, " n"]:
        """Return which points are in the cube and within all limits with margins."""
        value = W @ self.A.T
        lower, upper = self.inner
        slack = 4 * self.rounding
        within = (value >= lower - slack) & (value <= upper + slack)
        good = within.all(axis=1) & ((W >= 0) & (W <= 1)).all(axis=1)
        return np.asarray(good)

    def reach(
        self, W: Float[ndarray, "n P"], D: Float[ndarray, "n P"]
    ) -> Float[ndarray, " n"]:
        """Return how far each point may go along its direction; inf if D is 0."""
        value, rate = W @ self.A.T, D @ self.A.T
        lower, upper = self.inner
        room = np.where(rate > 0, upper - value, value - lower)
        room[:, self.equal] = np.inf
        with np.errstate(divide="ignore", invalid="ignore"):
            by_row = np.where(np.abs(rate) > 1e-14, room / np.abs(rate), np.inf)
            to_side = np.where(D > 0, 1.0 - W, W)
            by_side = np.where(np.abs(D) > 1e-14, to_side / np.abs(D), np.inf)
        reached = np.minimum(by_row.min(axis=1, initial=np.inf), by_side.min(axis=1))
        return np.maximum(reached, 0.0)

    def approached(self, W: Float[ndarray, "n P"]) -> Float[ndarray, "n P"]:
        """Return points closer to the set, or in it, by cyclic projections.

        Levels stay as they are.
        """
        lower, upper = self.inner
        out = self.corrected(W)
        for _ in range(SWEEPS):
            for r, normal in self._normals:
                value = out @ self.A[r]
                excess = value - np.clip(value, lower[r], upper[r])
                out[:, self.moving] -= excess[:, None] * normal
            out = self.corrected(np.clip(out, 0.0, 1.0))
        return out

    # ------------------------------------------------------------------ programs
    def centre(
        self,
        at: Float[ndarray, " P"] | None = None,
        *,
        relaxed: bool = False,
    ) -> tuple[Float[ndarray, " P"], float] | None:
        """Return the centre of the largest ball inside, and its radius.

        Levels are those of ``at``, or chosen; ``relaxed`` treats them as continuous.
        None if there is no point.
        """
        norms = np.linalg.norm(self.A[:, self.moving] @ self.basis, axis=1)
        norms[self.equal] = 0.0
        width = np.zeros(self.A.shape[1])
        width[self.moving] = np.linalg.norm(self.basis, axis=1)
        cost = np.zeros(len(width) + 1)
        cost[-1] = -1.0
        found = self._solve(cost, at, norms, width, relaxed=relaxed)
        return None if found is None else (found[:-1], float(found[-1]))

    def extreme(self, cost: Float[ndarray, " P"]) -> Float[ndarray, " P"] | None:
        """Return a point where a linear cost is least, None if there is no point."""
        none = np.zeros(len(self.A)), np.zeros(self.A.shape[1])
        found = self._solve(np.append(cost, 0.0), None, *none, relaxed=False)
        return None if found is None else found[:-1]

    def flattened(self) -> "Polytope":
        """Return the set with all equations that its inequalities amount to.

        A set without interior, as of a + b ≤ 0 in the unit cube, is a set with
        interior within equations.
        """
        found = self.centre(relaxed=True)
        if found is None or found[1] > FLAT or len(self.moving) == 0:
            return self
        lower, upper = self.lower.copy(), self.upper.copy()
        for r in np.flatnonzero(~self.equal):
            for limits, sign in ((upper, 1.0), (lower, -1.0)):
                best = self._least(sign * self.A[r])
                if best is not None and sign * limits[r] - best <= FLAT:
                    lower[r] = upper[r] = limits[r]
        sides = []
        for p in self.moving:
            unit = np.eye(self.A.shape[1])[p]
            for side, sign in ((1.0, 1.0), (0.0, -1.0)):
                best = self._least(sign * unit)
                if best is not None and sign * side - best <= FLAT:
                    sides.append((unit, side))
        return replace(
            self,
            A=np.vstack([self.A, *[unit for unit, _ in sides]]),
            lower=np.append(lower, [side for _, side in sides]),
            upper=np.append(upper, [side for _, side in sides]),
            rounding=np.append(self.rounding, np.full(len(sides), 1e-15)),
        )

    def _least(self, cost: Float[ndarray, " P"]) -> float | None:
        none = np.zeros(len(self.A)), np.zeros(self.A.shape[1])
        found = self._solve(np.append(cost, 0.0), None, *none, relaxed=True)
        return None if found is None else float(cost @ found[:-1])

    def _solve(
        self,
        cost: Float[ndarray, " c"],
        at: Float[ndarray, " P"] | None,
        norms: Float[ndarray, " m"],
        width: Float[ndarray, " P"],
        *,
        relaxed: bool,
    ) -> Float[ndarray, " c"] | None:
        """Return the solution of a mixed-integer program in w and a radius."""
        # A second of import time that runs without constraints do not need.
        from scipy.optimize import Bounds, LinearConstraint, milp

        P = self.A.shape[1]
        steps = np.where(self.levels > 0, np.maximum(self.levels - 1, 1), 1.0)
        scale = np.append(1.0 / steps, 1.0)  # variables count steps of levels
        low, high = np.zeros(P + 1), np.append(steps, 1.0)
        fixed = self.levels > 0
        if at is not None:
            low[:-1][fixed] = high[:-1][fixed] = np.rint(at * steps)[fixed]
        rows = [
            LinearConstraint(
                np.column_stack([self.A, norms]) * scale, ub=cast(Any, self.upper)
            ),
            LinearConstraint(
                np.column_stack([self.A, -norms]) * scale, lb=cast(Any, self.lower)
            ),
        ]
        wide = np.flatnonzero(width > 0)
        if len(wide):
            eye = np.eye(P)[wide]
            column = width[wide][:, None]
            rows += [
                LinearConstraint(np.hstack([eye, column]) * scale, ub=1.0),
                LinearConstraint(np.hstack([eye, -column]) * scale, lb=0.0),
            ]
        whole = np.append(fixed & (not relaxed), False)
        result = milp(
            cost * scale,
            integrality=whole.astype(int),
            bounds=Bounds(cast(Any, low), cast(Any, high)),
            constraints=rows,
        )
        if result.x is None:
            return None
        x = np.where(whole, np.rint(result.x), result.x)
        return np.clip(x * scale, 0.0, np.append(np.ones(P), np.inf))
