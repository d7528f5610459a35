"""The values of the objective as an axis: units, sign, transform, tick labels."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sumbo.data import Transform
from sumbo.drawing import plain
from sumbo.plots.style import Axes
from sumbo.typing import Float, ndarray

TICKS = 5  # of an axis that is not linear
PLAIN = (1e-4, 1e7)  # between them numbers have no exponent


@dataclass(frozen=True, kw_only=True)
class ValueAxis:
    """What the model's values are to the user.

    The model sees z = T(y), or T(−y) where y is maximised; its posterior is that of
    −z then. Where T is linear, effects are in the units of y. Where it is a logarithm,
    they are effects on this logarithm, and values get an axis that is linear in it.

    Attributes:
        name: What an axis calls the objective.
        transform: The transform T.
        maximised: Whether y is maximised.
    """

    name: str = "value"
    transform: Transform = field(default_factory=Transform)
    maximised: bool = False

    @property
    def linear(self) -> bool:
        """Whether effects are in the units of the objective."""
        return self.transform.kind != "log"

    @property
    def middle(self) -> str:
        """What the mean of the model is in the user's units."""
        return "mean" if self.linear else "median"

    @property
    def unit(self) -> float:
        """An effect of one in the model is this much of the objective.

        If the objective was transformed, it is so much of its logarithm.
        """
        t = self.transform
        return t.sd if not self.linear else float(np.ldexp(t.width * t.sd, t.exponent))

    def user(self, z: Any) -> Float[ndarray, "..."]:
        """Return values of the model in the user's units and sign."""
        sign = -1.0 if self.maximised else 1.0
        return sign * self.transform.inverse(sign * np.asarray(z, dtype=float))

    def model(self, y: Any) -> Float[ndarray, "..."]:
        """Return the user's values as those of the model."""
        sign = -1.0 if self.maximised else 1.0
        return sign * self.transform.forward(sign * np.asarray(y, dtype=float))

    @property
    def label(self) -> str:
        """The name of an axis of values."""
        return plain(self.name)

    @property
    def effect(self) -> str:
        """The name of an axis of effects, which says what they are effects on."""
        if self.linear:
            return f"effect on {plain(self.name)}"
        best, width = self._best_and_width
        name = plain(self.name)
        if self.maximised:
            return f"effect on −log(1 +\n({_text(best)} − {name})/{_text(width)})"
        gap = f"{name} {'−' if best >= 0 else '+'} {_text(abs(best))}"
        return f"effect on log(1 +\n({gap})/{_text(width)})"

    @property
    def _best_and_width(self) -> tuple[float, float]:
        """The best value when the logarithm was chosen, and its scale."""
        t = self.transform
        best = float(np.ldexp(t.anchor, t.exponent))
        return -best if self.maximised else best, float(np.ldexp(t.width, t.exponent))

    def show(self, ax: Axes, which: str, low: float, high: float) -> None:
        """Set scale, limits and name of an axis from ``low`` to ``high``, of the model.

        ``which`` is "x" or "y".
        """
        axis: Any = getattr(ax, f"{which}axis")
        ends = self.user(np.array([low, high]))
        if not self.linear:
            scale: Callable[..., None] = getattr(ax, f"set_{which}scale")
            scale("function", functions=(self.model, self.user))
            at = round_numbers(self.user(np.linspace(low, high, 2 * TICKS + 1)[1::2]))
            axis.set_ticks(at, labels=numbers(at))
            axis.set_minor_locator(_no_ticks())
        getattr(ax, f"set_{which}lim")(*ends)
        axis.set_label_text(self.label)


def round_numbers(values: Any) -> Float[ndarray, " n"]:
    """Return numbers with the fewest digits such that each stays nearest to itself.

    No number moves by more than a quarter of the distance to its neighbours.
    """
    values = np.asarray(values, dtype=float)
    gaps = np.abs(np.diff(values))
    room = 0.25 * np.minimum(np.append(gaps, np.inf), np.append(np.inf, gaps))
    out = values.copy()
    for i, (v, most) in enumerate(zip(values.tolist(), room.tolist(), strict=True)):
        tries = (float(f"{v:.{digits}g}") for digits in range(1, 17))
        out[i] = next((r for r in tries if abs(r - v) <= most), v)
    return out


def numbers(values: Any) -> list[str]:
    """Return numbers as texts with the fewest digits that tell them apart."""
    values = [float(v) for v in values]
    texts: list[str] = []
    for digits in range(3, 18):
        texts = [_number(v, digits) for v in values]
        if len(set(texts)) == len(set(values)):
            break
    return [text.replace("-", "−") if text[:1] == "-" else text for text in texts]


def _number(value: float, digits: int) -> str:
    text = f"{value:.{digits}g}"
    if "e" in text and PLAIN[0] <= abs(value) < PLAIN[1]:
        return np.format_float_positional(float(text), trim="-")
    return text


def shortened(names: Sequence[str], most: int = 22) -> list[str]:
    """Return names of at most about so many letters, all different if the names are.

    A long name loses its middle; where two would look alike, both get their numbers.
    """
    short = [name if len(name) <= most else _ends(name, most) for name in names]
    return [
        f"{text} [{i}]" if short.count(text) > 1 and name != text else text
        for i, (name, text) in enumerate(zip(names, short, strict=True))
    ]


def _ends(name: str, most: int) -> str:
    tail = (most - 1) // 2
    return f"{name[: most - 1 - tail]}…{name[-tail:]}"


def _text(value: float) -> str:
    return numbers([value])[0]


def _no_ticks() -> Any:
    from matplotlib.ticker import NullLocator

    return NullLocator()
