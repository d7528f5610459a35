"""What a record must fulfil: a digest says nothing of what wrote it."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from sumbo.study.design import Cell

_NUMBERS = ("seed", "seconds", "problem_seed", "best_known")
_OPTIONAL = ("problem_seed", "best_known")
_TEXTS = ("started", "host", "revision")


def contradiction(cell: Cell, values: Mapping[str, Any]) -> str:
    """Return in what the fields of a record contradict themselves or its cell.

    An empty text means that they do not.
    """
    dim = values["dim"]
    if type(dim) is not int or dim < 1:
        return f"dim is {dim!r}, not a positive integer"
    wrong = _in_arrays(cell, values)
    if wrong:
        return wrong
    for name in _NUMBERS:
        value = values[name]
        if not _is_finite(value) and not (value is None and name in _OPTIONAL):
            return f"{name} is {value!r}, not a finite number"
    if not isinstance(values["exact"], bool):
        return f"exact is {values['exact']!r}, neither true nor false"
    versions = dict(values["versions"])
    texts = [values[name] for name in _TEXTS] + list(values["failures"])
    texts += [text for pair in versions.items() for text in pair]
    strange = [text for text in texts if not isinstance(text, str)]
    return f"{strange[0]!r} stands where a text belongs" if strange else ""


def _is_finite(value: Any) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and bool(np.isfinite(float(value)))


def _in_arrays(cell: Cell, values: Mapping[str, Any]) -> str:
    N, asks = cell.n_init + cell.acquisitions, -(-cell.acquisitions // cell.batch)
    shapes: dict[str, tuple[int, ...]] = {"y": (N,), "eval_s": (N,)}
    shapes |= {"fit_cpu_s": (asks,), "ask_cpu_s": (asks,)}
    if values["x"] is not None:
        shapes["x"] = (N, values["dim"])
    for name, shape in shapes.items():
        if values[name].shape != shape:
            return f"{name} has shape {values[name].shape}, not {shape}"
        if not np.isfinite(values[name]).all():
            return f"{name} holds values that are not finite"
    return ""
