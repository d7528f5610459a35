"""Compare optimisers on constrained problems, one run after the other.

    python -m benchmarks.constrained run --replicates 0:10 --methods sumbo,penalty
    python -m benchmarks.constrained report --methods sumbo,penalty

Runs of one replicate share the initial design. Every finished run is one row of a CSV
file, so a stopped benchmark goes on where it was. Methods whose library is missing are
skipped.
"""

import argparse
import csv
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.constrained.optimisers import OPTIMISERS, lacking
from benchmarks.constrained.problems import PROBLEMS, Problem
from sumbo.rng import rng_at
from sumbo.space import Space

ROWS = Path("results/constrained/runs.csv")
FIELDS = ("problem", "method", "replicate", "budget", "best", "first", "seconds")
N_INIT = 10


def budget_of(problem: Problem) -> int:
    """Return the evaluations of a run: more where there are more parameters."""
    return N_INIT + 20 + 3 * len(Space.of(problem.bounds).names)


def design(problem: Problem, replicate: int) -> np.ndarray:
    """Return the initial points, which all methods share; known constraints hold."""
    space = Space.of(problem.bounds).constrained(problem.known)
    rng = rng_at(17, problem.name, replicate)
    if space.region is not None:
        return space.decode(space.region.draw(rng, N_INIT))
    return space.decode(rng.random((N_INIT, space.dim)))


def one_run(problem: Problem, method: str, replicate: int) -> dict[str, Any]:
    """Return the row of a run: best feasible value, and when the first one came."""
    begin = time.process_time()
    budget = budget_of(problem)
    seen = OPTIMISERS[method](problem, design(problem, replicate), budget, replicate)
    values = np.array([value for value, _ in seen[:budget]])
    feasible = [all(g <= 0 for g in outcomes.values()) for _, outcomes in seen[:budget]]
    good = np.flatnonzero(feasible)
    return {
        "problem": problem.name,
        "method": method,
        "replicate": replicate,
        "budget": budget,
        "best": float(values[good].min()) if len(good) else "",
        "first": int(good[0]) + 1 if len(good) else "",
        "seconds": round(time.process_time() - begin, 1),
    }


def read_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows that are finished."""
    if not path.exists():
        return []
    with path.open() as file:
        return list(csv.DictReader(file))


def run(given: argparse.Namespace) -> None:
    """Make the runs that have no row yet."""
    given.out.parent.mkdir(parents=True, exist_ok=True)
    known = {(r["problem"], r["method"], r["replicate"]) for r in read_rows(given.out)}
    first, last = map(int, given.replicates.split(":"))
    for replicate in range(first, last):
        for name in given.problems or PROBLEMS:
            for method in given.methods or OPTIMISERS:
                if lacking(method) or (name, method, str(replicate)) in known:
                    continue
                row = one_run(PROBLEMS[name], method, replicate)
                new = not given.out.exists()
                with given.out.open("a", newline="") as file:
                    writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
                    if new:
                        writer.writeheader()
                    writer.writerow(row)
                print(*row.values(), flush=True)


def regret(row: dict[str, str]) -> float:
    """Return how far the best feasible value is above the optimum; inf without one."""
    if row["best"] == "":
        return float("inf")
    return float(row["best"]) - PROBLEMS[row["problem"]].optimum


def report(given: argparse.Namespace) -> None:
    """Print median regrets, mean ranks, and how many runs found a feasible point.

    Only replicates that all of the methods have are compared.
    """
    from scipy.stats import rankdata

    rows = read_rows(given.out)
    methods = given.methods or sorted({row["method"] for row in rows})
    rows = [row for row in rows if row["method"] in methods]
    cells = {(r["problem"], r["replicate"]): {} for r in rows}
    for row in rows:
        cells[row["problem"], row["replicate"]][row["method"]] = regret(row)
    paired = {key: cell for key, cell in cells.items() if len(cell) == len(methods)}
    print(f"{len(paired)} paired replicates of {len(methods)} methods")
    print("| problem | runs |", " | ".join(methods), "|")
    print("|---|--:|" + "--:|" * len(methods))
    for name in PROBLEMS:
        some = [cell for (p, _), cell in paired.items() if p == name]
        if some:
            medians = [np.median([cell[m] for cell in some]) for m in methods]
            shown = " | ".join(f"{median:.3g}" for median in medians)
            print(f"| {name} | {len(some)} | {shown} |")
    table = np.array([[cell[m] for m in methods] for cell in paired.values()])
    ranks = np.array([rankdata(row) for row in table]).mean(axis=0)
    found = np.isfinite(table).mean(axis=0)
    print("| mean rank | |", " | ".join(f"{rank:.2f}" for rank in ranks), "|")
    print("| feasible | |", " | ".join(f"{100 * f:.0f} %" for f in found), "|")


def main() -> None:
    """Run, or report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.constrained")
    parser.add_argument("command", choices=("run", "report"))
    parser.add_argument("--out", type=Path, default=ROWS)
    parser.add_argument("--replicates", default="0:10")
    parser.add_argument("--methods", type=lambda text: text.split(","))
    parser.add_argument("--problems", type=lambda text: text.split(","))
    given = parser.parse_args()
    run(given) if given.command == "run" else report(given)


if __name__ == "__main__":
    main()
