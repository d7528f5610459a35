"""Write the tables of docs/results anew from the records of four studies.

    python docs/make_results.py --quality runs/quality --simulators runs/simulators \\
        --structures runs/structures --held-out runs/held_out
    python docs/make_results.py --quality runs/quality --only runs duels botorch

The text between the tables is written by hand. The page on the paper's experiment is
written by docs/make_paper.py.
Of the quality benchmark, the simulators and the structures every run has a row in a
file of docs/data; records add to these rows or replace them, so that rivals need not be
run again.
"""

import argparse
import csv
import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.quality import report

from sumbo.study import results as study_results, statistics
from sumbo.study.results import Results
from sumbo.study.storage import read_designs, read_records

DOCS = Path(__file__).parent
PAGES = DOCS / "results"
FIGURES = DOCS / "figures" / "results"
DATA = DOCS / "data"
# Evaluations after which the best value of a run is written down.
AFTER = (20, 40, 60, 80, 100, 120)
# Whom the default is compared with, one by one.
RIVALS = (
    "optuna-gp",
    "optuna-gp-exact",
    "optuna-tpe",
    "optuna-cmaes",
    "trust-region",
    "botorch-logei",
    "ts",
    "ats",
    "alcb2",
)
OWN = ("ts", "ats", "alcb2")  # sumbo's, of these
# Those that have run on everything ten times.
FOUR = ("logei", "optuna-tpe", "optuna-cmaes", "optuna-gp-exact")
# Gaps below this are rounding.
ROUNDING = 1e-12
# Replicates in which all of them are ranked: BoTorch has no more.
RANKED = 5
# The default told a structure, and what it was told.
TOLD = {"logei-singletons": "singletons", "logei-one": "one group"}


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def reported(folder: Path) -> str:
    """Return the tables of the report of a benchmark."""
    text = (folder / "report" / "quality.md").read_text("utf-8")
    lines = [l for l in text.splitlines() if not l.startswith(("<!--", "!["))]
    return "\n".join(lines).strip()


class Run(NamedTuple):
    """What a row says of a run."""

    minimum: float | None  # of the problem, if it is known
    best: tuple[float, ...]  # after so many evaluations each
    cpu_s: float  # of all asks

    @property
    def gap(self) -> float:
        """The final value above the minimum, or itself where that is not known."""
        return self.best[-1] - (self.minimum or 0.0)

    @property
    def decades(self) -> float:
        """Powers of ten by which the gap shrank since the initial points."""
        if self.minimum is None:
            return math.nan
        return math.log10((self.best[0] - self.minimum) / max(self.gap, ROUNDING))


# By (problem, batch, method), then by replicate.
Runs = Mapping[tuple[str, int, str], Mapping[int, Run]]


def runs_of(name: str, folder: Path) -> Runs:
    """Return the runs of a file in docs/data, those with records in their place."""
    runs: dict[tuple[str, int, str], dict[int, Run]] = {}
    path = DATA / f"{name}.csv"
    text = path.read_text("utf-8") if path.exists() else ""
    for row in csv.DictReader(text.splitlines()):
        run = Run(
            minimum=float(row["minimum"]) if row["minimum"] else None,
            best=tuple(float(row[f"best{n}"]) for n in AFTER),
            cpu_s=float(row["cpu_s"]),
        )
        key = row["problem"], int(row["batch"]), row["method"]
        runs.setdefault(key, {})[int(row["replicate"])] = run
    for record in read_records(folder, points=False):
        cell = record.cell
        best = np.minimum.accumulate(record.y)[np.array(AFTER) - 1]
        run = Run(
            minimum=record.best_known if record.exact else None,
            best=tuple(best.tolist()),
            cpu_s=float(record.ask_cpu_s.sum()),
        )
        key = cell.problem, cell.batch, cell.method
        runs.setdefault(key, {})[cell.replicate] = run
    return runs


