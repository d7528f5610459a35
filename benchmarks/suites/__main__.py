"""Keep finished runs as rows that can lie in the repository.

    python -m benchmarks.suites keep runs/bbob-noisy results/suites/bbob-noisy

Rows of a problem with noise hold the values without noise of the points that were
evaluated, as COCO judges them.
"""

import argparse
import importlib
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sumbo.problems import get
from sumbo.study.blocks import Row, write_block
from sumbo.study.rows import BLOCK, FOLDER, read_rows, row_of
from sumbo.study.storage import Record, read_designs, read_records, write_design


def keep(folder: Path, out: Path) -> list[Path]:
    """Return the new blocks: rows of the records in ``folder`` that ``out`` lacks."""
    for design in read_designs(folder):
        for module in design.modules:
            importlib.import_module(module)
        write_design(out, design)
    there = {row.cell.id for row in read_rows(out)}
    blocks: dict[tuple[str, int], list[Row]] = {}
    for record in read_records(folder):
        cell = record.cell
        if cell.id not in there:
            key = cell.method, cell.replicate // BLOCK
            blocks.setdefault(key, []).append(row_of(judged(record)))
    return [write_block(out / FOLDER, rows) for _, rows in sorted(blocks.items())]


def judged(record: Record) -> Record:
    """Return the record with values without noise, where the problem can tell them."""
    problem = get(record.cell.problem, seed=record.problem_seed)
    truth = getattr(problem, "truth", None)
    if problem.noise == 0 or truth is None:
        return record
    known = {"best_known": problem.best_known, "exact": problem.exact}
    return replace(record, y=truth(record.x), **known)


def main(words: Sequence[str] | None = None) -> None:
    """Keep the runs of a folder."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.suites")
    parser.add_argument("command", choices=["keep"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    given = parser.parse_args(sys.argv[1:] if words is None else words)
    for path in keep(given.folder, given.out):
        print(path)


if __name__ == "__main__":
    main()
