"""Write the tables of docs/results.md anew from the records of three studies.

    python docs/make_results.py --paper runs/paper --quality runs/quality \\
        --unseen runs/unseen
    python docs/make_results.py --quality runs/quality --only botorch runs

The text between the tables is written by hand. Figures come from the reports that
``sumbo study report`` and ``python -m benchmarks.quality report`` have drawn before.
"""

import argparse
import csv
import re
import shutil
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path

import numpy as np

from sumbo.problems import get, info
from sumbo.rng import rng_at
from sumbo.study import tables
from sumbo.study.results import Results, contrasts, load, shared_replicates

DOCS = Path(__file__).parent
PAGE = DOCS / "results.md"
FIGURES = DOCS / "figures" / "results"
RUNS = DOCS / "data" / "quality.csv"
# Evaluations after which the best value of a run is written down.
AFTER = (20, 40, 60, 80, 100, 120)
# Pairs whose order the paper makes claims about.
PAIRS = (("alcb2", "ts"), ("alcb2", "ats"), ("ts", "ats"))
# Whom the default is compared with, one by one.
RIVALS = (
    "optuna-gp-exact",
    "optuna-tpe",
    "optuna-cmaes",
    "trust-region",
    "botorch-logei",
    "ts",
    "ats",
    "alcb2",
)
# Cells of the whole paper: 15 problems, 6 methods, 2 batch sizes, 100 replicates.
REPLICATES, PROBLEMS = 100, 15


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def medians(results: Results, batch: int) -> str:
    """Return the median best value per problem and method, replicates in brackets."""
    methods = results.methods(batch)
    rows = []
    for problem in results.problems:
        row = [problem]
        for method in methods:
            runs = results.runs.get((problem, method, batch))
            row.append("–")
            if runs is not None:
                row[-1] = f"{np.median(runs.final):.4g} ({len(runs.final)})"
        rows.append([*row, random_search(problem)])
    return markdown(["problem", *methods, "random search"], rows)


@cache
def random_search(problem: str, functions: int = 300) -> str:
    """Return the median best of 120 uniform points; "–" for problems without seeds."""
    if not info(problem).seeded:
        return "–"
    found = []
    for seed in range(functions):
        p = get(problem, seed=seed)
        rng = rng_at(seed, "random search")
        found.append(
            p(p.bounds[:, 0] + np.ptp(p.bounds, axis=1) * rng.random((120, p.dim)))
        )
    return f"{np.median(np.min(found, axis=1)):.4g}"


def pairs(results: Results) -> str:
    """Return how often one method ends below another from the same start."""
    rows = []
    for batch in results.batches:
        for first, second in PAIRS:
            found = contrasts(results, first, second, batch)
            wins = sum(c.paired.wins for c in found)
            losses = sum(c.paired.losses for c in found)
            ahead = sum(c.paired.median < 0 for c in found)
            rows.append(
                [
                    str(batch),
                    f"{first} against {second}",
                    f"{wins} : {losses}",
                    f"{ahead} of {len(found)}",
                ]
            )
    return markdown(["batch", "pair", "runs won : lost", "problems ahead"], rows)


def cpu(results: Results) -> str:
    """Return CPU seconds per run on ackley10, and of all asks of the whole paper."""
    rows = []
    for batch in results.batches:
        for method in results.methods(batch):
            runs = results.runs.get(("ackley10", method, batch))
            if runs is None:
                continue
            of_all = [
                float(np.mean(r.ask_cpu_s.sum(axis=1)))
                for (_, m, b), r in results.runs.items()
                if (m, b) == (method, batch)
            ]
            hours = np.mean(of_all) * REPLICATES * PROBLEMS / 3600
            seconds = runs.ask_cpu_s.sum(axis=1).mean()
            rows.append([method, str(batch), f"{seconds:.1f} s", f"{hours:.1f} h"])
    total = sum(float(row[-1].split()[0]) for row in rows)
    rows.append(["all", "", "", f"{total:.0f} h"])
    rows.append(["on 2 cores", "", "", f"{total / 2:.0f} h"])
    rows.append(["on 64 cores", "", "", f"{total / 64:.1f} h"])
    return markdown(["method", "batch", "one run on ackley10", "whole paper"], rows)


def quality(folder: Path) -> str:
    """Return the tables of the quality benchmark's report."""
    text = (folder / "report" / "quality.md").read_text("utf-8")
    lines = [l for l in text.splitlines() if not l.startswith(("<!--", "!["))]
    return "\n".join(lines).strip()


def duels(results: Results) -> str:
    """Return how often the default ends below each rival from the same start."""
    rows = []
    for batch in results.batches:
        for rival in RIVALS:
            found = contrasts(results, "logei", rival, batch)
            if not found:
                continue
            wins = sum(c.paired.wins for c in found)
            losses = sum(c.paired.losses for c in found)
            ahead = sum(c.paired.median < 0 for c in found)
            runs = [results.runs[c.problem, rival, batch] for c in found]
            seconds = np.median(np.concatenate([r.ask_cpu_s.sum(axis=1) for r in runs]))
            row = [f"{wins} : {losses}", f"{ahead} of {len(found)}", f"{seconds:.2g}"]
            rows.append([str(batch), rival, *row])
    header = ["batch", "logei against", "runs won : lost", "problems ahead"]
    return markdown([*header, "rival's CPU s / run"], rows)


