"""Run the default method on kids-1000 and draw its progress.

Run ``python docs/make_kids.py``; it takes some minutes of CPU and the data of the
survey. The figure is docs/figures/results/kids-run.png.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import sumbo
from sumbo.problems import kids_1000

FIGURE = Path(__file__).parent / "figures" / "results" / "kids-run.png"


def main() -> None:
    """Run 20 + 40 evaluations with seed 0, print the best value and draw the run."""
    problem = sumbo.problems.get("kids-1000")
    start = problem(np.array(kids_1000.START))
    run = sumbo.minimize(problem, problem.bounds, budget=60, n_init=20, seed=0)
    print(
        f"start {-start:.3f}, best of 20 {-min(run.func_vals[:20]):.3f}, "
        f"best of 60 {-run.fun:.3f}, x = {run.x}"
    )
    figure, axes = plt.subplots(figsize=(5.0, 3.2), layout="constrained")
    n = np.arange(1, 61)
    axes.plot(n, run.func_vals, ".", color="0.6", label="evaluation")
    axes.plot(n, np.minimum.accumulate(run.func_vals), label="best so far")
    axes.axhline(start, color="k", linestyle=":", label="start point of the pipeline")
    axes.axvline(20.5, color="0.85", zorder=0)
    axes.set(xlabel="evaluation", ylabel="−log L", yscale="log", title="kids-1000")
    axes.legend(frameon=False)
    figure.savefig(FIGURE, dpi=110)


if __name__ == "__main__":
    main()
