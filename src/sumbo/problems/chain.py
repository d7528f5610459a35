"""Sums of random functions of two neighbouring coordinates: a chain, or pairs.

    f(x) = Σ_i g_i(x_i, x_{i+1}),   g_i(u) = √(1/2) Σ_{j≤4} cos(ω_ij·u + φ_ij)

with ω_ij ~ N(0, I/0.3²) and φ_ij uniform. In the chain i runs over all coordinates but
the last, so that groups overlap; in the pairs over every second one. A term varies like
a Gaussian process with variance 1 and a squared-exponential kernel of length-scale 0.3.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from sumbo.problems.base import Problem, problem
from sumbo.rng import Seed, as_seed, rng_at
from sumbo.typing import Float, Groups, ndarray

LENGTHSCALE = 0.3
WAVES = 4  # per term
GRID = 201  # points per coordinate, where the search for the minimum starts
# Paths on the grid that are at most so much higher than the best are searched, too:
# about ten times what the grid may lack.
SLACK = 0.05

DESCRIPTIONS = {
    "chain": "random functions of neighbouring coordinates; groups overlap",
    "pairs": "random functions of disjoint pairs of coordinates",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Waves(Problem):
    """A sum of waves over pairs of neighbouring coordinates."""

    pairs: Groups  # the coordinates of each term
    frequencies: Float[ndarray, "M J 2"]
    phases: Float[ndarray, "M J"]

    @property
    def groups(self) -> Groups:
        """The coordinates of each term."""
        return self.pairs

    def evaluate(self, X: Float[ndarray, "n P"]) -> Float[ndarray, " n"]:
        """Return the sums; a point costs some microseconds."""
        return self.components(X).sum(axis=1)

    def components(self, X: Float[ndarray, "n P"]) -> Float[ndarray, "n M"]:
        """Return the terms g_i of the sum."""
        return np.sqrt(2 / WAVES) * np.cos(self._angles(X)).sum(axis=2)

    def gradient(self, x: Float[ndarray, " P"]) -> Float[ndarray, " P"]:
        """Return the gradient at one point."""
        slope = -np.sqrt(2 / WAVES) * np.sin(self._angles(x[None])[0])
        out = np.zeros(self.dim)
        for group, own in zip(
            self.pairs, np.einsum("mj,mjk->mk", slope, self.frequencies), strict=True
        ):
            out[list(group)] += own
        return out

    def _angles(self, X: Float[ndarray, "n P"]) -> Float[ndarray, "n M J"]:
        places = X[:, np.array(self.pairs)]
        return np.einsum("nmk,mjk->nmj", places, self.frequencies) + self.phases


@problem(
    "chain",
    dim=6,
    cost="0.03 ms",
    cite="wycoff2025",
    description=DESCRIPTIONS["chain"],
)
def chain(*, seed: Seed = 0) -> Waves:
    """Return five random functions of neighbouring coordinates.

    The groups (0, 1), (1, 2), …, (4, 5) overlap: a function of a shared coordinate can
    move from one term to the next, which no data can tell. The minimum is computed by
    dynamic programming on a grid and then by local searches.
    """
    return _waves("chain", seed, tuple((i, i + 1) for i in range(5)))


@problem(
    "pairs",
    dim=6,
    cost="0.03 ms",
    cite="wycoff2025",
    description=DESCRIPTIONS["pairs"],
)
def pairs(*, seed: Seed = 0) -> Waves:
    """Return random functions of (0, 1), (2, 3) and (4, 5): a control."""
    return _waves("pairs", seed, ((0, 1), (2, 3), (4, 5)))


def _waves(name: str, seed: Seed, groups: Groups) -> Waves:
    M, P = len(groups), 1 + groups[-1][-1]
    rng = rng_at(as_seed(seed), f"problems/{name}")
    facts = {
        "name": name,
        "bounds": np.tile([0.0, 1.0], (P, 1)),
        "parameters": tuple(f"x{p}" for p in range(P)),
        "description": DESCRIPTIONS[name],
        "cite": "wycoff2025",
        "pairs": groups,
        "frequencies": rng.standard_normal((M, WAVES, 2)) / LENGTHSCALE,
        "phases": rng.uniform(0.0, 2 * np.pi, size=(M, WAVES)),
    }
    minimum, minimizer = lowest(Waves(**facts))
    return Waves(**facts, minimum=minimum, minimizer=minimizer)


def lowest(p: Waves) -> tuple[float, Float[ndarray, " P"]]:
    """Return the minimum and where it is."""
    places = np.linspace(0.0, 1.0, GRID)
    found = [
        minimize(
            lambda x: float(p.evaluate(x[None])[0]),
            start,
            jac=p.gradient,
            bounds=p.bounds,
            method="L-BFGS-B",
            options={"ftol": 1e-15, "gtol": 1e-10},
        ).x
        for start in places[_low_paths(_tables(p, places))]
    ]
    values = p.evaluate(np.array(found))
    best = int(values.argmin())
    return float(values[best]), found[best]


def _tables(p: Waves, places: Float[ndarray, " G"]) -> list[Float[ndarray, "G G"]]:
    """Return what each step from a coordinate to the next one costs on a grid."""
    out = [np.zeros((len(places), len(places))) for _ in range(p.dim - 1)]
    # cos(a + b + φ) = cos(a + φ) cos b − sin(a + φ) sin b: a product of matrices.
    for (i, _), omega, phi in zip(p.pairs, p.frequencies, p.phases, strict=True):
        a, b = np.outer(places, omega[:, 0]) + phi, np.outer(places, omega[:, 1])
        own = np.cos(a) @ np.cos(b).T - np.sin(a) @ np.sin(b).T
        out[i] = np.sqrt(2 / WAVES) * own
    return out


def _low_paths(tables: list[Float[ndarray, "G G"]]) -> ndarray:
    """Return paths on the grid, the best one and other valleys nearly as low.

    For each coordinate, the least cost of a path through each of its places is known
    from both sides; the places where this is locally least start the searches.
    """
    ahead = [np.zeros(len(tables[0]))]  # the least cost from a place to the end
    for T in reversed(tables):
        ahead.insert(0, (T + ahead[0]).min(axis=1))
    behind = [np.zeros(len(tables[0]))]
    for T in tables:
        behind.append((T + behind[-1][:, None]).min(axis=0))
    paths = set()
    for i, (a, b) in enumerate(zip(ahead, behind, strict=True)):
        through = np.pad(a + b, 1, constant_values=np.inf)
        inner = through[1:-1]
        valley = (inner <= through[:-2]) & (inner <= through[2:])
        for k in np.flatnonzero(valley & (inner <= inner.min() + SLACK)):
            path = [int(k)]
            for j in range(i, len(tables)):
                path.append(int((tables[j][path[-1]] + ahead[j + 1]).argmin()))
            for j in reversed(range(i)):
                path.insert(0, int((tables[j][:, path[0]] + behind[j]).argmin()))
            paths.add(tuple(path))
    return np.array(sorted(paths))
