"""Play the problems of ``bilateral.toml``; write rows and a table of comparisons.

    python studies/bilateral.py [FOLDER]

``replicates.csv`` has one row per replicate, ``curves.csv`` the mean regret with its
standard error at 50 rounds, ``summary.md`` the comparisons of joint and marginal draws:
two-sided Wilcoxon signed-rank tests over paired replicates, adjusted by Holm's
procedure as one family. What is in the folder is not played again.
"""

import csv
import sys
import tomllib
from pathlib import Path

import numpy as np

from sumbo.decisions import DECISIONS, play
from sumbo.study.statistics import holm, paired

HERE = Path(__file__).parent
ROWS = "problem policy replicate total late"
CURVES = "problem policy round mean error"


def main(folder: Path) -> None:
    """Play what is not there yet, and write the summary."""
    design = tomllib.loads((HERE / "bilateral.toml").read_text())
    folder.mkdir(parents=True, exist_ok=True)
    rows, curves = read(folder / "replicates.csv"), read(folder / "curves.csv")
    done = {(row[0], row[1]) for row in rows}
    for entry in design["problem"]:
        problem = DECISIONS.get(entry["name"])(seed=design["seed"], **entry["settings"])
        for policy in entry["policies"]:
            if (entry["name"], policy) in done:
                continue
            regret = play(problem, policy)
            late = int(problem.rounds * (1 - design["last"]))
            for r, values in enumerate(regret):
                total, rest = f"{values.sum():.6g}", f"{values[late:].mean():.6g}"
                rows.append([entry["name"], policy, str(r), total, rest])
            curves += curve(entry["name"], policy, regret)
            write(folder / "replicates.csv", ROWS, rows)
            write(folder / "curves.csv", CURVES, curves)
            sys.stderr.write(f"{entry['name']}: {policy}\n")
    (folder / "summary.md").write_text(summary(rows))


def curve(problem: str, policy: str, regret: np.ndarray) -> list[list[str]]:
    """Return the mean cumulative regret and its standard error at 50 rounds."""
    total = regret.cumsum(axis=1)
    mean = total.mean(axis=0)
    rounds = np.unique(np.linspace(1, total.shape[1], 50).round().astype(int))
    error = total.std(axis=0, ddof=1) / np.sqrt(len(total))
    return [
        [problem, policy, str(t), f"{mean[t - 1]:.5g}", f"{error[t - 1]:.3g}"]
        for t in rounds
    ]


def summary(rows: list[list[str]]) -> str:
    """Return the regret of every policy, and joint against marginal draws."""
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for name, policy, _, total, late in rows:
        found.setdefault((name, policy), []).append((float(total), float(late)))
    lines = [
        "| problem | policy | regret | standard error | late regret per round |",
        "|---|---|--:|--:|--:|",
    ]
    for (name, policy), values in found.items():
        total, late = np.array(values).T
        error = total.std(ddof=1) / np.sqrt(len(total))
        lines.append(
            f"| {name} | {policy} | {total.mean():.4g} | {error:.2g} | "
            f"{late.mean():.3g} |"
        )
    lines += [
        "",
        "| problem | marginal/joint | joint better | joint worse | adjusted p |",
        "|---|--:|--:|--:|--:|",
    ]
    names = [name for name, policy in found if policy == "marginal"]
    totals = [
        [np.array(found[name, policy])[:, 0] for policy in ("joint", "marginal")]
        for name in names
    ]
    tests = [paired(a, b) for a, b in totals]
    adjusted = holm(np.array([test.wilcoxon_p for test in tests]))
    for name, (a, b), test, p in zip(names, totals, tests, adjusted, strict=True):
        ratio = b.mean() / a.mean()
        lines.append(
            f"| {name} | {ratio:.3g} | {test.wins} | {test.losses} | {p:.2g} |"
        )
    return "\n".join(lines) + "\n"


def read(path: Path) -> list[list[str]]:
    """Return the rows of a CSV file without its header, none if it is missing."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.reader(file))[1:]


def write(path: Path, header: str, rows: list[list[str]]) -> None:
    """Write rows as CSV."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header.split())
        writer.writerows(rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parent / "results/bilateral")
