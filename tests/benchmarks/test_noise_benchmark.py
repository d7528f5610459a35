"""The benchmark under noise: tables made of its rows."""

import csv

from benchmarks.noise import FIELDS, ranks, report


def write(path, rows):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        for method, function, replicate, observed, recommended in rows:
            cell = (
                method,
                function,
                0.2,
                replicate,
                observed,
                recommended,
                -0.3,
                1.7,
            )
            writer.writerow(dict(zip(FIELDS, cell, strict=True)))
    return path


def cells(table):
    return [list(column.cells) for column in table.columns]


ROWS = [
    ("sumbo", "camel", 3, 0.41, 0.17),
    ("optuna-gp", "camel", 3, 0.26, 0.26),
    ("sumbo", "trid", 3, 0.35, 0.35),
    ("optuna-gp", "trid", 3, -0.11, -0.11),
    ("sumbo", "trid", 4, 0.08, 0.05),  # no pair
]


def test_ranks_compare_runs_that_all_methods_made(tmp_path):
    shown = cells(ranks(write(tmp_path / "rows.csv", ROWS)))
    # Ranks 1 and 2.5 of the recommendation, 3 and 2.5 of the best observed value.
    assert shown == [
        ["20%", "all"],
        ["2", "2"],
        ["1.75", "1.75"],
        ["1.50", "1.50"],
        ["2.75", "2.75"],
    ]


def test_the_report_counts_where_the_recommendation_is_better(tmp_path):
    shown = cells(report(write(tmp_path / "rows.csv", ROWS)))
    assert shown[1] == ["sumbo", "optuna-gp"]
    assert [column[0] for column in shown[5:]] == ["2", "1", "0"]
