"""The report of a study: one HTML page, its figures as files, its tables as CSV."""

import csv
import io
import re
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

from sumbo.errors import StudyError
from sumbo.study import charts, figures, page, statistics, tables
from sumbo.study.results import Results, load
from sumbo.study.storage import file_stem, write_atomically
from sumbo.study.verdict import Verdict, verdicts

ExtraFigure = tuple[str, str, Callable[[Path], object]]

_CITATION = """@misc{wycoff2025,
  title  = {On Thompson Sampling and Bilateral Uncertainty
            in Additive Bayesian Optimization},
  author = {Wycoff, Nathan},
  year   = {2025}
}"""


def report(folder: str | Path, extra_figures: Sequence[ExtraFigure] = ()) -> Path:
    """Return the path of the report on the study in ``folder``, written now.

    ``extra_figures`` are (title, caption, draw); draw(path) writes one figure into a
    path that ends in .png or in .svg.

    Raises:
        StudyError: If the folder of the report leads somewhere else.
    """
    folder = Path(folder)
    results = load(folder)
    out = folder / "report"
    _check_no_links(out)
    answers = verdicts(results)
    compared = [part for answer in answers for part in _answer(answer)]
    sections = (
        *([("answer", "Question and answer", compared)] if answers else ()),
        ("medians", "Medians", _medians(results)),
        ("figures", "Figures", _figures(results, out / "figures", extra_figures)),
        ("time", "Computing time", _time(results, out / "figures")),
        ("failed", "Failed cells", _failed(results)),
        ("run", "What was run", _what_was_run(results)),
        ("cite", "How to cite", _cite()),
    )
    body = [
        page.title(f"Study “{results.design.name}”"),
        page.paragraph(tables.progress(results)),
        *_partial(results),
        page.contents([(anchor, title) for anchor, title, _ in sections]),
    ]
    for anchor, title, parts in sections:
        body += [page.heading(title, anchor), *parts]
    _write_csv(out / "medians.csv", *tables.medians_long(results))
    _write_pairs(out / "paired.csv", answers)
    _write_csv(out / "cpu.csv", *tables.cpu(results))
    index = out / "index.html"
    write_atomically(index, page.page(f"Study {results.design.name}", body))
    return index


def _check_no_links(out: Path) -> None:
    # The folder may be somebody else's: a link in it would choose what is overwritten.
    for path in (out, *out.rglob("*")):
        if path.is_symlink():
            msg = f"{path} is a link to {path.readlink()}. Remove it, then try again."
            raise StudyError(msg)


def _partial(results: Results) -> list[str]:
    missing = tables.missing(results)
    return [page.paragraph(missing, "notice")] if missing else []


def _answer(answer: Verdict) -> list[str]:
    first, second = answer.first, answer.second
    question = f"Which one ends lower from the same start, {first} or {second}?"
    parts = [page.paragraph(question), page.paragraph(answer.headline, "answer")]
    parts += [page.paragraph(sentence) for sentence in answer.sentences]
    if answer.pooled:
        caption = (
            f"{first} against {second} over all problems, with intervals of 95 %. The "
            "share is that of the pairs that differ. The gap is the distance to the "
            "lowest known value; its ratio is a geometric mean over the problems whose "
            "lowest known value lies below every run. A difference is excluded if two "
            "one-sided tests reject it at 5 %. Other problems: by a bootstrap over "
            "problems and replicates."
        )
        header, lines = tables.pooled(answer.pooled, answer.table, first, second)
        parts.append(page.table(header, lines, caption=caption, text=(0,)))
    for batch in dict.fromkeys(c.batch for c in answer.table):
        header, lines = tables.paired([c for c in answer.table if c.batch == batch])
        caption = (
            f"Batch {batch}: {first} − {second} of the best value at the end; below "
            f"zero {first} is better. Median with an interval of the stated exact "
            "coverage. − / + / 0 counts the signs of the pairs. Holm: the Wilcoxon "
            "p-value corrected for all problems and batch sizes, * below 5 %. Effect: "
            "rank-biserial correlation. Of spread: the median as a share of the "
            "interquartile range of all runs of both methods."
        )
        parts.append(page.table(header, lines, caption=caption))
    return parts


def _medians(results: Results) -> list[str]:
    parts = []
    for batch in results.batches:
        header, rows, best = tables.medians(results, batch)
        caption = (
            f"Batch {batch}: median best value after "
            f"{results.design.n_init + results.design.acquisitions} evaluations; "
            "the lowest in bold, in brackets the replicates where some are missing."
        )
        parts.append(page.table(header, rows, caption=caption, bold=best))
    return parts


def _figures(results: Results, out: Path, extra: Sequence[ExtraFigure]) -> list[str]:
    parts = [*_convergence(results, out), *_ranks(results, out)]
    parts += _boxes(results, out)
    pairs = dict.fromkeys(pair for d in results.designs for pair in d.pairs)
    for first, second in pairs:
        parts += _differences(results, first, second, out)
    for title, caption, draw in extra:
        path = out / re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
        path.parent.mkdir(parents=True, exist_ok=True)
        draw(Path(f"{path}.png"))
        draw(Path(f"{path}.svg"))
        parts.append(page.figure(path, title, caption))
    solved = [c for b in results.batches if (c := charts.profile(results, b))]
    if solved:
        figures.draw_solved(solved, out / "solved")
        caption = (
            "Share of (problem, replicate, target) triples solved. The 20 targets of a "
            "problem ask for 21 % to 99 % of the way from a typical initial value to "
            "the lowest value known. Problems that every method has run on."
        )
        parts.append(page.figure(out / "solved", "Solved targets", caption))
    return parts


