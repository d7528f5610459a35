"""Count asked points that break known constraints: none should.

    python -m benchmarks.constrained.asks --runs 0:40

Every run has a random space with random linear constraints, equations, mixtures and
tests; each method is asked 25 points, 20 of them after values were told. Finished runs
are rows of a CSV file and are not made again.
"""

import argparse
import csv
import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.constrained.spaces import random_scene
from sumbo import Optimizer, methods
from sumbo.methods import METHODS
from sumbo.rng import rng_at

ROWS = Path("results/constrained/asks.csv")
FIELDS = ("method", "run", "constraints", "asked", "violated")
BATCHES = (5, 10, 10)


def play(method: str, run: int) -> dict[str, Any]:
    """Return the row of a run."""
    rng = rng_at(run, "constrained asks", sorted(methods.names()).index(method))
    scene = random_scene(rng)
    known = {field.name for field in dataclasses.fields(METHODS.get(method))}  # pyright: ignore[reportArgumentType]
    # Cheap settings: what is counted does not depend on how good the points are.
    cheap = {"groups": "singletons", "candidates": 60, "descents": 2}
    opt = Optimizer(
        scene.bounds,
        constraints=scene.constraints,
        method=method,
        seed=run,
        n_init=BATCHES[0],
        **{name: value for name, value in cheap.items() if name in known},
    )
    asked = violated = 0
    for n in BATCHES:
        X = opt.ask(n)
        asked += n
        violated += sum(not scene.holds(opt.space, x) for x in X)
        opt.tell(X, np.sin(4 * opt.space.encode(X)).sum(axis=1))
    constraints = len(opt.space.constraints)
    return dict(zip(FIELDS, (method, run, constraints, asked, violated), strict=True))


def main() -> None:
    """Make the runs that have no row, then print the counts."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.constrained.asks")
    parser.add_argument("--runs", default="0:40")
    parser.add_argument("--out", type=Path, default=ROWS)
    given = parser.parse_args()
    given.out.parent.mkdir(parents=True, exist_ok=True)
    rows = read(given.out)
    done = {(row["method"], row["run"]) for row in rows}
    first, last = map(int, given.runs.split(":"))
    for run in range(first, last):
        for method in methods.names():
            if (method, str(run)) in done:
                continue
            new = not given.out.exists()
            row = play(method, run)
            with given.out.open("a", newline="") as file:
                writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
                if new:
                    writer.writeheader()
                writer.writerow(row)
    rows = read(given.out)
    for method in methods.names():
        some = [row for row in rows if row["method"] == method]
        asked, violated = (
            sum(int(r[key]) for r in some) for key in ("asked", "violated")
        )
        print(method, asked, violated)
    print("all", *(sum(int(r[key]) for r in rows) for key in ("asked", "violated")))


def read(path: Path) -> list[dict[str, str]]:
    """Return the rows that are finished."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


if __name__ == "__main__":
    main()
