"""What each figure shows, computed from the results; drawing is left to `figures`."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sumbo.study import statistics
from sumbo.study.results import (
    Results,
    Runs,
    complete_problems,
    shared_replicates,
)
from sumbo.typing import Float, ndarray

# Values that span more than this factor are drawn on a logarithmic axis.
_WIDE = 100.0


@dataclass(frozen=True, kw_only=True)
class MedianCurve:
    """A median over replicates with its interval, against evaluations."""

    x: Float[ndarray, " T"]
    median: Float[ndarray, " T"]
    low: Float[ndarray, " T"]
    high: Float[ndarray, " T"]


@dataclass(frozen=True, kw_only=True)
class Convergence:
    """The progress of all methods on one problem, by batch size."""

    problem: str
    ylabel: str
    log: bool
    panels: Mapping[int, Mapping[str, MedianCurve]]


@dataclass(frozen=True, kw_only=True)
class Ranks:
    """Ranks of the methods' medians at one batch size."""

    batch: int
    problems: tuple[str, ...]
    x: Float[ndarray, " T"]
    mean: Mapping[str, Float[ndarray, " T"]]  # over problems
    final: Mapping[str, Float[ndarray, " K"]]  # per problem, at the end


@dataclass(frozen=True, kw_only=True)
class Boxes:
    """Final values of all runs on one problem at one batch size."""

    title: str
    label: str
    log: bool
    values: Mapping[str, Float[ndarray, " R"]]


@dataclass(frozen=True, kw_only=True)
class Difference:
    """The paired difference of two methods on one problem at one batch size."""

    problem: str
    curve: MedianCurve
    final: Float[ndarray, " R"]


@dataclass(frozen=True, kw_only=True)
class Lines:
    """One line per method against evaluations, at one batch size."""

    batch: int
    x: Float[ndarray, " T"]
    lines: Mapping[str, Float[ndarray, " T"]]


def convergence(results: Results, problem: str) -> Convergence:
    """Return the best value against evaluations, as a gap if the minimum is known."""
    runs = {batch: results.of(problem, batch) for batch in results.batches}
    runs = {batch: of_batch for batch, of_batch in runs.items() if of_batch}
    everything = [r for of_batch in runs.values() for r in of_batch.values()]
    known = everything[0].best_known
    gap = everything[0].exact and known is not None
    shift = known if gap and known is not None else 0.0
    panels = {
        batch: {
            method: _curve(_shifted(r.best, shift, clip=gap), _evaluations(results))
            for method, r in of_batch.items()
        }
        for batch, of_batch in runs.items()
    }
    drawn = [curve.median for panel in panels.values() for curve in panel.values()]
    return Convergence(
        problem=problem,
        ylabel="best value − minimum" if gap else "best value",
        log=gap or _is_wide(np.concatenate(drawn)),
        panels=panels,
    )


def ranks(results: Results, batch: int) -> Ranks | None:
    """Return the ranks over the problems that every method has run on, if any."""
    problems = complete_problems(results, batch)
    methods = results.methods(batch)
    if not problems or len(methods) < 2:
        return None
    medians = np.array(
        [
            [np.median(results.of(p, batch)[m].best, axis=0) for m in methods]
            for p in problems
        ]
    )
    mean = statistics.mean_ranks(medians)
    final = statistics.median_ranks(medians[:, :, -1].T)
    return Ranks(
        batch=batch,
        problems=problems,
        x=_evaluations(results),
        mean=dict(zip(methods, mean, strict=True)),
        final=dict(zip(methods, final, strict=True)),
    )


def boxes(results: Results, batch: int) -> list[Boxes]:
    """Return the final values per problem: log10 gaps where a reference is known."""
    out = []
    for problem in results.problems:
        runs = results.of(problem, batch)
        if runs:
            out.append(_boxes(problem, runs))
    return out


def differences(
    results: Results, first: str, second: str, batch: int
) -> list[Difference]:
    """Return first − second per problem, over the replicates that both finished."""
    out = []
    for problem in results.problems:
        runs = results.of(problem, batch)
        if first not in runs or second not in runs:
            continue
        a, b = shared_replicates(runs[first], runs[second])
        if len(a):
            curve = _curve(a - b, _evaluations(results))
            final = (a - b)[:, -1]
            out.append(Difference(problem=problem, curve=curve, final=final))
    return out


def profile(results: Results, batch: int) -> Lines | None:
    """Return the share of (problem, replicate, target) triples solved, per method.

    The targets of a problem lie between the typical best initial value and the lowest
    value known of it: its minimum, or the best of all runs.
    """
    problems = complete_problems(results, batch)
    if not problems:
        return None
    shares = {}
    goals = {problem: _targets(results, problem) for problem in problems}
    for method in results.methods(batch):
        reached = [
            statistics.solved(results.of(p, batch)[method].best, goals[p]).mean((0, 1))
            for p in problems
        ]
        shares[method] = np.mean(reached, axis=0)
    return Lines(batch=batch, x=_evaluations(results), lines=shares)


def ask_time(results: Results, batch: int) -> Lines | None:
    """Return the median CPU seconds per acquired point over all runs, per method."""
    acquisitions = results.design.acquisitions
    lines = {}
    for method in results.methods(batch):
        seconds = [
            runs.ask_cpu_s
            for (_, m, b), runs in results.runs.items()
            if m == method and b == batch
        ]
        per_point = statistics.cpu_per_acquisition(
            np.concatenate(seconds), batch=batch, acquisitions=acquisitions
        )
        lines[method] = np.median(per_point, axis=0)
    if not acquisitions:
        return None
    return Lines(batch=batch, x=_evaluations(results)[1:], lines=lines)


def _evaluations(results: Results) -> Float[ndarray, " T"]:
    design = results.design
    return design.n_init + np.arange(design.acquisitions + 1.0)


def _curve(values: Float[ndarray, "R T"], x: Float[ndarray, " T"]) -> MedianCurve:
    median, low, high = statistics.median_interval(values)
    return MedianCurve(x=x, median=median, low=low, high=high)


def _shifted(
    best: Float[ndarray, "R T"], shift: float, *, clip: bool
) -> Float[ndarray, "R T"]:
    return np.maximum(best - shift, statistics.GAP_FLOOR) if clip else best


def _boxes(problem: str, runs: Mapping[str, Runs]) -> Boxes:
    first = next(iter(runs.values()))
    known = first.best_known
    if known is None:
        finals = {method: r.final for method, r in runs.items()}
        log = _is_wide(np.concatenate(list(finals.values())))
        return Boxes(title=problem, label="best value", log=log, values=finals)
    title = problem if first.exact else f"{problem} (to best known)"
    gaps = {m: statistics.log10_gap(r.final, known) for m, r in runs.items()}
    return Boxes(title=title, label="log10 gap", log=False, values=gaps)


def _is_wide(values: Float[ndarray, " n"]) -> bool:
    return bool(values.min() > 0 and values.max() / values.min() > _WIDE)


def _targets(results: Results, problem: str) -> Float[ndarray, " targets"]:
    runs = [r for (p, _, _), r in results.runs.items() if p == problem]
    start = float(np.median(np.concatenate([r.best[:, 0] for r in runs])))
    goal = min(float(r.final.min()) for r in runs)
    known = runs[0].best_known
    return statistics.targets(start, goal if known is None else min(goal, known))
