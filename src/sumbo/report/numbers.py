"""Numbers as texts: as many digits as mean something, and a real minus sign."""

import math
from datetime import UTC, datetime

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def shown(v: float, digits: int = 4) -> str:
    """Return a number with so many significant digits."""
    if v is None or math.isnan(v):
        return "–"
    if math.isinf(v):
        return "∞" if v > 0 else "−∞"
    text = f"{v:.{digits}g}"
    mantissa, e, exponent = text.partition("e")
    if e:
        power = str(int(exponent)).translate(_SUPERSCRIPTS)
        text = f"{mantissa}·10{power}" if mantissa not in ("1", "-1") else f"10{power}"
        text = f"-{text}" if mantissa == "-1" else text
    return text.replace("-", "−")


def with_error(mean: float, sd: float) -> str:
    """Return mean ± sd, with two digits of the standard deviation."""
    if not (math.isfinite(mean) and math.isfinite(sd)) or sd <= 0:
        return shown(mean, 6)
    places = 1 - math.floor(math.log10(sd))
    if abs(mean) >= 1e6 or places > 9 or abs(mean) < 1e-4:
        size = math.log10(max(abs(mean), sd)) - math.log10(sd)
        return f"{shown(mean, max(2, math.ceil(size) + 2))} ± {shown(sd, 2)}"
    if places < 0:
        return f"{mean:.0f} ± {sd:.0f}".replace("-", "−")
    return f"{mean:.{places}f} ± {sd:.{places}f}".replace("-", "−")


def distinct(values: list[float]) -> list[str]:
    """Return numbers with as few digits as tell them apart, four at least."""
    for digits in range(4, 16):
        texts = [shown(v, digits) for v in values]
        if len(set(texts)) == len(set(values)):
            return texts
    return [repr(v) for v in values]


def span(low: float, high: float) -> str:
    """Return an interval, with the digits that tell its ends apart."""
    if low == high:
        return shown(low)
    size = max(abs(low), abs(high))
    digits = 3
    if high > low and math.isfinite(high - low) and size > 0:
        digits = min(12, max(3, 2 + math.ceil(math.log10(size / (high - low)))))
    return f"{shown(low, digits)} … {shown(high, digits)}"


def percent(share: float) -> str:
    """Return a share in percent."""
    if not math.isfinite(share):
        return "–"
    if 0.0 < share < 0.01:
        return "< 1 %"
    if 0.99 < share < 1.0:
        return "> 99 %"
    return f"{100 * share:.0f} %".replace("-", "−")


def moment(seconds: float) -> str:
    """Return a time as a date, in UTC."""
    if not math.isfinite(seconds):
        return "–"
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}"


def duration(seconds: float) -> str:
    """Return a duration in the unit that suits it."""
    for size, unit in ((86_400.0, "days"), (3_600.0, "h"), (60.0, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s" if seconds >= 1.0 else "a second"


def short(names: tuple[str, ...], width: int = 18) -> list[str]:
    """Return short names that stay distinct: the middle goes, then a number comes."""
    cut = [
        n if len(n) <= width else f"{n[: width - 7]}…{n[-6:]}"
        for n in (" ".join(name.split()) or "?" for name in names)
    ]
    twice = {n for n in cut if cut.count(n) > 1}
    return [
        f"{n[: width - 4]}… #{k + 1}" if n in twice else n for k, n in enumerate(cut)
    ]
