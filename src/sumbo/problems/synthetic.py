"""Sums of shifted one-dimensional Ackley, Levy or Rastrigin functions.

With z_p = z* + side · (x_p − x*_p), the value is Σ_p g(z_p): z* minimises g, side is
the width of g's usual box, and x* = 0.5 + u is uniform on the unit cube because the
shift u is uniform on [−0.5, 0.5]^P. Beyond the usual box g continues analytically.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from sumbo.errors import ArgumentError
from sumbo.problems.base import Problem, nonnegative, problem
from sumbo.rng import Seed, as_seed, rng_at
from sumbo.typing import Float, Groups, ndarray

LineFunction = Callable[[Float[ndarray, "..."]], Float[ndarray, "..."]]

# The ripple of the study's Ackley function; the textbook has 2π, and 65 wells.
FREQUENCY = 0.1 * np.pi


@dataclass(frozen=True, kw_only=True, eq=False)
class Synthetic(Problem):
    """A sum of one-dimensional components g with known minimum, one per coordinate."""

    line: LineFunction
    side: float  # width of the box of g that the unit interval stands for
    argmin: float  # z*, where g is smallest
    optimum: Float[ndarray, " P"]  # x*, where z = z*; may lie outside the cube
    shift: Float[ndarray, " P"]  # u

    @property
    def groups(self) -> Groups:
        """Every coordinate is a group of its own."""
        return tuple((p,) for p in range(self.dim))

    def evaluate(self, X: Float[ndarray, "n P"]) -> Float[ndarray, " n"]:
        """Return Σ_p g(z_p) per row; a point costs some microseconds."""
        return self.components(X).sum(axis=1)

    def components(self, X: Float[ndarray, "n P"]) -> Float[ndarray, "n P"]:
        """Return the terms g(z_p) of the sum."""
        return self.line(self.argmin + self.side * (X - self.optimum))


def ackley(
    *,
    dim: int = 2,
    seed: Seed = 0,
    shift: Sequence[float] | ndarray | None = None,
    frequency: float = FREQUENCY,
) -> Synthetic:
    """Return a sum of Ackley functions, a narrow cusp of depth 20 per coordinate.

    The minimum is 0 at 0.5 + shift. ``frequency`` is c of the ripple cos(c z).
    """
    return _synthetic(
        "ackley",
        partial(ackley_line, frequency=nonnegative("frequency", frequency)),
        side=65.536,
        argmin=0.0,
        shift=_shift("ackley", dim, seed, shift),
        lowest=0.0,
    )


def levy(
    *,
    dim: int = 2,
    seed: Seed = 0,
    shift: Sequence[float] | ndarray | None = None,
    center: str = "half",
) -> Synthetic:
    """Return a sum of Levy functions: a wavy parabola per coordinate.

    With ``center="half"`` the minimum is 0 at 0.5 + shift. With ``center="paper"``
    the box is [−10, 10] as printed in the paper, which puts the optimum at
    0.55 + shift; where that exceeds 1, the minimum lies on the boundary and is
    positive. ``minimum`` and ``minimizer`` are exact for the instance in both cases.

    Raises:
        ArgumentError: If a setting has a value that cannot be used.
    """
    if center not in {"half", "paper"}:
        msg = f'center={center!r} is unknown. Pass "half" or "paper".'
        raise ArgumentError(msg)
    return _synthetic(
        "levy",
        levy_line,
        side=20.0,
        argmin=1.0,
        shift=_shift("levy", dim, seed, shift),
        lowest=0.0,
        middle=0.5 if center == "half" else 0.55,
    )


def rastrigin(
    *,
    dim: int = 2,
    seed: Seed = 0,
    shift: Sequence[float] | ndarray | None = None,
) -> Synthetic:
    """Return a sum of Rastrigin functions, a parabola with cosine ripples.

    The minimum is −2 per coordinate, at 0.5 + shift.
    """
    return _synthetic(
        "rastrigin",
        rastrigin_line,
        side=3.0,
        argmin=0.0,
        shift=_shift("rastrigin", dim, seed, shift),
        lowest=-2.0,
    )


def ackley_line(z: Float[ndarray, "..."], frequency: float) -> Float[ndarray, "..."]:
    """Return a + e − a exp(−b|z|) − exp(cos(c z)) with a = 20, b = 0.2."""
    # Grouped so that the minimum, at z = 0, is exactly 0.
    cusp = 20.0 - 20.0 * np.exp(-0.2 * np.abs(z))
    return cusp + (np.exp(1.0) - np.exp(np.cos(frequency * z)))


def levy_line(z: Float[ndarray, "..."]) -> Float[ndarray, "..."]:
    """Return sin²(πw) + (w − 1)² (1 + sin²(2πw)) with w = 1 + (z − 1)/4."""
    # sin² has period π, so w may be replaced by w − 1: exactly 0 at z = 1.
    v = (z - 1.0) / 4.0
    return np.sin(np.pi * v) ** 2 + v**2 * (1.0 + np.sin(2.0 * np.pi * v) ** 2)


def rastrigin_line(z: Float[ndarray, "..."]) -> Float[ndarray, "..."]:
    """Return z² − 2 cos(2πz)."""
    return z**2 - 2.0 * np.cos(2.0 * np.pi * z)


def _synthetic(
    family: str,
    line: LineFunction,
    *,
    side: float,
    argmin: float,
    shift: Float[ndarray, " P"],
    lowest: float,
    middle: float = 0.5,
) -> Synthetic:
    P = len(shift)
    optimum = middle + shift
    # All components fall monotonically from the edge of the cube to an optimum less
    # than 0.05 beyond it, so the constrained minimiser is the nearest point.
    minimizer = np.clip(optimum, 0.0, 1.0)
    floor = line(argmin + side * (minimizer - optimum))
    floor[minimizer == optimum] = lowest
    return Synthetic(
        name=f"{family}{P}",
        bounds=np.tile([0.0, 1.0], (P, 1)),
        parameters=tuple(f"x{p}" for p in range(P)),
        description=DESCRIPTIONS[family],
        cite="wycoff2025",
        minimum=float(floor.sum()),
        minimizer=minimizer,
        line=line,
        side=side,
        argmin=argmin,
        optimum=optimum,
        shift=shift,
    )


def _shift(
    family: str, dim: int, seed: Seed, shift: Sequence[float] | ndarray | None
) -> Float[ndarray, " P"]:
    if isinstance(dim, bool) or not isinstance(dim, (int, np.integer)) or dim < 1:
        msg = f"dim={dim!r} is not a positive integer. Pass one, such as 10."
        raise ArgumentError(msg)
    if shift is None:
        rng = rng_at(as_seed(seed), f"problems/{family}", int(dim))
        return rng.uniform(-0.5, 0.5, size=int(dim))
    u = np.array(shift, dtype=float)
    if u.shape != (dim,) or not np.all(np.abs(u) <= 0.5):
        msg = (
            f"shift={shift!r} is not {dim} numbers in [-0.5, 0.5]. Pass dim of them, "
            "or None to draw them from the seed."
        )
        raise ArgumentError(msg)
    return u


DESCRIPTIONS = {
    "ackley": "sum of shifted 1-d Ackley functions: cusps on a plateau",
    "levy": "sum of shifted 1-d Levy functions: wavy parabolas",
    "rastrigin": "sum of shifted 1-d Rastrigin functions: rippled parabolas",
}

for _family, _make in (("ackley", ackley), ("levy", levy), ("rastrigin", rastrigin)):
    _facts = {
        "cost": "0.03 ms",
        "cite": "wycoff2025",
        "description": DESCRIPTIONS[_family],
    }
    problem(_family, dim=None, listed=False, **_facts)(_make)
    for _dim in (2, 5, 10):
        problem(f"{_family}{_dim}", dim=_dim, **_facts)(partial(_make, dim=_dim))