def botorch(results: Results) -> str:
    """Return sumbo's default beside BoTorch's, on the runs that both have made."""
    rows = []
    for batch in results.batches:
        for problem in results.problems:
            ours = results.runs.get((problem, "logei", batch))
            theirs = results.runs.get((problem, "botorch-logei", batch))
            if ours is None or theirs is None:
                continue
            a, b = shared_replicates(ours, theirs)
            known = ours.exact and ours.best_known is not None
            base = ours.best_known if known else 0.0
            row = [f"{np.median(x[:, -1] - base):.3g}" for x in (a, b)]
            seconds = [r.ask_cpu_s.sum(axis=1).mean() for r in (ours, theirs)]
            row += [f"{t:.0f}" for t in seconds]
            name = problem if known else f"{problem} (value)"
            rows.append([str(batch), name, *row, str(len(a))])
    if not rows:
        return ""
    header = ["batch", "problem", "logei", "BoTorch", "CPU s / run", "BoTorch's"]
    return "Against BoTorch's LogEI:\n\n" + markdown([*header, "replicates"], rows)


def fill(page: str, name: str, content: str) -> str:
    """Return the page with the content between the markers of that name.

    Raises:
        SystemExit: If the page has no such markers.
    """
    pattern = rf"(<!-- {name} -->\n).*?(<!-- end -->)"
    new = re.sub(
        pattern, lambda m: f"{m[1]}{content}\n{m[2]}", page, count=1, flags=re.DOTALL
    )
    if new == page and content not in page:
        raise SystemExit(f"{PAGE} has no marker {name!r}.")
    return new


def write_runs(results: Results) -> None:
    """Write a row for every run of the quality benchmark, for others to compare with.

    With twelve digits: near a minimum of −4, runs differ in the seventh.
    """
    RUNS.parent.mkdir(exist_ok=True)
    columns = np.array(AFTER) - results.design.n_init
    with RUNS.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        best = [f"best{n}" for n in AFTER]
        rows.writerow(["problem", "batch", "method", "replicate", *best, "cpu_s"])
        for (problem, method, batch), runs in sorted(results.runs.items()):
            seconds = runs.ask_cpu_s.sum(axis=1)
            for i, replicate in enumerate(runs.replicates.tolist()):
                values = [f"{y:.12g}" for y in runs.best[i, columns]]
                run = [problem, batch, method, replicate]
                rows.writerow([*run, *values, f"{seconds[i]:.3g}"])


def blocks_of(given: argparse.Namespace) -> dict[str, Callable[[], str | None]]:
    """Return what can be written from the folders that are given, by marker.

    One has no marker: "runs" is a file of its own.
    """
    blocks: dict[str, Callable[[], str | None]] = {}
    if given.paper:
        paper = load(given.paper)
        blocks["progress"] = partial(tables.progress, paper)
        for batch in paper.batches:
            blocks[f"medians {batch}"] = partial(medians, paper, batch)
        blocks |= {"pairs": partial(pairs, paper), "cpu": partial(cpu, paper)}
    if given.quality:
        runs = load(given.quality)
        blocks["quality"] = partial(quality, given.quality)
        blocks |= {"duels": partial(duels, runs), "botorch": partial(botorch, runs)}
        blocks["runs"] = partial(write_runs, runs)
    if given.unseen:
        blocks["unseen"] = partial(quality, given.unseen)
    return blocks


def copy_figures(folder: Path, prefix: str = "") -> None:
    """Copy the figures of a report to those of the page."""
    FIGURES.mkdir(parents=True, exist_ok=True)
    for figure in folder.glob("*.png"):
        shutil.copy(figure, FIGURES / f"{prefix}{figure.name}")


def main() -> None:
    """Fill in the tables and copy the figures that the given folders have."""
    parser = argparse.ArgumentParser(description=__doc__)
    for study in ("paper", "quality", "unseen"):
        parser.add_argument(f"--{study}", type=Path, help="the folder of its records")
    parser.add_argument("--only", nargs="+", help="some of them, and no figures")
    given = parser.parse_args()
    blocks = blocks_of(given)
    unknown = set(given.only or ()) - set(blocks)
    if unknown or not blocks:
        known = ", ".join(blocks) or "nothing; name a folder"
        parser.error(f"--only {' '.join(sorted(unknown))}: there is {known}.")
    page = PAGE.read_text("utf-8")
    for name in given.only or blocks:
        content = blocks[name]()
        page = page if content is None else fill(page, name, content)
    PAGE.write_text(page, "utf-8")
    if given.only is None and given.paper:
        copy_figures(given.paper / "report" / "figures")
    if given.only is None and given.quality:
        copy_figures(given.quality / "report", "quality-")


if __name__ == "__main__":
    main()
