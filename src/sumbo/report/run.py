"""The facts of a run: what was asked for, what was evaluated, what failed."""

import platform
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from sumbo.methods import METHODS
from sumbo.space import Categorical, Feasible, Integer, Outcome
from sumbo.space.linear import Linear
from sumbo.typing import Bool, Float, ndarray

FAILED, BROKEN, FINE = "failed", "infeasible", "ok"


@dataclass(frozen=True, kw_only=True, eq=False)
class Evaluations:
    """All evaluations in their order; values in the user's sign.

    Attributes:
        X: The points as plain numbers.
        y: The values; NaN where the evaluation failed.
        feasible: Whether the evaluation succeeded and meets all constraints.
        best: The best feasible value so far; NaN before the first.
        times: When the values came in, seconds since 1970; NaN if not known.
        noise: Standard deviations that were given; NaN if not known.
        outcomes: What else was measured, by name.
        initial: How many of the first evaluations chose no model.
        pending: Points without a value yet, as plain numbers.
    """

    X: Float[ndarray, "N K"]
    y: Float[ndarray, " N"]
    feasible: Bool[ndarray, " N"]
    best: Float[ndarray, " N"]
    times: Float[ndarray, " N"]
    noise: Float[ndarray, " N"]
    outcomes: dict[str, Float[ndarray, " N"]]
    initial: int
    pending: Float[ndarray, "Q K"]

    @property
    def status(self) -> list[str]:
        """What became of each evaluation."""
        ok = np.isfinite(self.y)
        pairs = zip(ok.tolist(), self.feasible.tolist(), strict=True)
        return [FINE if f else BROKEN if o else FAILED for o, f in pairs]


def evaluations_of(opt: Any) -> Evaluations:
    """Return the evaluations of a run."""
    y, space = opt.y, opt.space
    feasible = np.isfinite(opt.feasible_y)
    sign = -1.0 if opt.maximize else 1.0
    running = np.where(feasible, sign * y, np.inf)
    best = sign * np.minimum.accumulate(running) if len(y) else y
    return Evaluations(
        X=_numbers(space, opt.X),
        y=y,
        feasible=feasible,
        best=np.where(np.isfinite(best), best, np.nan),
        times=opt.times,
        noise=opt.noise,
        outcomes=opt.outcomes,
        initial=min(opt.n_init, len(y)),
        pending=_numbers(space, opt.pending),
    )


def _numbers(space: Any, X: Any) -> Float[ndarray, "n K"]:
    return space.numbers(X) if len(X) else np.empty((0, len(space.names)))


def parameter_rows(space: Any) -> list[tuple[str, str, str]]:
    """Return name, kind and range of every parameter, in words."""
    rows = []
    for p in space.parameters:
        if isinstance(p, Categorical):
            what = ", ".join(str(c) for c in p.choices)
            rows.append((p.name, f"{len(p.choices)} choices", what))
            continue
        kind = "whole number" if isinstance(p, Integer) else "number"
        kind += ", logarithmic" if p.log else ""
        rows.append((p.name, kind, f"{p.lo:g} … {p.hi:g}".replace("-", "−")))
    return rows


def constraint_rows(opt: Any) -> list[tuple[str, str]]:
    """Return all constraints in words, with their kind."""
    rows = []
    for c in opt.space.constraints:
        if isinstance(c, Linear):
            rows.append((c.text, "known before an evaluation"))
        elif isinstance(c, Feasible):
            rows.append((f"{c.name}(x)", "known before an evaluation: a function"))
    return [*rows, *((limit_text(o), "measured") for o in opt.limits)]


def limit_text(limit: Outcome) -> str:
    """Return the limits of an outcome in words."""
    low = "" if limit.lower is None else f"{limit.lower:g} ≤ "
    high = "" if limit.upper is None else f" ≤ {limit.upper:g}"
    return f"{low}{limit.name}{high}"


def settings_changed(opt: Any) -> list[tuple[str, str]]:
    """Return the settings of the method that are not its defaults."""
    cls = METHODS.get(opt.method_name) if opt.method_name in METHODS.names() else None
    default = {} if cls is None else cls().__dict__
    return [
        (name, repr(value))
        for name, value in opt.settings.items()
        if name not in default or default[name] != value
    ]


def versions() -> list[tuple[str, str]]:
    """Return the versions that computed this report."""
    import sumbo

    return [
        ("sumbo", sumbo.__version__),
        ("Python", platform.python_version()),
        ("NumPy", np.__version__),
        ("SciPy", scipy.__version__),
    ]
