"""What noise costs: ``python -m benchmarks.noise run --replicates 0:10``.

Six functions with noise of 5, 20 and 50 % of the standard deviation of their values on
the box. After 40 chosen points, the value without noise is compared at two points:
where the best value was observed, and where the model recommends. Values are measured
from the best of 20 000 random points, in standard deviations of the function, so that a
good run has negative ones. Rows go to ``results/noise.csv``; runs that have a row are
not made again. ``python -m benchmarks.noise report`` prints the table.

Rivals need the environment of ``make rivals``; without it they are left out.
"""

import argparse
import csv
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.stats import rankdata

from benchmarks.noise_rivals import RIVALS
from sumbo import Optimizer
from sumbo.rng import rng_at
from sumbo.typing import Float, ndarray

ROWS = Path(__file__).parents[1] / "results" / "noise.csv"
SHARES = (0.05, 0.2, 0.5)
METHODS = ("sumbo", *RIVALS)
NEEDS = {"optuna-gp": "torch", "botorch": "botorch"}
OBSERVED = "sumbo, best observed"
N_INIT, CHOSEN = 20, 40
FIELDS = (
    "method", "function", "share", "replicate",
    "observed", "recommended", "best", "seconds",
)  # fmt: skip

Function = Callable[[Float[ndarray, "n P"]], Float[ndarray, " n"]]


def branin(z: Float[ndarray, "n 4"]) -> Float[ndarray, " n"]:
    """Return the sum of two Branin functions, one of them turned round."""

    def one(a: ndarray, b: ndarray) -> ndarray:
        u, v = 7.5 * a + 2.5, 7.5 * b + 7.5
        bend = v - 5.1 / (4 * np.pi**2) * u**2 + 5 / np.pi * u - 6
        return bend**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(u) + 10

    return one(z[:, 0], z[:, 1]) + 0.6 * one(-z[:, 2], z[:, 3])


def camel(z: Float[ndarray, "n 6"]) -> Float[ndarray, " n"]:
    """Return the sum of three six-hump camel functions."""
    a, b = 1.9 * z[:, ::2], 1.1 * z[:, 1::2]
    return np.sum((4 - 2.1 * a**2 + a**4 / 3) * a**2 + a * b + (4 * b**2 - 4) * b**2, 1)


def trid(z: Float[ndarray, "n 5"]) -> Float[ndarray, " n"]:
    """Return a quadratic function whose neighbours interact."""
    x = 6 * z
    return np.sum((x - 1) ** 2, 1) - np.sum(x[:, 1:] * x[:, :-1], 1)


def gramacy(z: Float[ndarray, "n 6"]) -> Float[ndarray, " n"]:
    """Return a valley in two coordinates, a wave in two, and two that do nothing."""
    u = 1.5 * z + 1
    valley = u[:, 0] * np.exp(-(u[:, 0] ** 2) - u[:, 1] ** 2)
    return 8 * valley + 0.5 * np.sin(3 * z[:, 2]) * np.cos(2 * z[:, 3])


def michalewicz(z: Float[ndarray, "n 4"]) -> Float[ndarray, " n"]:
    """Return the Michalewicz function with wide valleys."""
    x = (z + 1) * np.pi / 2
    k = np.arange(1, z.shape[1] + 1)
    return -np.sum(np.sin(x) * np.sin(k * x**2 / np.pi) ** 4, 1)


def powell(z: Float[ndarray, "n 8"]) -> Float[ndarray, " n"]:
    """Return the logarithm of the Powell function."""
    a, b, c, d = (4 * z[:, k::4] - 0.7 for k in range(4))
    terms = (a + 10 * b) ** 2 + 5 * (c - d) ** 2 + (b - 2 * c) ** 4 / 9
    return np.log1p(np.sum(terms + 10 * np.abs(a - d), 1))


FUNCTIONS: dict[str, tuple[Function, int]] = {
    "branin": (branin, 4),
    "camel": (camel, 6),
    "trid": (trid, 5),
    "gramacy": (gramacy, 6),
    "michalewicz": (michalewicz, 4),
    "powell": (powell, 8),
}


class Case(NamedTuple):
    """One run of the benchmark."""

    method: str
    function: str
    share: float
    replicate: int

    @property
    def name(self) -> tuple[str, ...]:
        """The fields as they are in a file."""
        return tuple(str(field) for field in self)


def cases(replicates: range, methods: Sequence[str]) -> Iterator[Case]:
    """Yield all runs that are possible here, replicate by replicate."""
    able = [m for m in methods if m not in NEEDS or find_spec(NEEDS[m])]
    for replicate in replicates:
        for share in SHARES:
            for function in FUNCTIONS:
                for method in able:
                    yield Case(method, function, share, replicate)


