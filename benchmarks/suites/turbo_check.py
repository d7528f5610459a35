"""Compare our TuRBO-1 with the curve that BoTorch's tutorial reports.

    python -m benchmarks.suites.turbo_check [--runs 3]

Ackley's function of ten coordinates on [-10, 15], 20 initial points, batches of 4. The
reported run is a single one. The tutorial allows less noise, and has more candidates.
"""

import argparse

import numpy as np

import sumbo
from benchmarks.suites.turbo import Turbo

# Evaluations and best value, read off the output of the tutorial "TuRBO-1" (v0.3.3).
REPORTED = {40: 11.1, 60: 9.97, 80: 6.00, 100: 4.14, 120: 3.80, 160: 2.15, 200: 0.817}
DIM, SIDE = 10, (-10.0, 15.0)


def ackley(x: np.ndarray) -> float:
    """Return Ackley's function, whose minimum is 0 at 0."""
    root, waves = np.sqrt((x**2).mean()), np.cos(2.0 * np.pi * x).mean()
    return float(20.0 + np.e - 20.0 * np.exp(-0.2 * root) - np.exp(waves))


def main() -> None:
    """Print the reported curve, and ours for some seeds."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.suites.turbo_check")
    parser.add_argument("--runs", type=int, default=3)
    print("evaluations", *REPORTED)
    print("reported   ", *REPORTED.values())
    for seed in range(parser.parse_args().runs):
        found = sumbo.minimize(
            ackley,
            [SIDE] * DIM,
            method=Turbo(),
            transform="none",
            budget=max(REPORTED),
            batch=4,
            n_init=20,
            seed=seed,
        )
        best = np.minimum.accumulate(found.func_vals)
        print(
            f"seed {seed}     ", *(f"{best[n - 1]:.3g}" for n in REPORTED), flush=True
        )


if __name__ == "__main__":
    main()
