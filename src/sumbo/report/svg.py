"""Pictures as SVG: scales, axes and marks. Everything that is text is escaped."""

import base64
import math
import struct
import zlib
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from sumbo.report.numbers import distinct
from sumbo.typing import Float, Int, ndarray

# Pixels and ticks may be whole.
Number = float | int


@dataclass(frozen=True, kw_only=True)
class Ruler:
    """The way from values to pixels."""

    lo: Number
    hi: Number
    a: Number
    b: Number
    log: bool = False

    def __call__(self, v: Any) -> Any:
        """Return pixels, clipped to a little beyond both ends."""
        v = np.asarray(v, dtype=float)
        lo, hi = self.lo, self.hi
        if self.log:
            v, lo, hi = np.log(np.maximum(v, 1e-300)), math.log(lo), math.log(hi)
        t = (v - lo) / (hi - lo if hi > lo else 1.0)
        return self.a + np.clip(t, -0.5, 1.5) * (self.b - self.a)

    def ticks(self, count: int = 5) -> list[float]:
        """Return round values."""
        if self.log and self.hi / self.lo >= 8:
            low, high = math.log10(self.lo), math.log10(self.hi)
            step = max(1, math.ceil((high - low) / count))
            powers = range(math.ceil(low - 1e-9), math.floor(high + 1e-9) + 1, step)
            if len(powers) >= 2:
                return [10.0**p for p in powers]
            both = [m * 10.0**p for p in range(-300, 300) for m in (1, 2, 5)] * (
                abs(low) < 299
            )
            return [v for v in both if self.lo <= v <= self.hi]
        return nice(self.lo, self.hi, count)


