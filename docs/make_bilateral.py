"""Make the picture of bilateral uncertainty: python docs/make_bilateral.py.

Regret curves come from ``results/bilateral``; the inflation of variances is computed
here, for ten parts with Matérn-5/2 kernels and uniform data.
"""

import csv
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")  # no window, on any machine

import numpy as np
from matplotlib import pyplot as plt

from sumbo import AdditiveGP
from sumbo.drawing import BLUE, RC, VERMILION

HERE = Path(__file__).parent
CURVES = HERE.parent / "results/bilateral/curves.csv"
OUT = HERE / "figures/bilateral.png"
TITLES = {
    "designs": "20 designs, 20 parts",
    "accept": "accept or decline, 20 parts",
    "chain": "chain of overlapping groups",
}
# The same kind of draws, of a policy and of a method.
KINDS = ((("joint", "ts"), BLUE), (("marginal", "ats"), VERMILION))


def curves():
    """Return rounds, means and standard errors by problem and policy."""
    found = {}
    with CURVES.open(newline="") as file:
        for row in csv.DictReader(file):
            key = row["problem"], row["policy"]
            values = [float(row[name]) for name in ("round", "mean", "error")]
            found.setdefault(key, []).append(values)
    return {key: np.array(values).T for key, values in found.items()}


def inflation(sizes, M=10):
    """Return the median inflation at random points, for several numbers of data."""
    rng = np.random.default_rng(5)
    gp = AdditiveGP(
        groups=[(m,) for m in range(M)],
        lengthscales=np.full(M, 0.3),
        variances=np.full(M, 1 / M),
        noise=0.05**2,
    )
    Z, X = rng.random((200, M)), rng.random((max(sizes), M))
    posteriors = [gp.condition(X[:n], np.zeros(n)) for n in sizes]
    return [float(np.median(post.inflation(Z))) for post in posteriors]


def main():
    plt.rcParams.update(RC)
    figure, grid = plt.subplots(2, 2, figsize=(7.4, 4.8), layout="constrained")
    axes, known = grid.ravel(), curves()
    for ax, (problem, title) in zip(axes, TITLES.items(), strict=False):
        for names, color in KINDS:
            policy = next(name for name in names if (problem, name) in known)
            t, mean, error = known[problem, policy]
            ax.plot(t, mean, color=color, label=f"{names[0]} draws")
            low, high = mean - 1.96 * error, mean + 1.96 * error
            ax.fill_between(t, low, high, color=color, alpha=0.25, linewidth=0)
        ax.set(title=title, xlabel="round", ylabel="cumulative regret")
        ax.legend()
    sizes = [10, 20, 40, 80, 160, 320]
    axes[3].loglog(sizes, inflation(sizes), color=VERMILION, marker="s")
    axes[3].set(
        title="summed variances of 10 parts",
        xlabel="observations",
        ylabel="times the variance of the sum",
    )
    figure.savefig(OUT, dpi=150)


if __name__ == "__main__":
    main()
