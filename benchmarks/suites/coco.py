"""COCO's suites with integers, noise, many parameters and constraints.

A problem is called ``<suite>-f<number>``. Its seed chooses one of COCO's 15 instances.
"""

import contextlib
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sumbo.problems.base import Problem, load, problem
from sumbo.rng import Seed, as_seed
from sumbo.space import Integer, Real, Space
from sumbo.typing import Float, ndarray

CITE = "hansen2021"
INSTANCES = 15
# Values of which the median counts as the value without noise.
REPEATS = 51

BBOB = {
    1: "sphere",
    2: "separable ellipsoid",
    3: "separable Rastrigin",
    4: "separable Büche-Rastrigin",
    5: "linear slope",
    6: "attractive sector",
    7: "step ellipsoid",
    8: "Rosenbrock",
    9: "rotated Rosenbrock",
    10: "rotated ellipsoid",
    11: "discus",
    12: "bent cigar",
    13: "sharp ridge",
    14: "different powers",
    15: "rotated Rastrigin",
    16: "Weierstrass",
    17: "Schaffer",
    18: "ill-conditioned Schaffer",
    19: "Griewank-Rosenbrock",
    20: "Schwefel",
    21: "Gallagher with 101 peaks",
    22: "Gallagher with 21 peaks",
    23: "Katsuura",
    24: "Lunacek",
}
# Functions of bbob that the other suites are made from, in the order of their numbers:
# with noise of three kinds each, moderate and severe, or with six sets of constraints.
NOISY = (1, 8, 1, 8, 7, 10, 14, 17, 19, 21)
NOISE = ("Gaussian", "uniform", "Cauchy")
CONSTRAINED = (1, 2, 5, 10, 11, 12, 14, 3, 15)

DIMENSIONS = {
    "bbob-mixint": 10,
    "bbob-noisy": 10,
    "bbob-largescale": 40,
    "bbob-constrained": 10,
}


def functions(suite: str) -> Mapping[int, int]:
    """Return the number in ``bbob`` of each function of a suite, by its own number."""
    if suite == "bbob-noisy":
        return {101 + 3 * i + k: f for i, f in enumerate(NOISY) for k in range(3)}
    if suite == "bbob-constrained":
        return {1 + 6 * i + k: f for i, f in enumerate(CONSTRAINED) for k in range(6)}
    return {f: f for f in BBOB}


def reported(suite: str) -> tuple[int, ...]:
    """Return the functions that are reported; the others are for development."""
    return tuple(f for f, base in functions(suite).items() if base % 2 == 0)


@dataclass(frozen=True, kw_only=True, eq=False)
class Coco(Problem):
    """A function of COCO.

    With constraints the value is max(f − f*, 0) plus the sum of the violations, so that
    every optimiser can minimise it, and the minimum is 0.

    The noise of a noisy function is COCO's stream, which begins anew with every problem
    that is made.
    """

    suite: str
    function: int
    instance: int
    kinds: Space
    base: float = 0.0  # f* where the value is a distance to it
    opened: list[Any] = field(default_factory=list, repr=False)

    @property
    def space(self) -> Space:
        """The search space: the first parameters may be integers."""
        return self.kinds

    def evaluate(self, X: Float[ndarray, "n P"]) -> Float[ndarray, " n"]:
        """Return the values at the points, integers rounded."""
        return np.array([self._value(x) for x in self._rounded(X)])

    def truth(self, X: Float[ndarray, "n P"]) -> Float[ndarray, " n"]:
        """Return the values without noise: medians of fresh values where it is noisy.

        The order of two points under Gaussian or uniform noise is that of their values
        without noise. Cauchy noise also adds a constant.
        """
        if self.noise == 0:
            return self.evaluate(X)
        fresh = open_problem(self.suite, self.function, self.dim, self.instance)
        values = [[fresh[-1](x) for _ in range(REPEATS)] for x in self._rounded(X)]
        return np.median(values, axis=1)

    def _rounded(self, X: Float[ndarray, "n P"]) -> Float[ndarray, "n P"]:
        whole = [isinstance(p, Integer) for p in self.kinds.parameters]
        return np.where(whole, np.rint(X), X)

    def _value(self, x: Float[ndarray, " P"]) -> float:
        if not self.opened:
            self.opened.extend(
                open_problem(self.suite, self.function, self.dim, self.instance)
            )
        handle = self.opened[-1]
        return merit(handle, x, self.base)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "opened": []}  # handles of C cannot be copied


