"""Rows in a repository: exported, read back, checked, and continued from."""

import hashlib
import shutil
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from typer.testing import CliRunner

import study_fakes as fakes
from sumbo.cli.app import app
from sumbo.errors import StudyError
from sumbo.study import export_rows, load, run, verdicts
from sumbo.study.blocks import read_block, write_block
from sumbo.study.rows import read_rows, row_of, settled
from sumbo.study.storage import encode, read_designs, write_design, write_record

DESIGN = fakes.design(replicates=13)


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    folder = tmp_path_factory.mktemp("records")
    fakes.write_study(folder, DESIGN)
    return folder


@pytest.fixture(scope="module")
def exported(records, tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported") / "rows-of-toy"
    export_rows(records, folder)
    return folder


@pytest.fixture
def rows(exported, tmp_path):
    """A copy that a test may damage."""
    return Path(shutil.copytree(exported, tmp_path / "copy"))


def blocks(folder):
    return {path.name: path.read_bytes() for path in (folder / "rows").iterdir()}


def renamed(path):
    """Give an edited block the name that fits its bytes, as a forger would."""
    digest = hashlib.blake2b(path.read_bytes(), digest_size=8).hexdigest()
    return path.rename(path.with_stem(f"{path.stem.rpartition('-')[0]}-{digest}"))


def edit(path, change):
    """Rewrite a block with one column changed by an SQL expression."""
    with duckdb.connect() as connection:
        query = f"SELECT * REPLACE ({change}) FROM read_parquet('{path}')"
        connection.sql(query).write_parquet(f"{path}.new", compression="zstd")
    Path(f"{path}.new").replace(path)
    return renamed(path)


def test_rows_give_the_results_of_the_records(records, exported):
    ours, theirs = load(records), load(exported)
    assert set(theirs.runs) == set(ours.runs)
    for key, runs in ours.runs.items():
        found = theirs.runs[key]
        assert_array_equal(found.best, runs.best)
        assert_array_equal(found.replicates, runs.replicates)
        assert_allclose(found.fit_cpu_s, runs.fit_cpu_s, atol=5.1e-5)
        assert_allclose(found.ask_cpu_s, runs.ask_cpu_s, atol=5.1e-5)
        assert (found.dim, found.best_known, found.exact) == (
            *(runs.dim, runs.best_known),
            runs.exact,
        )
    assert theirs.versions == ours.versions
    assert theirs.revisions == ours.revisions
    assert theirs.hosts == {}
    assert (theirs.cells, theirs.done) == (ours.cells, ours.done)
    assert verdicts(theirs) == verdicts(ours)


def test_a_row_keeps_the_best_value_after_every_ask():
    # A batch size of 3 with 7 acquisitions: asks of 3, 3 and 1.
    cell = next(c for c in DESIGN.all_cells() if c.batch == 3)
    record = replace(
        fakes.fake_record(cell),
        y=np.array([7.5, 6.5, 8.0, 9.0, 6.75, 5.5, 6.0, 5.25, 5.75, 4.5, 3.25]),
    )
    row = row_of(record)
    assert_array_equal(row.best, [6.5, 5.5, 4.5, 3.25])
    assert_array_equal(row.curve, [6.5] * 3 + [5.5] * 3 + [4.5, 3.25])


def test_more_replicates_add_parts_and_change_none(records, tmp_path):
    block = tmp_path / "block"
    write_design(block, DESIGN)
    for cell in DESIGN.all_cells():
        if cell.replicate < 6:
            write_record(block, cell, encode(fakes.fake_record(cell)))
    out = tmp_path / "out"
    first = export_rows(block, out)
    before = blocks(out)
    assert {p.name for p in first} == set(before)
    assert export_rows(block, out) == ()
    later = export_rows(records, out)
    after = blocks(out)
    assert before.items() <= after.items()
    assert {p.name for p in later} == set(after) - set(before)
    # Replicates 6 to 9 and 10 to 12, of three methods.
    spans = sorted(p.name.rsplit("-", 1)[0] for p in later)
    assert spans == sorted(
        f"{m}-{s}" for m in ("ts", "ats", "alcb2") for s in ("r006-009", "r010-012")
    )
    assert settled(out) == settled(records)


def test_rows_are_exported_from_rows(exported, tmp_path):
    export_rows(exported, tmp_path / "again")
    assert blocks(tmp_path / "again") == blocks(exported)


def test_export_is_the_same_twice(records, exported, tmp_path):
    export_rows(records, tmp_path / "again")
    assert blocks(tmp_path / "again") == blocks(exported)


def test_damaged_part_is_refused(rows):
    path = next((rows / "rows").iterdir())
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(StudyError, match="damaged or was changed"):
        load(rows)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("'levy5' AS problem", "contradicts itself"),
        ("list_reverse(best) AS best", "not finite and falling"),
        ("best[2:] AS best", "contradicts itself"),
        ("[0] AS ask_cpu_us", "contradicts itself"),
        ("replicate::BIGINT AS replicate", r"other columns \(replicate\)"),
    ],
)
def test_part_that_was_edited_is_refused(rows, change, message):
    path = min((rows / "rows").glob("ats-*"))
    path = edit(path, change)
    with pytest.raises(StudyError, match=message):
        load(rows)


