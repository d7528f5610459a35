"""Play what ``bilateral.toml`` lists; write rows and a table of comparisons.

    python studies/bilateral.py [FOLDER] [--summary]

``replicates.csv`` has one row per replicate and method, with the cumulative regret at
some rounds; ``interval.csv`` has coverage and width of intervals of the minimum;
``curves.csv`` and ``summary.md`` follow from the rows. What is in the folder is not
played again, so that a run that was stopped goes on; ``--summary`` plays nothing.
"""

import argparse
import csv
import sys
import tomllib
import warnings
from pathlib import Path

import numpy as np
from bilateral_runs import batches, intervals, play_choices, play_run
from bilateral_summary import curves, rounds, summary

from sumbo.decisions import DECISIONS, play

HERE = Path(__file__).parent
ROWS = ("problem", "policy", "replicate", "rounds", "regret", "late", "asks", "best")
ROWS = (*ROWS, "curve")


def main(folder: Path, *, only_summary: bool = False) -> None:
    """Play what is not there yet, and write the summary."""
    design = tomllib.loads((HERE / "bilateral.toml").read_text())
    folder.mkdir(parents=True, exist_ok=True)
    rows = read(folder / "replicates.csv")
    if not only_summary:
        play_all(folder, design, rows)
    write(folder / "curves.csv", *curves(rows))
    (folder / "summary.md").write_text(summary(rows, design))


def play_all(folder: Path, design: dict, rows: list) -> None:
    """Play what is not among the rows; the runs replicate by replicate."""
    for entry in design["decision"]:
        add_decision(folder, design, entry, rows)
    if not any(row[0] == "batch-box" for row in rows):
        rows += [
            row_of(label, policy, r, values, best, design)
            for label, policy, r, values, best in batches(design)
        ]
        write(folder / "replicates.csv", ROWS, rows)
    if not (folder / "interval.csv").exists():
        header = ("data", "draws", "replicates", "coverage", "width")
        write(folder / "interval.csv", header, intervals(design))
    entries = [*design["run"], design["choose"]]
    for r in range(max(entry["replicates"] for entry in entries)):
        for entry in entries:
            if r < entry["replicates"]:
                add_runs(folder, design, entry, rows, r)


def add_decision(folder: Path, design: dict, entry: dict, rows: list) -> None:
    """Play one problem of sequential decisions with each policy."""
    problem = DECISIONS.get(entry["name"])(seed=design["seed"], **entry["settings"])
    for policy in entry["policies"]:
        if any(row[:2] == [entry["label"], policy] for row in rows):
            continue
        for r, regret in enumerate(play(problem, policy)):
            rows.append(row_of(entry["label"], policy, r, regret, regret.min(), design))
        write(folder / "replicates.csv", ROWS, rows)
        sys.stderr.write(f"{entry['label']}: {policy}\n")


def add_runs(folder: Path, design: dict, entry: dict, rows: list, r: int) -> None:
    """Play the runs of an optimizer of one replicate."""
    player = play_run if "acquisitions" in entry else play_choices
    for method in entry["methods"]:
        if any(row[:3] == [entry["label"], method, str(r)] for row in rows):
            continue
        regret, best = player(design["seed"], entry, method, r)
        rows.append(row_of(entry["label"], method, r, regret, best, design))
        write(folder / "replicates.csv", ROWS, rows)
    sys.stderr.write(f"{entry['label']}: replicate {r}\n")


def row_of(
    label: str, policy: str, r: int, regret: np.ndarray, best: float, design: dict
) -> list[str]:
    """Return the row of a replicate; ``asks`` is one more than all if never there."""
    T, late = len(regret), int(len(regret) * (1 - design["last"]))
    found = np.flatnonzero(regret <= design["within"])
    asks = int(found[0]) + 1 if len(found) else T + 1
    total = regret.cumsum()[rounds(T) - 1]
    numbers = (f"{v:.6g}" for v in (regret.sum(), regret[late:].mean()))
    text = " ".join(f"{v:.5g}" for v in total)
    return [label, policy, str(r), str(T), *numbers, str(asks), f"{best:.6g}", text]


def read(path: Path) -> list[list[str]]:
    """Return the rows of a CSV file without its header, none if it is missing."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.reader(file))[1:]


def write(path: Path, header: tuple, rows: list) -> None:
    """Write rows as CSV; the file is there whole or not at all."""
    part = path.with_suffix(".part")
    with part.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
    part.replace(path)


if __name__ == "__main__":
    warnings.filterwarnings("ignore", "method=.* takes the parts as independent")
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "folder", nargs="?", type=Path, default=HERE.parent / "results/bilateral"
    )
    parser.add_argument("--summary", action="store_true", help="play nothing")
    given = parser.parse_args()
    main(given.folder, only_summary=given.summary)
