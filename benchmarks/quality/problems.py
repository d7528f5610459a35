"""Problems of the quality benchmark that were used while defaults were chosen.

They are registered from outside the package, as a user would register a problem. Each
evaluates a function g, whose global minimiser z* is known, at z = z* + T (x − t). The
seed draws the position t of the minimiser in the unit cube. T scales; for some problems
it also reflects or rotates, and some ignore all but a few active coordinates. So every
minimum is known, and no method has an advantage because the optimum is at the centre.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.stats import special_ortho_group

from sumbo.problems.base import PROBLEMS, Problem, problem
from sumbo.rng import Seed, as_seed, rng_at
from sumbo.space import Categorical, Integer, Real, Space
from sumbo.typing import Float, Int, ndarray

Function = Callable[[Float[ndarray, "n A"]], Float[ndarray, " n"]]

# Range of each coordinate of the minimiser in the unit cube.
HOME = (0.1, 0.9)


@dataclass(frozen=True, kw_only=True, eq=False)
class Shifted(Problem):
    """A function of z = start + T (x_active − target), with T = ``turn``."""

    function: Function
    start: Float[ndarray, " A"]  # z*, the minimiser of the function
    turn: Float[ndarray, "A A"]
    active: Int[ndarray, " A"]  # the coordinates that matter
    target: Float[ndarray, " A"]  # t, their values at the minimiser

    def evaluate(self, X: Float[ndarray, "n P"]) -> Float[ndarray, " n"]:
        """Return g(z) per row."""
        return self.function(
            self.start + (X[:, self.active] - self.target) @ self.turn.T
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Mixed(Problem):
    """A sum of nonnegative terms in real, integer and categorical parameters.

    A choice is represented by its number, and its bounds are the lowest and the
    highest number. ``mixture`` holds the kinds of the parameters.
    """

    mixture: Space
    target: Float[ndarray, " P"]  # the minimiser; a choice is its number
    shifts: Float[ndarray, "C 3"]  # shift of the real optimum, by the first choice
    costs: Float[ndarray, "C D"]  # cost of a pair of choices, 0 for the best pair

    @property
    def space(self) -> Space:
        """The search space: real, integer and categorical parameters."""
        return self.mixture

    def evaluate(self, X: Float[ndarray, "n P"]) -> Float[ndarray, " n"]:
        """Return the values; integers and choices are rounded."""
        reals, whole = X[:, :3], np.rint(X[:, 3:])
        first, second = whole[:, 2].astype(int), whole[:, 3].astype(int)
        v = (reals - self.target[:3]) / 5.0 - self.shifts[first]
        w = (whole[:, :2] - self.target[3:5]) / (10.0, 19.0)
        other = second != self.target[6]
        return (
            8.0 * (v**2).sum(axis=1)
            + 0.2 * (1.0 - np.cos(6.0 * np.pi * v)).sum(axis=1)
            + 6.0 * (w[:, 0] - 0.7 * v[:, 0]) ** 2
            + (4.0 + 4.0 * other) * (w[:, 1] + 0.5 * v[:, 1] * v[:, 2]) ** 2
            + self.costs[first, second]
        )


@problem(
    "hartmann6",
    dim=6,
    cost="0.03 ms",
    cite="hartman1973",
    description="six smooth wells",
)
def hartmann6(*, seed: Seed = 0) -> Shifted:
    """Return Hartmann's function of six coordinates, shifted."""
    return shifted("hartmann6", seed, _hartmann, _hartmann_minimiser(), side=1.0)


@problem(
    "rosenbrock10",
    dim=10,
    cost="0.03 ms",
    cite="rosenbrock1960",
    description="a curved valley; values span decades",
)
def rosenbrock10(*, seed: Seed = 0) -> Shifted:
    """Return Rosenbrock's function of ten coordinates, shifted."""
    return shifted("rosenbrock10", seed, _rosenbrock, np.ones(10), side=4.096)


@problem(
    "styblinski-tang20",
    dim=20,
    cost="0.03 ms",
    cite="styblinski1990",
    description="a sum of twenty double wells",
)
def styblinski_tang20(*, seed: Seed = 0) -> Shifted:
    """Return the function of Styblinski and Tang, shifted and randomly reflected.

    The shift is small, because far outside its usual box only the quartic term counts.
    """
    best = minimize_scalar(
        lambda z: float(_styblinski_tang(np.array([[z]]))[0]),
        bounds=(-4.0, -2.0),
        method="bounded",
        options={"xatol": 1e-12},
    ).x
    start = np.full(20, best)
    name = "styblinski-tang20"
    return shifted(
        name, seed, _styblinski_tang, start, side=10.0, home=(0.11, 0.31), reflect=True
    )


