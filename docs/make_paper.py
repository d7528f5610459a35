"""Write the tables and figures of docs/results/paper.md from the rows of the study.

    python docs/make_paper.py results/paper        (`make results`)

The folder may also be one of records. The text between the tables is written by hand.
"""

import argparse
import csv
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from make_results import fill, markdown
from paper_answer import (
    correlation,
    demonstration,
    evidence,
    progress,
    sensitivity,
    short,
)
from paper_claims import claims

from sumbo.problems import get
from sumbo.rng import rng_at
from sumbo.study import charts, figures, statistics, tables
from sumbo.study.comparison import contrasts, pooled
from sumbo.study.results import Results, load

DOCS = Path(__file__).parent
PAGE = DOCS / "results" / "paper.md"
FIGURES = DOCS / "figures" / "results"
# Measured by `measure_random_search`, which takes an hour for the games.
RANDOM = DOCS / "data" / "random_search.csv"
# The paper's figures, as printed: one per family, a row per problem.
FAMILIES = {
    "ackley": ("Ackley functions", ("ackley2", "ackley5", "ackley10")),
    "levy": ("Levy functions", ("levy2", "levy5", "levy10")),
    "rastrigin": ("Rastrigin functions", ("rastrigin2", "rastrigin5", "rastrigin10")),
    "games": ("Games", ("push", "lunar", "rover")),
    "cosmology": ("Cosmology", ("desi", "kids-1000", "hsc-y3-shear")),
}


def claims_table(results: Results) -> str:
    """Return the claims of the paper beside what was measured."""
    header = ["the paper's claim", "measured", "verdict"]
    return markdown(header, claims(results))


def pairs(results: Results) -> str:
    """Return the pooled comparisons of ts, ats and alcb2."""
    rows = []
    for first, second in (("ts", "ats"), ("alcb2", "ts"), ("alcb2", "ats")):
        for p in pooled(results, first, second):
            pair = f"`{first}` against `{second}`"
            row = [str(p.batch), pair, str(p.problems), str(p.wins + p.losses)]
            row += [tables.share(p.share), tables.ratio(p.ratio)]
            equal = p.share and tables.probability(p.share.equivalence_p)
            rows.append([*row, equal or "–", tables.seen(p)])
    header = ["batch", "pair", "problems", "pairs", "share won", "gap ratio"]
    return markdown([*header, "equivalence p", "seen with 80 %"], rows)


def single(results: Results, batch: int) -> str:
    """Return ts − ats problem by problem."""
    table = [c for c in contrasts(results, "ts", "ats") if c.batch == batch]
    header, rows = tables.paired(table)
    kept = ["problem", "median", "interval", "coverage", "− / + / 0"]
    kept += ["Holm p", "effect", "of spread"]
    places = [header.index(name) for name in kept]
    return markdown(kept, [[row[i] for i in places] for row in rows])


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


def random_search(problem: str) -> str:
    """Return the median best of 120 uniform points; "–" where it is not known."""
    with RANDOM.open(encoding="utf-8") as file:
        known = {row["problem"]: row["median"] for row in csv.DictReader(file)}
    return known.get(problem, "–")


def measure_random_search(problem: str, functions: int = 300) -> str:
    """Return the median best of 120 uniform points over functions of a problem."""
    found = []
    for seed in range(functions):
        p = get(problem, seed=seed)
        rng = rng_at(seed, "random search")
        found.append(
            p(p.bounds[:, 0] + np.ptp(p.bounds, axis=1) * rng.random((120, p.dim)))
        )
    return f"{np.median(np.min(found, axis=1)):.4g}"


def cpu(results: Results) -> str:
    """Return CPU seconds of all asks of a run, the median and the sum over runs."""
    rows, total = [], 0.0
    for batch in results.batches:
        for method in results.methods(batch):
            runs = [
                r for (_, m, b), r in results.runs.items() if (m, b) == (method, batch)
            ]
            spent = np.concatenate([r.ask_cpu_s.sum(axis=1) for r in runs])
            total += spent.sum()
            row = [method, str(batch), str(len(spent)), f"{np.median(spent):.2g} s"]
            rows.append([*row, f"{spent.max():.2g} s", f"{spent.sum() / 3600:.2f} h"])
    rows.append(["all", "", str(results.done), "", "", f"{total / 3600:.2f} h"])
    header = ["method", "batch", "runs", "median run", "longest run", "all runs"]
    made = (f"`{name}` ({count:,} runs)" for name, count in results.revisions.items())
    return f"{markdown(header, rows)}\n\nRevisions of the code: {', '.join(made)}."


def family(results: Results, name: str) -> str:
    """Draw the figure of a family and return it as Markdown; "" without runs."""
    title, problems = FAMILIES[name]
    there = [p for p in problems if p in results.problems]
    if not there:
        return f"*{title}: no finished runs yet.*"
    drawn = [charts.convergence(results, problem) for problem in there]
    figures.draw_family(drawn, FIGURES / f"paper-{name}")
    caption = (
        f"{title}: {', '.join(there)}; {_replicates(results, there)}. Medians are "
        "solid; dotted lines are their intervals, with an exact coverage of "
        f"{_coverage(results, there)}."
    )
    return _figure(f"paper-{name}", caption)


