"""Records: complete or absent, never overwritten, never taken for another's."""

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import study_fakes as fakes
from sumbo.errors import StudyError
from sumbo.study import status, storage
from sumbo.study.storage import (
    FailedCell,
    decode,
    encode,
    filename,
    finished,
    forget_failure,
    read_failures,
    read_records,
    remove_leftovers,
    write_atomically,
    write_design,
    write_failure,
    write_record,
)


@pytest.fixture
def folder(tmp_path):
    fakes.write_study(tmp_path, fakes.design())
    return tmp_path


def any_record(folder):
    return sorted((folder / "records").iterdir())[7]


def test_a_record_survives_the_disk_bit_for_bit(tmp_path):
    cell = list(fakes.design().cells())[4]
    record = fakes.fake_record(cell)
    again = decode(encode(record).encode(), tmp_path / filename(cell))
    assert again.cell == cell
    for name, value in vars(record).items():
        np.testing.assert_array_equal(getattr(again, name), value, strict=True)


def test_a_record_is_plain_json(folder):
    values = json.loads(any_record(folder).read_text())
    assert {"cell", "x", "y", "fit_cpu_s", "ask_cpu_s", "eval_s"} <= set(values)
    assert {"versions", "host", "revision", "seed"} <= set(values)


def test_points_can_be_left_on_the_disk(folder):
    record = next(read_records(folder, points=False))
    assert record.x is None
    assert record.y.shape == (11,)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.99])
def test_a_truncated_record_is_named_and_not_counted(folder, share):
    path = any_record(folder)
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    for read in (finished, status, lambda f: list(read_records(f))):
        with pytest.raises(StudyError, match=f"{path.name} is truncated"):
            read(folder)
    assert path.read_bytes() == data[: int(share * len(data))]


def test_an_edited_record_is_named(folder):
    path = any_record(folder)
    path.write_text(path.read_text().replace('"host": "test"', '"host": "toast"'))
    with pytest.raises(StudyError, match=f"{path.name} was changed"):
        finished(folder)


def test_a_record_of_another_version_is_named(folder, monkeypatch):
    monkeypatch.setattr("sumbo.study.storage.FORMAT", 2)
    with pytest.raises(StudyError, match="has the format 1, this version of sumbo"):
        finished(folder)


@pytest.mark.parametrize("number", [0, -1, True, 1.0, "1", None])
def test_formats_that_never_existed_are_refused(folder, number):
    path = any_record(folder)
    cell = next(c for c in fakes.design().cells() if filename(c) == path.name)
    values = json.loads(encode(fakes.fake_record(cell))) | {"format": number}
    del values["digest"]
    path.write_text(storage._sealed(values))
    with pytest.raises(StudyError, match=f"{path.name} has the format"):
        finished(folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y": [0.3] * 10}, r"y has shape \(10,\), not \(11,\)"),
        ({"y": [[0.3]] * 11}, r"y has shape \(11, 1\)"),
        ({"x": [[0.3]] * 11}, "x has shape"),
        ({"ask_cpu_s": [0.3] * 8}, "ask_cpu_s has shape"),
        ({"eval_s": []}, "eval_s has shape"),
        ({"dim": -2}, "dim is -2"),
        ({"best_known": "low"}, "best_known is 'low'"),
        ({"seed": None}, "seed is None"),
        ({"exact": 1}, "exact is 1"),
        ({"versions": {"numpy": 2}}, "2 stands where a text"),
        ({"host": None}, "None stands where a text"),
        ({"versions": 2}, "iterable"),
        ({"y": "none"}, "could not convert"),
        ({"stray": 1}, "stray"),
        ({"y": [[0.3], 0.2]}, ""),
    ],
)
def test_a_record_that_contradicts_itself_is_named(folder, changes, message):
    path = next(p for p in sorted(folder.glob("records/*.json")) if "-b1-" in p.name)
    cell = next(c for c in fakes.design().cells() if filename(c) == path.name)
    values = json.loads(encode(fakes.fake_record(cell))) | changes
    del values["digest"]
    path.write_text(storage._sealed(values))
    with pytest.raises(
        StudyError, match=f"{path.name} is not a consistent .*{message}"
    ):
        list(read_records(folder))


def test_a_record_of_another_study_is_named(folder):
    other = next(fakes.design(seed=72).cells())
    path = write_record(folder, other, encode(fakes.fake_record(other)))
    with pytest.raises(StudyError, match=f"{path.name} belongs to another study"):
        finished(folder)


