"""What the paper claims, beside what the rows of the study show.

Every function returns a `Claim`: the claim in our words, what was measured, and a
verdict that follows from the numbers by a rule. Nothing here is decided by hand.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from paper_answer import wanted

from sumbo.study import statistics, tables
from sumbo.study.comparison import Contrast, Pooled, contrasts, pooled
from sumbo.study.equivalence import LEVEL
from sumbo.study.results import Results, Runs
from sumbo.study.verdict import direction, significant

ABSENT = "not measured yet"
OPEN = "open: no difference was seen; one beyond the margins is not excluded"
OURS = ("ts", "ats", "alcb2")
ENOUGH = 30  # replicates for a verdict without a test
ACKLEY = ("ackley2", "ackley5")
STEEP = ("levy5", "levy10", "rastrigin5", "rastrigin10")


class Study:
    """The results, and every comparison that was asked for, computed once."""

    def __init__(self, results: Results) -> None:
        self.results = results
        self._pooled: dict[tuple[str, str], list[Pooled]] = {}

    def pooled(self, first: str, second: str, batch: int) -> Pooled | None:
        """Return the comparison of two methods over all problems."""
        pair = (first, second)
        if pair not in self._pooled:
            self._pooled[pair] = pooled(self.results, first, second)
        return next((p for p in self._pooled[pair] if p.batch == batch), None)


class Claim(NamedTuple):
    """One claim of the paper, and what became of it."""

    text: str
    measured: str
    verdict: str


def claims(results: Results) -> list[Claim]:
    """Return all claims of the paper about its experiment."""
    study = Study(results)
    return [
        *_thompson(study),
        *_bound(study),
        *_single_problems(results),
        *_overall(study),
        *_comparators(study),
        *_worst_cases(results),
        *_spread(results),
    ]


def share(p: Pooled | None) -> str:
    """Return a pooled win share and gap ratio as text."""
    if p is None or p.share is None:
        return ABSENT
    text = f"{tables.share(p.share)} of {p.wins + p.losses} pairs won"
    if p.ratio is not None:
        text += f"; gap ratio {tables.ratio(p.ratio)}"
    return text


def ahead(p: Pooled | None, *, usually: bool = False) -> str:
    """Return whether the first method is ahead, as a claim says.

    With ``usually`` the claim is that the first matches or outperforms the second.
    """
    if p is None or p.share is None:
        return ABSENT
    if p.visible is None:
        return "too few pairs"
    s = p.share
    excluded = "a win share outside 45 to 55 % is excluded"
    if s.margins != (0.45, 0.55):
        excluded = "a win share outside the margins is excluded"
    if s.different and s.value < 0.5:
        return "**disagrees**: the order is the reverse"
    if s.different:
        return "agrees"
    if s.equivalent:
        return f"agrees: {excluded}" if usually else f"**disagrees**: {excluded}"
    return OPEN


def level(p: Pooled | None) -> str:
    """Return whether two methods are level, as a claim says."""
    if p is None or p.share is None:
        return ABSENT
    if p.visible is None:
        return "too few pairs"
    s = p.share
    if s.equivalent:
        return "agrees: a difference beyond the margins is excluded"
    if s.different:
        return "**disagrees**: a difference was seen"
    return OPEN


def _thompson(study: Study) -> list[Claim]:
    one, ten = (study.pooled("ts", "ats", batch) for batch in (1, 10))
    found = [
        Claim(
            "Batch 1: exact Thompson sampling (`ts`) is slightly ahead of the "
            "approximation (`ats`).",
            share(one),
            ahead(one),
        )
    ]
    for batch, claim in (
        (1, "`ts` has the better mean rank at most numbers of evaluations."),
        (10, "which has the better mean rank depends on the number of evaluations."),
    ):
        ranks = _ranks(study.results, batch)
        if ranks is not None:
            found.append(Claim(f"Batch {batch}: {claim}", *ranks))
    claim = "Batch 10: no consistent difference between `ts` and `ats`."
    return [*found, Claim(claim, share(ten), level(ten))]


def _overall(study: Study) -> list[Claim]:
    table = contrasts(study.results, "ts", "ats")
    claim = "On most problems `ts` and `ats` do not differ significantly."
    if not table or not any(_testable(c, table) for c in table):
        found = [Claim(claim, ABSENT, ABSENT)]
    else:
        single = sum(c.paired.wilcoxon_p < LEVEL for c in table)
        holm = sum(significant(c) for c in table)
        text = (
            f"{single} of {len(table)} comparisons have p < 0.05, {holm} after Holm's "
            f"correction; {LEVEL * len(table):.1f} were to be expected by chance"
        )
        agrees = "agrees" if single < len(table) / 2 else "**disagrees**"
        found = [Claim(claim, text, agrees)]
    claim = "Omitting the covariance does not significantly sacrifice performance."
    both = [p for b in (1, 10) if (p := study.pooled("ts", "ats", b)) and p.share]
    text = "; ".join(
        f"batch {p.batch}: {tables.share(p.share)} won by `ts`" for p in both
    )
    lost = [s for p in both if (s := p.share) and s.different and s.value > 0.5]
    if not both or any(p.visible is None for p in both):
        verdict = ABSENT if not both else "too few pairs"
    elif lost:
        verdict = "**disagrees**: `ts` is significantly ahead"
    elif all(p.share and p.share.equivalent for p in both):
        verdict = "agrees: a share outside the margins is excluded"
    else:
        verdict = OPEN
    return [*found, Claim(claim, text or ABSENT, verdict)]


def _ranks(results: Results, batch: int) -> tuple[str, str] | None:
    """Return how often the mean rank of ts is lower than that of ats, and a verdict.

    At batch size 10 the paper says that it depends on the number of evaluations: each
    method is then ahead after more than a tenth of the acquisitions.
    """
    problems = [p for p in results.problems if set(OURS) <= set(results.of(p, batch))]
    if not problems:
        return None
    medians = np.array(
        [
            [np.median(results.of(p, batch)[m].best, axis=0) for m in OURS]
            for p in problems
        ]
    )
    ts, ats, _ = statistics.mean_ranks(medians)[:, 1:]
    lower, higher = float(np.mean(ts < ats)), float(np.mean(ts > ats))
    text = (
        f"of `ts`, `ats` and `alcb2`, over {len(problems)} problems: lower after "
        f"{100 * lower:.0f} % of the acquisitions, higher after {100 * higher:.0f} %; "
        f"at the end {ts[-1]:.2f} against {ats[-1]:.2f}"
    )
    agrees = lower > 0.5 if batch == 1 else min(lower, higher) > 0.1
    runs = [results.runs[p, m, batch] for p in problems for m in OURS]
    return text, _by_numbers(runs, agrees=agrees)


def _bound(study: Study) -> list[Claim]:
    found = []
    for batch, order in ((1, 1), (10, -1)):
        for method in ("ts", "ats"):
            first, second = ("alcb2", method)[::order]
            p = study.pooled(first, second, batch)
            claim = f"Batch {batch}: `{first}` is ahead of `{second}`."
            found.append(Claim(claim, share(p), ahead(p)))
    return found


def _single_problems(results: Results) -> list[Claim]:
    table = contrasts(results, "ts", "ats")
    by_place = {(c.problem, c.batch): c for c in table}
    found = []
    for batch in (1, 10):
        c = by_place.get(("desi", batch))
        claim, verdict = "", ABSENT
        if batch == 1:
            claim = "`desi`, batch 1: `ts` is significantly ahead of `ats`."
            if c is not None:
                verdict = _confirmed(c, table)
        else:
            claim = "`desi`, batch 10: this advantage is gone."
            if c is not None:
                gone = not (significant(c) and direction(c) < 0)
                verdict = "agrees" if gone else "**disagrees**"
                verdict = verdict if _testable(c, table) else "too few pairs"
        found.append(Claim(claim, _contrast(c), verdict))
    alcb2 = contrasts(results, "alcb2", "ts")
    c = next((c for c in alcb2 if (c.problem, c.batch) == ("desi", 1)), None)
    claim = "`desi`, batch 1: `alcb2` is slightly ahead of `ts`."
    found.append(Claim(claim, _contrast(c), _confirmed(c, alcb2) if c else ABSENT))
    claim = (
        "Batch 1: the advantage of `ts` over `ats` is largest on `desi`, `kids-1000` "
        "and `rover`."
    )
    return [*found, Claim(claim, *_largest(table))]


def _largest(family: Sequence[Contrast]) -> tuple[str, str]:
    """Return where the effect is most in favour of ts, and the verdict."""
    named = {"desi", "kids-1000", "rover"}
    table = sorted((c for c in family if c.batch == 1), key=lambda c: c.paired.effect)
    order = [c.problem for c in table]
    there = [p for p in order if p in named]
    if not there:
        return ABSENT, ABSENT
    effects = {c.problem: c.paired.effect for c in table}
    shown = ", ".join(f"`{p}` ({effects[p]:+.2f})" for p in order[:3])
    places = ", ".join(f"`{p}` is number {order.index(p) + 1}" for p in there)
    absent = ", ".join(f"`{p}`" for p in sorted(named - set(there)))
    text = (
        f"most negative rank-biserial correlations of `ts` − `ats`: {shown}; "
        f"{places} of {len(order)}" + (f"; {absent} not measured yet" if absent else "")
    )
    if not any(_testable(c, family) for c in table if c.problem in named):
        return text, "too few pairs"
    sure = {c.problem for c in table if significant(c) and direction(c) < 0}
    if set(there) <= sure:
        return text, ABSENT if absent else "agrees"
    missing = ", ".join(f"`{p}`" for p in there if p not in sure)
    return text, f"**not confirmed**: no significant advantage on {missing}"


def _comparators(study: Study) -> list[Claim]:
    found = []
    for rival, batches in (("max", (1,)), ("struct", (10,)), ("dumbo", (1, 10))):
        for batch in batches:
            for ours in OURS:
                p = study.pooled(ours, rival, batch)
                claim = f"Batch {batch}: `{ours}` matches or outperforms `{rival}`."
                found.append(Claim(claim, share(p), ahead(p, usually=True)))
    return found


def _worst_cases(results: Results) -> list[Claim]:
    """Return where the worst run of dumbo lies among those of all methods."""
    claim = (
        "`dumbo` has a low median on Ackley in 2 and 5 dimensions, and among the "
        "highest worst values there and on Levy and Rastrigin in 5 and 10."
    )
    medians = _places(results, ACKLEY, np.median)
    worst = _places(results, (*ACKLEY, *STEEP), np.max)
    if not worst:
        return [Claim(claim, ABSENT, ABSENT)]
    low = [rank <= 2 for rank, _ in medians]
    high = [rank >= count - 1 for rank, count in worst]
    text = (
        f"median among the two lowest in {sum(low)} of {len(low)} settings; worst "
        f"value among the two highest in {sum(high)} of {len(high)}"
    )
    agrees = np.mean(low) > 0.5 and np.mean(high) > 0.5
    runs = [r for (p, _, _), r in results.runs.items() if p in (*ACKLEY, *STEEP)]
    return [Claim(claim, text, _by_numbers(runs, agrees=bool(agrees)))]


def _by_numbers(runs: Sequence[Runs], *, agrees: bool) -> str:
    """Return a verdict without a test, which needs enough replicates."""
    if any(len(r.replicates) < min(ENOUGH, wanted(r.problem, r.method)) for r in runs):
        return f"open: fewer than {ENOUGH} replicates"
    return "agrees" if agrees else "**disagrees**"


def _places(
    results: Results, problems: Sequence[str], of: Callable
) -> list[tuple[int, int]]:
    """Return the rank of dumbo, 1 for the lowest, and the number of methods."""
    found = []
    for batch in results.batches:
        for problem in problems:
            runs = results.of(problem, batch)
            if "dumbo" in runs and len(runs) > 3:
                values = {m: float(of(r.final)) for m, r in runs.items()}
                rank = 1 + sum(v < values["dumbo"] for v in values.values())
                found.append((rank, len(values)))
    return found


def _spread(results: Results) -> list[Claim]:
    found = []
    for batch in (1, 10):
        runs = {m: r for m, r in results.of("lunar", batch).items() if m in OURS}
        claim = f"`lunar`, batch {batch}: runs vary much more than methods."
        if len(runs) < 2 or min(len(r.final) for r in runs.values()) < 4:
            found.append(Claim(claim, ABSENT, ABSENT))
            continue
        within = min(statistics.interquartile_range(r.final) for r in runs.values())
        between = float(np.ptp([np.median(r.final) for r in runs.values()]))
        text = (
            f"smallest interquartile range of a method {within:.3g}, largest distance "
            f"between two medians {between:.3g}"
        )
        verdict = _by_numbers(list(runs.values()), agrees=within > between)
        found.append(Claim(claim, text, verdict))
    table = [c for c in contrasts(results, "ts", "ats") if c.spread > 0]
    claim = (
        "Everywhere the variation between runs outweighs that between `ts` and `ats`."
    )
    if not table:
        return [*found, Claim(claim, ABSENT, ABSENT)]
    parts = [abs(c.paired.median) / c.spread for c in table]
    worst = table[int(np.argmax(parts))]
    text = (
        f"median difference at most {100 * max(parts):.0f} % of the interquartile "
        f"range of all runs ({worst.problem}, batch {worst.batch}); "
        f"{len(table)} comparisons"
    )
    used = [r for (_, m, _), r in results.runs.items() if m in ("ts", "ats")]
    return [*found, Claim(claim, text, _by_numbers(used, agrees=max(parts) < 1))]


def _contrast(c: Contrast | None) -> str:
    if c is None:
        return ABSENT
    t = c.paired
    return (
        f"median difference {t.median:.3g} ({t.low:.3g} to {t.high:.3g}, coverage "
        f"{100 * t.coverage:.1f} %); {t.wins} of {t.count} pairs won; "
        f"Holm p = {c.holm_p:.2g}"
    )


def _confirmed(c: Contrast, family: Sequence[Contrast]) -> str:
    if not _testable(c, family):
        return "too few pairs"
    if not significant(c):
        return "**not confirmed**: not significant"
    return "agrees" if direction(c) < 0 else "**disagrees**: the order is the reverse"


def _testable(c: Contrast, family: Sequence[Contrast]) -> bool:
    """Return whether so many pairs could be significant after Holm's correction."""
    # The smallest p-value of a two-sided signed-rank test of n pairs is 2 / 2^n.
    return len(family) * 2.0 ** (1 - c.paired.count) < LEVEL
