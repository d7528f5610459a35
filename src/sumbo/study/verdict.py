"""The question of the study, answered from the paired comparisons in sentences."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sumbo.study.results import Contrast, Results, contrasts

LEVEL = 0.05


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """An answer in one line, the sentences behind it, and the table behind those."""

    headline: str
    sentences: tuple[str, ...]
    table: tuple[Contrast, ...]


def verdict(results: Results, first: str = "ts", second: str = "ats") -> Verdict:
    """Return whether ``second`` costs anything compared to ``first``.

    ``second`` ignores what ``first`` respects; first − second below zero is a cost.
    """
    by_batch = {b: contrasts(results, first, second, b) for b in results.batches}
    by_batch = {b: table for b, table in by_batch.items() if table}
    table = [c for of_batch in by_batch.values() for c in of_batch]
    return Verdict(
        headline=_headline(table, by_batch, first, second),
        sentences=tuple(
            _sentence(batch, of_batch, first, second)
            for batch, of_batch in by_batch.items()
        ),
        table=tuple(table),
    )


def direction(contrast: Contrast) -> int:
    """Return -1 if the first method was better, 1 if the second was, 0 if neither."""
    test = contrast.paired
    return int(np.sign(test.median) or np.sign(test.losses - test.wins))


def significant(contrast: Contrast) -> bool:
    """Return whether the difference remains after the correction for many tests."""
    return contrast.holm_p < LEVEL


def _headline(
    table: Sequence[Contrast],
    by_batch: dict[int, list[Contrast]],
    first: str,
    second: str,
) -> str:
    if not table:
        return (
            f"It cannot be answered yet: no problem has finished runs of {first} and "
            f"of {second} on the same replicate."
        )
    if not any(_detectable(of_batch) for of_batch in by_batch.values()):
        return (
            "It cannot be answered yet: with this few replicates not even a method "
            "that wins every run would be told apart from chance."
        )
    costs = [c for c in table if significant(c) and direction(c) < 0]
    gains = [c for c in table if significant(c) and direction(c) > 0]
    among = _plural(len(table), "comparison")
    if costs and gains:
        return (
            f"It depends: {second} is significantly worse than {first} in "
            f"{len(costs)} and better in {len(gains)} of {among}."
        )
    if costs:
        return (
            f"Yes: {second} is significantly worse than {first} in {len(costs)} of "
            f"{among}, and better in none."
        )
    if gains:
        return (
            f"No: {second} is significantly better than {first} in {len(gains)} of "
            f"{among}, and worse in none."
        )
    return f"No cost was detected: {second} and {first} differ in none of {among}."


def _sentence(batch: int, table: Sequence[Contrast], first: str, second: str) -> str:
    counts = sorted({c.paired.count for c in table})
    paired = _plural(counts[-1], "paired replicate")
    if len(counts) > 1:
        paired = f"{counts[0]} to {paired}"
    signs = [direction(c) for c in table]
    worse = [c.problem for c in table if significant(c) and direction(c) < 0]
    better = [c.problem for c in table if significant(c) and direction(c) > 0]
    text = (
        f"At batch size {batch}, over {_plural(len(table), 'problem')} with "
        f"{paired}, {first} was ahead of {second} on {signs.count(-1)}, behind on "
        f"{signs.count(1)} and level on {signs.count(0)}. "
    )
    if worse or better:
        text += (
            "After Holm's correction the difference is significant where ignoring "
            f"costs ({_listed(worse)}) and where it gains ({_listed(better)}). "
        )
    else:
        text += "None of the differences is significant after Holm's correction. "
    shares = [abs(c.paired.median) / c.spread for c in table if c.spread > 0]
    if shares:
        text += (
            f"The median difference is typically {np.median(shares):.0%} and at most "
            f"{max(shares):.0%} of the interquartile range between runs."
        )
    return text.strip()


def _detectable(table: Sequence[Contrast]) -> bool:
    # The smallest p-value of a two-sided signed-rank test of n pairs is 2 / 2^n.
    pairs = max(c.paired.count for c in table)
    return len(table) * 2.0 ** (1 - pairs) < LEVEL


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if names else "none"
