"""Saved runs: bit-exact round trips, atomic writes, clear errors."""

import json
import math
import os
import random
import signal
import struct
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from sumbo import checkpoint
from sumbo.checkpoint import join_state, load, save, split_state
from sumbo.errors import CheckpointError

BITS = np.array(
    [0x7FF8000000000000, 0xFFF8000000000000, 0x7FF8000000BEEF00, 0x8000000000000000],
    dtype=np.uint64,
)
ARRAYS = {
    "y": np.r_[BITS.view(float), np.inf, -np.inf, 5e-324, 0.1, 1.7e308],
    "history/U": np.asfortranarray(np.arange(12.0).reshape(3, 4) / 7),
    "strided": np.arange(20)[3::4],
    "big_endian": np.array([258, -3], dtype=">i4"),
    "half": np.array([0.1, 65504], dtype=np.float16),
    "failed": np.array([True, False]),
    "empty": np.empty((0, 5)),
    "scalar": np.array(3.25),
    "names": np.array(["lr", "größe", ""]),
    "complex": np.array([1.5 - 2j]),
}
HEADER = {
    "text": 'a "b" \\ größe \ud800 \x00',
    "int": 2**200,
    "nested": {"list": [1, 2.5, None, True, []], "empty": {}},
    "tiny": 5e-324,
    "zero": -0.0,
}


def same(a, b):
    """Return whether two nested values agree in type and in every bit."""
    if isinstance(a, np.ndarray):
        return (
            isinstance(b, np.ndarray)
            and (a.dtype, a.shape) == (b.dtype, b.shape)
            and a.tobytes() == b.tobytes()
        )
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return struct.pack("d", a) == struct.pack("d", b)
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.npz"


@pytest.fixture
def saved(path):
    save(path, HEADER, ARRAYS)
    return path


# --------------------------------------------------------------------- round trips


def test_arrays_come_back_bit_for_bit(saved):
    _, arrays = load(saved)
    assert same(arrays, ARRAYS)


def test_the_header_comes_back_exactly(saved):
    header, _ = load(saved)
    assert same(header, HEADER)


def test_nan_and_infinity_in_the_header_keep_their_bits(path):
    floats = [*BITS.view(float).tolist(), math.inf, -math.inf]
    save(path, {"a": floats, "b": {"c": -math.nan}}, {})
    header, _ = load(path)
    assert same(header, {"a": floats, "b": {"c": -math.nan}})


def test_the_header_is_strict_json(saved):
    with np.load(saved, allow_pickle=False) as file:
        text = file["sumbo/header"].tobytes()
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def test_numpy_alone_can_read_the_arrays(saved):
    with np.load(saved, allow_pickle=False) as file:
        assert np.array_equal(file["history/U"], ARRAYS["history/U"])


def test_equal_contents_are_equal_files(tmp_path):
    for name in ("a.npz", "b.npz"):
        save(tmp_path / name, HEADER, ARRAYS)
        time.sleep(0.01)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_loaded_arrays_can_be_written_to(saved):
    _, arrays = load(saved)
    arrays["y"][0] = 2.5


def test_tuples_and_numpy_scalars_become_lists_and_python_numbers(path):
    save(path, {"a": (1, (2.5,)), "b": np.int64(7), "c": np.bool_(True)}, {})
    header, _ = load(path)
    assert same(header, {"a": [1, [2.5]], "b": 7, "c": True})


def test_a_path_may_be_a_string_and_needs_no_suffix(tmp_path):
    save(str(tmp_path / "run"), {"a": 1}, {})
    assert load(str(tmp_path / "run"))[0] == {"a": 1}


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)
)
keys = st.text(max_size=5).filter(lambda k: not k.startswith("__"))
arrays_of_bits = st.lists(st.integers(0, 2**64 - 1), max_size=4).map(
    lambda bits: np.array(bits, dtype=np.uint64).view(float)
)
states = st.dictionaries(
    keys,
    st.recursive(
        scalars | arrays_of_bits,
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3)
        ),
        max_leaves=12,
    ),
    max_size=4,
)


