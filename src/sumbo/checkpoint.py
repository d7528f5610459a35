"""Saved runs: one npz file with a JSON header, written atomically, never pickled.

The file is an ordinary npz, so ``numpy.load`` shows what is inside. The members below
``sumbo/`` are ours: a magic string, the format number and the header. The comment at
the end of the archive is a SHA-256 checksum of all bytes before it: the checksums of
an archive protect its members only, not their names, sizes and places.
"""

import contextlib
import hashlib
import io
import json
import math
import os
import re
import secrets
import stat
import struct
import zipfile
import zlib
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np

from sumbo.errors import CheckpointError, require_path
from sumbo.lock import beside
from sumbo.typing import ndarray

FORMAT = 1
MAGIC = "sumbo"

_RESERVED = "sumbo/"
_NAME = re.compile(r"[\w.-]+(/[\w.-]+)*", re.ASCII)
_ARRAY = "__array__"  # {"__array__": name} stands for an array in a split state
_FLOAT = "__float__"  # {"__float__": bits} stands for NaN or ±inf, unknown to JSON
_KINDS = "biufcSU"  # bool, integers, floats, complex, bytes, str
_CHECKSUM = 64  # bytes of a SHA-256 checksum in hexadecimal

# What a damaged archive can raise inside zipfile, numpy and json.
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    OSError,
    EOFError,
    ValueError,
    TypeError,
    LookupError,
    RuntimeError,
    MemoryError,
)


def save(
    path: str | os.PathLike[str],
    header: Mapping[str, Any],
    arrays: Mapping[str, ndarray],
) -> None:
    """Write the file, whole or not at all: a crash leaves the old one as it was.

    ``header`` holds JSON values (tuples come back as lists), ``arrays`` numbers,
    booleans and strings under names such as ``state/0``.

    Raises:
        CheckpointError: If the folder does not exist, the file cannot be written, or
            something in it cannot be saved.
    """
    require_path("path", path)
    target = Path(os.path.realpath(path))  # replace what a link points to, not the link
    if not target.parent.is_dir():
        msg = f"path={str(path)!r}: the folder {str(target.parent)!r} does not exist."
        raise CheckpointError(f"{msg} Create it first.")
    _require_file(f"path={str(path)!r}", target)
    members = {f"{_RESERVED}magic": np.array(MAGIC)}
    members[f"{_RESERVED}format"] = np.array(FORMAT)
    # The names too: damage to the archive's own list could hide an array.
    content = {"header": _to_json(header, "header"), "arrays": list(arrays)}
    text = json.dumps(content, allow_nan=False)
    members[f"{_RESERVED}header"] = np.frombuffer(text.encode(), dtype=np.uint8)
    members |= {_checked_name(k): _checked_array(k, a) for k, a in arrays.items()}
    # A name of its own, so that two processes never write into one temporary file.
    partial = beside(target, f".{secrets.token_hex(6)}.tmp")
    try:
        with partial.open("xb") as file:
            file.write(_sealed(_archive(members)))
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
        _sync_folder(target.parent)
    except OSError as error:
        msg = f"path={str(path)!r} cannot be written ({error}); an older file is kept."
        raise CheckpointError(f"{msg} Free space, or take another path.") from error
    finally:
        # A file system that refuses the file may refuse its removal as well.
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)


def exists(path: str | os.PathLike[str]) -> bool:
    """Return whether there is a file to continue from.

    Raises:
        CheckpointError: If the path cannot be looked up, as with a name too long.
    """
    try:
        return Path(path).exists()
    except OSError as error:
        msg = f"path={str(path)!r} cannot be used ({error}). Pass another path."
        raise CheckpointError(msg) from error


def remove_leftovers(path: str | os.PathLike[str]) -> None:
    """Remove what killed writers of this file left behind.

    Call it only while no other process writes the file.
    """
    target = Path(os.path.realpath(path))
    start = beside(target, ".").name
    ending = re.compile(re.escape(start) + r"[0-9a-f]{12}\.tmp")
    with contextlib.suppress(OSError):
        for other in list(target.parent.iterdir()):
            if ending.fullmatch(other.name):
                other.unlink(missing_ok=True)


