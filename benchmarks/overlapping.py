"""Compare methods on functions whose parts overlap, one run after the other.

    python -m benchmarks.overlapping --replicates 3 --out docs/data/overlapping.csv
    python -m benchmarks.overlapping --report docs/data/overlapping.csv

Runs of one replicate share the initial design. Every finished run is one row of a CSV
file, so a stopped benchmark goes on where it was.
"""

import argparse
import csv
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.optimize import minimize, minimize_scalar

import benchmarks.quality.problems  # noqa: F401 - registers hartmann6
from sumbo import Optimizer, problems
from sumbo.rng import rng_at

METHODS = ("rducb", "ts", "alcb2", "dumbo", "uniform")
FIELDS = ("problem", "method", "replicate", "evaluations", "gap", "ask_cpu_s")
N_INIT, EVALUATIONS = 20, 60
Function = Callable[[np.ndarray], np.ndarray]
# Not among the replicates of other comparisons.
FIRST_SEED = 7000


def chain(Z: np.ndarray) -> np.ndarray:
    """Return waves of neighbours in bowls: a sum over nine overlapping pairs."""
    a, b, k = Z[:, :-1], Z[:, 1:], np.arange(Z.shape[1] - 1)
    waves = np.sin(3.0 * a + (2.0 + 0.5 * k) * b + 0.7 * k)
    return (waves + 0.4 * (a - b - 0.3) ** 2).sum(axis=1)


def rosenbrock(Z: np.ndarray) -> np.ndarray:
    """Return Rosenbrock's function, a chain whose values span decades."""
    bend = Z[:, 1:] - Z[:, :-1] ** 2
    return (100.0 * bend**2 + (1.0 - Z[:, :-1]) ** 2).sum(axis=1)


def styblinski_tang(Z: np.ndarray) -> np.ndarray:
    """Return the function of Styblinski and Tang, a sum of double wells."""
    return 0.5 * (Z**4 - 16.0 * Z**2 + 5.0 * Z).sum(axis=1)


def chain_minimiser(P: int = 10, low: float = -1.0, high: float = 2.0) -> np.ndarray:
    """Return the minimiser of the chain in a box, by dynamic programming and descent.

    Level by level: the least sum of the pairs so far for every level of the last one.
    """
    grid = np.linspace(low, high, 301)
    A, B = np.meshgrid(grid, grid, indexing="ij")
    cost, choices = np.zeros(len(grid)), []
    for k in range(P - 1):
        waves = np.sin(3.0 * A + (2.0 + 0.5 * k) * B + 0.7 * k)
        total = cost[:, None] + waves + 0.4 * (A - B - 0.3) ** 2
        choices.append(total.argmin(axis=0))
        cost = total.min(axis=0)
    level = [int(cost.argmin())]
    for choice in reversed(choices):
        level.insert(0, int(choice[level[0]]))
    found = minimize(
        lambda z: float(chain(z[None])[0]), grid[level], bounds=[(low, high)] * P
    )
    return found.x


def moved(
    function: Function,
    best: np.ndarray,
    side: float,
    home: tuple[float, float],
    seed: int,
) -> Function:
    """Return a function of the unit cube whose minimiser is drawn from a range.

    Coordinates are reflected at random.
    """
    rng = rng_at(seed, "overlapping minimiser")
    target = rng.uniform(*home, len(best))
    signs = rng.choice((-1.0, 1.0), len(best))
    target = np.where(signs < 0, 1.0 - target, target)
    return lambda U: function(best + side * signs * (U - target))


def make(name: str, seed: int) -> tuple[Function, np.ndarray, float]:
    """Return a function of rows, its bounds, and its minimum."""
    if name == "chain10":
        bounds = np.tile([-1.0, 2.0], (10, 1))
        return chain, bounds, float(chain(chain_minimiser()[None])[0])
    if name == "hartmann6":
        p = problems.get(name, seed=seed)
        return p, np.array(p.bounds), float(p.minimum)
    if name.startswith("rosenbrock"):
        best = np.ones(int(name.removeprefix("rosenbrock")))
        f = moved(rosenbrock, best, 4.096, (0.25, 0.75), seed)
        return f, np.tile([0.0, 1.0], (len(best), 1)), 0.0
    found = minimize_scalar(
        lambda z: float(styblinski_tang(np.array([[z]]))[0]),
        bounds=(-4.0, -2.0),
        method="bounded",
        options={"xatol": 1e-12},
    )
    best = np.full(int(name.removeprefix("styblinski-tang")), found.x)
    # Far outside the usual box only the quartic term counts.
    f = moved(styblinski_tang, best, 10.0, (0.11, 0.31), seed)
    bounds = np.tile([0.0, 1.0], (len(best), 1))
    return f, bounds, float(styblinski_tang(best[None])[0])


FUNCTIONS = ("chain10", "rosenbrock20", "hartmann6", "styblinski-tang50")


def run(name: str, method: str, replicate: int) -> tuple[float, float]:
    """Return the gap to the minimum and the CPU seconds per acquisition of a run."""
    seed = FIRST_SEED + replicate
    function, bounds, minimum = make(name, seed)
    U = rng_at(seed, f"overlapping {name}").random((N_INIT, len(bounds)))
    X = bounds[:, 0] + U * (bounds[:, 1] - bounds[:, 0])
    opt = Optimizer(bounds, method=method, seed=seed, x0=X, y0=function(X))
    spent = 0.0
    while len(opt.y) < EVALUATIONS:
        begin = time.process_time()
        x = opt.ask()
        spent += time.process_time() - begin
        opt.tell(x, float(function(x[None])[0]))
    return opt.best[1] - minimum, spent / (EVALUATIONS - N_INIT)


def rows_of(path: Path) -> list[dict[str, str]]:
    """Return the finished runs."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def table(rows: list[dict[str, str]]) -> str:
    """Return median gaps and the median cost as a Markdown table."""
    out = ["| problem | " + " | ".join(f"`{m}`" for m in METHODS) + " |"]
    out.append("|---|" + "--:|" * len(METHODS))
    for name in FUNCTIONS:
        cells = []
        for method in METHODS:
            own = [r for r in rows if (r["problem"], r["method"]) == (name, method)]
            gaps = [float(r["gap"]) for r in own]
            cost = [float(r["ask_cpu_s"]) for r in own]
            found = f"{np.median(gaps):.3g} ({np.median(cost):.2f} s)" if own else ""
            cells.append(found)
        out.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(out)


def main() -> None:
    """Run what is not there yet, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicates", type=int, default=3)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--problems", default=",".join(FUNCTIONS))
    parser.add_argument("--out", type=Path, default=Path("overlapping.csv"))
    parser.add_argument("--report", type=Path)
    given = parser.parse_args()
    if given.report:
        print(table(rows_of(given.report)))
        return
    done = {(r["problem"], r["method"], r["replicate"]) for r in rows_of(given.out)}
    if not done:
        with given.out.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerow(FIELDS)
    warnings.filterwarnings("ignore", "method=.* takes the parts as independent")
    for replicate in range(given.replicates):
        for name in given.problems.split(","):
            for method in given.methods.split(","):
                if (name, method, str(replicate)) in done:
                    continue
                gap, cost = run(name, method, replicate)
                numbers = f"{gap:.6g}", f"{cost:.3g}"
                row = (name, method, replicate, EVALUATIONS, *numbers)
                with given.out.open("a", newline="") as file:
                    csv.writer(file, lineterminator="\n").writerow(row)
                print(*row, flush=True)


if __name__ == "__main__":
    main()