@given(states)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
def test_any_state_survives_the_file_exactly(path, state):
    part, arrays = split_state(state, "method")
    save(path, {"state": part}, arrays | {"y": np.array([0.3])})
    header, loaded = load(path)
    assert same(join_state(header["state"], loaded), state)


@given(states)
def test_split_and_join_are_inverse(state):
    assert same(join_state(*split_state(state)), state)


def test_split_finds_every_array_and_turns_tuples_into_lists():
    a, b = np.arange(3.5), np.array(["u", "v"])
    part, arrays = split_state({"m": {"a": a}, "t": (1, b, None), "x": np.float64(0.1)})
    assert list(arrays) == ["state/0", "state/1"]
    json.dumps(part)
    back = join_state(part, arrays)
    assert same(back, {"m": {"a": a}, "t": [1, b, None], "x": 0.1})


def test_join_needs_all_arrays():
    part, _ = split_state({"a": np.arange(3)})
    with pytest.raises(CheckpointError, match="state/0"):
        join_state(part, {})


# ------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    "bad",
    [
        np.array([1, "a"], dtype=object),
        np.array([(1, 2.5)], dtype=[("a", int), ("b", float)]),
        np.ma.masked_array([1.5, 2.5], [True, False]),
    ],
)
def test_arrays_that_need_pickle_are_refused_and_the_old_file_stays(saved, bad):
    before = saved.read_bytes()
    with pytest.raises(CheckpointError, match="weights"):
        save(saved, {}, {"weights": bad})
    with pytest.raises(CheckpointError, match=r"state\.a\[1\]"):
        split_state({"a": [1, bad]})
    assert saved.read_bytes() == before


@pytest.mark.parametrize("bad", [{1, 2}, object(), 2 + 3j, b"ab", np.arange(3)])
def test_header_values_that_are_not_json_are_refused_by_place(path, bad):
    with pytest.raises(CheckpointError, match=r"header\.a\.b\[1\]"):
        save(path, {"a": {"b": [1, bad]}}, {})
    assert not path.exists()


@pytest.mark.parametrize("key", [3, None, "__float__"])
def test_keys_that_would_not_come_back_are_refused(path, key):
    with pytest.raises(CheckpointError, match="key"):
        save(path, {"a": {key: 1}}, {})


@pytest.mark.parametrize("key", [3, "__array__"])
def test_state_keys_that_would_not_come_back_are_refused(key):
    with pytest.raises(CheckpointError, match="key"):
        split_state({"a": {key: 1}})


@pytest.mark.parametrize("name", ["", "a b", "/a", "a//b", "sumbo/header", "a.npy"])
def test_array_names_that_would_not_come_back_are_refused(path, name):
    with pytest.raises(CheckpointError, match="name"):
        save(path, {}, {name: np.arange(3)})


# ------------------------------------------------------------------------- folders


def test_a_missing_folder_is_an_error_and_is_not_created(tmp_path):
    with pytest.raises(CheckpointError, match=r"deep.*does not exist"):
        save(tmp_path / "deep" / "run.npz", {}, {})
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_the_place_of_the_file_is_an_error(tmp_path):
    (tmp_path / "run.npz").mkdir()
    with pytest.raises(CheckpointError, match="cannot be written"):
        save(tmp_path / "run.npz", {}, {})
    with pytest.raises(CheckpointError, match="cannot be read"):
        load(tmp_path / "run.npz")


def test_no_temporary_files_remain(saved, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    before = saved.read_bytes()
    monkeypatch.setattr(checkpoint.os, "fsync", full)
    with pytest.raises(CheckpointError, match="No space left"):
        save(saved, {"a": 2}, {})
    assert saved.read_bytes() == before
    assert [p.name for p in saved.parent.iterdir()] == ["run.npz"]


def test_stale_temporary_files_do_not_matter(saved):
    (saved.parent / ".run.npz.0123456789ab.tmp").write_bytes(b"half a fi")
    save(saved, {"a": 2}, {})
    assert load(saved)[0] == {"a": 2}


def test_a_link_keeps_pointing_to_the_file(tmp_path):
    (tmp_path / "disk").mkdir()
    link = tmp_path / "run.npz"
    link.symlink_to(tmp_path / "disk" / "real.npz")
    save(link, {"a": 2}, {})
    assert link.is_symlink()
    assert load(tmp_path / "disk" / "real.npz")[0] == {"a": 2}


def test_the_file_has_the_usual_permissions(saved, tmp_path):
    (tmp_path / "usual").touch()
    assert saved.stat().st_mode == (tmp_path / "usual").stat().st_mode


# --------------------------------------------------------------------- bad files


def test_a_missing_file_is_named(path):
    with pytest.raises(CheckpointError, match=r"run\.npz' does not exist"):
        load(path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"a;b\n1;2\n", "not an npz"),
        (b"\x93NUMPY\x01", "not an npz"),
    ],
)
def test_files_of_another_kind_are_refused(path, content, words):
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=words):
        load(path)


