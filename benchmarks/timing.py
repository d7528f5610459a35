"""CPU times that can be compared: interleaved, one BLAS thread, medians.

Absolute times depend on the machine and on who else uses it; ratios of medians from
one interleaved run hardly do. Every benchmark reports ratios.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median

import numpy as np
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits


def cpu_seconds(f: Callable[[], object]) -> float:
    """Return the CPU time of one call, of all threads of this process."""
    start = time.process_time()
    f()
    return time.process_time() - start


def interleaved(
    contestants: Mapping[str, Callable[[], object]], rounds: int
) -> dict[str, float]:
    """Return the median CPU time of each contestant over rounds of one call each.

    Taking turns spreads whatever disturbs the machine over all of them. One call
    each goes first and is not counted: imports, caches, page faults.
    """
    times: dict[str, list[float]] = {name: [] for name in contestants}
    with threadpool_limits(limits=1, user_api="blas"):
        for i in range(rounds + 1):
            for name, f in contestants.items():
                seconds = cpu_seconds(f)
                if i > 0:
                    times[name].append(seconds)
    return {name: median(values) for name, values in times.items()}


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """Return the slope of log values against log sizes: values ~ sizes^slope."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def show(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table with its title above."""
    table = Table()
    for i, name in enumerate(header):
        table.add_column(name, justify="left" if i == 0 else "right", no_wrap=i == 0)
    for row in rows:
        table.add_row(*row)
    console = Console(width=100)
    console.print(f"\n{title}", highlight=False)
    console.print(table)


def at_most(value: float, target: float) -> str:
    """Return the value, marked where it is above its target."""
    return f"{value:.2f}" + ("" if value <= target else " MISSED")


def at_least(value: float, target: float) -> str:
    """Return the value, marked where it is below its target."""
    return f"{value:.2f}" + ("" if value >= target else " MISSED")
