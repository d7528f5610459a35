"""The tables of a study as rows of strings, for the page, the terminal and CSV."""

from collections.abc import Mapping, Sequence

import numpy as np

from sumbo.study import results as of
from sumbo.study.comparison import Contrast, Pooled
from sumbo.study.equivalence import Estimate
from sumbo.study.results import Results
from sumbo.study.verdict import significant

Rows = list[list[str]]


def progress(results: Results) -> str:
    """Return how much of the study is done, as a sentence."""
    failed = len(results.failures)
    left = results.cells - results.done - failed
    return (
        f"{results.done} of {results.cells} cells finished, {failed} failed, "
        f"{left} left; {duration(results.cpu_seconds)} of CPU time for asking, "
        f"{duration(results.wall_seconds)} for all cells one after the other."
    )


def missing(results: Results) -> str:
    """Return what a partial study lacks, as a sentence; "" if it is complete."""
    if results.done == results.cells:
        return ""
    absent = [
        name
        for design in results.designs
        for name in design.problems
        if name not in results.problems
    ]
    text = (
        f"This is a partial study: {results.cells - results.done} of {results.cells} "
        "cells have no result, and everything below rests on the others. "
    )
    if absent:
        text += f"Problems without any result: {', '.join(dict.fromkeys(absent))}."
    return text.strip()


def medians(
    results: Results, batch: int
) -> tuple[list[str], Rows, list[tuple[int, int]]]:
    """Return header, rows and the positions of the lowest median of each row."""
    methods = results.methods(batch)
    rows, best = [], []
    for i, (problem, found) in enumerate(of.medians(results, batch).items()):
        row = [problem]
        for method in methods:
            value, count = found.get(method, (np.nan, 0))
            some = f" ({count})" if count < results.design.replicates else ""
            row.append(f"{value:.4g}{some}" if count else "–")
        rows.append(row)
        lowest = min(value for value, _ in found.values())
        best += [
            (i, j + 1)
            for j, method in enumerate(methods)
            if method in found and found[method][0] == lowest
        ]
    return ["problem", *methods], rows, best


def medians_long(results: Results) -> tuple[list[str], Rows]:
    """Return one row per problem, batch size and method."""
    header = ["problem", "batch", "method", "replicates", "median_best"]
    rows = [
        [problem, str(batch), method, str(count), repr(value)]
        for batch in results.batches
        for problem, found in of.medians(results, batch).items()
        for method, (value, count) in found.items()
    ]
    return header, rows


def paired(contrasts: Sequence[Contrast]) -> tuple[list[str], Rows]:
    """Return header and rows of the paired comparisons of one batch size."""
    header = ["problem", "pairs", "median", "interval", "coverage", "− / + / 0"]
    header += ["sign p", "Wilcoxon p", "Holm p", "effect", "of spread"]
    rows = []
    for c in contrasts:
        test = c.paired
        of_spread = f"{test.median / c.spread:+.0%}" if c.spread > 0 else "–"
        rows.append(
            [
                c.problem,
                str(test.count),
                f"{test.median:.3g}",
                f"{test.low:.3g} … {test.high:.3g}",
                percentage(test.coverage),
                f"{test.wins} / {test.losses} / {test.ties}",
                probability(test.sign_p),
                probability(test.wilcoxon_p),
                probability(c.holm_p) + (" *" if significant(c) else ""),
                f"{test.effect:+.2f}",
                of_spread,
            ]
        )
    return header, rows


def pooled(
    found: Sequence[Pooled], table: Sequence[Contrast], first: str, second: str
) -> tuple[list[str], Rows]:
    """Return the comparison over all problems, one column per batch size."""
    shares = next((p.share.margins for p in found if p.share), (0.45, 0.55))
    ratios = next((p.ratio.margins for p in found if p.ratio), (0.9, 1.11))
    ends = f"{100 * shares[0]:g} to {100 * shares[1]:g} %"
    rows = [
        ["problems", *(str(p.problems) for p in found)],
        ["pairs per problem", *(_pairs(table, p.batch) for p in found)],
        [
            f"pairs won by {first} / won by {second} / equal",
            *(f"{p.wins} / {p.losses} / {p.ties}" for p in found),
        ],
        [f"share of pairs won by {first}", *(share(p.share) for p in found)],
        [f"share outside {ends}", *(excluded(p.share) for p in found)],
        ["share on other problems like these", *map(_other_share, found)],
        ["smallest share that is seen with a probability of 80 %", *map(seen, found)],
        [f"gap of {first} / gap of {second}", *(ratio(p.ratio) for p in found)],
        ["problems with a gap ratio", *(str(len(p.ratio_problems)) for p in found)],
        [
            f"ratio outside {ratios[0]:g} to {ratios[1]:g}",
            *(excluded(p.ratio) for p in found),
        ],
        ["ratio on other problems like these", *map(_other_ratio, found)],
    ]
    return ["", *(f"batch {p.batch}" for p in found)], rows


