"""Do orthogonal parts make a search better? Runs with plain and with orthogonal parts.

    python -m benchmarks.identified --replicates 4 --out identified.csv
    python -m benchmarks.identified --report identified.csv

Three questions, with the same functions, initial points and random numbers for both
kinds of parts: a fixed list of designs (``choose``; ``ts``, ``ats``, ``alcb2``), groups
that overlap (``chain``) or not (``levy10``), and the default on problems of the
development set. Every finished run is one row, so a stopped benchmark goes on.
"""

import argparse
import csv
import time
import warnings
from pathlib import Path

import numpy as np

import benchmarks.quality.problems  # noqa: F401 - registers hartmann6
from benchmarks.overlapping import rows_of
from sumbo import Optimizer, problems
from sumbo.rng import rng_at

FIELDS = ("task", "method", "parts", "replicate", "score", "cpu_s")
FIRST_SEED = 8000  # not among the replicates of other comparisons
ROUNDS, NOISE = 100, 0.3  # of choices from a list
N_INIT, ACQUISITIONS = 20, 60
KNOWN = ("designs", "chain", "levy10")  # with the true groups
DEFAULT = ("levy10", "rastrigin10", "ackley10", "hartmann6")
CELLS = (
    *((name, method) for name in KNOWN for method in ("ts", "ats", "alcb2")),
    *((f"{name} (default)", "logei") for name in DEFAULT),
)


def chosen(method: str, seed: int, *, orthogonal: bool) -> float:
    """Return the cumulative regret of choices from a list of twenty designs."""
    p = problems.get("designs", seed=seed)
    values = p(p.designs)
    settings = {"groups": "singletons", "orthogonal": orthogonal}
    opt = Optimizer(p.space, method=method, seed=seed, n_init=2, **settings)
    total = 0.0
    for t in range(ROUNDS):
        k = opt.choose(p.designs, repeats=True)
        noise = rng_at(seed, "identified noise", t).standard_normal()
        opt.tell(p.designs[k], values[k] + NOISE * noise, noise=NOISE)
        total += values[k] - values.min()
    return total


def searched(name: str, method: str, seed: int, *, orthogonal: bool) -> float:
    """Return how far the best value is from the minimum after a run."""
    default = name.endswith(" (default)")
    p = problems.get(name.removesuffix(" (default)"), seed=seed)
    settings = {} if default else {"groups": [list(group) for group in p.groups]}
    low, high = np.array(p.bounds).T
    X = low + (high - low) * rng_at(seed, "identified").random((N_INIT, p.dim))
    opt = Optimizer(
        p.bounds,
        method=method,
        seed=seed,
        x0=X,
        y0=p(X),
        orthogonal=orthogonal,
        **settings,
    )
    for _ in range(ACQUISITIONS):
        x = opt.ask()
        opt.tell(x, p(x))
    return opt.best[1] - p.minimum


def table(rows: list[dict[str, str]]) -> str:
    """Return medians of both kinds, and who was better how often, as Markdown."""
    out = ["| task | method | runs | plain | orthogonal | better : worse | CPU ratio |"]
    out.append("|---|---|--:|--:|--:|---|--:|")
    for task, method in CELLS:
        own = [r for r in rows if (r["task"], r["method"]) == (task, method)]
        by = {
            kind: {r["replicate"]: r for r in own if r["parts"] == kind}
            for kind in ("plain", "orthogonal")
        }
        shared = sorted(by["plain"].keys() & by["orthogonal"].keys())
        if not shared:
            continue
        a, b = (
            np.array([float(by[k][r]["score"]) for r in shared])
            for k in ("plain", "orthogonal")
        )
        cost = [
            sum(float(by[k][r]["cpu_s"]) for r in shared)
            for k in ("plain", "orthogonal")
        ]
        out.append(
            f"| {task} | `{method}` | {len(shared)} | {np.median(a):.3g} "
            f"| {np.median(b):.3g} | {(b < a).sum()} : {(b > a).sum()} "
            f"| {cost[1] / cost[0]:.2f} |"
        )
    return "\n".join(out)


def main() -> None:
    """Run what is not there yet, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicates", type=int, default=4)
    parser.add_argument("--out", type=Path, default=Path("identified.csv"))
    parser.add_argument("--report", type=Path)
    given = parser.parse_args()
    if given.report:
        print(table(rows_of(given.report)))
        return
    found = rows_of(given.out)
    done = {(r["task"], r["method"], r["parts"], r["replicate"]) for r in found}
    if not done:
        with given.out.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerow(FIELDS)
    warnings.filterwarnings("ignore", "method=.* takes the parts as independent")
    for replicate in range(given.replicates):
        for task, method in CELLS:
            for parts in ("plain", "orthogonal"):
                if (task, method, parts, str(replicate)) in done:
                    continue
                seed, orthogonal = FIRST_SEED + replicate, parts == "orthogonal"
                begin = time.process_time()
                score = (
                    chosen(method, seed, orthogonal=orthogonal)
                    if task == "designs"
                    else searched(task, method, seed, orthogonal=orthogonal)
                )
                cost = time.process_time() - begin
                numbers = f"{score:.6g}", f"{cost:.3g}"
                row = (task, method, parts, replicate, *numbers)
                with given.out.open("a", newline="") as file:
                    csv.writer(file, lineterminator="\n").writerow(row)
                print(*row, flush=True)


if __name__ == "__main__":
    main()