def nice(lo: Number, hi: Number, count: int = 5) -> list[float]:
    """Return about so many round values between two ends."""
    span = hi - lo
    if not (span > 0 and math.isfinite(span)):
        return [lo]
    raw = span / max(1, count)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= raw * 0.999)
    first, last = math.ceil(lo / step - 1e-9), math.floor(hi / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def padded(lo: Number, hi: Number, share: Number = 0.06) -> tuple[float, float]:
    """Return ends with room beyond them; equal ends get a width."""
    if hi <= lo:
        pad = 0.5 * abs(lo) or 0.5
        return lo - pad, hi + pad
    pad = share * (hi - lo)
    return lo - pad, hi + pad


@dataclass(kw_only=True)
class Plot:
    """A picture with two axes; marks are added, then it is written."""

    width: Number
    height: Number
    x: Ruler
    y: Ruler
    label: str
    marks: list[str] = field(default_factory=list)
    attributes: str = ""

    def add(self, mark: str) -> None:
        """Add an element."""
        self.marks.append(mark)

    def line(self, x: Any, y: Any, kind: str) -> None:
        """Add a line through points; not finite ones interrupt it."""
        self.add(f'<path class="{kind}" d="{path(self.x(x), self.y(y))}"/>')

    def area(self, x: Any, low: Any, high: Any, kind: str) -> None:
        """Add the area between two curves."""
        px, lo, hi = self.x(x), self.y(low), self.y(high)
        both = path(np.append(px, px[::-1]), np.append(hi, lo[::-1]))
        self.add(f'<path class="{kind}" d="{both}Z"/>')

    def dots(self, rows: Any, x: Any, y: Any, kinds: Any, r: Number = 3.5) -> None:
        """Add a dot per evaluation, which knows its number."""
        for i, px, py, kind in zip(rows, self.x(x), self.y(y), kinds, strict=True):
            self.add(
                f'<circle class="pt {kind}" data-i="{int(i)}" cx="{px:.1f}" '
                f'cy="{py:.1f}" r="{r:g}"/>'
            )

    def text(
        self, px: Number, py: Number, text: str, kind: str = "", **more: Any
    ) -> None:
        """Add a text at pixels."""
        extra = "".join(f' {k.replace("_", "-")}="{v}"' for k, v in more.items())
        self.add(
            f'<text class="{kind}" x="{px:.1f}" y="{py:.1f}"{extra}>'
            f"{escape(text)}</text>"
        )

    def axes(
        self,
        x_name: str = "",
        y_name: str = "",
        x_ticks: list[tuple[Number, str]] | None = None,
        count: int = 5,
        y_ticks: list[tuple[Number, str]] | None = None,
    ) -> None:
        """Add both axes: quiet lines, round numbers, names at the ends."""
        base, left, right = self.y.a, self.x.a, self.x.b
        if y_ticks is None:
            levels = self.y.ticks()
            y_ticks = list(zip(levels, distinct(levels), strict=True))
        for v, said in y_ticks:
            py = float(self.y(v))
            self.add(f'<path class="grid" d="M{left:.1f} {py:.1f}H{right:.1f}"/>')
            self.text(left - 6, py + 3.5, said, "tick", text_anchor="end")
        ticks = x_ticks
        if ticks is None:
            places = self.x.ticks(count)
            ticks = list(zip(places, distinct(places), strict=True))
        self.add(f'<path class="axis" d="M{left:.1f} {base:.1f}H{right:.1f}"/>')
        for v, name in ticks:
            px = float(self.x(v))
            self.add(f'<path class="axis" d="M{px:.1f} {base:.1f}v4"/>')
            self.text(px, base + 16, name, "tick", text_anchor="middle")
        if x_name:
            middle = (left + right) / 2
            self.text(middle, self.height - 5, x_name, "name", text_anchor="middle")
        if y_name:
            self.text(2, 11, y_name, "name")

    def svg(self) -> str:
        """Return the element."""
        return (
            f'<svg viewBox="0 0 {self.width:g} {self.height:g}" role="img" '
            f'aria-label="{escape(self.label)}"{self.attributes}>'
            f"{''.join(self.marks)}</svg>"
        )


def plot(
    width: Number,
    height: Number,
    x: tuple[Number, Number],
    y: tuple[Number, Number],
    label: str,
    *,
    x_log: bool = False,
    y_log: bool = False,
    margins: tuple[Number, Number, Number, Number] = (22, 12, 38, 52),
    inset: Number = 0.0,
) -> Plot:
    """Return an empty picture; margins are top, right, bottom, left."""
    top, right, bottom, left = margins
    return Plot(
        width=width,
        height=height,
        x=Ruler(lo=x[0], hi=x[1], a=left + inset, b=width - right - inset, log=x_log),
        y=Ruler(lo=y[0], hi=y[1], a=height - bottom, b=top, log=y_log),
        label=label,
    )


def path(px: Float[ndarray, " n"], py: Float[ndarray, " n"]) -> str:
    """Return a path through pixels; points that are not finite interrupt it."""
    out, pen = [], "M"
    for a, b in zip(px.tolist(), py.tolist(), strict=True):
        if not (math.isfinite(a) and math.isfinite(b)):
            pen = "M"
            continue
        out.append(f"{pen}{a:.1f} {b:.1f}")
        pen = "L"
    return "".join(out)


def steps(
    x: Float[ndarray, " n"], y: Float[ndarray, " n"]
) -> tuple[Float[ndarray, " m"], Float[ndarray, " m"]]:
    """Return the corners of a curve that holds each value until the next."""
    return np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]


def png(index: Int[ndarray, "h w"], palette: list[tuple[int, int, int]]) -> str:
    """Return an image of palette indices as a data URI; row 0 is at the top."""
    h, w = index.shape
    raw = b"".join(b"\0" + row.tobytes() for row in index.astype(np.uint8))
    colours = bytes(c for colour in palette for c in colour)
    head = struct.pack(">IIBBBBB", w, h, 8, 3, 0, 0, 0)
    chunks = [(b"IHDR", head), (b"PLTE", colours), (b"IDAT", zlib.compress(raw, 9))]
    body = b"".join(_chunk(*c) for c in (*chunks, (b"IEND", b"")))
    data = base64.b64encode(b"\x89PNG\r\n\x1a\n" + body).decode()
    return f"data:image/png;base64,{data}"


def _chunk(kind: bytes, content: bytes) -> bytes:
    crc = struct.pack(">I", zlib.crc32(kind + content))
    return struct.pack(">I", len(content)) + kind + content + crc
