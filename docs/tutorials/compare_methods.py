"""Methods on instances of one problem, from the same initial points."""

import numpy as np
from matplotlib import pyplot as plt

import sumbo
from sumbo import plots

METHODS = ("ts", "ats", "uniform")
REPLICATES = 3


def main():
    figure, axes = plt.subplots(1, len(METHODS), figsize=(10, 3), sharey=True)
    for method, ax in zip(METHODS, axes, strict=True):
        runs = []
        for seed in range(REPLICATES):
            p = sumbo.problems.get("levy5", seed=seed)
            # One seed gives the same initial points, whatever the method.
            runs.append(
                sumbo.minimize(p, p.bounds, method=method, budget=50, seed=seed)
            )
        plots.convergence(runs, minimum=0.0, ax=ax, log=True)
        ax.set_title(method)
        print(f"{method:8} median {np.median([run.fun for run in runs]):.4f}")
    figure.tight_layout()
    figure.savefig("methods.png")
    print(f"{REPLICATES} replicates show that it runs, not which method is better.")


if __name__ == "__main__":
    main()
