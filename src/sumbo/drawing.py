"""Colours, markers and fonts of all figures.

Colours are those of Okabe and Ito, which are distinct with all common kinds of
colour vision and differ in lightness as well as in hue.
"""

from dataclasses import dataclass
from typing import Any

from sumbo.methods import METHODS

BLACK, GREY, PALE = "#000000", "#7F7F7F", "#ECECEC"
BLUE, SKY, GREEN = "#0072B2", "#56B4E9", "#009E73"
ORANGE, VERMILION, PURPLE = "#E69F00", "#D55E00", "#CC79A7"

RC: dict[str, Any] = {
    "font.size": 8.5,
    "axes.titlesize": 9,
    "axes.labelsize": 8.5,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "legend.fontsize": 8,
    "legend.frameon": False,
}


@dataclass(frozen=True, kw_only=True)
class Look:
    """How a method is drawn, the same in every figure."""

    color: str
    marker: str


_SPARE = (
    Look(color="#7A6A00", marker="d"),
    Look(color="#1A7F7F", marker="h"),
    Look(color="#A6195A", marker="p"),
)


def look(method: str) -> Look:
    """Return how ``method`` is drawn: its ``look``, or a spare one without."""
    own = getattr(METHODS.get(method), "look", None) if known(method) else None
    if own is not None:
        color, marker = own
        return Look(color=color, marker=marker)
    return _SPARE[sum(method.encode()) % len(_SPARE)]


def label(method: str) -> str:
    """Return what a figure calls ``method``: its label, or its name without one."""
    if not known(method):
        return plain(method)
    return str(getattr(METHODS.get(method), "label", method))


def known(method: str) -> bool:
    """Return whether a method is registered; old records name others."""
    return method in METHODS.names()


def plain(text: str) -> str:
    """Return the text such that matplotlib reads no formula into a user's name."""
    return text.replace("$", r"\$")