@problem(
    "michalewicz10",
    dim=10,
    cost="0.03 ms",
    cite="michalewicz1992",
    description="ten narrow valleys on a plateau",
)
def michalewicz10(*, seed: Seed = 0) -> Shifted:
    """Return Michalewicz's function of ten coordinates, shifted.

    The shifted box reaches at most π beyond [0, π], where no term is negative.
    """
    return shifted(
        "michalewicz10", seed, _michalewicz, _michalewicz_minimiser(), side=np.pi
    )


@problem(
    "levy8-rotated",
    dim=8,
    cost="0.03 ms",
    cite="levy1985",
    description="Levy's function, rotated: not additive",
)
def levy8_rotated(*, seed: Seed = 0) -> Shifted:
    """Return Levy's function of eight rotated coordinates."""
    return shifted(
        "levy8-rotated", seed, _levy, np.ones(8), side=20.0 / np.sqrt(8.0), rotate=True
    )


@problem(
    "sparse50",
    dim=50,
    cost="0.03 ms",
    cite="levy1985",
    description="rotated Levy function of 5 among 50 coordinates",
)
def sparse50(*, seed: Seed = 0) -> Shifted:
    """Return Levy's function of five rotated coordinates among fifty."""
    return shifted(
        "sparse50",
        seed,
        _levy,
        np.ones(5),
        side=20.0 / np.sqrt(5.0),
        rotate=True,
        dim=50,
    )


@problem(
    "mixed7",
    dim=7,
    cost="0.05 ms",
    cite="",
    description="3 real, 2 integer, 2 categorical parameters that interact",
)
def mixed7(*, seed: Seed = 0) -> Mixed:
    """Return a function of three real, two integer and two categorical parameters."""
    space = Space.of(
        [
            *(Real(f"x{i}", -2.0, 3.0) for i in range(3)),
            Integer("k0", 0, 10),
            Integer("k1", 1, 20),
            Categorical("c0", ("low", "mid", "high")),
            Categorical("c1", ("n", "e", "s", "w")),
        ]
    )
    rng = rng_at(as_seed(seed), "quality/mixed7")
    best = (int(rng.integers(3)), int(rng.integers(4)))
    whole = (int(rng.integers(1, 10)), int(rng.integers(3, 19)))
    target = np.array([*(5.0 * rng.uniform(*HOME, 3) - 2.0), *whole, *best])
    shifts = rng.uniform(-0.3, 0.3, (3, 3))
    shifts[best[0]] = 0.0
    costs = rng.uniform(0.2, 1.5, (3, 4))
    costs[best] = 0.0
    return Mixed(
        name="mixed7",
        bounds=np.array(space.bounds),
        parameters=space.names,
        description="3 real, 2 integer, 2 categorical parameters that interact",
        cite="",
        minimum=0.0,
        minimizer=target,
        mixture=space,
        target=target,
        shifts=shifts,
        costs=costs,
    )


def shifted(
    name: str,
    seed: Seed,
    function: Function,
    start: Float[ndarray, " A"],
    *,
    side: float,
    home: tuple[float, float] = HOME,
    dim: int | None = None,
    reflect: bool = False,
    rotate: bool = False,
) -> Shifted:
    """Return the function as a problem whose minimiser is drawn from the seed.

    Args:
        name: The problem's registered name.
        seed: Seed of the minimiser, the active coordinates and T.
        function: The function g, which takes points as rows.
        start: The minimiser z* of g.
        side: Length in z of one side of the unit cube.
        home: Range of each coordinate of the minimiser.
        dim: Number of coordinates; default the number of active ones.
        reflect: Whether coordinates are reflected at random.
        rotate: Whether T is a rotation.
    """
    A, P = len(start), dim or len(start)
    rng = rng_at(as_seed(seed), f"quality/{name}")
    active = np.sort(rng.permutation(P)[:A])
    target, turn = rng.uniform(*home, A), np.eye(A)
    if reflect:
        signs = rng.choice((-1.0, 1.0), A)
        # A reflected coordinate has its optimum at 1 − t.
        target, turn = np.where(signs < 0, 1.0 - target, target), np.diag(signs)
    if rotate:
        turn = special_ortho_group.rvs(A, random_state=rng)
    minimizer = rng.uniform(*HOME, P)  # arbitrary where inactive
    minimizer[active] = target
    return Shifted(
        name=name,
        bounds=np.tile([0.0, 1.0], (P, 1)),
        parameters=tuple(f"x{p}" for p in range(P)),
        description=PROBLEMS.get(name).description,
        cite=PROBLEMS.get(name).cite,
        minimum=float(function(start[None])[0]),
        minimizer=minimizer,
        function=function,
        start=start,
        turn=side * turn,
        active=active,
        target=target,
    )


