"""Write the pages of docs/results on public suites from the rows in results/suites.

    python docs/make_suites.py [NAME …]        (`make suite-pages`)

A page is written from the rows in results/suites/NAME. The text between the tables is
written by hand.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from make_results import fill, markdown

from sumbo.study import statistics
from sumbo.study.blocks import Row
from sumbo.study.figures.style import canvas, margins, save
from sumbo.study.rows import read_rows
from sumbo.study.storage import read_designs

DOCS = Path(__file__).parent
ROWS = DOCS.parent / "results" / "suites"
PAGES = DOCS / "results"
FIGURES = DOCS / "figures" / "results"
README = DOCS.parent / "README.md"
OURS = "sumbo-default"
NAMES = {
    OURS: "sumbo",
    "optuna-gp": "Optuna GP",
    "optuna-tpe": "Optuna TPE",
    "pycma": "CMA-ES, restarts",
    "turbo-1": "TuRBO-1",
    "hebo": "HEBO",
    "smac": "SMAC3",
    "botorch-logei": "BoTorch LogEI",
    "botorch-msr": "BoTorch MSR",
    "botorch-map-saas": "BoTorch MAP-SAAS",
    "botorch-orthogonal": "BoTorch orthogonal",
    "ax-quality": "Ax, quality",
}
COLUMNS = 3
# Values have a logarithmic axis if the largest is this many times the smallest.
DECADES = 5.0


class Suite(NamedTuple):
    """The rows of a suite, and the order of problems and methods in its design."""

    name: str
    rows: Mapping[tuple[str, str], Mapping[int, Row]]  # by problem and method
    problems: tuple[str, ...]
    methods: tuple[str, ...]

    def shared(self, problem: str, *methods: str) -> list[int]:
        """Return the replicates that all these methods have finished."""
        each = [set(self.rows.get((problem, m), {})) for m in methods]
        return sorted(set.intersection(*each))

    def compared(self, problem: str) -> tuple[str, ...]:
        """Return the methods that are compared on a problem, from the same start.

        One by one in the order of the design, a method is added if it shares a
        replicate with those before it.
        """
        kept: tuple[str, ...] = (OURS,)
        for method in self.methods:
            if method != OURS and self.shared(problem, *kept, method):
                kept = (*kept, method)
        return kept

    def ranked(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the methods that are ranked, and the problems on which they are.

        A method is ranked if it has run on at least half of the problems, and the
        problems are those that all ranked methods share.

        Raises:
            SystemExit: If they share none.
        """
        each = {p: self.compared(p) for p in self.problems}
        count = {m: sum(m in ms for ms in each.values()) for m in self.methods}
        methods = tuple(m for m in self.methods if 2 * count[m] >= len(each))
        problems = tuple(p for p, ms in each.items() if set(methods) <= set(ms))
        if not problems:
            raise SystemExit(f"{self.name}: the methods {methods} share no problem.")
        return methods, problems

    def finals(self, problem: str, *methods: str) -> np.ndarray:
        """Return last values, a row per method, in the replicates that all share."""
        shared = self.shared(problem, *methods)
        return np.array(
            [[final(self.rows[problem, m][i]) for i in shared] for m in methods]
        )


def suite_of(name: str) -> Suite:
    """Return the rows of a suite.

    Raises:
        SystemExit: If there are none.
    """
    folder = ROWS / name
    rows: dict[tuple[str, str], dict[int, Row]] = {}
    for row in read_rows(folder):
        key = row.cell.problem, row.cell.method
        rows.setdefault(key, {})[row.cell.replicate] = row
    designs = read_designs(folder)
    problems = dict.fromkeys(p for d in designs for p in d.problems)
    methods = dict.fromkeys(m for d in designs for ms in d.methods.values() for m in ms)
    known = {method for _, method in rows}
    suite = Suite(name, rows, tuple(problems), tuple(m for m in methods if m in known))
    rivals = [m for m in suite.methods if m != OURS]
    run = tuple(p for p in problems if any(suite.shared(p, OURS, m) for m in rivals))
    if not run:
        raise SystemExit(f"{folder} has no rows of {OURS} and a rival.")
    return suite._replace(problems=run)


def curve(row: Row) -> np.ndarray:
    """Return the distance to the minimum, or the value, after 20, 21, … evaluations."""
    return row.best - (row.best_known if row.exact else 0.0)