def merit(handle: Any, x: Float[ndarray, " P"], base: float) -> float:
    """Return the value at a point, with the sum of violations if there are any."""
    value = float(handle(x))
    if not handle.number_of_constraints:
        return value
    return max(value - base, 0.0) + float(np.maximum(handle.constraint(x), 0.0).sum())


def open_problem(suite: str, function: int, dim: int, instance: int) -> tuple[Any, Any]:
    """Return COCO's suite, which must live as long as its problem, and the problem."""
    cocoex = load("cocoex", name=suite, extra="suites")
    opened = cocoex.Suite(suite, "", f"dimensions:{dim}")
    handle = opened.get_problem_by_function_dimension_instance(function, dim, instance)
    return opened, handle


def optimum(handle: Any) -> Float[ndarray, " P"]:
    """Return the minimiser, which COCO writes to a file in the working directory."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        handle._best_parameter("print")
        return np.loadtxt(next(Path(folder).glob("*best_parameter.txt")))


def coco(suite: str, function: int, seed: Seed) -> Coco:
    """Return a function of COCO, its instance chosen by the seed."""
    dim = DIMENSIONS[suite]
    instance = 1 + as_seed(seed) % INSTANCES
    opened = open_problem(suite, function, dim, instance)
    handle = opened[-1]
    best = optimum(handle)
    lo, hi = handle.lower_bounds, handle.upper_bounds
    names = tuple(f"x{i + 1}" for i in range(dim))
    kinds = Space.of(
        [
            Integer(name, int(a), int(b))
            if i < whole
            else Real(name, float(a), float(b))
            for whole in (handle.number_of_integer_variables,)
            for i, (name, a, b) in enumerate(zip(names, lo, hi, strict=True))
        ]
    )
    constrained = handle.number_of_constraints > 0
    noisy = suite == "bbob-noisy"
    value = float(handle(best))
    # Cauchy noise also raises the value at the minimiser, by an unknown constant.
    raised = noisy and (function - 101) % 3 == 2
    return Coco(
        name=f"{suite}-f{function:02d}",
        bounds=np.column_stack([lo, hi]),
        parameters=names,
        description=describe(suite, function),
        cite=CITE,
        minimum=None if raised else 0.0 if constrained else value,
        minimizer=best,
        noise=float(noisy),
        suite=suite,
        function=function,
        instance=instance,
        kinds=kinds,
        base=value if constrained else 0.0,
    )


def describe(suite: str, function: int) -> str:
    """Return what a function is."""
    text = BBOB[functions(suite)[function]]
    if suite == "bbob-noisy":
        kind = NOISE[(function - 101) % 3]
        return f"{text} with {kind} noise, {'severe' if function > 106 else 'moderate'}"
    if suite == "bbob-constrained":
        return f"{text} with constraints, set {1 + (function - 1) % 6} of 6"
    return f"{text}, {'mixed integers' if suite == 'bbob-mixint' else '40 parameters'}"


def _maker(suite: str, function: int) -> Callable[..., Coco]:
    def make(*, seed: Seed = 0) -> Coco:
        return coco(suite, function, seed)

    return make


for _suite, _dim in DIMENSIONS.items():
    for _function in functions(_suite):
        problem(
            f"{_suite}-f{_function:02d}",
            dim=_dim,
            cost="0.03 ms",
            cite=CITE,
            description=describe(_suite, _function),
            needs="suites",
            modules=("cocoex",),
        )(_maker(_suite, _function))