def load(
    path: str | os.PathLike[str],
) -> tuple[dict[str, Any], dict[str, ndarray]]:
    """Return the header and the arrays of a file that `save` wrote.

    Raises:
        CheckpointError: If the file is missing, damaged, of something else, or of a
            newer sumbo.
    """
    require_path("path", path)
    name = f"path={str(path)!r}"
    try:
        _require_file(name, Path(path))
        with Path(path).open("rb") as file:
            return _load(name, file)
    except FileNotFoundError as error:
        raise CheckpointError(f"{name} does not exist. Check the path.") from error
    except OSError as error:
        msg = f"{name} cannot be read ({error}). Check the path and its permissions."
        raise CheckpointError(msg) from error


def _load(name: str, file: IO[bytes]) -> tuple[dict[str, Any], dict[str, ndarray]]:
    start = file.read(2)
    if start != b"PK":
        what = "is not an npz file" if start else "is empty"
        raise CheckpointError(f"{name} {what}. Pass a file that sumbo saved.")
    try:
        with zipfile.ZipFile(file) as archive:
            _check_sizes(name, archive, os.fstat(file.fileno()).st_size)
            _check_origin(name, archive)
            _check_seal(file)
            members = {
                key.removesuffix(".npy"): _read(archive, key)
                for key in archive.namelist()
            }
        saved = json.loads(members[f"{_RESERVED}header"].tobytes())
        arrays = {key: members[key] for key in saved["arrays"]}
        header = _from_json(saved["header"])
        if not isinstance(header, dict):
            raise TypeError(f"its header is {header!r}")
        return header, arrays
    except CheckpointError:
        raise
    except _DAMAGE as error:
        msg = f"{name} is truncated or damaged ({error}). Restore it from a copy, or "
        raise CheckpointError(f"{msg}delete it to start again.") from error


def split_state(state: Any, prefix: str = "state") -> tuple[Any, dict[str, ndarray]]:
    """Return the JSON part of a nested state, and its arrays, named prefix/number.

    Numbers, strings, booleans and ``None`` stay exact, NumPy scalars become Python
    ones, tuples become lists. `join_state` puts the parts together again.

    Raises:
        CheckpointError: If the state holds something that is neither.
    """
    arrays: dict[str, ndarray] = {}

    def visit(value: Any, where: str) -> Any:
        if isinstance(value, ndarray):
            name = f"{prefix}/{len(arrays)}"
            arrays[name] = _checked_array(where, value)
            return {_ARRAY: name}
        if isinstance(value, Mapping):
            return {
                k: visit(v, f"{where}.{k}") for k, v in _items(value, where, _ARRAY)
            }
        if isinstance(value, list | tuple):
            return [visit(v, f"{where}[{i}]") for i, v in enumerate(value)]
        return _scalar(value, where)

    return visit(state, prefix), arrays


def join_state(part: Any, arrays: Mapping[str, ndarray]) -> Any:
    """Return the state whose `split_state` is ``part`` and ``arrays``.

    ``arrays`` may hold others too, for example all those of a file.

    Raises:
        CheckpointError: If an array is missing.
    """
    if isinstance(part, Mapping):
        if part.keys() == {_ARRAY}:
            if part[_ARRAY] not in arrays:
                msg = f"arrays lack {part[_ARRAY]!r}. Pass all arrays of split_state."
                raise CheckpointError(msg)
            return arrays[part[_ARRAY]]
        return {k: join_state(v, arrays) for k, v in part.items()}
    if isinstance(part, list):
        return [join_state(v, arrays) for v in part]
    return part