def final(row: Row) -> float:
    """Return the last value of the curve."""
    return float(curve(row)[-1])


def mean_ranks(suite: Suite) -> tuple[dict[str, float], list[str]]:
    """Return mean ranks of the ranked methods, and who is first on each problem."""
    methods, shared = suite.ranked()
    finals = [suite.finals(problem, *methods) for problem in shared]
    ranks = [statistics.median_ranks(values).mean(axis=1) for values in finals]
    mean = dict(zip(methods, np.mean(ranks, axis=0), strict=True))
    return mean, [methods[int(np.argmin(np.median(v, axis=1)))] for v in finals]


def ranking(suite: Suite) -> str:
    """Return mean ranks of the ranked methods, and the duels of all."""
    mean, firsts = mean_ranks(suite)
    lines = []
    for method in sorted(suite.methods, key=lambda m: (mean.get(m, 99.0), m)):
        rank = f"{mean[method]:.2f}" if method in mean else "–"
        first = str(firsts.count(method)) if method in mean else "–"
        lines.append([NAMES[method], rank, first, *duel(suite, method)])
    text = f"Ranked on {counted(suite)} (problems × replicates).\n\n"
    header = ["method", "mean rank", "lowest median", "sumbo won : lost", "runs"]
    return text + markdown([*header, "CPU s / run"], lines)


def counted(suite: Suite) -> str:
    """Return how many problems and replicates the ranked methods share."""
    methods, shared = suite.ranked()
    each = [len(suite.shared(p, *methods)) for p in shared]
    low, high = min(each), max(each)
    replicates = str(low) if low == high else f"{low} to {high}"
    return f"{len(shared)} × {replicates}"


def duel(suite: Suite, method: str) -> list[str]:
    """Return pairs that sumbo won and lost, the runs, and the CPU time of one."""
    runs = [suite.rows.get((p, method), {}) for p in suite.problems]
    seconds = [float(row.ask_cpu_s.sum()) for run in runs for row in run.values()]
    count, cpu = str(len(seconds)), f"{np.median(seconds):.2g}"
    if method == OURS:
        return ["", count, cpu]
    won = lost = 0
    for problem, theirs in zip(suite.problems, runs, strict=True):
        for i in suite.shared(problem, OURS, method):
            difference = final(suite.rows[problem, OURS][i]) - final(theirs[i])
            won, lost = won + (difference < 0), lost + (difference > 0)
    return [f"{won} : {lost}", count, cpu]


def problems(suite: Suite) -> str:
    """Return the median of each method on each problem, the lowest one in bold.

    The median of a method that shares no replicate with the others is in parentheses.
    """
    lines = []
    for problem in suite.problems:
        compared = suite.compared(problem)
        medians = np.median(suite.finals(problem, *compared), axis=1)
        found = dict(zip(compared, medians, strict=True))
        first = next(iter(suite.rows[problem, OURS].values()))
        shown = [problem if first.exact else f"{problem} (value)"]
        for method in suite.methods:
            runs = suite.rows.get((problem, method), {}).values()
            if method in found:
                text = f"{found[method]:.3g}"
                shown.append(f"**{text}**" if found[method] == medians.min() else text)
            elif runs:
                shown.append(f"({np.median([final(row) for row in runs]):.3g})")
            else:
                shown.append("–")
        lines.append(shown)
    return markdown(["problem", *(NAMES[m] for m in suite.methods)], lines)


def exceptions(suite: Suite) -> str:
    """Return where a rival has the lower median in the runs that both have made."""
    lines = []
    for problem in suite.problems:
        for method in suite.methods:
            shared = suite.shared(problem, OURS, method)
            if method == OURS or not shared:
                continue
            sides = suite.finals(problem, OURS, method)
            if np.median(sides[1]) < np.median(sides[0]):
                won, lost = (sides[0] < sides[1]).sum(), (sides[0] > sides[1]).sum()
                medians = [f"{np.median(side):.3g}" for side in sides]
                lines.append([problem, NAMES[method], *medians, f"{won} : {lost}"])
    if not lines:
        return "On no problem does a rival have the lower median."
    header = ["problem", "rival", "sumbo", "the rival", "sumbo won : lost"]
    return markdown(header, lines)


