"""Where groups come from: one file per decomposition.

The class of every registered decomposition is an attribute, found by its name, such as
``sumbo.decompositions.Learned``.
"""

from sumbo.decompositions.base import (
    DECOMPOSITIONS,
    Decomposition,
    Explicit,
    Proposal,
    Weighted,
    resolve,
)

__all__ = [
    "DECOMPOSITIONS",
    "Decomposition",
    "Explicit",
    "Proposal",
    "Weighted",
    "resolve",
]


def __getattr__(name: str) -> type[Decomposition]:
    found = {} if name.startswith("_") else _registered()
    if name not in found:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return found[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *_registered()})


def _registered() -> dict[str, type[Decomposition]]:
    classes = (DECOMPOSITIONS.get(name) for name in DECOMPOSITIONS.names())
    return {cls.__name__: cls for cls in classes}
