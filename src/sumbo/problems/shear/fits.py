"""A reader of FITS files: binary tables and images of fixed-size numbers.

It reads what the survey data need and nothing more: 2880-byte blocks, 80-character
cards, big-endian numbers, text columns.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sumbo.errors import ProblemError
from sumbo.typing import ndarray

BLOCK, CARD = 2880, 80
DTYPES = {"D": ">f8", "E": ">f4", "K": ">i8", "J": ">i4", "I": ">i2", "B": "u1"}
PIXELS = {-64: ">f8", -32: ">f4", 64: ">i8", 32: ">i4", 16: ">i2", 8: "u1"}


@dataclass(frozen=True, kw_only=True, eq=False)
class Unit:
    """One header with its data: a record array (table) or an array (image)."""

    header: dict[str, str]
    data: ndarray

    @property
    def name(self) -> str:
        """The value of EXTNAME, "" if it has none."""
        return self.header.get("EXTNAME", "")


def read(path: Path) -> tuple[Unit, ...]:
    """Return the header-data units of a file.

    Raises:
        ProblemError: If the file is not FITS, or ends too early.
    """
    raw = path.read_bytes()
    if raw[:9] != b"SIMPLE  =":
        msg = f"{path} is not a FITS file. Remove it and fetch the data again."
        raise ProblemError(msg)
    units: list[Unit] = []
    at = 0
    try:
        while raw[at:].strip(b"\0 "):
            header, at = _header(raw, at)
            unit, at = _unit(raw, at, header)
            units.append(unit)
    except (ValueError, KeyError, IndexError, UnicodeDecodeError) as error:
        msg = (
            f"{path} is a truncated or damaged FITS file ({error}). Remove it and "
            "fetch the data again."
        )
        raise ProblemError(msg) from error
    return tuple(units)


def named(units: tuple[Unit, ...], name: str, path: Path) -> Unit:
    """Return the unit with a name.

    Raises:
        ProblemError: If the file has none.
    """
    for unit in units:
        if unit.name == name:
            return unit
    found = ", ".join(unit.name for unit in units if unit.name) or "none"
    msg = (
        f"{path} has no table {name!r}; its tables are: {found}. It is another file "
        "than this problem needs: pass the right one as path=."
    )
    raise ProblemError(msg)


def _header(raw: bytes, at: int) -> tuple[dict[str, str], int]:
    header: dict[str, str] = {}
    while True:
        block = raw[at : at + BLOCK]
        if len(block) < BLOCK:
            raise ValueError("a header has no end")
        at += BLOCK
        for i in range(0, BLOCK, CARD):
            card = block[i : i + CARD].decode("ascii")
            key = card[:8].strip()
            if key == "END":
                return header, at
            if card[8:10] == "= ":
                header[key] = _value(card[10:])


def _value(text: str) -> str:
    text = text.strip()
    if text.startswith("'"):
        return text[1:].partition("'")[0].rstrip()
    return text.partition("/")[0].strip()


def _unit(raw: bytes, at: int, header: dict[str, str]) -> tuple[Unit, int]:
    axes = [int(header[f"NAXIS{i + 1}"]) for i in range(int(header["NAXIS"]))]
    kind = header.get("XTENSION")
    dtype = _columns(header) if kind == "BINTABLE" else _pixel(header)
    shape = (axes[1],) if kind == "BINTABLE" else tuple(reversed(axes))
    count = int(np.prod(shape)) if axes else 0
    if kind == "BINTABLE" and dtype.itemsize != axes[0]:
        raise ValueError(f"the rows of {header.get('EXTNAME')} have another size")
    size = count * dtype.itemsize
    if len(raw) < at + size:
        raise ValueError(f"the data of {header.get('EXTNAME')} are incomplete")
    data = np.frombuffer(raw, dtype, count, at).reshape(shape if axes else (0,))
    size += int(header.get("PCOUNT", "0"))
    return Unit(header=header, data=data), at + -(-size // BLOCK) * BLOCK


def _pixel(header: dict[str, str]) -> np.dtype:
    return np.dtype(PIXELS[int(header["BITPIX"])])


def _columns(header: dict[str, str]) -> np.dtype:
    fields = []
    for i in range(1, int(header["TFIELDS"]) + 1):
        form = re.fullmatch(r"(\d*)([A-Z]).*", header[f"TFORM{i}"])
        if form is None:
            raise ValueError(f"the format {header[f'TFORM{i}']} is unknown")
        count, letter = int(form[1] or 1), form[2]
        name = header[f"TTYPE{i}"]
        if letter == "A":
            fields.append((name, f"S{count}"))
        elif count == 1:
            fields.append((name, DTYPES[letter]))
        else:
            fields.append((name, DTYPES[letter], (count,)))
    return np.dtype(fields)
