"""Answers and costs of ``dumbo``, ``qff``, ``max`` and ``struct``.

    python -m benchmarks.comparators [--seeds 10] [--methods max] [--problems levy5]

prints the best values after 20 uniform points and 100 acquisitions, ``struct`` in
batches of 10, the others one at a time. ``random`` is the median best of 120 uniform
points over 300 replicates: what is not below it does not beat random search. The study
of the paper holds the same runs, see docs/results/paper.md. `make bench` keeps the
costs: CPU time of ten asks in a row, a refit among them, against those of ``ts``.
"""

import argparse
import time
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.timing import interleaved, show
from sumbo import Optimizer
from sumbo.problems import get
from sumbo.rng import rng_at

BATCH = {"dumbo": 1, "qff": 1, "max": 1, "struct": 10}
N_INIT, EVALUATIONS = 20, 120
RANDOM = {
    "ackley5": 57.85,
    "levy5": 5.243,
    "rastrigin5": -3.678,
    "ackley10": 139.58,
    "levy10": 20.80,
    "rastrigin10": -1.256,
}


def run(method: str, name: str, seed: int) -> tuple[float, float]:
    """Return the best value and the CPU seconds per acquisition of one run."""
    problem = get(name, seed=seed)
    X = rng_at(seed, f"comparators {name}").random((N_INIT, problem.dim))
    opt = Optimizer(problem.bounds, method=method, seed=seed, x0=X, y0=problem(X))
    spent = 0.0
    while len(opt.y) < EVALUATIONS:
        begin = time.process_time()
        points = opt.ask(BATCH[method])
        spent += time.process_time() - begin
        opt.tell(points, problem(points))
    return opt.best[1], spent / (EVALUATIONS - N_INIT)


def rows() -> Iterator[tuple[str, str, float, str, str]]:
    """Yield the costs per acquisition in ten dimensions, in units of ``ts``."""
    problem = get("ackley10", seed=1)
    for N in (20, 100):
        X = rng_at(2, "comparators", N).random((N, problem.dim))
        told = {"x0": X, "y0": problem(X), "n_init": N, "seed": 3}

        def ten_asks(method: str, told: dict = told) -> Callable[[], None]:
            def asks() -> None:
                opt = Optimizer(problem.bounds, method=method, **told)
                for _ in range(10 // BATCH.get(method, 1)):
                    points = opt.ask(BATCH.get(method, 1))
                    opt.tell(points, problem(points))

            return asks

        t = interleaved({m: ten_asks(m) for m in ("ts", *BATCH)}, 3)
        for method in BATCH:
            what = f"{method}, one of ten acquisitions, P=10, N={N}"
            ours = f"{1e3 * t[method] / 10:.0f} ms"
            yield what, "ts", t[method] / t["ts"], "", ours


def main() -> None:
    """Print the best values of each method on each problem."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--methods", nargs="+", default=list(BATCH))
    parser.add_argument("--problems", nargs="+", default=list(RANDOM))
    options = parser.parse_args()
    table = []
    for method in options.methods:
        for name in options.problems:
            found = [run(method, name, seed) for seed in range(options.seeds)]
            best, cost = (np.array(column) for column in zip(*found, strict=True))
            row = [method, name, f"{RANDOM[name]:.4g}", f"{np.median(best):.4g}"]
            row += [f"{best.min():.4g} … {best.max():.4g}", f"{cost.mean():.3f} s"]
            table.append(row)
            print(*row, sep="   ", flush=True)
    header = ("method", "problem", "random", "median", "range", "CPU per acquisition")
    show(f"Best of {EVALUATIONS} evaluations, {options.seeds} seeds", header, table)


if __name__ == "__main__":
    main()
