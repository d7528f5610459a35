"""Play the problems of ``bilateral.toml``; write rows and a table of comparisons.

    python studies/bilateral.py [FOLDER]

``replicates.csv`` has one row per replicate, ``curves.csv`` the mean regret with its
standard error at 50 rounds, ``summary.md`` the comparisons of joint and marginal draws:
two-sided Wilcoxon signed-rank tests over paired replicates, adjusted by Holm's
procedure as one family.
"""

import csv
import sys
import tomllib
from pathlib import Path

import numpy as np

from sumbo.decisions import DECISIONS, play
from sumbo.study.statistics import holm, paired

HERE = Path(__file__).parent


def main(folder: Path) -> None:
    """Run everything that is not there yet."""
    design = tomllib.loads((HERE / "bilateral.toml").read_text())
    folder.mkdir(parents=True, exist_ok=True)
    rows, curves, found = [], [], {}
    for entry in design["problem"]:
        problem = DECISIONS.get(entry["name"])(seed=design["seed"], **entry["settings"])
        for policy in entry["policies"]:
            regret = play(problem, policy)
            found[entry["name"], policy] = regret
            late = int(problem.rounds * (1 - design["last"]))
            for r, values in enumerate(regret):
                total, rest = values.sum(), values[late:].mean()
                rows.append((entry["name"], policy, r, f"{total:.6g}", f"{rest:.6g}"))
            curves += curve(entry["name"], policy, regret)
            sys.stderr.write(f"{entry['name']}: {policy}\n")
            write(
                folder / "replicates.csv", "problem policy replicate total late", rows
            )
            write(folder / "curves.csv", "problem policy round mean error", curves)
    (folder / "summary.md").write_text(summary(design, found))


def curve(problem: str, policy: str, regret: np.ndarray) -> list[tuple]:
    """Return the mean cumulative regret and its standard error at 50 rounds."""
    total = regret.cumsum(axis=1)
    rounds = np.unique(np.linspace(1, total.shape[1], 50).round().astype(int))
    error = total.std(axis=0, ddof=1) / np.sqrt(len(total))
    return [
        (problem, policy, t, f"{total[:, t - 1].mean():.5g}", f"{error[t - 1]:.3g}")
        for t in rounds
    ]


def summary(design: dict, found: dict) -> str:
    """Return the table of comparisons."""
    names = [entry["name"] for entry in design["problem"]]
    tests = [
        paired(found[n, "joint"].sum(axis=1), found[n, "marginal"].sum(axis=1))
        for n in names
    ]
    adjusted = holm(np.array([test.wilcoxon_p for test in tests]))
    lines = [
        "| problem | policy | regret | standard error | late regret per round |",
        "|---|---|--:|--:|--:|",
    ]
    for (name, policy), regret in found.items():
        late = regret[:, int(regret.shape[1] * (1 - design["last"])) :].mean()
        total = regret.sum(axis=1)
        error = total.std(ddof=1) / np.sqrt(len(total))
        lines.append(
            f"| {name} | {policy} | {total.mean():.4g} | {error:.2g} | {late:.3g} |"
        )
    lines += [
        "",
        "| problem | marginal / joint | joint is better in | worse in | adjusted p |",
        "|---|--:|--:|--:|--:|",
    ]
    for name, p in zip(names, adjusted, strict=True):
        a, b = (found[name, k].sum(axis=1) for k in ("joint", "marginal"))
        ratio = b.mean() / a.mean()
        lines.append(
            f"| {name} | {ratio:.3g} | {(a < b).sum()} | {(a > b).sum()} | {p:.2g} |"
        )
    return "\n".join(lines) + "\n"


def write(path: Path, header: str, rows: list[tuple]) -> None:
    """Write rows as CSV."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header.split())
        writer.writerows(rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parent / "results/bilateral")
