"""CPU times that can be compared: interleaved, one BLAS thread, medians.

Absolute times depend on the machine and on who else uses it; ratios of medians from
one interleaved run hardly do. Every benchmark reports ratios.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

# Where `make rivals` puts BoTorch, GPyTorch and Optuna.
RIVALS_PYTHON = Path(".venv-rivals/bin/python")


class Row(NamedTuple):
    """One measured ratio of times: of what, against whom, and what was asked.

    With ``asked="≥ 5"`` the ratio is the rival's time over ours, with ``"≤ 1.3"`` ours
    over the rival's; empty where nothing was asked. ``ours`` is our time, for the eye.
    A suite is a module with ``rows()``, which returns or yields such tuples (four
    entries are enough), and maybe ``curves()``, which does the same with ``Growth``.
    """

    what: str
    rival: str
    ratio: float
    asked: str = ""
    ours: str = ""

    @property
    def measured(self) -> str:
        """The ratio as it stands in a table."""
        return f"{self.ratio:.3g}" + missed(self.ratio, self.asked)

    @property
    def cells(self) -> list[str]:
        """The row as it stands in a table."""
        return [self.what, self.rival, self.measured, self.asked, self.ours]


class Growth(NamedTuple):
    """How a time grows with one size; the exponent of time ~ size^exponent."""

    what: str
    varied: str
    sizes: Sequence[float]
    seconds: Sequence[float]
    asked: str = ""

    @property
    def exponent(self) -> float:
        """The slope of log time against log size."""
        return exponent(self.sizes, self.seconds)

    @property
    def cells(self) -> list[str]:
        """The curve as it stands in a table."""
        slope = self.exponent
        return [
            self.what,
            f"{self.varied} = {', '.join(f'{s:,.0f}' for s in self.sizes)}",
            ", ".join(f"{1e3 * s:.3g}" for s in self.seconds),
            f"{slope:.2f}" + missed(slope, self.asked),
            self.asked,
        ]


def missed(value: float, asked: str) -> str:
    """Return a mark where the value is on the wrong side of what was asked."""
    if not asked:
        return ""
    sign, number = asked.split()[:2]
    wrong = value < float(number) if sign == "≥" else value > float(number)
    return " MISSED" if wrong else ""


def interleaved(
    contestants: Mapping[str, Callable[[], object]],
    rounds: int,
    before: Callable[[], object] = lambda: None,
    clock: Callable[[], float] = time.process_time,
) -> dict[str, float]:
    """Return the median time of each contestant over rounds of one call each.

    Taking turns spreads whatever disturbs the machine over all of them. One call
    each goes first and is not counted: imports, caches, page faults. ``before`` each
    call something may be prepared that is not timed. The default clock counts the
    CPU time of all threads of this process.
    """
    times: dict[str, list[float]] = {name: [] for name in contestants}
    with threadpool_limits(limits=1, user_api="blas"):
        for i in range(rounds + 1):
            for name, f in contestants.items():
                before()
                start = clock()
                f()
                seconds = clock() - start
                if i > 0:
                    times[name].append(seconds)
    return {name: median(values) for name, values in times.items()}


def cpu_seconds(f: Callable[[], object]) -> float:
    """Return the CPU time of one call, of all threads of this process."""
    start = time.process_time()
    f()
    return time.process_time() - start


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """Return the slope of log values against log sizes: values ~ sizes^slope."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def show(
    title: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int = 100,
) -> None:
    """Print a table with its title above."""
    table = Table()
    for i, name in enumerate(header):
        table.add_column(name, justify="left" if i == 0 else "right", no_wrap=i == 0)
    for row in rows:
        table.add_row(*row)
    console = Console(width=width)
    console.print(f"\n{title}", highlight=False)
    console.print(table)


def show_rows(title: str, rows: Iterable[Row]) -> None:
    """Print measured ratios as a table."""
    header = ("what", "rival", "ratio", "asked", "ours")
    show(title, header, [row.cells for row in rows], width=150)


def show_curves(title: str, curves: Iterable[Growth]) -> None:
    """Print how times grow as a table."""
    header = ("what", "varied", "ms", "exponent", "asked")
    show(title, header, [curve.cells for curve in curves], width=150)


def at_most(value: float, target: float) -> str:
    """Return the value, marked where it is above its target."""
    return f"{value:.2f}" + ("" if value <= target else " MISSED")


def at_least(value: float, target: float) -> str:
    """Return the value, marked where it is below its target."""
    return f"{value:.2f}" + ("" if value >= target else " MISSED")