def ranks(results: Results) -> str:
    """Draw the ranks of the methods that have run on most problems."""
    drawn = [c for b in results.batches if (c := charts.ranks(results, b))]
    if not drawn:
        return "*Ranks: no problem has runs of all methods yet.*"
    figures.draw_ranks(drawn, FIGURES / "paper-ranks")
    used = "; ".join(f"batch {c.batch}: {', '.join(c.problems)}" for c in drawn)
    all_used = [p for c in drawn for p in c.problems]
    caption = (
        "Rank of each method's median, 1 is best. Left: over problems, at the end. "
        f"Right: mean over problems. {used}; {_replicates(results, all_used)}."
    )
    return _figure("paper-ranks", caption)


def boxes(results: Results, batch: int) -> str:
    """Draw the final values of all runs at one batch size."""
    figures.draw_boxes(charts.boxes(results, batch), FIGURES / f"paper-boxes-{batch}")
    caption = (
        f"Final values of all runs, batch {batch}: {len(results.problems)} problems, "
        f"{_replicates(results, results.problems)}. Gaps are to the minimum, or to the "
        "lowest value known where the title says so."
    )
    return _figure(f"paper-boxes-{batch}", caption)


def differences(results: Results, batch: int) -> str:
    """Draw ts − ats per problem at one batch size."""
    drawn = charts.differences(results, "ts", "ats", batch)
    if not drawn:
        return "*No problem has pairs of `ts` and `ats` yet.*"
    figures.draw_differences(drawn, "ts − ats", FIGURES / f"paper-difference-{batch}")
    counts = [len(d.final) for d in drawn]
    caption = (
        f"`ts` − `ats`, batch {batch}: {len(drawn)} problems, {_span(counts)} pairs. "
        "Left of each pair of panels: the median difference with its interval "
        f"(exact coverage {_coverages(counts)}); below zero `ts` is better. Right: all "
        "differences at the end; zero solid, median dashed."
    )
    return _figure(f"paper-difference-{batch}", caption)


def _figure(name: str, caption: str) -> str:
    (FIGURES / f"{name}.svg").unlink()  # pages show the PNG
    plain = caption.replace("`", "")
    return f"![{plain.split(';')[0]}](../figures/results/{name}.png)\n\n*{caption}*"


def _counts(results: Results, problems: Sequence[str]) -> list[int]:
    return [len(r.replicates) for (p, _, _), r in results.runs.items() if p in problems]


def _replicates(results: Results, problems: Sequence[str]) -> str:
    return f"{_span(_counts(results, problems))} replicates"


def _span(counts: Sequence[int]) -> str:
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low} to {high}"


def _coverage(results: Results, problems: Sequence[str]) -> str:
    return _coverages(_counts(results, problems))


def _coverages(counts: Sequence[int]) -> str:
    found = [statistics.median_coverage(n) for n in counts]
    low, high = (tables.percentage(f(found)) for f in (min, max))
    return low if low == high else f"{low} to {high}"


def blocks_of(results: Results, folder: Path) -> Mapping[str, Callable[[], str]]:
    """Return what the page is filled with, by marker.

    ``folder`` is where the rows are; other studies of the question lie beside it.
    """
    blocks: dict[str, Callable[[], str]] = {
        "progress": partial(progress, results),
        "answer": partial(short, results),
        "evidence": partial(evidence, results),
        "sensitivity": partial(sensitivity, results, folder),
        "demonstration": partial(demonstration, folder),
        "claims": partial(claims_table, results),
        "pairs": partial(pairs, results),
        "correlation": partial(correlation, results, folder),
        "cpu": partial(cpu, results),
        "figure ranks": partial(ranks, results),
    }
    blocks |= {f"figure {name}": partial(family, results, name) for name in FAMILIES}
    for batch in (1, 10):
        if batch in results.batches:
            blocks[f"single {batch}"] = partial(single, results, batch)
            blocks[f"medians {batch}"] = partial(medians, results, batch)
            blocks[f"figure boxes {batch}"] = partial(boxes, results, batch)
            blocks[f"figure differences {batch}"] = partial(differences, results, batch)
    return blocks


def main() -> None:
    """Fill in the page from the rows that are given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=Path, help="folder of the rows")
    parser.add_argument("--only", nargs="+", help="some of the blocks")
    given = parser.parse_args()
    blocks = blocks_of(load(given.rows), given.rows)
    unknown = set(given.only or ()) - set(blocks)
    if unknown:
        parser.error(f"--only {' '.join(sorted(unknown))}: there is {list(blocks)}.")
    page = PAGE.read_text("utf-8")
    for name in given.only or blocks:
        page = fill(page, name, blocks[name]())
    PAGE.write_text(page, "utf-8")


if __name__ == "__main__":
    main()
