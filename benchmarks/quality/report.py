"""Write the report of the quality benchmark: a Markdown fragment and figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from sumbo.errors import StudyError
from sumbo.study import charts, statistics, tables
from sumbo.study.figures.style import canvas, margins, save
from sumbo.study.results import Results, Runs, complete_problems, load
from sumbo.study.storage import read_records, write_atomically
from sumbo.typing import Float, ndarray

# A method is tied for first if it is not significantly different from the first.
LEVEL = 0.05
_COLUMNS = 3
# With fewer pairs a two-sided signed-rank test cannot reach this level.
_FEWEST_PAIRS = 6


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Summary of one method over all problems at one batch size."""

    method: str
    rank: float  # mean over problems of the mean paired rank over replicates
    wins: int  # problems on which it has the best mean rank
    ties: int  # problems on which it is first or tied for first
    cpu_s: float  # median per run, asks only


def report(
    folder: Path,
    *,
    methods: Sequence[str] | None = None,
    problems: Sequence[str] | None = None,
) -> Path:
    """Return the path of the Markdown fragment, after writing it and its figures."""
    results = as_gaps(restricted(load(folder), methods, problems), folder)
    out = folder / "report"
    text = [
        f"<!-- python -m benchmarks.quality report: {tables.progress(results)} -->",
        "",
    ]
    for batch in results.batches:
        text += [*ranking(results, batch), *medians(results, batch)]
        draw_convergence(results, batch, out / f"convergence-batch{batch}")
        text += [f"![Convergence, batch {batch}](convergence-batch{batch}.png)", ""]
    ranked = [b for b in results.batches if standings(results, b)]
    if ranked:
        draw_ranks(results, ranked, out / "ranks")
        text += ["![Mean ranks against evaluations](ranks.png)", ""]
    if results.failures:
        rows = [[f.cell.name, f.reason.splitlines()[-1]] for f in results.failures]
        text += ["Failed runs:", "", *_markdown(["run", "reason"], rows)]
    path = out / "quality.md"
    write_atomically(path, "\n".join(text))
    return path


def restricted(
    results: Results, methods: Sequence[str] | None, problems: Sequence[str] | None
) -> Results:
    """Return the results of some methods and problems only.

    Raises:
        StudyError: If no run is left.
    """
    runs = {
        (p, m, b): r
        for (p, m, b), r in results.runs.items()
        if (methods is None or m in methods) and (problems is None or p in problems)
    }
    if not runs:
        chosen = f"methods={methods}, problems={problems}"
        msg = f"There are no runs of {chosen}. Run them first."
        raise StudyError(msg)
    return replace(results, runs=runs)


def as_gaps(results: Results, folder: Path) -> Results:
    """Return the results with gaps to the minimum, for problems whose minimum is known.

    For some problems each replicate has its own minimum.
    """
    lowest = {
        (r.cell.problem, r.cell.replicate): r.best_known
        for r in read_records(folder, points=False)
        if r.exact
    }
    runs = dict(results.runs)
    for key, r in results.runs.items():
        if r.exact:
            base = np.array([lowest[r.problem, i] for i in r.replicates.tolist()])
            runs[key] = replace(r, best=r.best - base[:, None], best_known=0.0)
    return replace(results, runs=runs)


def standings(results: Results, batch: int) -> list[Standing]:
    """Return a summary of each method, the best mean rank first.

    The ranks use the problems on which every method has runs, and of these problems the
    replicates that all methods have finished. So every rank compares the same methods.
    """
    methods = results.methods(batch)
    ranks, first, tied = [], [], []
    for problem in complete_problems(results, batch):
        finals = shared_curves(results.of(problem, batch))[:, :, -1]
        if finals.shape[1]:
            of_problem = paired_ranks(finals)
            ranks.append(of_problem)
            first.append(of_problem == of_problem.min())
            tied.append(ties_for_first(finals, int(np.argmin(of_problem))))
    if not ranks:
        return []
    mean, wins, ties = np.mean(ranks, axis=0), np.sum(first, axis=0), np.sum(tied, 0)
    rows = [
        Standing(
            method=method,
            rank=float(mean[i]),
            wins=int(wins[i]),
            ties=int(ties[i]),
            cpu_s=_cpu(results, method, batch),
        )
        for i, method in enumerate(methods)
    ]
    return sorted(rows, key=lambda row: row.rank)


def shared_curves(runs: Mapping[str, Runs]) -> Float[ndarray, "M R T"]:
    """Return the best values in the replicates that all methods have finished."""
    common = set.intersection(*(set(r.replicates.tolist()) for r in runs.values()))
    return np.array(
        [r.best[np.isin(r.replicates, list(common))] for r in runs.values()]
    )


def paired_ranks(best: Float[ndarray, "M R *T"]) -> Float[ndarray, "M *T"]:
    """Return each method's mean rank, 1 for best, ranked within every replicate."""
    return statistics.median_ranks(best).mean(axis=1)


def ties_for_first(finals: Float[ndarray, "M R"], first: int) -> list[bool]:
    """Return for each method whether it is not significantly different from ``first``.

    The test is a paired Wilcoxon test, with Holm's correction over the other methods.
    """
    others = [m for m in range(len(finals)) if m != first]
    p = [statistics.paired(finals[m], finals[first]).wilcoxon_p for m in others]
    adjusted = dict(zip(others, statistics.holm(np.array(p)), strict=True))
    return [m == first or adjusted[m] >= LEVEL for m in range(len(finals))]