def test_an_npz_of_something_else_is_refused(path):
    np.savez(path, y=np.arange(3))
    with pytest.raises(CheckpointError, match="not one of sumbo"):
        load(path)


def test_an_archive_with_another_magic_word_is_refused(path):
    other = {"sumbo/magic": "other", "sumbo/format": 1, "sumbo/header": [123, 125]}
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, **{k: np.array(v) for k, v in other.items()})
    with pytest.raises(CheckpointError, match="not one of sumbo"):
        load(path)


def test_pickled_members_are_never_opened(saved):
    pickled = saved.with_name("pickled.npz")
    np.savez(pickled, weights=np.array([{"a": 1}], dtype=object))
    with zipfile.ZipFile(saved, "a") as file, zipfile.ZipFile(pickled) as source:
        file.writestr("weights.npy", source.read("weights.npy"))
    # With a checksum that is right, so that the member itself is refused.
    saved.write_bytes(checkpoint._sealed(saved.read_bytes()))
    with pytest.raises(CheckpointError, match="pickled objects"):
        load(saved)


def test_a_newer_format_asks_for_an_upgrade(path, monkeypatch):
    monkeypatch.setattr(checkpoint, "FORMAT", checkpoint.FORMAT + 1)
    save(path, {}, {})
    monkeypatch.undo()
    with pytest.raises(CheckpointError, match="Upgrade"):
        load(path)


def test_truncated_files_are_recognised_at_any_length(saved):
    content = saved.read_bytes()
    for length in random.Random(5).sample(range(2, len(content)), 60):
        saved.write_bytes(content[:length])
        with pytest.raises(CheckpointError, match="truncated or damaged"):
            load(saved)


def test_one_flipped_bit_is_refused_wherever_it_is(path, rng):
    save(path, {"a": [1.5, "b"]}, {"y": ARRAYS["y"]})
    content = path.read_bytes()
    for i, bit in enumerate(rng.integers(8, size=len(content))):
        flipped = bytes([content[i] ^ (1 << int(bit))])
        path.write_bytes(content[:i] + flipped + content[i + 1 :])
        with pytest.raises(CheckpointError):
            load(path)


# ----------------------------------------------------------------------- SIGKILL

# A package without its __init__, which would take seconds to import ten times.
SAVER = f"""
import sys, types
sumbo = sys.modules["sumbo"] = types.ModuleType("sumbo")
sumbo.__path__ = [{str(Path(checkpoint.__file__).parent)!r}]
import numpy as np
from sumbo.checkpoint import load, save
path = sys.argv[1]
i = load(path)[0]["i"] if len(sys.argv) > 2 else 0
while True:
    i += 1
    a = np.full(100_000, float(i))
    save(path, {{"i": i}}, {{"a": a, "b": a[:7]}})
    print(i, flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_a_process_killed_while_saving_leaves_a_whole_file(path):
    pause = random.Random(9)
    last = 0
    for round_ in range(10):
        arguments = [sys.executable, "-c", SAVER, str(path)] + ["again"] * (round_ > 0)
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            printed = int(child.stdout.readline())
            time.sleep(pause.uniform(0, 0.03))
            child.send_signal(signal.SIGKILL)
        header, arrays = load(path)
        assert header["i"] >= printed > last
        assert np.array_equal(arrays["a"], np.full(100_000, float(header["i"])))
        assert np.array_equal(arrays["b"], np.full(7, float(header["i"])))
        last = header["i"]
