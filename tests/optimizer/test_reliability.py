"""One owner per run, files that cannot be trusted, evaluations that are repeated."""

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock

from searches import BOX, bowl
from sumbo import Optimizer, checkpoint, minimize
from sumbo.errors import CheckpointError
from sumbo.lock import beside, exclusive
from sumbo.optimizer import asktell

RUN = {"budget": 6, "n_init": 6, "seed": 3}


def test_a_second_run_on_a_checkpoint_is_refused_and_names_the_owner(tmp_path):
    path = tmp_path / "run.npz"
    with exclusive(path), pytest.raises(CheckpointError, match=r"process \d+ on host"):
        minimize(bowl, BOX, checkpoint=path, **RUN)
    assert minimize(bowl, BOX, checkpoint=path, **RUN).nfev == 6


OWNER = """
import sys, time
from sumbo.lock import exclusive
with exclusive(sys.argv[1]):
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_lock_of_another_process_holds_until_that_is_killed(tmp_path):
    path = tmp_path / "run.npz"
    words = [sys.executable, "-c", OWNER, str(path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "held\n"
        with pytest.raises(CheckpointError, match=f"process {owner.pid} on host"):
            minimize(bowl, BOX, checkpoint=path, **RUN)
        os.kill(owner.pid, signal.SIGKILL)
    assert minimize(bowl, BOX, checkpoint=path, **RUN).nfev == 6


@pytest.fixture
def nameless(tmp_path):
    """Return a checkpoint whose lock is held, by a process that gave no name so far."""
    path = tmp_path / "run.npz"
    with FileLock(beside(path, ".lock"), thread_local=False) as lock:
        yield path, lock


def test_an_owner_that_just_took_the_lock_is_named_all_the_same(nameless):
    path, lock = nameless
    owner = {"pid": 4711, "host": "elsewhere", "since": "2026-03-04T05:06:07+00:00"}
    sign = threading.Timer(
        0.2, Path(lock.lock_file).write_text, [json.dumps(owner), "utf-8"]
    )
    sign.start()
    with pytest.raises(CheckpointError, match="in use by process 4711 on host elsewh"):
        minimize(bowl, BOX, checkpoint=path, **RUN)
    sign.join()


def test_an_owner_that_is_just_ending_is_waited_for(nameless):
    path, lock = nameless
    end = threading.Timer(0.2, lock.release)
    end.start()
    assert minimize(bowl, BOX, checkpoint=path, **RUN).nfev == 6
    end.join()


def test_a_disk_that_fills_leaves_the_value_in_the_error(tmp_path, monkeypatch):
    path = tmp_path / "run.npz"
    full = OSError(errno.ENOSPC, "No space left on device")
    archive, calls = checkpoint._archive, []

    def fill(members):
        calls.append(1)
        if len(calls) == 4:
            raise full
        return archive(members)

    monkeypatch.setattr(checkpoint, "_archive", fill)
    with pytest.raises(CheckpointError) as caught:
        minimize(bowl, BOX, checkpoint=path, **RUN)
    assert caught.value.result.nfev == 3
    assert len(Optimizer.load(path).y) == 2


def test_a_long_name_is_saved_and_one_too_long_is_a_checkpoint_error(tmp_path):
    path = tmp_path / ("r" * 240 + ".npz")
    assert minimize(bowl, BOX, checkpoint=path, **RUN).nfev == 6
    with pytest.raises(CheckpointError):
        minimize(bowl, BOX, checkpoint=tmp_path / ("r" * 300), **RUN)


def test_leftovers_of_a_killed_writer_are_removed(tmp_path):
    (tmp_path / ".run.npz.0123456789ab.tmp").write_bytes(b"half")
    (tmp_path / ".other.npz.0123456789ab.tmp").write_bytes(b"half")
    minimize(bowl, BOX, checkpoint=tmp_path / "run.npz", **RUN)
    assert [p.name for p in tmp_path.glob(".*.tmp")] == [".other.npz.0123456789ab.tmp"]


def test_a_device_is_not_replaced():
    with pytest.raises(CheckpointError, match="device"):
        checkpoint.save("/dev/null", {}, {})


def test_a_compressed_archive_is_refused_before_it_is_unpacked(tmp_path):
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("sumbo/magic.npy", bytes(10_000_000))
    with pytest.raises(CheckpointError, match="compress"):
        checkpoint.load(path)


@pytest.mark.parametrize("number", [0, -1])
def test_formats_that_never_existed_are_refused(tmp_path, monkeypatch, number):
    monkeypatch.setattr(checkpoint, "FORMAT", number)
    checkpoint.save(tmp_path / "run.npz", {}, {})
    monkeypatch.undo()
    with pytest.raises(CheckpointError, match=f"format {number}"):
        checkpoint.load(tmp_path / "run.npz")


@pytest.mark.parametrize("what", ["short y", "complex y", "negative steps", "outside"])
def test_an_inconsistent_checkpoint_is_refused_on_load(tmp_path, what):
    path = tmp_path / "run.npz"
    minimize(bowl, BOX, checkpoint=path, **RUN)
    header, arrays = checkpoint.load(path)
    if what == "short y":
        arrays["history.y"] = arrays["history.y"][:-1]
    elif what == "complex y":
        arrays["history.y"] = arrays["history.y"] + 0.3j
    elif what == "negative steps":
        header["steps"] = -2
    else:
        arrays["history.U"] = arrays["history.U"] + 1.7
    checkpoint.save(path, header, arrays)
    with pytest.raises(CheckpointError, match="consistent"):
        Optimizer.load(path)


def test_a_failed_evaluation_is_repeated_and_its_reason_kept(tmp_path):
    tries = []

    def shaky(x):
        tries.append(x.tolist())
        if len(tries) in (2, 3):
            raise OSError("the licence server is busy")
        return bowl(x)

    r = minimize(shaky, BOX, retries=2, checkpoint=tmp_path / "run.npz", **RUN)
    assert tries[1] == tries[2] == tries[3]
    assert np.isfinite(r.func_vals).all()
    assert [f.reason for f in r.failures] == ["OSError: the licence server is busy"] * 2
    assert Optimizer.load(tmp_path / "run.npz").failures == r.failures


def test_a_slow_ask_is_reported_once(monkeypatch):
    monkeypatch.setattr(asktell, "SLOW_ASK_S", 0.0)
    monkeypatch.setattr(asktell, "MANY_OBSERVATIONS", 2)
    opt = Optimizer(BOX, seed=4, n_init=9)
    for _ in range(2):
        x = opt.ask()
        opt.tell(x, bowl(x))
    with pytest.warns(UserWarning, match="with 2 observations"):
        opt.ask()
    opt.ask()
