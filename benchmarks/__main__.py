"""Measure ratios in one run: ``python -m benchmarks`` (`make bench`).

Prints a table for every suite and writes docs/performance.md. ``python -m benchmarks
factors likelihood`` measures some of them, ``--list`` names all. A suite is a module
here with ``rows()``, and maybe ``curves()``; see ``timing.Row``. One without them is
run by its ``main()``, and keeps its tables to itself.
"""

import importlib
import importlib.util
import sys

from benchmarks import report
from benchmarks.timing import Row, show_curves, show_rows

# Measured by default; a suite that is not there is left out.
SUITES = (
    "sampling",
    "factors",
    "growth",
    "structured",
    "orthogonal",
    "choices",
    "large",
    "asks",
    "likelihood",
    "comparators",
    "paper",
    "cosmology",
    "study",
)
# Minutes to hours, each by its name.
LONG = ("optimizer", "problems", "recovery")


def run(name: str) -> None:
    """Measure one suite, print it, and keep what it returns."""
    module = importlib.import_module(f"benchmarks.{name}")
    if not hasattr(module, "rows"):
        module.main()
        return
    rows = []
    for row in module.rows():
        rows.append(Row(*row))
        print(f"  {rows[-1].what} / {rows[-1].rival}: {rows[-1].measured}", flush=True)
        if name in LONG:  # a later row may take hours
            report.store(name, rows[-1:], merge=True)
    curves = list(module.curves()) if hasattr(module, "curves") else []
    if not rows and not curves:
        print("  nothing can be measured here", flush=True)
        return
    show_rows(name, rows)
    if curves:
        show_curves("growth", curves)
    if name not in LONG:
        report.store(name, rows, curves)


def main() -> None:
    """Run the suites that are named, or all quick ones that are there."""
    chosen = sys.argv[1:] or [
        name for name in SUITES if importlib.util.find_spec(f"benchmarks.{name}")
    ]
    if chosen == ["--list"]:
        print(*SUITES, *LONG, sep="\n")
        return
    del sys.argv[1:]  # the suites read their own arguments
    for name in chosen:
        print(f"\n== {name} ==", flush=True)
        run(name)


if __name__ == "__main__":
    main()
