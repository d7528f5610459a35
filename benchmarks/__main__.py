"""Run all benchmarks, one after the other: ``python -m benchmarks`` (`make bench`).

``python -m benchmarks sampling problems`` runs some of them.
"""

import importlib
import sys

SUITES = (
    "sampling",
    "optimizer",
    "problems",
    "comparators_qff_dumbo",
    "comparators_max_struct",
    "study",
)


def main() -> None:
    """Run the suites that are named, or all."""
    chosen = sys.argv[1:] or SUITES
    del sys.argv[1:]  # the suites read their own arguments
    for name in chosen:
        print(f"\n== {name} ==", flush=True)
        importlib.import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
