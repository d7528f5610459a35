"""Best value and cost of ``qff`` and ``dumbo`` on the synthetic problems.

    python -m benchmarks.comparators_qff_dumbo values [--seeds 3] [--problems …]
    python -m benchmarks.comparators_qff_dumbo costs

``values``: 20 uniform points, then 100 acquisitions; ``random`` is the median best of
120 uniform points over 300 replicates. A method that is not below it does not beat
random search. ``costs``: CPU seconds of one ask in ten dimensions, by observations and
batch size.
"""

import argparse
import time

import numpy as np

from benchmarks.timing import interleaved, show
from sumbo.data import Data, prepare
from sumbo.methods import make
from sumbo.problems import get
from sumbo.rng import rng_at
from sumbo.space import Space
from sumbo.typing import State

METHODS = ("qff", "dumbo")
DESIGN = 20
RANDOM = {
    "ackley5": 57.85,
    "levy5": 5.243,
    "rastrigin5": -3.678,
    "ackley10": 139.58,
    "levy10": 20.80,
    "rastrigin10": -1.256,
}


def observed(U: np.ndarray, y: np.ndarray, space: Space) -> Data:
    """Return finished observations, nothing pending."""
    return prepare(
        U=U,
        y=y,
        failed=np.zeros(len(y), dtype=bool),
        pending=np.empty((0, space.dim)),
        domain=space,
        step=len(y),
    )


def run(
    method: str, name: str, seed: int, budget: int, q: int
) -> tuple[np.ndarray, float]:
    """Return the best value after each evaluation, and CPU seconds per point."""
    problem = get(name, seed=seed)
    space = Space.of(problem.bounds)
    rule = make(method)
    U = rng_at(seed, "design").random((DESIGN, space.dim))
    y = np.asarray(problem(space.decode(U)))
    state: State = {}
    spent = 0.0
    while len(y) < DESIGN + budget:
        data = observed(U, y, space)
        begin = time.process_time()
        new, state, _ = rule.propose(rng_at(seed, "ask", len(y)), state, data, q)
        spent += time.process_time() - begin
        U, y = np.vstack([U, new]), np.append(y, problem(space.decode(new)))
    return np.minimum.accumulate(y), spent / budget


def values(options: argparse.Namespace) -> None:
    """Print the best values of each method on each problem."""
    rows = []
    for name in options.problems:
        for method in options.methods:
            results = [
                run(method, name, seed, options.budget, options.batch)
                for seed in range(options.seeds)
            ]
            ends = [curve[-1] for curve, _ in results]
            half = [curve[min(49, len(curve) - 1)] for curve, _ in results]
            rows.append(
                (
                    f"{method} {name}",
                    f"{RANDOM[name]:.2f}",
                    f"{np.median(half):.2f}",
                    f"{np.median(ends):.2f}",
                    " ".join(f"{end:.2f}" for end in ends),
                    f"{np.mean([cost for _, cost in results]):.3f}",
                )
            )
            print(*rows[-1], sep="   ", flush=True)
    header = ("", "random", "at 50", "at the end", "each seed", "CPU s per point")
    show(f"Best values, batches of {options.batch}", header, rows)


def costs(options: argparse.Namespace) -> None:
    """Print the CPU time of one ask, in ten dimensions."""
    problem = get("ackley10", seed=1)
    space = Space.of(problem.bounds)
    rows = []
    for N in (20, 50, 120):
        U = rng_at(2, "costs", N).random((N, space.dim))
        data = observed(U, np.asarray(problem(U)), space)
        for q in (1, 10):

            def ask(method: str, data: Data = data, q: int = q) -> None:
                make(method).propose(rng_at(3, "ask"), {}, data, q)

            contestants = {m: (lambda m=m, f=ask: f(m)) for m in options.methods}
            taken = interleaved(contestants, options.rounds)
            rows.append((f"N={N}, q={q}", *(f"{t:.3f}" for t in taken.values())))
    show("CPU seconds of one ask, first one of a run", ("", *options.methods), rows)


def main() -> None:
    """Print the chosen table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=("values", "costs"))
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument(
        "--problems", nargs="+", default=["ackley10", "levy5", "rastrigin5"]
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--budget", type=int, default=100)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    (values if options.table == "values" else costs)(options)


if __name__ == "__main__":
    main()
