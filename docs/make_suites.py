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

    def complete(self) -> tuple[str, ...]:
        """Return the methods that have finished every replicate that sumbo has."""
        return tuple(
            m
            for m in self.methods
            if all(
                set(self.rows.get((p, m), {})) >= set(self.rows[p, OURS])
                for p in self.problems
            )
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
    run = tuple(p for p in problems if (p, OURS) in rows)
    if not run:
        raise SystemExit(f"{folder} has no rows of {OURS}.")
    known = {method for _, method in rows}
    return Suite(name, rows, run, tuple(m for m in methods if m in known))


def curve(row: Row) -> np.ndarray:
    """Return the distance to the minimum, or the value, after 20, 21, … evaluations."""
    return row.best - (row.best_known if row.exact else 0.0)


def final(row: Row) -> float:
    """Return the last value of the curve."""
    return float(curve(row)[-1])


def ranking(suite: Suite) -> str:
    """Return mean ranks of the complete methods, and the duels of all."""
    complete = suite.complete()
    ranks, medians = [], []
    for problem in suite.problems:
        shared = suite.shared(problem, *complete)
        values = [[final(suite.rows[problem, m][i]) for i in shared] for m in complete]
        ranks.append(statistics.median_ranks(np.array(values)).mean(axis=1))
        medians.append(np.median(values, axis=1))
    mean = dict(zip(complete, np.mean(ranks, axis=0), strict=True))
    firsts = [complete[int(np.argmin(m))] for m in medians]
    lines = []
    for method in sorted(suite.methods, key=lambda m: (mean.get(m, 99.0), m)):
        rank = f"{mean[method]:.2f}" if method in mean else "–"
        first = str(firsts.count(method)) if method in mean else "–"
        lines.append([NAMES[method], rank, first, *duel(suite, method)])
    header = ["method", "mean rank", "lowest median", "sumbo won : lost", "runs"]
    return markdown([*header, "CPU s / run"], lines)


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
    """Return the median of each method on each problem, the lowest one in bold."""
    lines = []
    for problem in suite.problems:
        first = next(iter(suite.rows[problem, OURS].values()))
        shown = [problem if first.exact else f"{problem} (value)"]
        values = [
            np.median([final(row) for row in suite.rows[problem, m].values()])
            if (problem, m) in suite.rows
            else np.inf
            for m in suite.methods
        ]
        for method, value in zip(suite.methods, values, strict=True):
            text = f"{value:.3g}"
            count = len(suite.rows.get((problem, method), {}))
            if not count:
                text = "–"
            elif count < len(suite.rows[problem, OURS]):
                text += f" ({count})"
            shown.append(f"**{text}**" if value == min(values) and count else text)
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
            sides = [
                np.array([final(suite.rows[problem, m][i]) for i in shared])
                for m in (OURS, method)
            ]
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


def draw(suite: Suite) -> None:
    """Draw the median curve of each method that is complete, a panel per problem."""
    methods = suite.complete()
    count = len(suite.problems) + 1
    lines = -(-count // COLUMNS)
    with canvas(lines, COLUMNS, 0.5 + 1.8 * lines) as (figure, grid):
        margins(
            figure, left=0.6, right=0.1, top=0.3, bottom=0.4, wspace=0.35, hspace=0.5
        )
        panels = list(grid.flat)
        for axes, problem in zip(panels, suite.problems, strict=False):
            lowest = np.inf
            for k, method in enumerate(methods):
                runs = suite.rows[problem, method].values()
                median = np.median([curve(row) for row in runs], axis=0)
                x = 20 + np.arange(len(median))
                axes.plot(x, median, label=NAMES[method], **_look(k, method))
                lowest = min(lowest, float(median.min()))
            axes.set_title(problem.removeprefix(f"{suite.name}-"), loc="left")
            axes.set_yscale("log" if lowest > 0 else "linear")
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
    """Write the pages of the suites that are named, or of all that have a page."""
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


if __name__ == "__main__":
    main(sys.argv[1:])
