"""Intervals of the minimum of f from joint and from marginal draws.

    python studies/bilateral_interval.py [FOLDER]

Ten parts with Matérn-5/2 kernels (length-scale 0.3, variances 1/10), uniform data with
noise 0.05, truths drawn from the model. Writes ``interval.csv``: for each number of
data and kind of draws the share of truths in the 95 % interval and its mean width.
"""

import csv
import sys
from pathlib import Path

import numpy as np

from sumbo import AdditiveGP
from sumbo.rng import rng_at

SEED, REPLICATES, DRAWS, PARTS = 26_002, 60, 300, 10
GRID = np.linspace(0.0, 1.0, 101)[:, None]


def main(folder: Path) -> None:
    """Measure and write."""
    gp = AdditiveGP(
        groups=[(m,) for m in range(PARTS)],
        lengthscales=np.full(PARTS, 0.3),
        variances=np.full(PARTS, 1 / PARTS),
        noise=0.05**2,
    )
    L = np.linalg.cholesky(gp.kernels[0](GRID, GRID) + 1e-9 * np.eye(len(GRID)))
    rows = []
    for N in (20, 50, 100, 200):
        found: dict[str, list[tuple[bool, float]]] = {"joint": [], "marginal": []}
        for r in range(REPLICATES):
            rng = rng_at(SEED, "interval", N, r)
            f = L @ rng.standard_normal((len(GRID), PARTS))
            place = rng.integers(len(GRID), size=(N, PARTS))
            y = f[place, np.arange(PARTS)].sum(axis=1) + 0.05 * rng.standard_normal(N)
            post, least = gp.condition(GRID[place, 0], y), f.min(axis=0).sum()
            for how, kept in found.items():
                draws = post.sample([GRID] * PARTS, n=DRAWS, how=how, seed=r)
                minima = np.sum([draw.min(axis=1) for draw in draws], axis=0)
                low, high = np.quantile(minima, [0.025, 0.975])
                kept.append((low <= least <= high, high - low))
        for how, kept in found.items():
            covered, width = np.array(kept, dtype=float).mean(axis=0)
            rows.append([N, how, f"{covered:.3f}", f"{width:.4g}"])
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "interval.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["data", "draws", "coverage", "width"], *rows])


if __name__ == "__main__":
    here = Path(__file__).parent.parent / "results/bilateral"
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else here)
