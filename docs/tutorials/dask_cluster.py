"""Evaluations on a Dask cluster: here two processes of this machine."""

import os
import time
from pathlib import Path

from distributed import Client, LocalCluster

import sumbo


def cost(x):
    """Return a value and note which process computed it."""
    time.sleep(0.05)  # stands for a long computation
    with Path("evaluations.txt").open("a") as file:
        file.write(f"{os.getpid()}\n")
    return (x[0] - 0.3) ** 2 + (x[1] * x[2] - 0.2) ** 2 + abs(x[3] - 0.6)


def main():
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**settings) as cluster, Client(cluster) as client:
        result = sumbo.minimize(
            cost,
            [(0, 1)] * 4,
            budget=40,
            workers=client,
            checkpoint="run.npz",
            on_error="skip",
            seed=1,
        )
    processes = set(Path("evaluations.txt").read_text().split())
    print(f"{result.nfev} evaluations by {len(processes)} processes: {result.fun:.4f}")


if __name__ == "__main__":  # the workers import this file
    main()