def test_a_renamed_record_is_named(folder):
    path = any_record(folder)
    wrong = path.rename(path.with_name("levy5-ats-b1-r009-0123456789abcdef.json"))
    with pytest.raises(StudyError, match=f"{wrong.name} holds the cell"):
        finished(folder)


def test_a_foreign_file_is_named(folder):
    (folder / "records" / "notes.txt").write_text("remember the milk")
    with pytest.raises(StudyError, match=r"notes\.txt is truncated or no file of"):
        finished(folder)


def test_hidden_and_unfinished_files_are_ignored(folder):
    (folder / "records" / ".DS_Store").write_text("?")
    (folder / "records" / ".half.json.123.tmp").write_text('{\n"format"')
    assert len(finished(folder)) == 30


def test_a_record_is_never_overwritten(folder):
    path = any_record(folder)
    cell = next(c for c in fakes.design().cells() if filename(c) == path.name)
    before = path.read_bytes()
    write_record(folder, cell, "something else")
    assert path.read_bytes() == before


def test_a_full_disk_leaves_the_old_file_and_no_scraps(tmp_path):
    path = tmp_path / "records" / "a.json"
    write_atomically(path, "first")
    with (
        fakes.largest_file(1000),
        pytest.raises(StudyError, match=r"a\.json cannot be"),
    ):
        write_atomically(path, "second" * 1000)
    assert path.read_text() == "first"
    assert [p.name for p in path.parent.iterdir()] == ["a.json"]


def test_a_folder_that_is_a_file_is_an_error(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(StudyError, match="cannot be written: Not a directory"):
        write_design(tmp_path / "out", fakes.design())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 72}, "its seed is 71 instead of 72"),
        ({"acquisitions": 8}, "its acquisitions is 7 instead of 8"),
        ({"name": "other"}, "its name is 'toy' instead of 'other'"),
        ({"settings": {"alcb2": {"beta": 2.0}}}, "its settings of alcb2 are .*1.7"),
    ],
)
def test_a_folder_of_another_study_is_refused(folder, change, message):
    with pytest.raises(StudyError, match=message):
        write_design(folder, fakes.design(**change))


def test_a_study_may_grow(folder):
    larger = fakes.design(replicates=4, problems=("ackley2", "levy5", "push"))
    write_design(folder, larger)
    assert status(folder).left == 3 * 5 * 4 - 30


def test_an_empty_folder_holds_no_study(tmp_path):
    with pytest.raises(StudyError, match="holds no study"):
        status(tmp_path)


def test_failures_are_kept_until_a_retry_succeeds(tmp_path):
    design = fakes.design()
    write_design(tmp_path, design)
    cell = list(design.cells())[2]
    failure = FailedCell(cell=cell, reason="why", traceback="where\n", host="here")
    write_failure(tmp_path, failure)
    assert read_failures(tmp_path) == [failure]
    forget_failure(tmp_path, cell)
    assert read_failures(tmp_path) == []


def test_old_scraps_are_removed_and_fresh_ones_are_not(folder):
    old, new = (folder / "records" / f".{n}.json.1.tmp" for n in ("old", "new"))
    for path in (old, new):
        path.write_text("{")
    os.utime(old, (1.0, 1.0))
    remove_leftovers(folder)
    assert not old.exists()
    assert new.exists()


def test_a_number_that_is_not_finite_is_no_result():
    cell = next(fakes.design().cells())
    record = fakes.fake_record(cell)
    y = np.append(record.y[:-1], np.nan)
    with pytest.raises(StudyError, match="not finite"):
        encode(replace(record, y=y))


def test_a_file_that_waits_under_a_temporary_name_is_not_written(tmp_path, monkeypatch):
    # Somebody else guessed the name and put a link there.
    monkeypatch.setattr(storage.secrets, "token_hex", lambda n: "0badf00d" * (n // 4))
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / ".x.json.0badf00d0badf00d.tmp").symlink_to(victim)
    with pytest.raises(StudyError, match="cannot be written"):
        write_atomically(tmp_path / "x.json", "new")
    assert victim.read_text() == "precious"


def test_temporary_names_cannot_be_foreseen(tmp_path, monkeypatch):
    seen = []
    rename = Path.replace
    monkeypatch.setattr(
        Path, "replace", lambda a, b: (seen.append(a.name), rename(a, b))[1]
    )
    for _ in range(3):
        write_atomically(tmp_path / "x.json", "new")
    assert len(set(seen)) == 3
