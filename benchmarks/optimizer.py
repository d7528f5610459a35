"""Quality and cost of whole runs, with the structure known, against rivals.

    python -m benchmarks.optimizer [--seeds 10] [--rival-seeds 1]

Quality: the median gap to the minimum of `ts` on ten-dimensional random additive
functions, 20 uniform points and 100 acquisitions. Cost: CPU seconds per ask over such
a run, as ratios to Optuna's GPSampler and BoTorch's LogEI in the same run of this
program; they live in an environment of their own (`make rivals`).
"""

import argparse
import json
import subprocess
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import sumbo
from benchmarks.rivals import N_INIT, instance

# What `ts` must reach (median of ten seeds), and what others were seen to reach.
TARGETS = {"ackley10": 15.0, "levy10": 0.3, "rastrigin10": 0.1}
RIVALS = ("optuna-gp", "botorch-logei")
PYTHON = Path(".venv-rivals/bin/python")
EVALUATIONS = 120


def run(name: str, seed: int, **settings: object) -> tuple[float, float]:
    """Return the gap to the minimum and the CPU seconds per ask of one run."""
    problem, X = instance(name, seed)
    begin = time.process_time()
    result = sumbo.minimize(
        problem,
        problem.bounds,
        budget=EVALUATIONS,
        seed=seed,
        x0=X,
        y0=problem(X),
        **settings,
    )
    seconds = time.process_time() - begin
    return result.fun - problem.minimum, seconds / (EVALUATIONS - N_INIT)


def run_rival(rival: str, name: str, seed: int) -> tuple[float, float]:
    """Return the same of a rival, run in its own environment."""
    words = [str(PYTHON), "benchmarks/rivals.py", rival, name, str(seed)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    line = json.loads(done.stdout)
    minimum = instance(name, seed)[0].minimum
    return line["best"] - minimum, line["cpu_per_ask_s"]


def main(seeds: int = 10, rival_seeds: int = 1) -> None:
    """Print the tables of quality and cost."""
    console = Console()
    quality = Table(
        "problem",
        "method",
        "median gap",
        "target",
        "CPU s per ask",
        title=f"known structure, {N_INIT} + {EVALUATIONS - N_INIT}, {seeds} seeds",
    )
    ours = {}
    for name, target in TARGETS.items():
        for method in ("ts", "ats", "alcb2"):
            rows = [
                run(name, seed, method=method, groups="singletons")
                for seed in range(seeds)
            ]
            gap, cost = np.median(rows, axis=0)
            shown = f"≤ {target:g}" if method == "ts" else ""
            quality.add_row(name, method, f"{gap:.3g}", shown, f"{cost:.4f}")
            if method == "ts":
                ours[name] = cost
    console.print(quality)
    if not PYTHON.exists():
        console.print("rivals are not installed: run `make rivals` to compare.")
        return
    rivals = Table(
        "problem", "rival", "median gap", "rival's CPU / ts's CPU", title="rivals"
    )
    for rival in RIVALS:
        for name in list(TARGETS)[:1] if rival_seeds == 1 else TARGETS:
            rows = [run_rival(rival, name, seed) for seed in range(rival_seeds)]
            gap, cost = np.median(rows, axis=0)
            rivals.add_row(name, rival, f"{gap:.3g}", f"{cost / ours[name]:.1f}")
    console.print(rivals)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rival-seeds", type=int, default=1)
    main(**vars(parser.parse_args()))
