"""What was measured, kept in ``results.json``, and the page that is made from it.

A suite is stored with the day and the machine. Suites that were not run again keep
their numbers, so that the long ones need not run each time.
"""

import datetime as dt
import json
import os
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import scipy
from threadpoolctl import threadpool_info

from benchmarks.timing import Growth, Row

RESULTS = Path(__file__).with_name("results.json")
PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
TITLES = {
    "sampling": "Joint draws",
    "factors": "Joint draws against the work that nobody can avoid",
    "growth": "Joint draws of every size, beside everybody who can draw",
    "structured": "Parts of one coordinate, in linear time",
    "orthogonal": "Orthogonal parts",
    "choices": "Choices from a list",
    "large": "Many observations",
    "asks": "Points of a run with many observations",
    "likelihood": "Likelihood with gradient",
    "comparators": "Methods beside `ts`",
    "paper": "The paper's settings, now and before",
    "cosmology": "Cosmology problems against a fixed NumPy workload",
    "optimizer": "Whole runs",
}
# What explains numbers, below the tables of a suite.
NOTES = {
    "growth": """\
LAPACK's work is a part of ours where parts have several coordinates: the rest is
kernels, random numbers and products. GPyTorch draws the sum only, from a matrix of B
rows where a part has B + N; with many observations this is less work than all parts.
With 300 rows per part a draw takes 4 ms, and the random numbers and products of ten
draws add 15 to 25 %. Parts of one coordinate are drawn in linear time without any
factor, so that every draw costs nearly the same.
""",
}
HEAD = """\
# Speed

How fast is sumbo, compared with other programs? This page lists ratios of CPU times.
Each ratio is one of medians, from one run in which both programs take turns with one
BLAS thread each. Absolute times depend on the machine and on its load; ratios hardly
do.

The column "asked" says what we want to reach, and in which direction a ratio is read:

- With **≥**, it is the rival's time divided by ours: how many times faster sumbo is.
- With **≤**, it is our time divided by the rival's.

A row says so if it is about wall time. "MISSED" marks a ratio that is not reached.
`make bench` measures again and writes this page. `make bench-rivals` adds whole runs
against Optuna and BoTorch, which take long.
"""


def machine() -> str:
    """Return the processor and the versions that a time depends on, in a sentence."""
    blas = {
        f"{pool['internal_api']} {pool['version']} ({pool.get('architecture', '?')})"
        for pool in threadpool_info()
        if pool["user_api"] == "blas"
    }
    return (
        f"{_processor()}, {os.cpu_count()} cores (load average "
        f"{os.getloadavg()[0]:.1f}); Python {platform.python_version()}, "
        f"NumPy {version('numpy')}, SciPy {scipy.__version__}, "
        f"{' and '.join(sorted(blas))}"
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if "model name" in line]
    return names[0] if names else platform.machine()


def stored() -> dict[str, Any]:
    """Return what was measured so far: suite → machine, date, rows and curves."""
    if not RESULTS.exists():
        return {}
    return json.loads(RESULTS.read_text(encoding="utf-8"))


def store(
    suite: str,
    rows: Sequence[Row],
    curves: Sequence[Growth] = (),
    *,
    merge: bool = False,
) -> None:
    """Keep a suite's rows and write the page anew; ``merge`` keeps its other rows."""
    results = stored()
    kept = [Row(*row) for row in results.get(suite, {}).get("rows", [])]
    new = {(row.what, row.rival) for row in rows}
    kept = [row for row in kept if merge and (row.what, row.rival) not in new]
    results[suite] = {
        "date": dt.datetime.now(tz=dt.UTC).date().isoformat(),
        "machine": machine(),
        "rows": [*kept, *rows],
        "curves": curves,
    }
    text = json.dumps(results, indent=1, ensure_ascii=False)
    RESULTS.write_text(text + "\n", encoding="utf-8")
    PAGE.write_text(page(results), encoding="utf-8")


def page(results: dict[str, Any]) -> str:
    """Return the page in Markdown."""
    order = [*TITLES, *sorted(set(results) - set(TITLES))]
    text = [HEAD]
    for suite in order:
        if suite not in results:
            continue
        entry = results[suite]
        text += [f"## {TITLES.get(suite, suite)}", ""]
        text += [f"{entry['date']}, {entry['machine']}.", ""]
        rows = [Row(*row) for row in entry["rows"]]
        if rows:
            header = ("what", "rival", "ratio", "asked", "our time")
            text += _table(header, [row.cells for row in rows])
        curves = [Growth(*curve) for curve in entry["curves"]]
        if curves:
            header = ("growth of", "varied", "milliseconds", "exponent", "asked")
            text += _table(header, [curve.cells for curve in curves])
        if suite in NOTES:
            text += [NOTES[suite]]
    return "\n".join(text).rstrip() + "\n"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [header, ["---"] * len(header), *rows]
    return [*(f"| {' | '.join(line)} |" for line in lines), ""]
