"""Random spaces with random known constraints, and a check that does not use ours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumbo import Categorical, Feasible, Integer, Real, Simplex, Space


@dataclass(frozen=True, kw_only=True)
class Row:
    """A sum of multiples of parameters, and the side of ``limit`` on which it lies."""

    coefficients: Mapping[str, int]
    sign: str
    limit: float

    @property
    def text(self) -> str:
        """The constraint as it is passed."""
        sides = " + ".join(f"{a}*{name}" for name, a in self.coefficients.items())
        return f"{sides} {self.sign} {self.limit!r}"

    def holds(self, point: Mapping[str, Any]) -> bool:
        """Return whether a point meets it, up to rounding."""
        terms = [a * point[name] for name, a in self.coefficients.items()]
        total, size = sum(terms), sum(map(abs, terms)) + abs(self.limit)
        if self.sign == "==":
            return abs(total - self.limit) <= 1e-9 * size
        # Rounding of integers times decimals, and of this sum itself.
        over = total - self.limit if self.sign == "<=" else self.limit - total
        return over <= 1e-12 * size


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A space with its constraints."""

    bounds: Sequence[Any]
    rows: tuple[Row, ...]
    tests: tuple[Feasible, ...]

    @property
    def constraints(self) -> list[Any]:
        """The constraints as an optimizer takes them."""
        return [*(row.text for row in self.rows), *self.tests]

    def holds(self, space: Space, x: Any) -> bool:
        """Return whether a point is in the space and meets all constraints."""
        point = space.as_dict(x)
        mixtures = [p for p in self.bounds if isinstance(p, Simplex)]
        sums = [sum(point[f"{p.name}{i}"] for i in range(p.k)) for p in mixtures]
        return (
            space.contains(x)
            and all(row.holds(point) for row in self.rows)
            and all(test(x) for test in self.tests)
            and all(abs(total - 1.0) <= 1e-9 for total in sums)
        )


def random_scene(rng: np.random.Generator) -> Scene:
    """Return a space with constraints that hold at one random point at least."""
    bounds = _bounds(rng)
    space = Space.of(bounds)
    region = space.region
    u = region.draw(rng, 1) if region else space.snap(rng.random((1, space.dim)))
    known = space.as_dict(space.decode(u)[0])
    numbers = {k: v for k, v in known.items() if not isinstance(v, str)}
    count = rng.integers(0, 4) if numbers else 0
    rows = tuple(_row(rng, numbers) for _ in range(count))
    tests = ()
    if rng.random() < 0.3:
        radius = float(rng.uniform(0.3, 1.5))
        ball = Feasible(lambda x: bool(np.linalg.norm(space.encode(x) - u) <= radius))
        tests = (ball,)
    return Scene(bounds=bounds, rows=rows, tests=tests)


def _row(rng: np.random.Generator, numbers: Mapping[str, float]) -> Row:
    names = rng.permutation(list(numbers))[: rng.integers(1, len(numbers) + 1)]
    c = {str(n): int(rng.integers(1, 4) * rng.choice([-1, 1])) for n in names}
    total = sum(a * numbers[n] for n, a in c.items())
    sign = str(rng.choice(["<=", ">=", "=="], p=[0.45, 0.4, 0.15]))
    room = 0.0 if sign == "==" else float(rng.uniform(0.05, 2.0))
    limit = float(total + room if sign == "<=" else total - room)
    return Row(coefficients=c, sign=sign, limit=limit)


def _bounds(rng: np.random.Generator) -> list[Any]:
    """Return one to five parameters of random kinds."""
    bounds: list[Any] = []
    for k in range(rng.integers(1, 6)):
        kind = rng.choice(["real", "log", "integer", "choice", "simplex"])
        low = float(rng.uniform(-5, 3))
        if kind == "real":
            bounds.append(Real(f"r{k}_", low, low + float(rng.uniform(0.1, 9))))
        elif kind == "log":
            bounds.append(Real(f"l{k}_", 10 ** rng.uniform(-5, -1), 2.7, log=True))
        elif kind == "integer":
            high = int(low) + int(rng.integers(1, 30))
            bounds.append(Integer(f"i{k}_", int(low), high))
        elif kind == "choice":
            bounds.append(Categorical(f"c{k}_", ("a", "b", "c")[: rng.integers(2, 4)]))
        else:
            bounds.append(Simplex(f"s{k}_", int(rng.integers(2, 5))))
    return bounds
