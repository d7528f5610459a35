"""The engine: every cell gets its result, whatever the others and the outside do."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import study_fakes as fakes
import sumbo
from sumbo.errors import ArgumentError, StudyError
from sumbo.study import load_design, run, select, status
from sumbo.study.guard import Task, dismiss_children, guarded
from sumbo.study.storage import (
    FailedCell,
    encode,
    finished,
    read_records,
    write_design,
    write_failure,
)

TESTS = Path(__file__).parents[1]
SOURCES = Path(sumbo.__file__).parents[1]  # those under test, wherever they lie
SMOKE = TESTS.parent / "studies" / "smoke.toml"


def go(study, folder, **options):
    options = {"jobs": 1, "progress": False, "runner": fakes.RUNNER} | options
    return run(study, folder, **options)


def undisturbed(study, folder, keep=lambda cell: True):
    fakes.write_study(folder, study, keep)
    return fakes.results_of(folder)


def files(folder):
    return {p: p.stat().st_mtime_ns for p in folder.rglob("*") if p.is_file()}


# Two well-behaved methods among others; one run of it serves several tests.
MIXED = fakes.design(
    methods={1: ("ts", "raises", "prints"), 3: ("exits", "ats")}, problems=("levy5",)
)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mixed")
    return folder, go(select(MIXED, replicates="0:2"), folder, jobs=2)


def test_two_processes_give_the_same_records_as_none(mixed, tmp_path):
    folder, summary = mixed
    good = undisturbed(
        MIXED, tmp_path, lambda c: c.replicate < 2 and c.method in "ts ats prints"
    )
    assert (summary.cells, summary.done, summary.failed) == (10, 6, 4)
    assert fakes.results_of(folder) == good


def test_a_cell_that_raises_or_exits_costs_only_itself(mixed):
    reasons = {f.cell.name: f for f in status(mixed[0]).failures}
    assert len(reasons) == 4
    raised, exited = reasons["levy5-raises-b1-r001"], reasons["levy5-exits-b3-r000"]
    assert raised.reason == "ZeroDivisionError: the method divides by zero"
    assert "study_fakes.py" in raised.traceback
    assert exited.reason == "ended its process with exit code 3"


def test_a_second_run_does_no_work(mixed):
    folder, _ = mixed
    before = files(folder)
    summary = go(select(MIXED, replicates="0:2"), folder)
    assert (summary.done, summary.failed, summary.before) == (0, 0, 10)
    assert files(folder) == before


def test_the_status_counts_what_was_not_selected(mixed):
    found = status(mixed[0])
    assert (found.cells, found.done, len(found.failures), found.left) == (15, 6, 4, 5)


def test_parts_of_a_study_come_together(tmp_path):
    study = fakes.design()
    fakes.write_study(tmp_path / "a", study, keep=lambda cell: cell.replicate < 2)
    summary = go(
        select(study, methods=["ts", "alcb2"], replicates="1:"), tmp_path / "a"
    )
    assert (summary.done, summary.before) == (6, 6)
    expected = undisturbed(
        study,
        tmp_path / "b",
        lambda cell: cell.replicate < 2 or cell.method in {"ts", "alcb2"},
    )
    assert fakes.results_of(tmp_path / "a") == expected


def test_failed_cells_are_tried_again_on_request(tmp_path):
    study = fakes.design(methods={1: ("ts",)}, replicates=1)
    write_design(tmp_path, study)
    for cell in study.cells():
        write_failure(
            tmp_path, FailedCell(cell=cell, reason="was", traceback="", host="here")
        )
    assert go(study, tmp_path).before == 2
    assert go(study, tmp_path, retry_failed=True).done == 2
    assert status(tmp_path).failures == ()


def test_a_full_disk_stops_the_study_and_is_no_failure_of_the_cell(tmp_path):
    study = fakes.design(replicates=1)
    write_design(tmp_path, study)
    with fakes.largest_file(900), pytest.raises(StudyError, match="cannot be written"):
        go(study, tmp_path)
    assert finished(tmp_path) == set()
    assert status(tmp_path).failures == ()


def test_a_truncated_record_stops_the_run_and_stays(tmp_path):
    study = fakes.design(replicates=1)
    fakes.write_study(tmp_path, study, keep=lambda cell: cell.batch == 1)
    path = sorted((tmp_path / "records").iterdir())[2]
    path.write_text(path.read_text()[:400])
    with pytest.raises(StudyError, match=f"{path.name} is truncated"):
        go(study, tmp_path)
    assert len(path.read_text()) == 400


def test_optional_problems_are_skipped_with_a_reason(tmp_path, monkeypatch):
    monkeypatch.delenv("COSMOSIS_STANDARD_LIBRARY", raising=False)
    problems, methods = ("levy5", "kids-1000"), {1: ("ts",)}
    study = fakes.design(
        problems=problems, methods=methods, optional=("kids-1000",), replicates=1
    )
    fakes.write_study(tmp_path, study, keep=lambda cell: cell.problem == "levy5")
    summary = go(study, tmp_path)
    assert summary.cells == summary.before == 1
    assert [problem for problem, _ in summary.skipped] == ["kids-1000"]
    assert summary.skipped[0][1]
    assert status(tmp_path).left == 1
    with pytest.raises(StudyError, match="kids-1000 cannot run here"):
        go(select(study, problems="kids-1000"), tmp_path)


@pytest.mark.parametrize("options", [{"jobs": 0}, {"timeout": 0.0}])
def test_options_out_of_range_are_named(tmp_path, options):
    with pytest.raises(ArgumentError, match=f"{next(iter(options))}=0"):
        go(fakes.design(), tmp_path, **options)


def test_a_scheduler_that_does_not_answer_is_named(tmp_path):
    dask = pytest.importorskip("dask")
    pytest.importorskip("distributed")
    impatient = dask.config.set({"distributed.comm.timeouts.connect": "1s"})
    with impatient, pytest.raises(StudyError, match=r"127\.0\.0\.1:1' does not answer"):
        go(fakes.design(), tmp_path, scheduler="tcp://127.0.0.1:1")


def test_failed_cells_are_tried_again_and_the_reasons_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("SUMBO_TEST_MARKER", str(tmp_path / "marker"))
    study = fakes.design(
        methods={1: ("shaky", "raises")}, problems=("levy5",), replicates=1
    )
    summary = go(study, tmp_path / "a", retries=1)
    assert (summary.done, summary.failed) == (1, 1)
    (record,) = read_records(tmp_path / "a")
    assert record.failures == ("OSError: the licence server is busy",)
    (failure,) = status(tmp_path / "a").failures
    assert failure.failures == (failure.reason,)
    with pytest.raises(ArgumentError, match="retries=-1"):
        go(study, tmp_path / "a", retries=-1)


# ------------------------------------------------------------------ slow tests
DRIVER = """
import sys
import study_fakes as fakes
from sumbo.study import run
if __name__ == "__main__":
    study = fakes.design(methods={1: ("ts", "slow"), 3: ("slow",)}, replicates=12)
    run(study, sys.argv[1], jobs=2, progress=False, runner=fakes.RUNNER)
