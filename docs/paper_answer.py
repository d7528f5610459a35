"""The answer of the paper's experiment in words and in one table, from the rows.

What depends on how many runs are finished is worded here, so that the page is true at
every stage.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
from make_results import markdown
from scipy.stats import spearmanr

from sumbo.study import tables
from sumbo.study.comparison import Pooled, contrasts, pooled
from sumbo.study.equivalence import Estimate
from sumbo.study.results import Results, Runs, load, shared_replicates
from sumbo.study.verdict import verdict

PAIR = ("ts", "ats")
FEWEST = 5  # pairs on a problem for a correlation
# Replicates of the finished study, by method. Its page is preliminary with fewer.
WANTED = {"ts": 100, "ats": 100, "alcb2": 100, "qff": 100}
WANTED |= {"dumbo": 30, "max": 30, "struct": 30}
# On these, fewer replicates are planned, and of the three methods only.
FEW = {"kids-1000": 10}
# These runs are a study of their own, on synthetic data.
ELSEWHERE = ("hsc-y3-shear",)
# The other studies of the question, by folder beside the rows of the paper's.
SENSITIVITY = {
    "paper-author": "start values and kernel of the author's public code",
    "known-structure": "true groups, a proper fit and local search",
    "separate-seeds": "a seed of its own for every method",
}


def wanted(problem: str, method: str) -> int:
    """Return how many replicates the finished study has of a method on a problem."""
    if problem in ELSEWHERE:
        return 0
    if problem in FEW:
        return FEW[problem] if method in ("ts", "ats", "alcb2") else 0
    return WANTED.get(method, 0)


def progress(results: Results) -> str:
    """Return how much of the planned experiment is finished, in a box."""
    plan, done = _counts(results)
    hours = spent(results)
    if done >= plan:
        return f"The experiment is finished: {done:,} runs. {hours}"
    return (
        f'!!! warning "Preliminary"\n\n    {done:,} of {plan:,} planned runs are '
        f"finished ({done / plan:.1%}). Numbers and verdicts on this page hold for "
        "these runs and will change. The number of runs was fixed before the first "
        f"one; no verdict on this page ends the experiment earlier. {hours}"
    )


def spent(results: Results) -> str:
    """Return the time of all runs, as a sentence."""
    asking = tables.duration(results.cpu_seconds)
    cells = tables.duration(results.wall_seconds)
    return (
        f"All asks together took {asking} of CPU time; all runs one after the other, "
        f"with their function evaluations, {cells} on shared machines."
    )


def short(results: Results) -> str:
    """Return the answer on ts and ats in two or three sentences per batch size."""
    found = pooled(results, *PAIR)
    if not found:
        return "No problem has runs of both methods yet."
    plan, done = _counts(results)
    return "\n".join(f"- {sentence(p, finished=done >= plan)}" for p in found)


def sentence(p: Pooled, *, finished: bool) -> str:
    """Return what the runs at one batch size say, whatever they say."""
    at = f"Batch size {p.batch}"
    s = p.share
    if s is None:
        return f"{at}: all {p.ties} pairs of runs ended equal."
    pairs = f"{p.wins + p.losses:,} pairs of runs"
    if p.visible is None:
        return f"{at}: too few runs for an answer ({pairs})."
    text = f"`ts` ended below `ats` in {tables.share(s)} of {pairs}"
    margins = f"a share outside {_margins(s)}"
    if s.different:
        order = "something is lost" if s.value > 0.5 else "something is gained"
        small = f" The effect is small: {margins} is excluded." if s.equivalent else ""
        return f"{at}: **{order}.** {text}.{small}"
    if s.equivalent:
        return f"{at}: **next to nothing is lost.** {text}, and {margins} is excluded."
    so_far = "" if finished else " so far"
    return (
        f"{at}: **no loss was seen{so_far}.** {text}. This does not exclude {margins}; "
        f"a preference of {tables.seen(p)} would have been seen with a "
        "probability of 80 %."
    )


def evidence(results: Results) -> str:
    """Return the numbers behind the answer, a column per batch size."""
    found = pooled(results, *PAIR)
    if not found:
        return "No problem has runs of both methods yet."
    first, second = (f"`{name}`" for name in PAIR)
    table = tables.pooled(found, contrasts(results, *PAIR), first, second)
    return f"{markdown(*table)}\n\n{verdict(results, *PAIR).sentences[-1]}"


def correlation(results: Results, folder: Path) -> str:
    """Return how final values of ts and ats of a replicate go together.

    Beside the study itself that with separate seeds, if its rows are there.
    """
    beside = _beside(folder, "separate-seeds")
    rows = []
    for batch in results.batches:
        row = [str(batch), *_correlations(results, batch)]
        rows.append([*row, *(_correlations(beside, batch) if beside else ["–", "–"])])
    if all(row[1] == "–" for row in rows):
        return "No problem has five pairs yet."
    common = ["common random numbers", "problems"]
    separate = ["separate seeds", "problems"]
    return markdown(["batch", *common, *separate], rows)


def sensitivity(results: Results, folder: Path) -> str:
    """Return ts against ats in the study itself and in the others, a row each."""
    shared = set(studied(results)) & set(_synthetic(results))
    studies = {"as in the paper": results}
    for name, text in SENSITIVITY.items():
        beside = _beside(folder, name)
        if beside:
            studies[text] = beside
    rows = []
    for text, found in studies.items():
        same = _only(found, shared)
        for p in pooled(same, *PAIR) if same.runs else []:
            row = [text, str(p.batch), str(p.problems), str(p.wins + p.losses)]
            row += [
                tables.share(p.share),
                tables.ratio(p.ratio),
                tables.excluded(p.share),
            ]
            rows.append(row)
    missing = [t for n, t in SENSITIVITY.items() if _beside(folder, n) is None]
    header = ["settings", "batch", "problems", "pairs", "share won by `ts`"]
    header += ["gap ratio", "share outside the margins"]
    text = markdown(header, rows)
    if missing:
        text += f"\n\nNot run yet: {'; '.join(missing)}."
    return text


def demonstration(folder: Path) -> str:
    """Return the runs on synthetic cosmic shear, a row per method and batch size."""
    found = _beside(folder, "hsc-synthetic")
    if found is None:
        return "Not run yet."
    rows = []
    for (_, method, batch), runs in found.runs.items():
        start, end = (np.median(runs.best[:, at]) for at in (0, -1))
        count = str(len(runs.replicates))
        rows.append([method, str(batch), count, f"{start:.4g}", f"{end:.4g}"])
    header = ["method", "batch", "runs", "best of 20 uniform points", "best of 120"]
    return markdown(header, sorted(rows, key=lambda row: (int(row[1]), row[0])))


def studied(results: Results) -> tuple[str, ...]:
    """Return the problems of the pooled comparison."""
    return tuple(dict.fromkeys(c.problem for c in contrasts(results, *PAIR)))


def _correlations(results: Results, batch: int) -> list[str]:
    """Return the mean over problems with its range, and the number of problems."""
    found = []
    for problem in results.problems:
        runs = results.of(problem, batch)
        if set(PAIR) <= set(runs):
            a, b = (runs[name] for name in PAIR)
            pair = _correlation(a, b)
            if pair is not None:
                found.append(pair)
    if not found:
        return ["–", "–"]
    rho, counts = np.array(found).T
    mean = np.average(rho, weights=counts)
    return [f"{mean:.2f} ({rho.min():.2f} to {rho.max():.2f})", str(len(found))]


def _correlation(first: Runs, second: Runs) -> tuple[float, int] | None:
    a, b = shared_replicates(first, second)
    if len(a) < FEWEST or np.ptp(a[:, -1]) == 0 or np.ptp(b[:, -1]) == 0:
        return None
    return float(np.asarray(spearmanr(a[:, -1], b[:, -1]))[0]), len(a)


def _synthetic(results: Results) -> list[str]:
    names = ("ackley", "levy", "rastrigin")
    return [p for p in results.problems if p.startswith(names)]


def _only(results: Results, problems: set[str]) -> Results:
    runs = {key: r for key, r in results.runs.items() if key[0] in problems}
    return replace(results, runs=runs)


def _beside(folder: Path, name: str) -> Results | None:
    """Return the study in a folder beside that of the paper; None if it has no runs."""
    path = folder.parent / name
    return load(path) if (path / "designs").is_dir() else None


def _counts(results: Results) -> tuple[int, int]:
    plan = done = 0
    for design in results.designs[:1]:
        for batch, methods in design.methods.items():
            for problem in design.problems:
                for method in methods:
                    runs = results.runs.get((problem, method, batch))
                    aim = wanted(problem, method)
                    plan += aim
                    done += min(aim, len(runs.replicates) if runs else 0)
    return plan, done


def _margins(s: Estimate | None) -> str:
    low, high = s.margins if s else (0.45, 0.55)
    return f"{100 * low:g} to {100 * high:g} %"
