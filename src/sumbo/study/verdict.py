"""Which of two methods is better: the comparisons of a study in sentences."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sumbo.study.comparison import Contrast, Pooled, contrasts, pooled
from sumbo.study.equivalence import LEVEL, POWER, Estimate
from sumbo.study.results import Results


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """An answer in one line, the sentences behind it, and the numbers behind those."""

    first: str
    second: str
    headline: str
    sentences: tuple[str, ...]
    pooled: tuple[Pooled, ...]  # by batch size
    table: tuple[Contrast, ...]  # by batch size and problem


def verdicts(results: Results) -> tuple[Verdict, ...]:
    """Return the verdict on every pair that the design compares."""
    pairs = dict.fromkeys(p for d in results.designs for p in d.pairs)
    return tuple(verdict(results, first, second) for first, second in pairs)


def verdict(results: Results, first: str, second: str) -> Verdict:
    """Return whether ``first`` and ``second`` differ, and what is excluded."""
    table = contrasts(results, first, second)
    over_problems = pooled(results, first, second)
    sentences = [
        _batch_sentence(p, [c for c in table if c.batch == p.batch], first, second)
        for p in over_problems
    ]
    if table:
        sentences.append(_holm_sentence(table, first, second))
    return Verdict(
        first=first,
        second=second,
        headline=_headline(table, over_problems, first, second),
        sentences=tuple(sentences),
        pooled=tuple(over_problems),
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
    over_problems: Sequence[Pooled],
    first: str,
    second: str,
) -> str:
    if not table:
        return (
            f"It cannot be answered yet: no problem has finished runs of {first} and "
            f"of {second} on the same replicate."
        )
    if all(p.share is not None and p.visible is None for p in over_problems):
        return (
            f"It cannot be answered yet: so few pairs of {first} and {second} could "
            "not show even a method that wins every run."
        )
    parts = [
        f"Batch size {p.batch}: {_finding(p, first, second)}." for p in over_problems
    ]
    ahead = [c for c in table if significant(c)]
    if ahead:
        parts.append(f"Single problems differ: {_named(ahead, first, second)}.")
    return " ".join(parts)


def _finding(p: Pooled, first: str, second: str) -> str:
    share = p.share
    if share is None:
        return f"{first} and {second} ended equal in all {_plural(p.ties, 'pair')}"
    if p.visible is None:
        return f"too few pairs of {first} and {second} for an answer"
    beyond = f"a win share outside {_range(share.margins)}"
    if share.different:
        better, worse = (first, second) if share.value > 0.5 else (second, first)
        won = max(share.value, 1 - share.value)
        small = f", and {beyond} is excluded" if share.equivalent else ""
        return f"{better} ended below {worse} in {100 * won:.0f} % of the pairs{small}"
    if share.equivalent:
        return (
            f"no difference between {first} and {second} was seen, and {beyond} is "
            "excluded"
        )
    return (
        f"no difference between {first} and {second} was seen, but {beyond} is not "
        "excluded"
    )


def _batch_sentence(
    p: Pooled, table: Sequence[Contrast], first: str, second: str
) -> str:
    counts = sorted({c.paired.count for c in table})
    paired = _plural(counts[-1], "paired replicate")
    if len(counts) > 1:
        paired = f"{counts[0]} to {paired}"
    text = (
        f"At batch size {p.batch}, over {_plural(p.problems, 'problem')} with "
        f"{paired}, {first} ended below {second} in {p.wins} pairs, above it in "
        f"{p.losses} and level in {p.ties}"
    )
    if p.share is None:
        return f"{text}."
    text += f": a win share of {_with_interval(p.share)}. "
    text += _equivalence(p.share, f"a win share outside {_range(p.share.margins)}")
    return text + _power(p)


def _equivalence(estimate: Estimate, beyond: str) -> str:
    is_not = "" if estimate.equivalent else "not "
    p = estimate.equivalence_p
    shown = "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
    return f"{beyond[0].upper()}{beyond[1:]} is {is_not}excluded ({shown}). "


def _power(p: Pooled) -> str:
    pairs = _plural(p.wins + p.losses, "pair")
    if p.visible is None:
        return f"With {pairs} no preference could have been seen."
    return (
        f"With {pairs} a preference of {100 * p.visible:.1f} % would have been seen "
        f"with a probability of {100 * POWER:.0f} %."
    )


def _holm_sentence(table: Sequence[Contrast], first: str, second: str) -> str:
    among = _plural(len(table), "comparison")
    ahead = [c for c in table if significant(c)]
    if ahead:
        return (
            f"After Holm's correction over {among} of single problems, "
            f"{_named(ahead, first, second)}."
        )
    text = (
        f"None of the {among} of single problems is significant after Holm's "
        "correction."
    )
    # The smallest p-value of a two-sided signed-rank test of n pairs is 2 / 2^n.
    pairs = max(c.paired.count for c in table)
    if len(table) * 2.0 ** (1 - pairs) >= LEVEL:
        text += f" With {_plural(pairs, 'pair')} per problem none could be."
    return text


def _named(table: Sequence[Contrast], first: str, second: str) -> str:
    texts = []
    for method, sign in ((first, -1), (second, 1)):
        where = [
            f"{c.problem} (batch {c.batch})" for c in table if direction(c) == sign
        ]
        if where:
            texts.append(f"{method} is better on {', '.join(where)}")
    return "; ".join(texts)


def _with_interval(share: Estimate) -> str:
    value, low, high = (100 * v for v in (share.value, share.low, share.high))
    return f"{value:.1f} % (95 % interval {low:.1f} to {high:.1f} %)"


def _range(ends: tuple[float, float]) -> str:
    return f"{100 * ends[0]:.3g} to {100 * ends[1]:.3g} %"


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
