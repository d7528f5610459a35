"""Disks that fill or cannot be written, and files that are cut or changed."""

import contextlib
import os
import random
import resource
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import sumbo
from benchmarks.faults.processes import start
from benchmarks.faults.runs import BUDGET, SETTINGS, SPACE, objective
from benchmarks.faults.tally import Tally
from sumbo import study
from sumbo.errors import CheckpointError, StudyError
from sumbo.study.storage import decode

SMALL = 64 * 1024  # bytes of a disk; a finished run takes about 6 kB


def full(wanted: int, folder: Path, seed: int) -> list[Tally]:
    """Return what became of runs whose disk filled while they were written."""
    rng = random.Random(seed)
    limited = Tally("`minimize`: file size limited, at random sizes")
    for i in range(wanted):
        place = folder / f"limit-{i}"
        place.mkdir()
        limited.add(wrong=_outcome(_limited, place, rng.randint(0, 7000)))
    tallies = [limited]
    with _small_disk(folder / "disk") as disk:
        if disk is not None:
            filled = Tally("`minimize`: disk full, at random moments")
            for i in range(wanted):
                place = disk / f"full-{i}"
                place.mkdir()
                filled.add(wrong=_outcome(_filled, place, rng.randint(1, BUDGET - 1)))
                (disk / "filler").unlink(missing_ok=True)
            tallies += [filled, _read_only(disk)]
    return tallies


def damaged(wanted: int, run: Path, folder: Path, seed: int) -> list[Tally]:
    """Return how files were read after they were cut, or a bit of them was flipped."""
    records = sorted((folder / "records").iterdir())

    def read_record(path: Path) -> Any:
        return decode(path.read_bytes(), path).y.tobytes()

    def read_run(path: Path) -> Any:
        opt = sumbo.Optimizer.load(path)
        return opt.X.tobytes(), opt.y.tobytes(), opt.pending.tobytes()

    rng = random.Random(seed)
    return [
        _damage("checkpoint cut at a random byte", wanted, [run], read_run, _cut, rng),
        _damage("checkpoint with a flipped bit", wanted, [run], read_run, _flip, rng),
        _damage("record cut at a random byte", wanted, records, read_record, _cut, rng),
        _damage("record with a flipped bit", wanted, records, read_record, _flip, rng),
    ]


def _outcome(target: Callable[..., None], place: Path, how: int) -> str:
    process = start(target, place, how)
    process.join()
    left = [p.name for p in place.iterdir() if p.name.endswith(".tmp")]
    if left:
        return f"left {left}"
    return "" if process.exitcode == 0 else f"exit code {process.exitcode} at {how}"


def _limited(place: Path, size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    _run(place)


def _filled(place: Path, after: int) -> None:
    def fill(result: Any) -> None:
        if result.nfev == after:
            handle = os.open(place.parent / "filler", os.O_WRONLY | os.O_CREAT)
            with contextlib.suppress(OSError):
                while os.write(handle, bytes(512)):
                    pass

    _run(place, fill)


def _run(place: Path, callback: Callable[[Any], None] | None = None) -> None:
    """Run until the disk is full; exit with 0 if nothing is lost then."""
    path, told = place / "run.npz", []

    def note(result: Any) -> None:
        told.append(result.nfev)
        if callback is not None:
            callback(result)

    def noted(x: Any) -> float:
        values.append(objective(x))
        return values[-1]

    values: list[float] = []
    try:
        options = {"checkpoint": path, "callback": note, "seed": 11, **SETTINGS}
        sumbo.minimize(noted, SPACE, **options)
    except CheckpointError as error:
        kept = [] if error.result is None else error.result.func_vals.tolist()
        if kept != values:  # the one just evaluated included
            os._exit(7)
        if path.exists() and len(sumbo.Optimizer.load(path).y) < len(told):
            os._exit(8)


def _read_only(disk: Path) -> Tally:
    tally = Tally("read-only file system: run, study and result refused")
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    calls: list[Callable[[], Any]] = [
        lambda: sumbo.minimize(objective, SPACE, checkpoint=disk / "a", **SETTINGS),
        lambda: sumbo.Optimizer(SPACE).save(disk / "a"),
        lambda: study.run(_design(), disk / "study", jobs=1, progress=False),
    ]
    for call in calls:
        try:
            call()
            tally.add(wrong="accepted")
        except (CheckpointError, StudyError):
            tally.add()
    return tally


def _design() -> study.Design:
    return study.Design(
        name="faults",
        seed=5,
        problems=("levy2",),
        methods={1: ("uniform",)},
        replicates=1,
        preset="default",
        n_init=3,
        acquisitions=2,
    )


@contextlib.contextmanager
def _small_disk(place: Path) -> Iterator[Path | None]:
    """Yield a small file system in memory, None without the right to make one."""
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", f"size={SMALL}", "sumbo-faults", str(place)]
    try:
        done = subprocess.run(words, capture_output=True, check=False).returncode
    except OSError:
        done = 1
    if done != 0:
        yield None
        return
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def _damage(
    fault: str,
    wanted: int,
    files: list[Path],
    read: Callable[[Path], Any],
    change: Callable[[bytes, random.Random], bytes],
    rng: random.Random,
) -> Tally:
    tally = Tally(fault)
    good = {path: read(path) for path in files}
    for _ in range(wanted):
        path = rng.choice(files)
        content = path.read_bytes()
        path.write_bytes(change(content, rng))
        try:
            same = read(path) == good[path]
            # Read in spite of the damage: as good as refused only if nothing changed.
            tally.add(lost=0 if same else 1)
        except (CheckpointError, StudyError):
            tally.add()
        except Exception as error:  # noqa: BLE001 (anything else is a fault of ours)
            tally.add(wrong=f"{type(error).__name__}: {error}")
        finally:
            path.write_bytes(content)
    return tally


def _cut(content: bytes, rng: random.Random) -> bytes:
    return content[: rng.randrange(len(content))]


def _flip(content: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(content))
    changed = content[place] ^ (1 << rng.randrange(8))
    return content[:place] + bytes([changed]) + content[place + 1 :]