def test_same_run_in_two_parts_is_refused(rows):
    path = min((rows / "rows").iterdir())
    some = list(read_block(path))[:2]
    again = write_block(rows / "rows", some)
    assert again != path
    with pytest.raises(StudyError, match="hold the same run"):
        list(read_rows(rows))


def test_same_run_as_record_and_as_row_is_refused(rows):
    cell = next(DESIGN.all_cells())
    write_record(rows, cell, encode(fakes.fake_record(cell)))
    with pytest.raises(StudyError, match="as a record and as a row"):
        load(rows)


def test_rows_of_another_study_are_refused(rows):
    for path in (rows / "designs").iterdir():
        path.unlink()
    write_design(rows, replace(DESIGN, seed=72))
    with pytest.raises(StudyError, match="belongs to another study"):
        load(rows)


def test_contradictory_designs_are_refused(rows, tmp_path):
    write_design(tmp_path / "other", replace(DESIGN, win_share=(0.4, 0.6)))
    for path in (tmp_path / "other" / "designs").iterdir():
        shutil.copy(path, rows / "designs")
    with pytest.raises(StudyError, match="different studies: its win_share"):
        load(rows)


def test_other_result_of_a_run_is_not_hidden(exported, tmp_path):
    write_design(tmp_path, DESIGN)
    cell = next(DESIGN.all_cells())
    record = fakes.fake_record(cell)
    write_record(tmp_path, cell, encode(replace(record, y=record.y + 1e-9)))
    with pytest.raises(StudyError, match="another result of"):
        export_rows(tmp_path, exported)


def test_interrupted_study_goes_on_from_rows(exported, tmp_path):
    # One more replicate than the rows hold, on another machine.
    grown = replace(DESIGN, replicates=14)
    summary = run(
        grown,
        tmp_path / "new",
        jobs=1,
        progress=False,
        done=[exported],
        runner=fakes.RUNNER,
    )
    assert (summary.before, summary.done) == (130, 10)
    before = blocks(exported)
    together = Path(shutil.copytree(exported, tmp_path / "together"))
    export_rows(tmp_path / "new", together)
    assert before.items() <= blocks(together).items()
    results = load(together)
    assert results.done == results.cells == 140
    assert len(read_designs(together)) == 2


def test_done_of_another_study_is_refused(exported, tmp_path):
    other = replace(DESIGN, seed=3)
    with pytest.raises(StudyError, match="holds another study: its seed"):
        run(other, tmp_path, jobs=1, progress=False, done=[exported])


def test_command_line_exports_rows(records, tmp_path):
    out = tmp_path / "rows"
    done = CliRunner().invoke(
        app, ["study", "export", str(records), "--rows", str(out)]
    )
    assert done.exit_code == 0, done.output
    assert len(blocks(out)) == 6
    again = CliRunner().invoke(
        app, ["study", "export", str(records), "--rows", str(out)]
    )
    assert "holds all runs already" in again.output.replace("\n", " ")