def _convergence(results: Results, out: Path) -> list[str]:
    how = (
        "Convergence: medians over replicates are solid; their intervals are dotted, "
        "between order statistics, with the exact coverage that the caption states."
    )
    parts = [page.paragraph(how)]
    for problem in results.problems:
        path = out / f"convergence-{file_stem(problem)}"
        figures.draw_convergence(charts.convergence(results, problem), path)
        counts = [
            len(r.replicates) for (p, _, _), r in results.runs.items() if p == problem
        ]
        caption = (
            f"Best value after each evaluation; {_replicates(counts)}. Exact "
            f"coverage of the intervals: {_coverage(counts)}."
        )
        parts.append(page.figure(path, f"Convergence on {problem}", caption))
    return parts


def _replicates(counts: Sequence[int]) -> str:
    low, high = min(counts), max(counts)
    if low < high:
        return f"{low} to {high} replicates"
    return "1 replicate" if high == 1 else f"{high} replicates"


def _coverage(counts: Sequence[int]) -> str:
    shares = {n: statistics.median_coverage(n) for n in sorted(set(counts))}
    low, high = (tables.percentage(f(shares.values())) for f in (min, max))
    return low if low == high else f"{low} to {high}, by the number of replicates"


def _ranks(results: Results, out: Path) -> list[str]:
    ranked = [c for b in results.batches if (c := charts.ranks(results, b))]
    if not ranked:
        return []
    figures.draw_ranks(ranked, out / "ranks")
    used = "; ".join(f"batch {c.batch}: {', '.join(c.problems)}" for c in ranked)
    caption = (
        "Rank of each method's median, 1 is best. Left: over problems, at the end. "
        f"Right: mean over problems. Problems that every method has run on: {used}."
    )
    return [page.figure(out / "ranks", "Ranks", caption)]


def _boxes(results: Results, out: Path) -> list[str]:
    parts = []
    for batch in results.batches:
        path = out / f"boxes-batch{batch}"
        figures.draw_boxes(charts.boxes(results, batch), path)
        caption = (
            "All runs at the end. Gaps are to the minimum where it is known, else to "
            "the best known value where the title says so."
        )
        title = f"Final values, batch {batch}"
        parts.append(page.figure(path, title, caption))
    return parts


def _differences(results: Results, first: str, second: str, out: Path) -> list[str]:
    parts = []
    for batch in results.batches:
        data = charts.differences(results, first, second, batch)
        if not data:
            continue
        pair = f"{file_stem(first)}-{file_stem(second)}"
        path = out / f"difference-{pair}-batch{batch}"
        label = f"{first} − {second}"
        figures.draw_differences(data, label, path)
        caption = (
            "Left of each pair: median difference over replicates with its interval "
            f"({_coverage([len(d.final) for d in data])}). Right: all differences at "
            f"the end; zero solid, median dashed. Below zero {first} is better."
        )
        title = f"{label}, batch {batch}"
        parts.append(page.figure(path, title, caption))
    return parts


def _time(results: Results, out: Path) -> list[str]:
    header, rows = tables.cpu(results)
    caption = "Median over all runs; a run is one cell. The ask includes the fit."
    parts = [page.table(header, rows, caption=caption)]
    times = [c for b in results.batches if (c := charts.ask_time(results, b))]
    if times:
        figures.draw_ask_time(times, out / "ask-time")
        caption = "Median over all runs of the CPU time of an ask, per point asked."
        parts.append(page.figure(out / "ask-time", "Time to ask", caption))
    return parts


def _failed(results: Results) -> list[str]:
    if not results.failures:
        return [page.paragraph("No cell failed.")]
    rows = [[f.cell.name, f.reason, f.host] for f in results.failures]
    parts = [page.table(["cell", "reason", "host"], rows, text=(1,))]
    parts += [
        page.folded(f"What {f.cell.name} left behind", f.traceback)
        for f in results.failures[:50]
        if f.traceback
    ]
    return parts


def _what_was_run(results: Results) -> list[str]:
    return [
        page.table(["", ""], tables.protocol(results), text=(1,)),
        page.table(["version", "records"], tables.versions(results), text=(0,)),
    ]


def _cite() -> list[str]:
    software = f"Computed with sumbo {version('sumbo')}. The study is that of:"
    return [page.paragraph(software), page.verbatim(_CITATION)]


def _write_pairs(path: Path, answers: Sequence[Verdict]) -> None:
    header, rows = [], []
    for answer in answers:
        header, more = tables.paired_long(answer.first, answer.second, answer.table)
        rows += more
    if answers:
        _write_csv(path, header, rows)


def _write_csv(
    path: Path, header: Sequence[str], rows: Sequence[Sequence[str]]
) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    write_atomically(path, text.getvalue())