def share(s: Estimate | None) -> str:
    """Return a win share with its interval."""
    if s is None:
        return "–"
    return f"{100 * s.value:.1f} % ({100 * s.low:.1f} to {100 * s.high:.1f})"


def ratio(r: Estimate | None) -> str:
    """Return a gap ratio with its interval."""
    return "–" if r is None else f"{r.value:.2f} ({r.low:.2f} to {r.high:.2f})"


def excluded(s: Estimate | None) -> str:
    """Return whether a difference beyond the margins is excluded."""
    if s is None:
        return "–"
    shown = "< 0.001" if s.equivalence_p < 0.001 else f"= {s.equivalence_p:.3f}"
    return f"{'' if s.equivalent else 'not '}excluded (p {shown})"


def seen(p: Pooled) -> str:
    """Return the preference that so many pairs would have shown."""
    return "–" if p.visible is None else f"{100 * p.visible:.1f} %"


def paired_long(
    first: str, second: str, contrasts: Sequence[Contrast]
) -> tuple[list[str], Rows]:
    """Return the paired comparisons first − second with all digits."""
    names = ["count", "median", "low", "high", "coverage", "wins", "losses", "ties"]
    names += ["sign_p", "wilcoxon_p", "effect"]
    rows = [
        [
            first,
            second,
            c.problem,
            str(c.batch),
            *(repr(getattr(c.paired, name)) for name in names),
            repr(c.holm_p),
            repr(c.spread),
        ]
        for c in contrasts
    ]
    return ["first", "second", "problem", "batch", *names, "holm_p", "spread"], rows


def cpu(results: Results) -> tuple[list[str], Rows]:
    """Return the median CPU seconds of fit and ask, per acquired point and per run."""
    header = [
        "method",
        "batch",
        "runs",
        "fit s / point",
        "ask s / point",
        "ask s / run",
    ]
    rows = []
    points = max(1, results.design.acquisitions)
    for batch in results.batches:
        for method in results.methods(batch):
            runs = [
                r for (_, m, b), r in results.runs.items() if (m, b) == (method, batch)
            ]
            fit = np.concatenate([r.fit_cpu_s.sum(axis=1) for r in runs])
            ask = np.concatenate([r.ask_cpu_s.sum(axis=1) for r in runs])
            seconds = (np.median(fit) / points, np.median(ask) / points, np.median(ask))
            shown = (f"{value:.3g}" for value in seconds)
            rows.append([method, str(batch), str(len(ask)), *shown])
    return header, rows


def protocol(results: Results) -> Rows:
    """Return what the study consists of, as (name, value)."""
    design = results.design
    methods = {
        batch: dict.fromkeys(
            m for d in results.designs for m in d.methods.get(batch, ())
        )
        for batch in sorted({b for d in results.designs for b in d.methods})
    }
    settings = {m: s for d in results.designs for m, s in d.settings.items()}
    problems = dict.fromkeys(p for d in results.designs for p in d.problems)
    rows = [
        ["problems", ", ".join(problems)],
        *([f"methods, batch {b}", ", ".join(names)] for b, names in methods.items()),
        ["replicates", str(max(d.replicates for d in results.designs))],
        ["initial points", f"{design.n_init}, uniform, shared by all methods"],
        ["acquired points", str(design.acquisitions)],
        ["preset", design.preset],
        ["seed", str(design.seed)],
        *([f"settings of {m}", str(dict(s))] for m, s in settings.items()),
        # Rows keep no host.
        *([["hosts", _counted(results.hosts)]] if results.hosts else []),
        ["git revisions", _counted(results.revisions)],
    ]
    return [list(row) for row in rows]


def versions(results: Results) -> Rows:
    """Return each library version with the number of records computed with it."""
    return [[name, str(count)] for name, count in sorted(results.versions.items())]


def probability(p: float) -> str:
    """Return a p-value for reading."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def percentage(share: float) -> str:
    """Return a share with as many digits as tell 93.75 % from 95 %."""
    return f"{100 * share:.4g} %"


def duration(seconds: float) -> str:
    """Return a time span in the unit that suits it."""
    for unit, size in (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} seconds"


def _counted(counts: Mapping[str, int]) -> str:
    items = sorted(counts.items())
    return ", ".join(f"{name} ({count})" for name, count in items)


def _pairs(table: Sequence[Contrast], batch: int) -> str:
    counts = sorted({c.paired.count for c in table if c.batch == batch})
    return " to ".join(str(n) for n in dict.fromkeys((counts[0], counts[-1])))


def _other_share(p: Pooled) -> str:
    if p.share_anywhere is None:
        return "–"
    low, high = p.share_anywhere
    return f"{100 * low:.1f} to {100 * high:.1f} %"


def _other_ratio(p: Pooled) -> str:
    if p.ratio_anywhere is None:
        return "–"
    low, high = p.ratio_anywhere
    return f"{low:.2f} to {high:.2f}"
