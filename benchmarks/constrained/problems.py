"""Constrained problems with known optima, written from their formulas.

Engineering designs and G-functions are from Coello Coello (2000), Hedar (2004) and the
CEC 2006 report of Liang et al., with the optima stated there. The optimum of
``gardner`` and those of our own mixtures and of ``known-limits`` are the least values
that SLSQP found from 60 random starts. Constraints are outcomes g ≤ 0, or known where
a problem has ``known`` texts.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import sumbo

Evaluated = tuple[float, dict[str, float]]


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A function to be minimised whose outcomes must not be positive.

    Attributes:
        name: Its name.
        bounds: The search space.
        evaluate: Value and outcomes at a point, each outcome feasible if it is ≤ 0.
        outcomes: The names of the outcomes.
        known: Known linear constraints, as text.
        optimum: The least feasible value.
    """

    name: str
    bounds: tuple[Any, ...]
    evaluate: Callable[[np.ndarray], Evaluated]
    outcomes: tuple[str, ...]
    optimum: float
    known: tuple[str, ...] = ()

    def constraints(self) -> list[Any]:
        """Return the constraints as sumbo takes them."""
        limits = [sumbo.Outcome(name, upper=0.0) for name in self.outcomes]
        return [*self.known, *limits]


PROBLEMS: dict[str, Problem] = {}


def problem(
    bounds: Any, outcomes: int, optimum: float, known: tuple[str, ...] = ()
) -> Callable[[Callable[[np.ndarray], tuple[float, list[float]]]], Problem]:
    """Return a decorator that makes a problem of a function with its constraints."""
    names = tuple(f"g{i + 1}" for i in range(outcomes))

    def add(function: Callable[[np.ndarray], tuple[float, list[float]]]) -> Problem:
        def evaluate(x: np.ndarray) -> Evaluated:
            value, g = function(np.asarray(x, dtype=float))
            return float(value), {n: float(v) for n, v in zip(names, g, strict=True)}

        name = function.__name__.replace("_", "-")
        PROBLEMS[name] = Problem(
            name=name,
            bounds=tuple(bounds),
            evaluate=evaluate,
            outcomes=names,
            optimum=optimum,
            known=known,
        )
        return PROBLEMS[name]

    return add


@problem([(0.125, 5), (0.1, 10), (0.1, 10), (0.1, 5)], 6, 1.724852)
def welded_beam(x: np.ndarray) -> tuple[float, list[float]]:
    """Cost of a welded beam: weld, length, depth, width; Coello Coello (2000)."""
    h, l, t, b = x
    P, L, E, G = 6000.0, 14.0, 30e6, 12e6
    M = P * (L + l / 2)
    R = np.sqrt(l**2 / 4 + ((h + t) / 2) ** 2)
    J = 2 * np.sqrt(2) * h * l * (l**2 / 12 + ((h + t) / 2) ** 2)
    first, second = P / (np.sqrt(2) * h * l), M * R / J
    tau = np.sqrt(first**2 + first * second * l / R + second**2)
    sigma = 6 * P * L / (b * t**2)
    delta = 4 * P * L**3 / (E * t**3 * b)
    buckling = 4.013 * E * np.sqrt(t**2 * b**6 / 36) / L**2
    buckling *= 1 - t / (2 * L) * np.sqrt(E / (4 * G))
    cost = 1.10471 * h**2 * l + 0.04811 * t * b * (14 + l)
    g = [
        tau / 13600 - 1,
        sigma / 30000 - 1,
        h - b,
        0.10471 * h**2 + 0.04811 * t * b * (14 + l) - 5,
        delta / 0.25 - 1,
        1 - buckling / P,
    ]
    return cost, g


@problem(
    [
        sumbo.Integer("shell", 1, 99),
        sumbo.Integer("head", 1, 99),
        sumbo.Real("radius", 10, 200),
        sumbo.Real("length", 10, 200),
    ],
    3,
    6059.714335,
)
def pressure_vessel(x: np.ndarray) -> tuple[float, list[float]]:
    """Cost of a pressure vessel; thicknesses are multiples of 0.0625 inch."""
    a, b, R, L = 0.0625 * x[0], 0.0625 * x[1], x[2], x[3]
    cost = 0.6224 * a * R * L + 1.7781 * b * R**2 + 3.1661 * a**2 * L
    cost += 19.84 * a**2 * R
    volume = np.pi * R**2 * L + 4 / 3 * np.pi * R**3
    return cost, [0.0193 * R - a, 0.00954 * R - b, 1 - volume / 1_296_000]