def write_runs(name: str, runs: Runs) -> None:
    """Write a row for every run, for others to compare with.

    With twelve digits: near a minimum of −4, runs differ in the seventh.
    """
    DATA.mkdir(exist_ok=True)
    with (DATA / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        best = [f"best{n}" for n in AFTER]
        names = ["problem", "batch", "method", "replicate", "minimum"]
        rows.writerow([*names, *best, "cpu_s"])
        for key, replicates in sorted(runs.items()):
            for replicate, run in sorted(replicates.items()):
                minimum = "" if run.minimum is None else f"{run.minimum:.12g}"
                values = [f"{y:.12g}" for y in run.best]
                rows.writerow([*key, replicate, minimum, *values, f"{run.cpu_s:.3g}"])


class Duel(NamedTuple):
    """The default and a rival on one problem, in the replicates that both have run."""

    problem: str  # with a remark if its minimum is not known
    ours: list[Run]
    theirs: list[Run]
    paired: statistics.Paired

    def medians(self, digits: int = 3) -> list[str]:
        """Return both medians as text."""
        sides = (self.ours, self.theirs)
        return [f"{np.median([run.gap for run in s]):.{digits}g}" for s in sides]


def duels_with(
    rival: str, runs: Runs, problems: Sequence[str], batch: int
) -> list[Duel]:
    """Return the comparisons of the default with one rival, problem by problem."""
    found = []
    for problem in problems:
        a, b = (runs.get((problem, batch, m), {}) for m in ("logei", rival))
        shared = sorted(set(a) & set(b))
        if shared:
            ours, theirs = [a[i] for i in shared], [b[i] for i in shared]
            gaps = (np.array([run.gap for run in side]) for side in (ours, theirs))
            known = ours[0].minimum is not None
            name = problem if known else f"{problem} (value)"
            found.append(Duel(name, ours, theirs, statistics.paired(*gaps)))
    return found


def duels(runs: Runs, problems: Sequence[str]) -> str:
    """Return how often the default ends below each rival from the same start."""
    rows = []
    for batch in sorted({batch for _, batch, _ in runs}):
        for rival in RIVALS:
            found = duels_with(rival, runs, problems, batch)
            if not found:
                continue
            wins = sum(d.paired.wins for d in found)
            losses = sum(d.paired.losses for d in found)
            ahead = sum(d.paired.median < 0 for d in found)
            seconds = np.median([run.cpu_s for d in found for run in d.theirs])
            row = [f"{wins} : {losses}", f"{ahead} of {len(found)}", f"{seconds:.2g}"]
            rows.append([str(batch), rival, *row])
    header = ["batch", "logei against", "runs won : lost", "problems ahead"]
    return markdown([*header, "rival's CPU s / run"], rows)


def ranks(runs: Runs, problems: Sequence[str]) -> str:
    """Return mean ranks of the default and all others' methods where all have run."""
    rows = []
    for batch in sorted({batch for _, batch, _ in runs}):
        known = {method for _, b, method in runs if b == batch}
        methods = [m for m in ("logei", *RIVALS) if m in known and m not in OWN]
        gaps = {}  # by problem: one row per method
        for problem in problems:
            each = [runs.get((problem, batch, m), {}) for m in methods]
            shared = sorted(set.intersection(*map(set, each)))[:RANKED]
            if len(shared) == RANKED:
                gaps[problem] = np.array([[e[i].gap for i in shared] for e in each])
        if not gaps:
            continue
        mean = np.mean([rankdata(g, axis=0).mean(axis=1) for g in gaps.values()], 0)
        best = [int(np.argmin(np.median(g, axis=1))) for g in gaps.values()]
        for i in np.argsort(mean):
            first = f"{best.count(int(i))} of {len(gaps)}"
            rows.append([str(batch), methods[i], f"{mean[i]:.2f}", first])
    return markdown(["batch", "method", "mean rank", "best median"], rows)


def botorch(runs: Runs, problems: Sequence[str]) -> str:
    """Return sumbo's default beside BoTorch's, on the runs that both have made."""
    rows = []
    for batch in sorted({batch for _, batch, _ in runs}):
        for duel in duels_with("botorch-logei", runs, problems, batch):
            sides = (duel.ours, duel.theirs)
            seconds = [f"{np.mean([r.cpu_s for r in side]):.0f}" for side in sides]
            row = [*duel.medians(), *seconds, str(len(duel.ours))]
            rows.append([str(batch), duel.problem, *row])
    if not rows:
        return ""
    header = ["batch", "problem", "logei", "BoTorch", "CPU s / run", "BoTorch's"]
    return "Against BoTorch's LogEI:\n\n" + markdown([*header, "replicates"], rows)


def simulators(runs: Runs, problems: Sequence[str]) -> str:
    """Return the default beside each rival, with a test, problem by problem."""
    rows = []
    for batch in sorted({batch for _, batch, _ in runs}):
        for rival in RIVALS:
            for duel in duels_with(rival, runs, problems, batch):
                pair = duel.paired
                row = [str(batch), duel.problem, rival, *duel.medians(4)]
                row += [f"{pair.wins} : {pair.losses}", f"{pair.wilcoxon_p:.2g}"]
                rows.append([*row, str(pair.count)])
    header = ["batch", "problem", "logei against", "logei", "rival"]
    return markdown([*header, "runs won : lost", "p", "replicates"], rows)


def structures(runs: Runs, problems: Sequence[str]) -> str:
    """Return the default beside itself told a structure, problem by problem."""
    rows = []
    for method, told in TOLD.items():
        for duel in duels_with(method, runs, problems, 1):
            sides, pair = (duel.ours, duel.theirs), duel.paired
            decades = [f"{np.mean([r.decades for r in side]):.2f}" for side in sides]
            seconds = [f"{np.mean([r.cpu_s for r in side]):.1f}" for side in sides]
            row = [" / ".join(both) for both in (duel.medians(2), decades, seconds)]
            row += [f"{pair.wins} : {pair.losses}", f"{pair.wilcoxon_p:.2g}"]
            rows.append([duel.problem, told, *row, str(pair.count)])
    header = ["problem", "told", "median gap", "decades", "CPU s / run"]
    return markdown([*header, "runs won : lost", "p", "replicates"], rows)


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
        raise SystemExit(f"The page has no marker {name!r}.")
    return new


def page_with(name: str) -> Path:
    """Return the page with the markers of that name.

    Raises:
        SystemExit: If there is none.
    """
    for path in sorted(PAGES.glob("*.md")):
        if f"<!-- {name} -->\n" in path.read_text("utf-8"):
            return path
    raise SystemExit(f"No page in {PAGES} has the marker {name!r}.")


def problems_of(folder: Path) -> tuple[str, ...]:
    """Return the problems of a study, in the order of its designs."""
    named = (p for design in read_designs(folder) for p in design.problems)
    return tuple(dict.fromkeys(named))


def as_results(runs: Runs, folder: Path) -> Results:
    """Return the runs of the samplers of Optuna and of the default, as gaps.

    A curve has a step where the best value is known: every 20 evaluations.
    """
    found = {}
    for (problem, batch, method), some in runs.items():
        if method not in FOUR:
            continue
        order = sorted(some)
        gaps = [
            some[i].best if some[i].minimum is None else _gaps(some[i]) for i in order
        ]
        steps = np.minimum(np.arange(AFTER[-1] - AFTER[0] + 1) // 20, len(AFTER) - 1)
        cpu = np.array([[some[i].cpu_s] for i in order])
        found[problem, method, batch] = study_results.Runs(
            problem=problem,
            method=method,
            batch=batch,
            dim=0,
            best_known=None if some[order[0]].minimum is None else 0.0,
            exact=some[order[0]].minimum is not None,
            replicates=np.array(order),
            best=np.array(gaps)[:, steps],
            fit_cpu_s=np.zeros_like(cpu),
            ask_cpu_s=cpu,
        )
    return Results(
        designs=read_designs(folder),
        runs=found,
        failures=(),
        versions={},
        hosts={},
        revisions={},
        cpu_seconds=0.0,
        wall_seconds=0.0,
    )


def _gaps(run: Run) -> tuple[float, ...]:
    return tuple(value - (run.minimum or 0.0) for value in run.best)


def quality(results: Results) -> str:
    """Return mean ranks and medians, and draw the figures of the page."""
    lines = []
    for batch in results.batches:
        lines += [*report.ranking(results, batch), *report.medians(results, batch)]
        path = FIGURES / f"quality-convergence-batch{batch}"
        report.draw_convergence(results, batch, path)
    report.draw_ranks(results, results.batches, FIGURES / "quality-ranks")
    for figure in FIGURES.glob("quality-*.svg"):
        figure.unlink()
    return "\n".join(lines).strip()


def blocks_of(given: argparse.Namespace) -> dict[str, Callable[[], str | None]]:
    """Return what can be written from the folders that are given, by marker.

    Those that end in "runs" have no marker: they are files of their own.
    """
    blocks: dict[str, Callable[[], str | None]] = {}
    if given.quality:
        runs, problems = runs_of("quality", given.quality), problems_of(given.quality)
        blocks["quality"] = partial(quality, as_results(runs, given.quality))
        blocks["duels"] = partial(duels, runs, problems)
        blocks["ranks"] = partial(ranks, runs, problems)
        blocks["botorch"] = partial(botorch, runs, problems)
        blocks["runs"] = partial(write_runs, "quality", runs)
    for name, table in (("simulators", simulators), ("structures", structures)):
        if folder := getattr(given, name):
            runs, problems = runs_of(name, folder), problems_of(folder)
            blocks[name] = partial(table, runs, problems)
            blocks[f"{name[:-1]} runs"] = partial(write_runs, name, runs)
    if given.held_out:
        blocks["held-out"] = partial(reported, given.held_out)
    return blocks


def main() -> None:
    """Fill in the tables and copy the figures that the given folders have."""
    parser = argparse.ArgumentParser(description=__doc__)
    for study in ("quality", "simulators", "structures", "held-out"):
        parser.add_argument(f"--{study}", type=Path, help="the folder of its records")
    parser.add_argument("--only", nargs="+", help="some of the tables")
    given = parser.parse_args()
    blocks = blocks_of(given)
    unknown = set(given.only or ()) - set(blocks)
    if unknown or not blocks:
        known = ", ".join(blocks) or "nothing; name a folder"
        parser.error(f"--only {' '.join(sorted(unknown))}: there is {known}.")
    for name in given.only or blocks:
        content = blocks[name]()
        if content is not None:
            path = page_with(name)
            path.write_text(fill(path.read_text("utf-8"), name, content), "utf-8")


if __name__ == "__main__":
    main()
