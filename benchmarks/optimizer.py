"""Quality with the structure known, and cost of whole runs against rivals.

    python -m benchmarks.optimizer [--seeds 10]
    python -m benchmarks.optimizer --rows [--only rover/optuna-gp] [--evaluations 120]

Quality: the median gap to the minimum of `ts` on ten-dimensional random additive
functions, 20 uniform points and 100 acquisitions. Cost, with --rows: CPU seconds per
ask over such a run with 10 and with 60 coordinates, of `minimize` with default
settings and of `ts` with known structure, as ratios to Optuna's GPSampler and
BoTorch's LogEI in the same run of this program, in turns, the median of three for
Optuna; they live in an environment of their own (`make rivals`), and BoTorch takes
long: minutes for 10 coordinates.
"""

import argparse
import json
import subprocess
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import sumbo
from benchmarks import report
from benchmarks.rivals import N_INIT, instance
from benchmarks.timing import RIVALS_PYTHON, Row, show_rows

# What `ts` must reach (median of ten seeds), and what others were seen to reach.
TARGETS = {"ackley10": 15.0, "levy10": 0.3, "rastrigin10": 0.1}
RIVALS = {"optuna-gp": "Optuna 5 GPSampler", "botorch-logei": "BoTorch 0.18 LogEI"}
ASKED = {"optuna-gp": "≥ 5", "botorch-logei": "≥ 20"}
# Runs of each, in turns: a shared machine changes its speed from one to the next.
TURNS = {"optuna-gp": 3, "botorch-logei": 1}
OURS: dict[str, dict[str, str]] = {
    "minimize": {},
    "minimize, ts, structure known": {"method": "ts", "groups": "singletons"},
}
# Problems of whole runs, with 10 and with 60 coordinates.
WHOLE = ("ackley10", "rover")
EVALUATIONS = 120


def run(
    name: str, seed: int, evaluations: int = EVALUATIONS, **settings: Any
) -> tuple[float, float]:
    """Return the gap to the minimum and the CPU seconds per ask of one run.

    Where the minimum is not known, the gap is the value.
    """
    problem, X = instance(name, seed)
    begin = time.process_time()
    result = sumbo.minimize(
        problem,
        problem.bounds,
        budget=evaluations,
        seed=seed,
        x0=X,
        y0=problem(X),
        **settings,
    )
    seconds = time.process_time() - begin
    return result.fun - (problem.minimum or 0.0), seconds / (evaluations - N_INIT)


def run_rival(
    rival: str, name: str, seed: int, evaluations: int = EVALUATIONS
) -> tuple[float, float]:
    """Return the same of a rival, run in its own environment."""
    words = [str(RIVALS_PYTHON), "benchmarks/rivals.py", rival, name, str(seed)]
    words.append(str(evaluations))
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    line = json.loads(done.stdout.splitlines()[-1])
    minimum = instance(name, seed)[0].minimum or 0.0
    return line["best"] - minimum, line["cpu_per_ask_s"]


def structure_rows(evaluations: int = EVALUATIONS) -> Iterator[Row]:
    """Yield what learning the structure costs, per ask of whole runs."""
    for method in ("logei", "ts"):
        turns = [
            [
                run(WHOLE[0], 0, evaluations, method=method, **known)[1]
                for known in ({"groups": "singletons"}, {})
            ]
            for _ in range(3)
        ]
        given, learned = np.median(turns, axis=0).tolist()
        what = f"{method}, structure learned: {WHOLE[0]}, {evaluations} evaluations"
        shown = f"{1e3 * learned:.0f} ms"
        yield Row(f"{what}, per ask", "structure given", learned / given, "≤ 3", shown)


def rows(
    pairs: Sequence[tuple[str, str]] | None = None, evaluations: int = EVALUATIONS
) -> Iterator[Row]:
    """Yield the CPU per ask of whole runs: against rivals, by default all of them."""
    run(WHOLE[0], 1, N_INIT + 2)  # imports are not counted
    if pairs is None:
        yield from structure_rows(evaluations)
        pairs = [(name, rival) for rival in RIVALS for name in WHOLE]
    if not RIVALS_PYTHON.exists():
        return
    for name, rival in pairs:
        theirs: list[float] = []
        ours: dict[str, list[float]] = {label: [] for label in OURS}
        for _ in range(TURNS[rival]):
            for label, settings in OURS.items():
                ours[label].append(run(name, 0, evaluations, **settings)[1])
            theirs.append(run_rival(rival, name, 0, evaluations)[1])
        P = instance(name, 0)[0].dim
        for label, costs in ours.items():
            what = f"{label}: {name}, P={P}, {evaluations} evaluations, per ask"
            ratio = float(np.median(np.array(theirs) / np.array(costs)))
            shown = f"{1e3 * np.median(costs):.0f} ms"
            yield Row(what, RIVALS[rival], ratio, ASKED[rival], shown)


def main(seeds: int = 10) -> None:
    """Print the quality that `ts` and others reach."""
    quality = Table(
        "problem",
        "method",
        "median gap",
        "target",
        "CPU s per ask",
        title=f"known structure, {N_INIT} + {EVALUATIONS - N_INIT}, {seeds} seeds",
    )
    for name, target in TARGETS.items():
        for method in ("ts", "ats", "alcb2"):
            runs = [
                run(name, seed, method=method, groups="singletons")
                for seed in range(seeds)
            ]
            gap, cost = np.median(runs, axis=0)
            shown = f"≤ {target:g}" if method == "ts" else ""
            quality.add_row(name, method, f"{gap:.3g}", shown, f"{cost:.4f}")
    Console().print(quality)


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rows", action="store_true", help="costs against rivals")
    parser.add_argument("--only", nargs="*", metavar="PROBLEM/RIVAL")
    parser.add_argument("--evaluations", type=int, default=EVALUATIONS)
    return parser.parse_args()


if __name__ == "__main__":
    given = _parsed()
    if given.rows:
        only = given.only and [tuple(pair.split("/")) for pair in given.only]
        for row in rows(only or None, given.evaluations):
            show_rows("Whole runs", [row])
            if given.evaluations == EVALUATIONS:  # shorter ones are only trials
                report.store("optimizer", [row], merge=True)
    else:
        main(given.seeds)