def draw_ranks(results: Results, batches: Sequence[int], path: Path) -> None:
    """Draw the mean paired rank against evaluations, a panel per batch size."""
    with canvas(len(batches), 2, 0.4 + 2.8 * len(batches)) as (figure, grid):
        margins(figure, left=0.65, right=0.1, top=0.3, bottom=0.4, hspace=0.4)
        for (axes, legend), batch in zip(grid, batches, strict=True):
            methods = results.methods(batch)
            curves = [
                shared_curves(results.of(p, batch))
                for p in complete_problems(results, batch)
            ]
            ranks = np.mean([paired_ranks(c) for c in curves if c.shape[1]], axis=0)
            x = results.design.n_init + np.arange(ranks.shape[1])
            for i in np.argsort(ranks[:, -1]):
                label = f"{methods[i]}  {ranks[i, -1]:.2f}"
                axes.plot(x, ranks[i], label=label, **_look(methods[i], methods))
            axes.set_title(f"batch {batch}", loc="left")
            axes.set_xlabel("evaluations")
            axes.set_ylabel("mean rank")
            axes.invert_yaxis()  # the best rank, 1, is at the top
            axes.margins(x=0.0)
            legend.set_axis_off()
            lines, labels = axes.get_legend_handles_labels()
            legend.legend(lines, labels, loc="center left", fontsize=7, frameon=False)
        save(figure, path)


def draw_convergence(results: Results, batch: int, path: Path) -> None:
    """Draw the median of the best value against evaluations, a panel per problem."""
    methods = results.methods(batch)
    problems = [p for p in results.problems if results.of(p, batch)]
    rows = -(-(len(problems) + 1) // _COLUMNS)
    with canvas(rows, _COLUMNS, 0.5 + 1.9 * rows) as (figure, grid):
        margins(
            figure, left=0.6, right=0.1, top=0.3, bottom=0.4, wspace=0.35, hspace=0.5
        )
        panels = list(grid.flat)
        for axes, problem in zip(panels, problems, strict=False):
            chart = charts.convergence(results, problem)
            for method, curve in chart.panels[batch].items():
                axes.plot(curve.x, curve.median, label=method, **_look(method, methods))
            axes.set_title(problem, loc="left")
            axes.set_yscale("log" if chart.log else "linear")
            axes.margins(x=0.0)
        legend = panels[len(problems)]
        for method in methods:
            legend.plot([], [], label=method, **_look(method, methods))
        legend.legend(loc="center", fontsize=7, frameon=False, ncols=2)
        for axes in panels[len(problems) :]:
            axes.set_axis_off()
        save(figure, path)


def _look(method: str, methods: Sequence[str]) -> dict[str, str | float | tuple]:
    # There are more methods than distinct colours, so rivals have dashed lines. Their
    # names contain a hyphen.
    from matplotlib import colormaps

    palette = "tab10" if len(methods) <= 10 else "tab20"
    return {
        "color": colormaps[palette](methods.index(method) % 20),
        "linestyle": "--" if "-" in method and method != "sumbo-default" else "-",
        "linewidth": 2.0 if method == "sumbo-default" else 1.1,
        "drawstyle": "steps-post",
    }


def ranking(results: Results, batch: int) -> list[str]:
    """Return a table of the mean ranks as lines of Markdown."""
    rows = standings(results, batch)
    used = complete_problems(results, batch)
    if not rows:
        return [f"Batch {batch}: no problem has runs of every method.", ""]
    counts = [shared_curves(results.of(p, batch)).shape[1] for p in used]
    few = (
        f" With fewer than {_FEWEST_PAIRS} replicates this test cannot give "
        f"p < {LEVEL:g}."
        if min(counts) < _FEWEST_PAIRS
        else ""
    )
    header = ["method", "mean rank", "first", "first or tied", "CPU s / run"]
    lines = [
        [r.method, f"{r.rank:.2f}", str(r.wins), str(r.ties), f"{r.cpu_s:.3g}"]
        for r in rows
    ]
    low, high = min(counts), max(counts)
    within = str(low) if low == high else f"{low} to {high}"
    caption = (
        f"Batch {batch}: paired ranks within {within} replicates "
        f"of {len(used)} problems ({', '.join(used)}); tied: a paired Wilcoxon test "
        f"with Holm's correction gives p ≥ {LEVEL:g} against the first.{few}"
    )
    return [caption, "", *_markdown(header, lines)]


def medians(results: Results, batch: int) -> list[str]:
    """Return a table of the final medians as lines of Markdown."""
    methods = results.methods(batch)
    rows = []
    for problem in results.problems:
        runs = results.of(problem, batch)
        finals = shared_curves(runs)[:, :, -1] if runs else np.empty((0, 0))
        if not finals.size:
            continue
        found = dict(zip(runs, np.median(finals, axis=1), strict=True))
        exact = next(iter(runs.values())).exact
        row = [problem if exact else f"{problem} (value)"]
        for method in methods:
            shown = f"{found[method]:.3g}" if method in found else "–"
            lowest = method in found and found[method] == min(found.values())
            row.append(f"**{shown}**" if lowest else shown)
        rows.append([*row, str(finals.shape[1])])
    caption = (
        f"Batch {batch}: median distance to the minimum after "
        f"{results.design.n_init + results.design.acquisitions} evaluations, or the "
        "median best value where the minimum is not known, over the replicates that "
        "all methods have finished."
    )
    return [caption, "", *_markdown(["problem", *methods, "replicates"], rows)]


def _cpu(results: Results, method: str, batch: int) -> float:
    runs = [r for (_, m, b), r in results.runs.items() if (m, b) == (method, batch)]
    return float(np.median(np.concatenate([r.ask_cpu_s.sum(axis=1) for r in runs])))


def _markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    rule = ["---", *("--:" for _ in header[1:])]
    return [*(f"| {' | '.join(row)} |" for row in (header, rule, *rows)), ""]