@problem(
    [
        sumbo.Real("width", 2.6, 3.6),
        sumbo.Real("module", 0.7, 0.8),
        sumbo.Integer("teeth", 17, 28),
        sumbo.Real("l1", 7.3, 8.3),
        sumbo.Real("l2", 7.3, 8.3),
        sumbo.Real("d1", 2.9, 3.9),
        sumbo.Real("d2", 5.0, 5.5),
    ],
    11,
    2994.471066,
)
def speed_reducer(x: np.ndarray) -> tuple[float, list[float]]:
    """Weight of a speed reducer."""
    b, m, z, l1, l2, d1, d2 = x
    weight = 0.7854 * b * m**2 * (3.3333 * z**2 + 14.9334 * z - 43.0934)
    weight += -1.508 * b * (d1**2 + d2**2) + 7.4777 * (d1**3 + d2**3)
    weight += 0.7854 * (l1 * d1**2 + l2 * d2**2)
    g = [
        27 / (b * m**2 * z) - 1,
        397.5 / (b * m**2 * z**2) - 1,
        1.93 * l1**3 / (m * z * d1**4) - 1,
        1.93 * l2**3 / (m * z * d2**4) - 1,
        np.sqrt((745 * l1 / (m * z)) ** 2 + 16.9e6) / (110 * d1**3) - 1,
        np.sqrt((745 * l2 / (m * z)) ** 2 + 157.5e6) / (85 * d2**3) - 1,
        m * z / 40 - 1,
        5 * m / b - 1,
        b / (12 * m) - 1,
        (1.5 * d1 + 1.9) / l1 - 1,
        (1.1 * d2 + 1.9) / l2 - 1,
    ]
    return weight, g


@problem([(0.05, 2.0), (0.25, 1.3), (2.0, 15.0)], 4, 0.012665233)
def tension_spring(x: np.ndarray) -> tuple[float, list[float]]:
    """Weight of a spring: wire, coil, number of coils."""
    d, D, N = x
    g = [
        1 - D**3 * N / (71785 * d**4),
        (4 * D**2 - d * D) / (12566 * (D * d**3 - d**4)) + 1 / (5108 * d**2) - 1,
        1 - 140.45 * d / (D**2 * N),
        (D + d) / 1.5 - 1,
    ]
    return (N + 2) * D * d**2, g


@problem([(78, 102), (33, 45), *[(27, 45)] * 3], 6, -30665.538672)
def g04(x: np.ndarray) -> tuple[float, list[float]]:
    """G04 of Liang et al. (2006), also known as Himmelblau's problem."""
    a, b, c, d, e = x
    u = 85.334407 + 0.0056858 * b * e + 0.0006262 * a * d - 0.0022053 * c * e
    v = 80.51249 + 0.0071317 * b * e + 0.0029955 * a * b + 0.0021813 * c**2
    w = 9.300961 + 0.0047026 * c * e + 0.0012547 * a * c + 0.0019085 * c * d
    value = 5.3578547 * c**2 + 0.8356891 * a * e + 37.293239 * a - 40792.141
    return value, [u - 92, -u, v - 110, 90 - v, w - 25, 20 - w]


@problem([(13, 100), (0, 100)], 2, -6961.813876)
def g06(x: np.ndarray) -> tuple[float, list[float]]:
    """G06 of Liang et al. (2006): a thin crescent is feasible."""
    a, b = x
    value = (a - 10) ** 3 + (b - 20) ** 3
    first = 100 - (a - 5) ** 2 - (b - 5) ** 2
    return value, [first, (a - 6) ** 2 + (b - 5) ** 2 - 82.81]


