"""``python -m benchmarks.faults``: inject all faults, print the table."""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.faults import disks, programs, runs, storages, studies
from benchmarks.faults.tally import Tally, table


def main() -> None:
    """Inject the faults; exit with 1 if one was not survived."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="of all numbers")
    parser.add_argument("--seed", type=int, default=1, help="of the random moments")
    parser.add_argument(
        "faults", nargs="*", help="minimize, storage, study, files, programs"
    )
    given = parser.parse_args()
    tallies: list[Tally] = []
    with tempfile.TemporaryDirectory(prefix="sumbo-faults-") as name:
        known = steps(Path(name), given.scale, given.seed)
        chosen = given.faults or list(known)
        for step in [step for kind in chosen for step in known[kind]]:
            begin = time.monotonic()
            for tally in step():
                tallies.append(tally)
                print(f"{time.monotonic() - begin:6.0f} s  {tally.fault}", flush=True)
                for note in tally.notes:
                    print(f"          {note}", flush=True)
    kills = sum(tally.kills for tally in tallies)
    print(f"\n{table(tallies)}\n\n{kills} of these are kills of processes.")
    sys.exit(0 if all(tally.passed for tally in tallies) else 1)


def steps(
    folder: Path, scale: float, seed: int
) -> dict[str, list[Callable[[], list[Tally]]]]:
    """Return the faults by kind, as functions that inject them.

    Kills of workers on PostgreSQL are in ``make test-storage``, which starts a server.
    """

    def n(count: int) -> int:
        return max(1, round(scale * count))

    def damaged() -> list[Tally]:
        runs.minimize(folder, "serial", seed)
        studies.drive(folder / "study", 1)
        return disks.damaged(n(200), folder / "run.npz", folder / "study", seed)

    return {
        "minimize": [
            lambda: [runs.kills("serial", n(100), folder, seed)],
            lambda: [runs.kills("threads", n(50), folder, seed + 10_000)],
            lambda: [runs.kills("processes", n(50), folder, seed + 20_000)],
            lambda: [runs.two_runs(n(10), folder, seed + 30_000)],
        ],
        "storage": [
            lambda: [storages.kills("SQLite", n(20), folder, seed)],
            lambda: [storages.kills("journal", n(20), folder, seed)],
        ],
        "study": [
            lambda: studies.kills(n(60), folder, seed),
            lambda: [studies.two_drivers(n(3), folder, seed)],
        ],
        "files": [lambda: disks.full(n(20), folder, seed), damaged],
        "programs": [lambda: [programs.hanging(n(18), folder)]],
    }


if __name__ == "__main__":
    main()
