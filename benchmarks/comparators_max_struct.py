"""Best value and cost of ``max`` and ``struct`` on the synthetic problems.

    python benchmarks/comparators_max_struct.py [--seeds 3] [--methods max struct] …

Each run: 20 uniform points, then 100 acquisitions, ``max`` one at a time, ``struct``
in batches of 10. ``random`` is the median best of 120 uniform points over 300
replicates; a method that is not below it does not beat random search.
"""

import argparse
import time

import numpy as np

from sumbo.data import prepare
from sumbo.methods import make
from sumbo.problems import get
from sumbo.rng import rng_at
from sumbo.typing import State

BATCH = {"max": 1, "struct": 10}
RANDOM = {
    "ackley5": 57.85,
    "levy5": 5.243,
    "rastrigin5": -3.678,
    "ackley10": 139.58,
    "levy10": 20.80,
    "rastrigin10": -1.256,
}


class UnitCube:
    """Continuous parameters, one coordinate each."""

    def __init__(self, dim: int) -> None:
        self.dim = dim
        self.blocks = tuple((p,) for p in range(dim))

    def snap(self, U: np.ndarray) -> np.ndarray:
        """Return the points themselves: all are representable."""
        return U


def run(method: str, name: str, seed: int, budget: int) -> tuple[float, float]:
    """Return the best value and the CPU seconds per acquisition."""
    problem = get(name, seed=seed)
    domain = UnitCube(len(problem.bounds))
    rule = make(method)
    U = rng_at(seed, "design").random((20, domain.dim))
    y = problem(U)
    state: State = {}
    begin = time.process_time()
    for step in range(20, 20 + budget, BATCH[method]):
        data = prepare(
            U=U,
            y=y,
            failed=np.zeros(len(y), dtype=bool),
            pending=np.empty((0, domain.dim)),
            domain=domain,
            step=step,
        )
        rng = rng_at(seed, "ask", step)
        new, state, _ = rule.propose(rng, state, data, BATCH[method])
        U, y = np.vstack([U, new]), np.concatenate([y, problem(new)])
    return float(y.min()), (time.process_time() - begin) / budget


def main() -> None:
    """Print one line per method and problem."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--budget", type=int, default=100)
    parser.add_argument("--methods", nargs="+", default=list(BATCH))
    parser.add_argument(
        "--problems", nargs="+", default=["ackley5", "levy5", "rastrigin10"]
    )
    options = parser.parse_args()
    print(f"{'method':8} {'problem':12} {'random':>8} {'median':>8} {'CPU s/acq':>10}")
    for method in options.methods:
        for name in options.problems:
            results = [
                run(method, name, seed, options.budget) for seed in range(options.seeds)
            ]
            best, cost = np.array(results).T
            each = " ".join(f"{b:.3g}" for b in best)
            print(
                f"{method:8} {name:12} {RANDOM[name]:8.2f} {np.median(best):8.2f} "
                f"{cost.mean():10.3f}   {each}",
                flush=True,
            )


if __name__ == "__main__":
    main()
