"""Two methods compared over the replicates that both have finished."""

from dataclasses import dataclass

import numpy as np

from sumbo.study import equivalence, statistics
from sumbo.study.equivalence import Estimate
from sumbo.study.results import Results, shared_replicates
from sumbo.typing import Float, ndarray

_PAIRS_FOR_QUARTILES = 4


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """The paired comparison of two methods on one problem at one batch size."""

    problem: str
    batch: int
    paired: statistics.Paired
    holm_p: float  # of the Wilcoxon test, over all problems and batch sizes
    spread: float  # interquartile range of all final values; 0 if there are few


@dataclass(frozen=True, kw_only=True)
class Pooled:
    """The comparison of two methods over all problems at one batch size."""

    batch: int
    problems: int
    wins: int  # of the first method
    losses: int
    ties: int
    share: Estimate | None  # of the pairs that the first wins; None if all are equal
    share_anywhere: tuple[float, float] | None  # 95 % for problems like these
    ratio: Estimate | None  # gap of the first / gap of the second, geometric mean
    ratio_anywhere: tuple[float, float] | None  # 95 % for problems like these
    ratio_problems: tuple[str, ...]
    visible: float | None  # the smallest share that is seen with a power of 80 %


def contrasts(results: Results, first: str, second: str) -> list[Contrast]:
    """Return first − second at the end of the runs, by batch size and problem.

    Holm's correction takes all of them as one family.
    """
    compared = []
    for batch, problem, a, b in _finals(results, first, second):
        few = len(a) < _PAIRS_FOR_QUARTILES
        values = np.concatenate([a, b])
        spread = 0.0 if few else statistics.interquartile_range(values)
        compared.append((problem, batch, statistics.paired(a, b), spread))
    adjusted = statistics.holm(np.array([t.wilcoxon_p for _, _, t, _ in compared]))
    return [
        Contrast(problem=problem, batch=batch, paired=t, holm_p=float(p), spread=spread)
        for (problem, batch, t, spread), p in zip(compared, adjusted, strict=True)
    ]


def pooled(results: Results, first: str, second: str) -> list[Pooled]:
    """Return the comparison over all problems, by batch size.

    The margins are those of the design. A gap ratio needs a reference that no run
    has reached, so it uses only the problems where the lowest value known lies below
    every run of the study.
    """
    found = list(_finals(results, first, second))
    out = []
    for batch in dict.fromkeys(batch for batch, *_ in found):
        of_batch = [(p, a, b) for at, p, a, b in found if at == batch]
        signs = [np.sign(a - b) for _, a, b in of_batch]
        won = [(s[s != 0] < 0).astype(float) for s in signs if np.any(s)]
        wins = int(sum(v.sum() for v in won))
        losses = sum(map(len, won)) - wins
        logs = {}
        for problem, a, b in of_batch:
            reference = unreached_reference(results, problem)
            if reference is not None and len(a) > 1:
                logs[problem] = np.log(a - reference) - np.log(b - reference)
        design, gaps = results.design, list(logs.values())
        out.append(
            Pooled(
                batch=batch,
                problems=len(of_batch),
                wins=wins,
                losses=losses,
                ties=sum(map(len, signs)) - wins - losses,
                share=equivalence.win_share(wins, losses, design.win_share),
                share_anywhere=equivalence.bootstrap_interval(won) if won else None,
                ratio=equivalence.gap_ratio(gaps, design.gap_ratio),
                ratio_anywhere=_exp(equivalence.bootstrap_interval(gaps))
                if gaps
                else None,
                ratio_problems=tuple(logs),
                visible=equivalence.visible_share(wins + losses),
            )
        )
    return out


def unreached_reference(results: Results, problem: str) -> float | None:
    """Return the lowest value known of a problem, if every run stays above it."""
    runs = [r for (p, _, _), r in results.runs.items() if p == problem]
    known = runs[0].best_known
    if known is None or any(r.final.min() <= known for r in runs):
        return None
    return known


def _exp(ends: tuple[float, float]) -> tuple[float, float]:
    return float(np.exp(ends[0])), float(np.exp(ends[1]))


def _finals(
    results: Results, first: str, second: str
) -> list[tuple[int, str, Float[ndarray, " R"], Float[ndarray, " R"]]]:
    out = []
    for batch in results.batches:
        for problem in results.problems:
            runs = results.of(problem, batch)
            if first in runs and second in runs:
                a, b = shared_replicates(runs[first], runs[second])
                if len(a):
                    out.append((batch, problem, a[:, -1], b[:, -1]))
    return out