"""


def start_driver(script, folder):
    env = os.environ | {"PYTHONPATH": f"{TESTS}{os.pathsep}{SOURCES}"}
    command = [sys.executable, str(script), str(folder)]
    return subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True)


def family(pid):
    """The process ids of a driver, of its workers and of their children."""
    table = subprocess.run(
        ["ps", "-ww", "-eo", "pid=,ppid=,args="],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    rows = [line.split(None, 2) for line in table.splitlines()]
    workers = [int(p) for p, pp, a in rows if int(pp) == pid and "popen_loky" in a]
    children = [int(p) for p, pp, _ in rows if int(pp) in workers]
    return {"driver": [pid], "worker": workers, "child": children}


def wait_until(condition, seconds=90.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.05)


@pytest.mark.slow
def test_a_cell_that_hangs_or_crashes_costs_only_itself(tmp_path):
    mischief = ("hangs", "hangs-in-c", "leaves", "crashes")
    study = fakes.design(methods={1: ("ts", *mischief, "ats")}, replicates=1)
    summary = go(study, tmp_path, timeout=2.0, jobs=2)
    assert (summary.done, summary.failed) == (4, 8)
    reasons = {f.cell.method: f for f in status(tmp_path).failures}
    for method in ("hangs", "hangs-in-c"):
        assert reasons[method].reason == "ran longer than 2.0 s"
        assert "study_fakes.py" in reasons[method].traceback
    assert reasons["leaves"].reason == "SystemExit: 5"
    assert reasons["crashes"].reason == "its process was ended by SIGSEGV"


@pytest.mark.slow
def test_a_cell_killed_from_outside_is_run_again(tmp_path, monkeypatch):
    study = fakes.design(methods={1: ("unlucky",)}, problems=("levy5",), replicates=1)
    monkeypatch.setenv("SUMBO_TEST_MARKER", str(tmp_path / "marker"))
    assert go(study, tmp_path / "a").done == 1
    assert (tmp_path / "marker").exists()


IDLE = """
import sys
import study_fakes as fakes
from sumbo.study import run
if __name__ == "__main__":
    one = {"problems": ("levy5",), "replicates": 1}
    study = fakes.design(methods={1: ("hangs",)}, **one)
    run(study, sys.argv[1], jobs=2, progress=False, runner=fakes.RUNNER)
