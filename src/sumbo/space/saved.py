"""Spaces as JSON values, for checkpoints."""

import dataclasses
import math
from collections.abc import Iterable
from typing import Any

from sumbo.errors import MissingFunctionError
from sumbo.space.constraints import Feasible
from sumbo.space.linear import Linear
from sumbo.space.parameters import Categorical, Integer, Parameter, Real

KINDS = {"Real": Real, "Integer": Integer, "Categorical": Categorical}


def as_entries(
    parameters: Iterable[Parameter], constraints: Iterable[Linear | Feasible]
) -> list[dict[str, Any]]:
    """Return parameters, then constraints, as JSON values; tests by name only."""
    entries = [{"kind": type(p).__name__} | dataclasses.asdict(p) for p in parameters]
    for entry in entries:
        if "choices" in entry:
            entry["choices"] = list(entry["choices"])
    for c in constraints:
        if isinstance(c, Feasible):
            entries.append({"kind": "Feasible", "name": c.name})
            continue
        limits = {"lower": _or_none(c.lower), "upper": _or_none(c.upper)}
        pairs = [list(pair) for pair in c.coefficients]
        entry = {"kind": "Linear", "coefficients": pairs, **limits, "text": c.text}
        entries.append(entry)
    return entries


def restored(value: Any, tests: tuple[Feasible, ...]) -> dict[str, Any]:
    """Return the fields of a space from the JSON values that stand for it.

    Raises:
        MissingFunctionError: If the tests are not those with which the space was saved.
    """
    entries = [dict(entry) for entry in value]
    names = [entry["name"] for entry in entries if entry["kind"] == "Feasible"]
    if names != [test.name for test in tests]:
        msg = f"constraints: the run was saved with the tests {names}, and "
        msg += f"{[test.name for test in tests]} were passed. Functions are not saved: "
        raise MissingFunctionError(
            f"{msg}pass constraints=[...] as when the run began."
        )
    rest = iter(tests)
    parameters, constraints = [], []
    for entry in entries:
        kind = entry.pop("kind")
        if kind == "Feasible":
            constraints.append(next(rest))
        elif kind == "Linear":
            constraints.append(_linear(**entry))
        else:
            parameters.append(KINDS[kind](**entry))
    return {"parameters": tuple(parameters), "constraints": tuple(constraints)}


def shown(entries: list[dict[str, Any]]) -> str:
    """Return constraints in words."""
    return str([entry.get("text", entry.get("name")) for entry in entries])


def _linear(coefficients: Any, lower: Any, upper: Any, text: str) -> Linear:
    return Linear(
        coefficients=tuple((str(name), float(c)) for name, c in coefficients),
        lower=-math.inf if lower is None else float(lower),
        upper=math.inf if upper is None else float(upper),
        text=text,
    )


def _or_none(limit: float) -> float | None:
    return limit if math.isfinite(limit) else None
