"""Problems around problems: noisy observations, counted and timed evaluations."""

import hashlib
import time
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from sumbo.problems.base import Problem, nonnegative
from sumbo.rng import Seed, as_seed, rng_at
from sumbo.typing import Float, Groups, ndarray


def noisy(problem: Problem, sd: float, seed: Seed = 0) -> "Noisy":
    """Return the problem with Gaussian noise added to its values.

    ``minimum`` and ``best_known`` stay those of the noise-free problem.

    Examples:
        >>> import sumbo
        >>> p = sumbo.problems.noisy(sumbo.problems.get("levy2", seed=3), sd=0.1)
        >>> p.minimum
        0.0
    """
    facts: dict[str, Any] = _facts(problem) | {"noise": nonnegative("sd", sd)}
    return Noisy(problem=problem, seed=as_seed(seed), **facts)


def counted(problem: Problem) -> "Counted":
    """Return the problem with a ``count`` of the points it evaluated.

    Examples:
        >>> import numpy as np
        >>> import sumbo
        >>> p = sumbo.problems.counted(sumbo.problems.get("levy2", seed=3))
        >>> values = p(np.array([[0.3, 0.6], [0.1, 0.9]]))
        >>> p.count
        2
    """
    return Counted(problem=problem, **_facts(problem))


def timed(problem: Problem) -> "Timed":
    """Return the problem with the wall-clock ``seconds`` its evaluations took.

    Examples:
        >>> import sumbo
        >>> p = sumbo.problems.timed(sumbo.problems.get("levy2", seed=3))
        >>> value = p([0.3, 0.6])
        >>> p.seconds > 0.0
        True
    """
    return Timed(problem=problem, **_facts(problem))


@dataclass(frozen=True, kw_only=True, eq=False)
class Wrapper(Problem):
    """A problem that passes its points on; the wrapped one is ``problem``."""

    problem: Problem

    @property
    def groups(self) -> Groups | None:
        """The structure of the wrapped problem."""
        return self.problem.groups

    def evaluate(self, X: Float[ndarray, "n P"]) -> Float[ndarray, " n"]:
        """Return the values of the wrapped problem."""
        return self.problem.evaluate(X)


@dataclass(frozen=True, kw_only=True, eq=False)
class Noisy(Wrapper):
    """Values plus noise that depends on the seed, the point, and its repetitions.

    Neither the order of the points nor the process that evaluates them matters, and
    evaluating a point again gives another value.
    """

    seed: int
    seen: dict[int, int] = field(default_factory=dict, repr=False)

    def evaluate(self, X: Float[ndarray, "n P"]) -> Float[ndarray, " n"]:
        """Return the values of the wrapped problem plus noise."""
        noise = np.array([self._draw(x) for x in X], dtype=float)
        return super().evaluate(X) + self.noise * noise

    def _draw(self, x: Float[ndarray, " P"]) -> float:
        # Adding 0 turns −0 into 0: equal points are to have equal bytes.
        digest = hashlib.blake2b((x + 0.0).tobytes(), digest_size=8).digest()
        address = int.from_bytes(digest)
        repetition = self.seen.get(address, 0)
        self.seen[address] = repetition + 1
        rng = rng_at(self.seed, "problems/noisy", address, repetition)
        return float(rng.standard_normal())


@dataclass(frozen=True, kw_only=True, eq=False)
class Counted(Wrapper):
    """A problem that counts; a copy in another process counts for itself."""

    batches: list[int] = field(default_factory=list, repr=False)

    @property
    def count(self) -> int:
        """The number of points evaluated so far."""
        return sum(self.batches)

    def evaluate(self, X: Float[ndarray, "n P"]) -> Float[ndarray, " n"]:
        """Return the values of the wrapped problem, after which they count."""
        values = super().evaluate(X)
        self.batches.append(len(X))  # atomic, so that threads may share the problem
        return values


@dataclass(frozen=True, kw_only=True, eq=False)
class Timed(Wrapper):
    """A problem that measures; a copy in another process measures for itself."""

    batches: list[tuple[int, float]] = field(default_factory=list, repr=False)

    @property
    def seconds(self) -> float:
        """The wall-clock time of all evaluations so far."""
        return sum(duration for _, duration in self.batches)

    @property
    def per_point(self) -> float:
        """The mean wall-clock time per point; NaN before the first."""
        points = sum(n for n, _ in self.batches)
        return self.seconds / points if points else float("nan")

    def evaluate(self, X: Float[ndarray, "n P"]) -> Float[ndarray, " n"]:
        """Return the values of the wrapped problem, after which they are timed."""
        start = time.perf_counter()
        values = super().evaluate(X)
        self.batches.append((len(X), time.perf_counter() - start))
        return values


def _facts(problem: Problem) -> dict[str, Any]:
    return {f.name: getattr(problem, f.name) for f in fields(Problem)}