"""


@pytest.mark.slow
def test_a_worker_without_a_cell_ends_with_its_driver(tmp_path):
    script = tmp_path / "driver.py"
    script.write_text(IDLE)
    driver = start_driver(script, tmp_path / "a")
    wait_until(lambda: len(family(driver.pid)["worker"]) == 2)
    wait_until(lambda: family(driver.pid)["child"])
    pids = family(driver.pid)
    driver.kill()
    # Not `communicate`: that waits for the workers, however long they live. Without a
    # driver, loky ends a worker that has nothing to do after five minutes.
    driver.wait()
    try:
        wait_until(lambda: not any(map(alive, (*pids["worker"], *pids["child"]))))
    finally:
        driver.stderr.close()
        for pid in filter(alive, pids["worker"]):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
def test_ten_kills_change_nothing(tmp_path):
    study = fakes.design(methods={1: ("ts", "slow"), 3: ("slow",)}, replicates=12)
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    folder, rng = tmp_path / "a", random.Random(24)
    driver = start_driver(script, folder)
    for who in ("driver", "worker", "child", "driver", "worker") * 2:
        goal = len(list(folder.glob("records/*.json"))) + rng.randint(1, 3)
        wait_until(lambda goal=goal: len(list(folder.glob("records/*.json"))) >= goal)
        wait_until(lambda who=who, pid=driver.pid: family(pid)[who])
        time.sleep(rng.uniform(0.0, 0.3))
        assert driver.poll() is None, "the study finished before the last kill"
        pids = family(driver.pid)
        os.kill(rng.choice(pids[who] or pids["worker"]), signal.SIGKILL)
        if who == "driver":
            driver.communicate()
            # Nothing of it survives: workers notice, and so do their children.
            below = (*pids["worker"], *pids["child"])
            wait_until(lambda below=below: not any(map(alive, below)))
            driver = start_driver(script, folder)
    driver.communicate()
    assert driver.returncode == 0
    assert fakes.results_of(folder) == undisturbed(study, tmp_path / "b")
    assert status(folder).failures == ()


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(") ")[1][0] != "Z"
    except OSError:
        return False


@pytest.fixture
def cluster(tmp_path):
    """A Dask scheduler and two workers, each a process of its own."""
    pytest.importorskip("distributed")
    env = os.environ | {"PYTHONPATH": f"{TESTS}{os.pathsep}{SOURCES}"}
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0"]
    file = tmp_path / "scheduler.json"
    dask += ["--no-dashboard", "--host", "127.0.0.1", "--scheduler-file", str(file)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": env}
    processes = [subprocess.Popen(dask, **quiet)]
    try:
        wait_until(file.exists)
        wait_until(lambda: file.read_text().strip().endswith("}"))
        address = json.loads(file.read_text())["address"]
        worker = [sys.executable, "-m", "distributed.cli.dask_worker", address]
        worker += ["--nthreads", "1", "--no-nanny", "--no-dashboard"]
        processes += [subprocess.Popen(worker, **quiet) for _ in range(2)]
        yield address, processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


@pytest.mark.slow
def test_a_cluster_that_loses_a_worker_gives_the_same_records(tmp_path, cluster):
    address, (_, first, _) = cluster
    script = tmp_path / "driver.py"
    script.write_text(DRIVER.replace("jobs=2", f"scheduler={address!r}"))
    driver = start_driver(script, tmp_path / "a")
    wait_until(lambda: len(list(tmp_path.glob("a/records/*.json"))) >= 8)
    first.kill()
    driver.communicate()
    assert driver.returncode == 0
    study = fakes.design(methods={1: ("ts", "slow"), 3: ("slow",)}, replicates=12)
    assert fakes.results_of(tmp_path / "a") == undisturbed(study, tmp_path / "b")


@pytest.mark.slow
def test_a_cluster_that_is_lost_is_named_and_finished_cells_are_kept(tmp_path, cluster):
    address, (scheduler, *_) = cluster
    script = tmp_path / "driver.py"
    script.write_text(DRIVER.replace("jobs=2", f"scheduler={address!r}"))
    driver = start_driver(script, tmp_path / "a")
    wait_until(lambda: len(list(tmp_path.glob("a/records/*.json"))) >= 4)
    scheduler.kill()
    errors = driver.communicate()[1]
    assert driver.returncode == 1
    assert "StudyError: the cluster is lost" in errors
    assert len(finished(tmp_path / "a")) >= 4


@pytest.mark.slow
def test_the_real_optimizer_gives_identical_records_everywhere(tmp_path, cluster):
    study = select(load_design(SMOKE), replicates=0, methods=["ts", "alcb2"])
    address, _ = cluster
    run(study, tmp_path / "one", jobs=1, progress=False)
    run(study, tmp_path / "two", jobs=2, progress=False)
    run(study, tmp_path / "dask", scheduler=address, progress=False)
    one = fakes.results_of(tmp_path / "one")
    assert len(one) == 8
    assert fakes.results_of(tmp_path / "two") == one
    assert fakes.results_of(tmp_path / "dask") == one


def test_records_come_back_where_no_folder_is_shared():
    cell = next(fakes.design().cells())
    task = Task(runner=fakes.RUNNER, modules=(), folder=None, timeout=None, driver=None)
    try:
        outcome = guarded(cell, task)
    finally:
        dismiss_children()
    assert timeless(outcome.record) == timeless(encode(fakes.fake_record(cell)))


def timeless(text):
    lines = text.splitlines()
    return [x for x in lines if not x.startswith(('"seconds"', '"digest"'))]
