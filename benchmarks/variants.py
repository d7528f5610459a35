"""Two settings of the shared model against the default, with shared random numbers.

    python -m benchmarks.variants --replicates 6 --out variants.csv
    python -m benchmarks.variants --report variants.csv
    python -m benchmarks.variants --decisions 40

``orthogonal`` parts are compared with plain ones on a fixed list of designs
(``Optimizer.choose``), on groups that overlap (``chain``) or not (``levy10``), all with
the true groups, and for the default on problems of the development set. There
averaging over five structures is compared as well. Replicates share the function, the
initial points and the noise. Every finished run is one row, so a stopped benchmark
goes on. ``--decisions`` plays sequential decisions with exact beliefs: joint draws,
marginal ones, and marginal draws of centred parts.
"""

import argparse
import csv
import time
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import benchmarks.quality.problems  # noqa: F401 - registers hartmann6
from benchmarks.overlapping import rows_of
from sumbo import Optimizer, problems
from sumbo.decisions import DECISIONS, play
from sumbo.rng import rng_at

FIELDS = ("task", "method", "variant", "replicate", "score", "cpu_s")
FIRST_SEED = 8100  # not among the replicates of other comparisons
ROUNDS, NOISE = 100, 0.3  # of choices from a list
N_INIT, ACQUISITIONS = 20, 80
KNOWN = ("designs", "chain", "levy10")  # with the true groups
DEFAULT = ("levy10", "rastrigin10", "ackley10", "hartmann6", "rosenbrock10", "pairs")
VARIANTS = {
    "plain": {},
    "orthogonal": {"orthogonal": True},
    "averaged": {"averaged": 5},
}
CELLS = (
    *((name, method) for name in KNOWN for method in ("ts", "ats", "alcb2")),
    *((f"{name} (default)", "logei") for name in DEFAULT),
)


def is_default(task: str) -> bool:
    """Return whether a task is one of the default method."""
    return task.endswith(" (default)")


def chosen(method: str, seed: int, **variant: Any) -> float:
    """Return the cumulative regret of choices from a list of twenty designs."""
    p = problems.get("designs", seed=seed)
    values = p(p.designs)
    settings = {"groups": "singletons", **variant}
    opt = Optimizer(p.space, method=method, seed=seed, n_init=2, **settings)
    total = 0.0
    for t in range(ROUNDS):
        k = opt.choose(p.designs, repeats=True)
        noise = rng_at(seed, "variants noise", t).standard_normal()
        opt.tell(p.designs[k], values[k] + NOISE * noise, noise=NOISE)
        total += values[k] - values.min()
    return total


def searched(task: str, method: str, seed: int, **variant: Any) -> float:
    """Return how far the best value is from the minimum after a run."""
    p = problems.get(task.removesuffix(" (default)"), seed=seed)
    if not is_default(task):
        variant["groups"] = [list(group) for group in p.groups or ()]
    low, high = np.array(p.bounds).T
    X = low + (high - low) * rng_at(seed, "variants").random((N_INIT, p.dim))
    opt = Optimizer(
        p.bounds,
        method=method,
        seed=seed,
        x0=X,
        y0=p(X),
        **variant,
    )
    for _ in range(ACQUISITIONS):
        x = opt.ask()
        opt.tell(x, p(x))
    return opt.best[1] - p.minimum


DECISIONS_PLAYED = {
    "accept": {"rounds": 2000, "parts_count": 20, "levels": 2, "noise": 0.5},
    "designs": {"rounds": 500, "parts_count": 20, "count": 20, "noise": 0.3},
    "route": {"rounds": 1000, "steps": 10, "states": 2, "noise": 0.5},
}


def decisions(replicates: int) -> str:
    """Return mean cumulative regret and standard errors, as Markdown."""
    policies = ("joint", "marginal", "centred")
    out = ["| problem | " + " | ".join(policies) + " |", "|---|--:|--:|--:|"]
    for name, settings in DECISIONS_PLAYED.items():
        make = DECISIONS.get(name)
        problem = make(seed=FIRST_SEED, replicates=replicates, **settings)
        cells = []
        for policy in policies:
            total = play(problem, policy).sum(axis=1)
            error = total.std(ddof=1) / replicates**0.5
            cells.append(f"{total.mean():.3g} ± {error:.2g}")
        out.append(f"| {name} | " + " | ".join(cells) + " |")
        print(out[-1], flush=True)
    return "\n".join(out)


def table(rows: list[dict[str, str]]) -> str:
    """Return medians, and who was better how often, as Markdown."""
    head = "| task | method | variant | runs | plain | variant | better : worse | CPU |"
    out = [head, "|---|---|---|--:|--:|--:|---|--:|"]
    for task, method in CELLS:
        by: dict[str, dict[str, dict[str, str]]] = {name: {} for name in VARIANTS}
        for row in rows:
            if (row["task"], row["method"]) == (task, method):
                by[row["variant"]][row["replicate"]] = row
        for variant in list(VARIANTS)[1:]:
            both = by["plain"], by[variant]
            shared = sorted(both[0].keys() & both[1].keys())
            if not shared:
                continue
            a, b = ([float(one[r]["score"]) for r in shared] for one in both)
            cost = [sum(float(one[r]["cpu_s"]) for r in shared) for one in both]
            won = sum(y < x for x, y in zip(a, b, strict=True))
            lost = sum(y > x for x, y in zip(a, b, strict=True))
            out.append(
                f"| {task} | `{method}` | {variant} | {len(shared)} | "
                f"{np.median(a):.3g} | {np.median(b):.3g} | {won} : {lost} | "
                f"{cost[1] / cost[0]:.1f} |"
            )
    return "\n".join(out)


def main() -> None:
    """Run what is not there yet, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicates", type=int, default=6)
    parser.add_argument("--out", type=Path, default=Path("variants.csv"))
    parser.add_argument("--report", type=Path)
    parser.add_argument("--decisions", type=int, metavar="REPLICATES")
    given = parser.parse_args()
    if given.report:
        print(table(rows_of(given.report)))
        return
    if given.decisions:
        print(decisions(given.decisions))
        return
    found = rows_of(given.out)
    done = {tuple(row[name] for name in FIELDS[:4]) for row in found}
    if not done:
        with given.out.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerow(FIELDS)
    warnings.filterwarnings("ignore", "method=.* takes the parts as independent")
    for replicate, (task, method), variant in product(
        range(given.replicates), CELLS, VARIANTS
    ):
        key = task, method, variant, str(replicate)
        if key in done or (variant == "averaged" and not is_default(task)):
            continue
        play_one = chosen if task == "designs" else searched
        arguments = (method,) if task == "designs" else (task, method)
        begin = time.process_time()
        score = play_one(*arguments, FIRST_SEED + replicate, **VARIANTS[variant])
        cost = time.process_time() - begin
        with given.out.open("a", newline="") as file:
            row = *key, f"{score:.6g}", f"{cost:.3g}"
            csv.writer(file, lineterminator="\n").writerow(row)
        print(*row, flush=True)


if __name__ == "__main__":
    main()