@problem([(0.01, 10), (0.01, 10)], 2, -0.095825)
def g08(x: np.ndarray) -> tuple[float, list[float]]:
    """G08 of Liang et al. (2006); bounds begin at 0.01, where it is defined."""
    a, b = x
    value = -(np.sin(2 * np.pi * a) ** 3) * np.sin(2 * np.pi * b)
    value /= a**3 * (a + b)
    return value, [a**2 - b + 1, 1 - a + (b - 4) ** 2]


@problem([(-10, 10)] * 7, 4, 680.630057)
def g09(x: np.ndarray) -> tuple[float, list[float]]:
    """G09 of Liang et al. (2006)."""
    a, b, c, d, e, f, h = x
    value = (a - 10) ** 2 + 5 * (b - 12) ** 2 + c**4 + 3 * (d - 11) ** 2
    value += 10 * e**6 + 7 * f**2 + h**4 - 4 * f * h - 10 * f - 8 * h
    g = [
        (2 * a**2 + 3 * b**4 + c + 4 * d**2 + 5 * e) / 127 - 1,
        (7 * a + 3 * b + 10 * c**2 + d - e) / 282 - 1,
        (23 * a + b**2 + 6 * f**2 - 8 * h) / 196 - 1,
        4 * a**2 + b**2 - 3 * a * b + 2 * c**2 + 5 * f - 11 * h,
    ]
    return value, g


@problem([(0, 6), (0, 6)], 1, 0.253236)
def gardner(x: np.ndarray) -> tuple[float, list[float]]:
    """The second simulation of Gardner et al. (2014): a tiny feasible part wins."""
    return np.sin(x[0]) + x[1], [np.sin(x[0]) * np.sin(x[1]) + 0.95]


@problem([(0, 1)] * 20, 1, 3.154973)
def coupled_sum(x: np.ndarray) -> tuple[float, list[float]]:
    """A sum of 20 parabolas with a budget that couples all of them.

    At the optimum x = c − λ/2w for one price λ of the budget, cut off at 0.
    """
    i = np.arange(20)
    w, c = 1.0 + i % 5, 0.35 + 0.6 * (0.618 * (i + 1) % 1)
    return float((w * (x - c) ** 2).sum()), [float(x.sum() / 7.5 - 1)]


def _blend(x: np.ndarray) -> float:
    """A Scheffé polynomial of the shares of four components."""
    a, b, c, d = x
    value = 11.2 * a + 8.1 * b + 9.7 * c + 12.4 * d - 19.3 * a * b + 7.1 * a * c
    return float(value - 12.7 * b * c - 16.4 * c * d + 31.0 * a * b * c)


@problem([sumbo.Simplex("m", 4)], 1, 4.700518, known=("m0 >= 0.1", "m3 <= 0.4"))
def mixture(x: np.ndarray) -> tuple[float, list[float]]:
    """A mixture of four components with a limit on a measured property."""
    a, b, c, d = x
    return _blend(x), [float(1.9 * a + 0.4 * b + 1.2 * c + 0.7 * d + b * c - 1.15)]


@problem(
    [sumbo.Simplex("m", 4), (20, 90), (1, 5)], 1, 5.402104, known=("m1 + m2 <= 0.7",)
)
def mixture_process(x: np.ndarray) -> tuple[float, list[float]]:
    """A mixture of four components at a temperature and a pressure."""
    warm, pressure = (x[4] - 55) / 35, (x[5] - 3) / 2
    value = _blend(x[:4]) + 1.7 * (warm - 0.3) ** 2 + 0.8 * pressure * warm
    value += 1.1 * (pressure + 0.2) ** 2 + 2.3 * x[0] * warm
    stability = 0.9 + 0.6 * warm - 1.4 * x[2] - 0.5 * pressure - 0.8 * x[1]
    return value, [float(stability)]


@problem([(0, 1)] * 6, 0, -1.541565, known=("x0 + x1 + x2 <= 1.2", "x3 - x4 == 0.1"))
def known_limits(x: np.ndarray) -> tuple[float, list[float]]:
    """A sum of waves under known linear constraints, one of them an equation."""
    value = ((x - 0.6) ** 2).sum() + 0.3 * np.sin(9 * x + np.arange(6)).sum()
    return float(value), []