def facts(suite: Suite) -> str:
    """Return what was run and when, in a paragraph."""
    rows = [row for runs in suite.rows.values() for row in runs.values()]
    days = sorted({row.started[:10] for row in rows})
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    libraries = {
        f"{name} {row.versions[name]}"
        for row in rows
        for name in ("sumbo", "numpy", "scipy", "optuna", "torch", "botorch")
        if name in row.versions
    }
    ours = [
        row for (_, m), runs in suite.rows.items() if m == OURS for row in runs.values()
    ]
    revisions = sorted({row.revision[:10] for row in ours if row.revision})
    designs = read_designs(ROWS / suite.name)
    planned = {cell.id for d in designs for cell in d.all_cells()}
    return (
        f"{len(rows)} of {len(planned)} planned runs are finished, of {when}. "
        f"Revision of sumbo: {', '.join(revisions)}. {', '.join(sorted(libraries))}."
    )


def summary(suites: Sequence[Suite]) -> str:
    """Return the mean rank of each method on each suite, the lowest one in bold."""
    each = [mean_ranks(suite)[0] for suite in suites]
    methods = [m for m in NAMES if any(m in mean for mean in each)]
    lines = []
    for suite, mean in zip(suites, each, strict=True):
        shown = [
            "–"
            if m not in mean
            else f"**{mean[m]:.2f}**"
            if mean[m] == min(mean.values())
            else f"{mean[m]:.2f}"
            for m in methods
        ]
        title = f"[{suite.name}](docs/results/{suite.name}.md)"
        lines.append([title, counted(suite), *shown])
    header = ["suite", "problems × replicates", *(NAMES[m] for m in methods)]
    return markdown(header, lines)


def draw(suite: Suite) -> None:
    """Draw the median curve of each method that is compared, a panel per problem."""
    methods = suite.methods
    count = len(suite.problems) + 1
    lines = -(-count // COLUMNS)
    with canvas(lines, COLUMNS, 0.5 + 1.8 * lines) as (figure, grid):
        margins(
            figure, left=0.6, right=0.1, top=0.3, bottom=0.4, wspace=0.35, hspace=0.5
        )
        panels = list(grid.flat)
        for axes, problem in zip(panels, suite.problems, strict=False):
            lowest, highest = np.inf, -np.inf
            compared = suite.compared(problem)
            for k, method in enumerate(methods):
                if method not in compared:
                    continue
                runs = suite.rows[problem, method]
                shared = suite.shared(problem, *compared)
                median = np.median([curve(runs[i]) for i in shared], axis=0)
                x = 20 + np.arange(len(median))
                axes.plot(x, median, label=NAMES[method], **_look(k, method))
                lowest = min(lowest, float(median.min()))
                highest = max(highest, float(median.max()))
            axes.set_title(problem.removeprefix(f"{suite.name}-"), loc="left")
            decades = lowest > 0 and highest > DECADES * lowest
            axes.set_yscale("log" if decades else "linear")
            axes.margins(x=0.0)
        for k, method in enumerate(methods):
            panels[count - 1].plot([], [], label=NAMES[method], **_look(k, method))
        panels[count - 1].legend(loc="center", fontsize=7, frameon=False)
        for axes in panels[count - 1 :]:
            axes.set_axis_off()
        save(figure, FIGURES / f"suite-{suite.name}")
    (FIGURES / f"suite-{suite.name}.svg").unlink()


def _look(k: int, method: str) -> dict[str, object]:
    from matplotlib import colormaps

    return {
        "color": colormaps["tab10"](k % 10),
        "linestyle": "-" if method == OURS else "--",
        "linewidth": 2.0 if method == OURS else 1.1,
    }


BLOCKS: dict[str, Callable[[Suite], str]] = {
    "facts": facts,
    "ranking": ranking,
    "problems": problems,
    "exceptions": exceptions,
}


def main(names: Sequence[str]) -> None:
    """Write the pages that are named, or all of them and the table of the README."""
    found = [
        p.name for p in sorted(ROWS.iterdir()) if (PAGES / f"{p.name}.md").exists()
    ]
    for name in names or found:
        suite = suite_of(name)
        path = PAGES / f"{name}.md"
        text = path.read_text("utf-8")
        for marker, block in BLOCKS.items():
            text = fill(text, marker, partial(block, suite)())
        path.write_text(text, "utf-8")
        draw(suite)
    if not names:
        table = summary([suite_of(name) for name in found])
        README.write_text(fill(README.read_text("utf-8"), "suites", table), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
