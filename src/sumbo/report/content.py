"""What a report says, as numbers: everything that the page shows is computed here.

Values are in the user's units and sign. Points are plain numbers, choices by position.
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumbo.errors import SumboError
from sumbo.importance import Importance, importance_of
from sumbo.optimizer import Optimizer
from sumbo.optimizer.recommend import Recommendation
from sumbo.report.ahead import Next, Optimum, next_of, optimum_of
from sumbo.report.effects import Effect, effects_of
from sumbo.report.model import (
    IDLE,
    Check,
    Contour,
    Slice,
    check_of,
    contour_of,
    pair_of,
    slice_of,
    structures_of,
    together_of,
)
from sumbo.report.run import Evaluations, evaluations_of
from sumbo.report.units import Units, units_of
from sumbo.space import Categorical
from sumbo.space.measure import measures_of
from sumbo.surrogate import Surrogate
from sumbo.surrogate.noise import expecting_noise
from sumbo.typing import Float, Groups, Int, ndarray

# Values with which a model is worth a look.
FEWEST = 5
# Parameters with pictures of their own; the others are in the list of importance.
MOST_PANELS = 12
# Joint draws of the Sobol shares.
DRAWS = 100


@dataclass(frozen=True, kw_only=True, eq=False)
class Findings:
    """What the model of a run says.

    Attributes:
        units: The way to the user's units.
        stand_in: Whether the model is not the method's own, which has none.
        importance: Sobol shares of the parameters, with intervals.
        order: The parameters, the most important one first.
        effects: Average effects of the first parameters in ``order``.
        slices: Slices through the recommended point, of the same parameters.
        contour: The prediction over the most important pair, if there are two.
        check: The leave-one-out predictions.
        structures: Plausible structures with their probabilities.
        together: How probable it is that two parameters act together.
        learned: Whether ``together`` was learned from the data.
        optimum: Joint draws of the optimum.
        noise: The standard deviation of the noise that the model estimates, on the
            scale of the effects.
    """

    units: Units
    stand_in: bool
    importance: Importance
    order: Int[ndarray, " K"]
    effects: list[Effect]
    slices: list[Slice]
    contour: Contour | None
    check: Check
    structures: list[tuple[float, Groups]]
    together: Float[ndarray, "K K"]
    learned: bool
    optimum: Optimum
    noise: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Content:
    """All that a report says.

    Attributes:
        title: The heading.
        opt: The run.
        evaluations: All evaluations.
        best: The row of the best feasible evaluation; None without one.
        recommended: The point that the model recommends; None without one.
        model: What the model says; None without a model.
        why: Why there is no model; "" if there is one.
        next: What would be asked next; None if nothing is left, or functions lack.
        missing: Names of functions that the file of the run does not hold.
        message: How the run ended, if that is known.
        made: When the report was made, seconds since 1970.
    """

    title: str
    opt: Any
    evaluations: Evaluations
    best: int | None
    recommended: Recommendation | None
    model: Findings | None
    why: str
    next: Next | None
    missing: tuple[str, ...]
    message: str
    made: float

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parameters."""
        return self.opt.space.names


def content_of(
    opt: Any,
    *,
    title: str = "",
    message: str = "",
    missing: tuple[str, ...] = (),
) -> Content:
    """Return what the report of a run says; the run does not change.

    Args:
        opt: The run.
        title: The heading; by default what was done with how many parameters.
        message: How the run ended.
        missing: Functions of constraints that are not at hand, and stand for True.
    """
    evaluations = evaluations_of(opt)
    best = _best_row(opt, evaluations)
    surrogate, stand_in, why = _surrogate(opt, evaluations)
    recommended = None if best is None else opt.recommend()
    model = None
    if surrogate is not None:
        center = _center(opt, evaluations, recommended)
        here = None if recommended is None else recommended.mean
        model = _learned(opt, surrogate, center, here, stand_in=stand_in)
    units = None if model is None else model.units
    following = None if missing else next_of(opt, surrogate, units)
    goal = "Maximisation" if opt.maximize else "Minimisation"
    count = len(opt.space.names)
    default = f"{goal} over {count} parameter{'s' if count > 1 else ''}"
    return Content(
        title=title or default,
        opt=opt,
        evaluations=evaluations,
        best=best,
        recommended=recommended,
        model=model,
        why=why,
        next=following,
        missing=missing,
        message=message,
        made=time.time(),
    )


def _best_row(opt: Any, evaluations: Evaluations) -> int | None:
    sign = -1.0 if opt.maximize else 1.0
    if not evaluations.feasible.any():
        return None
    return int(np.nanargmin(np.where(evaluations.feasible, sign * opt.y, np.nan)))


