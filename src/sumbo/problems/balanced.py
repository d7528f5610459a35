"""Linear functions whose earlier data all have the same total.

Every row of ``log`` has the same sum of coordinates, as mixtures, fixed budgets and
balanced two-level designs have. So the log says how coordinates compare, and nothing
of their sum, which is all that counts: f is the sum, up to its sign and scale.
"""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from scipy.linalg import hadamard

from sumbo.problems.base import Problem, problem
from sumbo.rng import Seed, as_seed, rng_at
from sumbo.space import Integer, Space
from sumbo.typing import Float, ndarray

FACTORS = 16  # of two levels; a power of 2, for which there is a Hadamard matrix
COORDINATES = 12  # of the box
ROWS = 60  # of the log in the box

DESCRIPTIONS = {
    "balanced": "two-level factors, with a log that hides the total effect",
    "balanced-box": "a linear function, with a log that hides the total effect",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Balanced(Problem):
    """A linear function s Σ_p (x_p − ½) with a log in which it is 0."""

    slope: float  # s
    log: Float[ndarray, "n P"]  # earlier points; their values are 0

    def evaluate(self, X: Float[ndarray, "n P"]) -> Float[ndarray, " n"]:
        """Return the values; a point costs some microseconds."""
        return self.slope * (X - 0.5).sum(axis=1)


@dataclass(frozen=True, kw_only=True, eq=False)
class TwoLevel(Balanced):
    """The same with levels 0 and 1."""

    @property
    def space(self) -> Space:
        """Whole numbers from 0 to 1."""
        return Space.of([Integer(name, 0, 1) for name in self.parameters])


B = TypeVar("B", bound=Balanced)


@problem(
    "balanced",
    dim=FACTORS,
    cost="0.02 ms",
    cite="wycoff2025",
    description=DESCRIPTIONS["balanced"],
)
def balanced(*, seed: Seed = 0) -> TwoLevel:
    """Return ±Σ_p (2 x_p − 1)/√P with levels x_p of 0 and 1; the seed draws the sign.

    The log has the rows of a Hadamard matrix but the first, as levels.
    """
    log = (1 + hadamard(FACTORS)[1:]) / 2
    return _balanced(TwoLevel, "balanced", seed, 2 / FACTORS**0.5, log)


@problem(
    "balanced-box",
    dim=COORDINATES,
    cost="0.02 ms",
    cite="wycoff2025",
    description=DESCRIPTIONS["balanced-box"],
)
def balanced_box(*, seed: Seed = 0) -> Balanced:
    """Return ±Σ_p (x_p − ½) on the unit cube; the seed draws the sign and the log.

    The log has 60 points whose coordinates have the mean ½.
    """
    rng, rows = rng_at(as_seed(seed), "problems/balanced-box log"), []
    while len(rows) < ROWS:
        u = rng.random(COORDINATES)
        x = u - u.mean() + 0.5
        if ((x >= 0) & (x <= 1)).all():
            rows.append(x)
    return _balanced(Balanced, "balanced-box", seed, 1.0, np.array(rows))


def _balanced(
    kind: type[B], name: str, seed: Seed, scale: float, log: Float[ndarray, "n P"]
) -> B:
    P = log.shape[1]
    positive = rng_at(as_seed(seed), f"problems/{name}").random() < 0.5
    slope = scale if positive else -scale
    return kind(
        name=name,
        bounds=np.tile([0.0, 1.0], (P, 1)),
        parameters=tuple(f"x{p}" for p in range(P)),
        description=DESCRIPTIONS[name],
        cite="wycoff2025",
        minimum=-scale * P / 2,
        minimizer=np.full(P, 0.0 if positive else 1.0),
        slope=slope,
        log=log,
    )
