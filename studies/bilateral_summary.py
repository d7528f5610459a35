"""Curves and tables from the rows of ``bilateral.py``."""

import numpy as np

from sumbo.study.statistics import holm, paired

PAIRS = (("joint", "marginal"), ("ts", "ats"))
MEASURES = {"rounds": 3, "regret": 4, "late": 5, "asks": 6, "best": 7}
POINTS = 40  # rounds at which the cumulative regret is kept


def rounds(T: int) -> np.ndarray:
    """Return the rounds at which the cumulative regret is kept."""
    return np.unique(np.linspace(1, T, min(T, POINTS)).round().astype(int))


def columns(rows: list[list[str]], problem: str, measure: str) -> dict:
    """Return the values of a measure by method, in the order of the replicates."""
    out: dict[str, dict[int, float]] = {}
    for row in rows:
        if row[0] == problem:
            out.setdefault(row[1], {})[int(row[2])] = float(row[MEASURES[measure]])
    # What all methods have: a run that was stopped may lack the last one.
    shared = set.intersection(*(set(own) for own in out.values()))
    return {
        name: np.array([own[r] for r in sorted(shared)]) for name, own in out.items()
    }


def curves(rows: list[list[str]]) -> tuple[tuple, list[list[str]]]:
    """Return mean cumulative regrets and their standard errors, with a header."""
    found: dict[tuple[str, str, int], list[np.ndarray]] = {}
    for row in rows:
        values = np.array(row[8].split(), dtype=float)
        found.setdefault((row[0], row[1], int(row[3])), []).append(values)
    out = []
    for (problem, policy, T), each in found.items():
        if T == 1:
            continue
        mean, error = np.mean(each, axis=0), np.std(each, axis=0, ddof=1)
        error /= np.sqrt(len(each))
        out += [
            [problem, policy, str(t), f"{m:.5g}", f"{e:.3g}"]
            for t, m, e in zip(rounds(T), mean, error, strict=True)
        ]
    return ("problem", "policy", "round", "mean", "error"), out


def summary(rows: list[list[str]], design: dict) -> str:
    """Return all methods on all problems, and the tests of the family."""
    lines = [
        "| problem | method | replicates | regret | standard error | late regret per "
        "round | median asks | found | best |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for problem in dict.fromkeys(row[0] for row in rows):
        each = {m: columns(rows, problem, m) for m in MEASURES}
        for name, total in each["regret"].items():
            asks, R = each["asks"][name], len(total)
            found = int((asks <= each["rounds"][name]).sum())
            error = total.std(ddof=1) / np.sqrt(R)
            lines.append(
                f"| {problem} | {name} | {R} | {total.mean():.4g} | {error:.2g} | "
                f"{each['late'][name].mean():.3g} | {np.median(asks):.3g} | {found} | "
                f"{each['best'][name].mean():.3g} |"
            )
    lines += [
        "",
        "| problem | measure | marginal/joint | joint better | joint worse | "
        "adjusted p |",
        "|---|---|--:|--:|--:|--:|",
    ]
    tests = []
    for problem, measure in design["family"]:
        values = columns(rows, problem, measure)
        first, second = next(pair for pair in PAIRS if pair[0] in values)
        tests.append((values[first], values[second]))
    found = [paired(a, b) for a, b in tests]
    adjusted = holm(np.array([test.wilcoxon_p for test in found]))
    for entry, (a, b), test, p in zip(
        design["family"], tests, found, adjusted, strict=True
    ):
        with np.errstate(divide="ignore"):
            ratio = b.mean() / a.mean()
        lines.append(
            f"| {entry[0]} | {entry[1]} | {ratio:.3g} | {test.wins} | {test.losses} | "
            f"{p:.2g} |"
        )
    return "\n".join(lines) + "\n"
