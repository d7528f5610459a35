"""When the stopping rule stops, and what is lost.

    python -m benchmarks.stopping run --replicates 0:1

One run of the default per problem and replicate, of 120 evaluations. At every look of
the rule, the expected remaining gain and the best value so far are noted. One set of
runs so answers the question for all tolerances. Tolerances are shares of the standard
deviation of the initial values. Finished runs are rows of a CSV file, one per look, and
are not made again.
"""

import argparse
import csv
import importlib
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from sumbo import Optimizer, problems
from sumbo.optimizer.stopping import is_due, remaining_gain

ROOT = Path(__file__).parents[1]
ROWS = ROOT / "results" / "stopping.csv"
DESIGN = ROOT / "benchmarks" / "quality" / "designs" / "quality.toml"
FIELDS = ("problem", "replicate", "evaluations", "gain", "best", "spread")
SHARES = (0.3, 0.1, 0.03, 0.01)
N_INIT, BUDGET = 20, 120


def names() -> tuple[str, ...]:
    """Return the problems of the comparison of optimisers."""
    return tuple(tomllib.loads(DESIGN.read_text())["problems"])


def play(name: str, replicate: int) -> list[dict[str, Any]]:
    """Return one row for each look of the rule in a run, and one for its end."""
    seeded = problems.info(name).seeded
    problem = problems.get(name, **({"seed": replicate} if seeded else {}))
    opt = Optimizer(problem.space, seed=replicate, n_init=N_INIT)
    rows = []
    for n in range(1, BUDGET + 1):
        x = opt.ask()
        opt.tell(x, float(problem(problem.space.numbers([x])[0])))
        if n == BUDGET or (n >= N_INIT and is_due(opt, 1)):
            gain = remaining_gain(opt)
            spread = float(np.std(opt.y[:N_INIT]))
            found = (name, replicate, n, f"{gain:.6g}", repr(opt.best[1]), repr(spread))
            rows.append(dict(zip(FIELDS, found, strict=True)))
    return rows


class Stop(NamedTuple):
    """Where a run would have stopped, and what that would have cost.

    Attributes:
        stopped: Whether it stops before its budget.
        at: The evaluations until then.
        loss: What the rest of the run gained, in units of the spread.
    """

    stopped: bool
    at: int
    loss: float


def stop_of(rows: Sequence[dict[str, str]], share: float) -> Stop:
    """Return what the rule does with the rows of one run, in their order."""
    spread, last = float(rows[0]["spread"]), float(rows[-1]["best"])
    for row in rows[:-1]:
        if float(row["gain"]) < share * spread:
            loss = (float(row["best"]) - last) / spread
            return Stop(stopped=True, at=int(row["evaluations"]), loss=loss)
    return Stop(stopped=False, at=int(rows[-1]["evaluations"]), loss=0.0)


def read(path: Path) -> dict[tuple[str, str], list[dict[str, str]]]:
    """Return the rows of each run."""
    runs: dict[tuple[str, str], list[dict[str, str]]] = {}
    if path.exists():
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                runs.setdefault((row["problem"], row["replicate"]), []).append(row)
    return runs


def run(replicates: range, chosen: Sequence[str], path: Path) -> None:
    """Make the runs that have no rows."""
    importlib.import_module("benchmarks.quality.problems")  # registers its problems
    path.parent.mkdir(parents=True, exist_ok=True)
    done = read(path)
    for replicate in replicates:
        for name in chosen:
            if (name, str(replicate)) in done:
                continue
            rows = play(name, replicate)
            new = not path.exists()
            with path.open("a", newline="") as file:
                writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
                if new:
                    writer.writeheader()
                writer.writerows(rows)


def report(path: Path) -> Table:
    """Return how often the rule stops, when, and what is lost, per tolerance."""
    runs = read(path)
    heads = ("tolerance", "runs", "stopped", "evaluations", "beyond", "median", "worst")
    table = Table(*heads)
    for share in SHARES:
        stops = [stop_of(rows, share) for rows in runs.values()]
        early = [stop for stop in stops if stop.stopped]
        losses = [stop.loss for stop in early]
        if not early:
            table.add_row(f"{share:g}", str(len(stops)), "0", *["–"] * 4)
            continue
        table.add_row(
            f"{share:g}",
            str(len(stops)),
            str(len(early)),
            f"{np.median([stop.at for stop in early]):.0f}",
            str(sum(loss > share for loss in losses)),
            f"{np.median(losses):.3g}",
            f"{max(losses):.3g}",
        )
    return table


def main() -> None:
    """Run the benchmark, then print its table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stopping")
    parser.add_argument("command", choices=("run", "report"))
    parser.add_argument("--replicates", default="0:1")
    parser.add_argument(
        "--problems", type=lambda text: text.split(","), default=names()
    )
    parser.add_argument("--rows", type=Path, default=ROWS)
    given = parser.parse_args()
    if given.command == "run":
        first, last = map(int, given.replicates.split(":"))
        run(range(first, last), given.problems, given.rows)
    Console().print(report(given.rows))


if __name__ == "__main__":
    main()