def _center(
    opt: Any, evaluations: Evaluations, recommended: Recommendation | None
) -> Float[ndarray, " K"]:
    """Return the point through which slices go: recommended, or not failed at least."""
    if recommended is not None:
        return opt.space.numbers(recommended.x)[0]
    return evaluations.X[int(np.flatnonzero(np.isfinite(evaluations.y))[0])]


def _surrogate(
    opt: Any, evaluations: Evaluations
) -> tuple[Surrogate | None, bool, str]:
    """Return the model, whether it stands in for another, and why there is none."""
    known = evaluations.y[np.isfinite(evaluations.y)]
    if len(known) < FEWEST:
        count = f"{len(known)} value{'s' if len(known) != 1 else ''}"
        return None, False, f"There are {count} so far; a model needs {FEWEST} or more."
    if np.ptp(known) == 0:
        return None, False, "All values are equal, so there is nothing to model."
    found, stand_in = opt.surrogate(), False
    if found is None:
        found, stand_in = _fitted_for_report(opt).surrogate(), True
    elif opt.settings.get("fit") != "map":
        return found, False, ""
    # As ``recommend`` does: pictures of a model that takes noise for shape mislead.
    return None if found is None else expecting_noise(found), stand_in, ""


def _fitted_for_report(opt: Any) -> Optimizer:
    """Return a run of the default method with the same values."""
    other = Optimizer(
        opt.space, seed=opt.seed, maximize=opt.maximize, constraints=opt.limits
    )
    ok = np.isfinite(opt.y)
    noise = None if np.isnan(opt.noise).all() else opt.noise[ok]
    names = opt.outcomes
    rows = [{n: names[n][i] for n in names} for i in np.flatnonzero(ok)]
    known = all(np.isfinite(list(row.values())).all() for row in rows)
    measured = rows if names and known else None
    other.tell(opt.X[ok], opt.y[ok], noise=noise, outcomes=measured, earlier=True)
    return other


def _learned(
    opt: Any,
    surrogate: Surrogate,
    center: Float[ndarray, " K"],
    here: float | None,
    *,
    stand_in: bool,
) -> Findings:
    space, units = opt.space, units_of(opt, surrogate)
    importance = importance_of(
        surrogate.posteriors,
        measures_of(space),
        space.names,
        weights=surrogate.weights,
        n=DRAWS,
    )
    order = np.argsort(-importance.total, kind="stable")
    shown = order[: _panels(importance.upper)]
    structures = structures_of(surrogate, space)
    together, learned = together_of(opt, structures)
    K = len(space.names)
    contour = None
    if K > 1:
        pair = pair_of(importance.total, together if learned else None)
        contour = contour_of(surrogate, units, space, center, pair)
    check = check_of(surrogate, units)
    if here is None:
        here = float(units.values(surrogate.posterior.fitted().min()))
    return Findings(
        units=units,
        stand_in=stand_in,
        importance=importance,
        order=order,
        effects=effects_of(surrogate, space, shown, units.scale),
        slices=[slice_of(surrogate, units, space, center, int(k)) for k in shown],
        contour=contour,
        check=check,
        structures=structures,
        together=together,
        learned=learned,
        optimum=optimum_of(opt, surrogate, units, here),
        noise=_noise(surrogate, units),
    )


def _noise(surrogate: Surrogate, units: Units) -> float:
    """Return the estimated standard deviation of the noise."""
    w = surrogate.weights / surrogate.weights.sum()
    variances = np.array([post.gp.noise for post in surrogate.posteriors])
    return float(abs(units.scale) * np.sqrt(w @ variances))


def _panels(upper: Float[ndarray, " K"]) -> int:
    """Return how many parameters have pictures of their own."""
    return int(np.clip(np.sum(upper >= IDLE), min(3, len(upper)), MOST_PANELS))


def as_texts(space: Any, x: Float[ndarray, " K"]) -> list[str]:
    """Return the values of a point, given as plain numbers, as texts."""
    out = []
    for p, v in zip(space.parameters, x.tolist(), strict=True):
        if isinstance(p, Categorical):
            out.append(str(p.choices[int(v)]))
        else:
            out.append(f"{v:.6g}".replace("-", "−"))
    return out


def as_values(space: Any, X: Float[ndarray, "n K"]) -> list[dict[str, Any]]:
    """Return points, given as plain numbers, as Python values by name."""
    return space.as_dicts(space.points(X)) if len(X) else []


def require_run(run: Any) -> Optimizer:
    """Return the optimizer of a run or result.

    Raises:
        SumboError: If it is neither.
    """
    found = run.get("optimizer") if isinstance(run, dict) else run
    if not isinstance(found, Optimizer):
        msg = f"run={run!r} is no result and no Optimizer. Pass one of them."
        raise SumboError(msg)
    return found