def _archive(members: Mapping[str, ndarray]) -> bytes:
    """Return an npz archive with room for a checksum at its end."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.comment = b"0" * _CHECKSUM
        for name, array in members.items():
            # A fixed date: equal contents are equal files.
            info = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            with archive.open(info, "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
    return content.getvalue()


def _sealed(content: bytes) -> bytes:
    """Return the archive with the checksum of its other bytes at its end."""
    body = content[:-_CHECKSUM]
    return body + hashlib.sha256(body).hexdigest().encode()


def _read(archive: zipfile.ZipFile, key: str) -> ndarray:
    content = archive.read(key)  # checks the CRC
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    header = {1: np.lib.format.read_array_header_1_0}.get(
        version[0], np.lib.format.read_array_header_2_0
    )
    shape, _, dtype = header(stream)
    if dtype.hasobject:
        raise ValueError(f"{key} holds pickled objects, which are never opened")
    # NumPy reserves the memory that is declared before it looks at the content.
    if prod(shape) * dtype.itemsize != len(content) - stream.tell():
        raise ValueError(f"{key} declares {shape} values of {dtype}, and holds others")
    stream.seek(0)
    return np.lib.format.read_array(stream, allow_pickle=False)


def _check_sizes(name: str, archive: zipfile.ZipFile, size: int) -> None:
    """Refuse an archive that unpacks to more than its own size.

    `save` never compresses, so that the list of members, which is read first, bounds
    the memory that the rest can take.

    Raises:
        CheckpointError: If a member is compressed, or all are larger than the file.
    """
    members = archive.infolist()
    packed = [
        m
        for m in members
        if m.compress_type != zipfile.ZIP_STORED or m.compress_size != m.file_size
    ]
    if packed or sum(m.file_size for m in members) > size:
        total = sum(m.file_size for m in members)
        msg = f"{name} has {size} bytes, and says that it holds {total}, compressed. "
        raise CheckpointError(
            f"{msg}sumbo saves without compression: this is no file of sumbo."
        )


def _require_file(name: str, path: Path) -> None:
    """Refuse a device, a socket or a pipe.

    Raises:
        CheckpointError: If something other than an ordinary file is there.
    """
    try:
        mode = path.stat().st_mode
    except OSError:
        return  # whoever opens it reports what is wrong
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        msg = f"{name} is a device, a pipe or a socket, not a file. Pass another path."
        raise CheckpointError(msg)


def _check_origin(name: str, archive: zipfile.ZipFile) -> None:
    keys = [f"{_RESERVED}{k}.npy" for k in ("magic", "format", "header")]
    if not set(keys) <= set(archive.namelist()) or _read(archive, keys[0]) != MAGIC:
        msg = (
            f"{name} is an archive, but not one of sumbo. Pass a file that sumbo saved."
        )
        raise CheckpointError(msg)
    number = int(_read(archive, keys[1]))
    if number < 1:
        msg = f"{name} has format {number}, which no sumbo has written. Restore it from"
        raise CheckpointError(f"{msg} a copy, or delete it to start again.")
    if number > FORMAT:
        msg = (
            f"{name} has format {number}; this sumbo reads up to {FORMAT}. Upgrade it:"
        )
        raise CheckpointError(f"{msg} pip install -U sumbo.")


def _check_seal(file: IO[bytes]) -> None:
    file.seek(0)
    content = file.read()
    if _sealed(content) != content:
        raise zipfile.BadZipFile("its checksum differs")


def _sync_folder(folder: Path) -> None:
    # Against a power cut right after the rename. Some systems cannot do it, and the
    # file is complete all the same.
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _checked_name(name: str) -> str:
    if not _NAME.fullmatch(name) or name.startswith(_RESERVED) or name.endswith(".npy"):
        msg = (
            f"arrays: the name {name!r} cannot be saved. Use letters, digits, . - _ /,"
        )
        raise CheckpointError(f"{msg} not beginning with {_RESERVED!r}.")
    return name


def _checked_array(where: str, array: ndarray) -> ndarray:
    masked = isinstance(array, np.ma.MaskedArray)  # npy would drop the mask
    if masked or not isinstance(array, ndarray) or array.dtype.kind not in _KINDS:
        kind = getattr(array, "dtype", type(array).__name__)
        msg = f"{where} of type {kind} cannot be saved without pickle. Use an array of "
        raise CheckpointError(f"{msg}numbers, booleans or strings.")
    return array


def _items(value: Mapping[Any, Any], where: str, marker: str) -> Any:
    for key in value:
        if not isinstance(key, str) or key == marker:
            msg = f"{where} has the key {key!r}, which JSON would change. Use another "
            raise CheckpointError(f"{msg}string.")
    return value.items()


def _scalar(value: Any, where: str) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | int | float):
        return value
    msg = (
        f"{where}={value!r} cannot be saved. Use numbers, strings, lists and mappings."
    )
    raise CheckpointError(msg)


def _to_json(value: Any, where: str) -> Any:
    if isinstance(value, Mapping):
        return {k: _to_json(v, f"{where}.{k}") for k, v in _items(value, where, _FLOAT)}
    if isinstance(value, list | tuple):
        return [_to_json(v, f"{where}[{i}]") for i, v in enumerate(value)]
    value = _scalar(value, where)
    if isinstance(value, float) and not math.isfinite(value):
        return {_FLOAT: struct.pack(">d", value).hex()}
    return value


def _from_json(value: Any) -> Any:
    if isinstance(value, dict):
        if value.keys() == {_FLOAT}:
            return struct.unpack(">d", bytes.fromhex(value[_FLOAT]))[0]
        return {k: _from_json(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_from_json(v) for v in value]
    return value