def play(case: Case) -> dict[str, Any]:
    """Return the row of a run. All methods see the same initial points and noise."""
    function, P = FUNCTIONS[case.function]
    rng = rng_at(case.replicate, f"noise benchmark {case.function} {case.share}")
    shift = rng.uniform(-0.12, 0.12, P)
    noise = rng.standard_normal(N_INIT + CHOSEN)

    def value(U: Float[ndarray, "n P"]) -> Float[ndarray, " n"]:
        return function(0.88 * U + shift)

    everywhere = value(rng.uniform(-1, 1, (20_000, P)))
    spread, least = float(everywhere.std()), float(everywhere.min())
    told: list[float] = []

    def measure(x: Float[ndarray, " P"]) -> float:
        told.append(float(value(x[None])[0]) + case.share * spread * noise[len(told)])
        return told[-1]

    begin = time.process_time()
    opt = Optimizer([(-1.0, 1.0)] * P, seed=case.replicate, n_init=N_INIT)
    if case.method in RIVALS:
        start = opt.ask(N_INIT)
        X, row = RIVALS[case.method](measure, start, N_INIT + CHOSEN, case.replicate)
    else:
        X, row = _by_sumbo(opt, measure)
    seconds = time.process_time() - begin
    true = (value(X) - least) / spread
    found = {
        "observed": true[np.argmin(told)],
        "recommended": true[row],
        "best": true.min(),
    }
    line = dict(zip(FIELDS, case.name, strict=False))
    line |= {k: f"{v:.5f}" for k, v in found.items()}
    return line | {"seconds": f"{seconds:.1f}"}


def _by_sumbo(
    opt: Optimizer, measure: Callable[[ndarray], float]
) -> tuple[ndarray, int]:
    for _ in range(N_INIT + CHOSEN):
        x = opt.ask()
        opt.tell(x, measure(x))
    recommended = opt.recommend().x
    return opt.X, int(np.flatnonzero((recommended == opt.X).all(axis=1))[0])


def read(path: Path) -> list[dict[str, str]]:
    """Return the rows that there are."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def run(replicates: range, path: Path, methods: Sequence[str]) -> None:
    """Make all runs that have no row, and add their rows."""
    done = {tuple(row[f] for f in FIELDS[:4]) for row in read(path)}
    for case in cases(replicates, methods):
        if case.name in done:
            continue
        row = play(case)
        new = not path.exists()
        with path.open("a", newline="") as file:
            writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
            if new:
                writer.writeheader()
            writer.writerow(row)


def report(path: Path) -> Table:
    """Return mean losses per noise and method, and how often the choice wins."""
    rows = read(path)
    table = Table(
        "noise", "method", "runs", "observed", "recommended", "wins", "ties", "losses"
    )
    for share in SHARES:
        for method in METHODS:
            some = [
                r for r in rows if (r["share"], r["method"]) == (str(share), method)
            ]
            if not some:
                continue
            a = np.array([float(r["recommended"]) for r in some])
            b = np.array([float(r["observed"]) for r in some])
            counts = [int(np.sum(c)) for c in (a < b, a == b, a > b)]
            means = [f"{b.mean():.3f}", f"{a.mean():.3f}"]
            cells = [f"{share:.0%}", method, len(some), *means, *counts]
            table.add_row(*[str(cell) for cell in cells])
    return table


def ranks(path: Path) -> Table:
    """Return the mean ranks of what methods recommend, over runs that all made.

    The best value that sumbo observed is one of the contestants.
    """
    rows = read(path)
    methods = [m for m in METHODS if any(r["method"] == m for r in rows)]
    cells: dict[tuple[str, ...], dict[str, float]] = {}
    for r in rows:
        cell = cells.setdefault((r["share"], r["function"], r["replicate"]), {})
        cell[r["method"]] = float(r["recommended"])
        if r["method"] == "sumbo":
            cell[OBSERVED] = float(r["observed"])
    names = [*methods, OBSERVED]
    table = Table("noise", "runs", *names)
    for share in (*map(str, SHARES), "all"):
        some = [
            [cell[name] for name in names]
            for key, cell in cells.items()
            if share in (key[0], "all") and len(cell) == len(names)
        ]
        if some:
            mean = rankdata(some, axis=1).mean(axis=0)
            shown = share if share == "all" else f"{float(share):.0%}"
            table.add_row(shown, str(len(some)), *[f"{rank:.2f}" for rank in mean])
    return table


def main() -> None:
    """Run the benchmark or print its table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.noise")
    parser.add_argument("command", choices=("run", "report"))
    parser.add_argument("--replicates", default="0:10")
    parser.add_argument("--methods", type=lambda text: text.split(","), default=METHODS)
    parser.add_argument("--rows", type=Path, default=ROWS)
    given = parser.parse_args()
    if given.command == "run":
        first, last = (int(n) for n in given.replicates.split(":"))
        run(range(first, last), given.rows, given.methods)
    Console().print(report(given.rows))
    Console().print(ranks(given.rows))


if __name__ == "__main__":
    main()