# Depths, curvatures and centres of Hartmann's wells.
_DEPTHS = np.array([1.0, 1.2, 3.0, 3.2])
_CURVATURES = np.array(
    [
        [10.0, 3.0, 17.0, 3.5, 1.7, 8.0],
        [0.05, 10.0, 17.0, 0.1, 8.0, 14.0],
        [3.0, 3.5, 1.7, 10.0, 17.0, 8.0],
        [17.0, 8.0, 0.05, 10.0, 0.1, 14.0],
    ]
)
_CENTRES = 1e-4 * np.array(
    [
        [1312.0, 1696.0, 5569.0, 124.0, 8283.0, 5886.0],
        [2329.0, 4135.0, 8307.0, 3736.0, 1004.0, 9991.0],
        [2348.0, 1451.0, 3522.0, 2883.0, 3047.0, 6650.0],
        [4047.0, 8828.0, 8732.0, 5743.0, 1091.0, 381.0],
    ]
)


def _hartmann(Z: Float[ndarray, "n 6"]) -> Float[ndarray, " n"]:
    squares = (Z[:, None] - _CENTRES) ** 2
    return -np.exp(-(_CURVATURES * squares).sum(axis=2)) @ _DEPTHS


def _rosenbrock(Z: Float[ndarray, "n A"]) -> Float[ndarray, " n"]:
    bend = Z[:, 1:] - Z[:, :-1] ** 2
    return (100.0 * bend**2 + (1.0 - Z[:, :-1]) ** 2).sum(axis=1)


def _styblinski_tang(Z: Float[ndarray, "n A"]) -> Float[ndarray, " n"]:
    return 0.5 * (Z**4 - 16.0 * Z**2 + 5.0 * Z).sum(axis=1)


def _michalewicz(Z: Float[ndarray, "n A"]) -> Float[ndarray, " n"]:
    return _michalewicz_terms(Z, np.arange(1, Z.shape[1] + 1)).sum(axis=1)


def _michalewicz_terms(z: Any, i: Any) -> Any:
    return -np.sin(z) * np.sin(i * z**2 / np.pi) ** 20


def _levy(Z: Float[ndarray, "n A"]) -> Float[ndarray, " n"]:
    # With v = w − 1, so that the minimum is exactly 0 at z = 1.
    v = (Z - 1.0) / 4.0
    waves = 1.0 + 10.0 * np.sin(np.pi * (v[:, :-1] + 1.0) + 1.0) ** 2
    last = v[:, -1] ** 2 * (1.0 + np.sin(2.0 * np.pi * v[:, -1]) ** 2)
    return np.sin(np.pi * v[:, 0]) ** 2 + (v[:, :-1] ** 2 * waves).sum(axis=1) + last


# The centres lie in the unit cube. Along each coordinate the gradient is a positively
# weighted sum of the differences to the centres, so outside the cube it is not zero.
@cache
def _hartmann_minimiser() -> Float[ndarray, " 6"]:
    near = [0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573]
    options = {"xatol": 1e-10, "fatol": 1e-15, "maxiter": 10_000, "maxfev": 10_000}
    return minimize(
        lambda z: float(_hartmann(z[None])[0]),
        near,
        method="Nelder-Mead",
        options=options,
    ).x


@cache
def _michalewicz_minimiser() -> Float[ndarray, " 10"]:
    grid = np.linspace(0.0, np.pi, 20_001)
    step = grid[1]
    places = []
    for i in range(1, 11):
        near = grid[np.argmin(_michalewicz_terms(grid, i))]
        found = minimize_scalar(
            _michalewicz_terms,
            bounds=(near - step, near + step),
            args=(i,),
            method="bounded",
            options={"xatol": 1e-12},
        )
        places.append(float(found.x))
    return np.array(places)
