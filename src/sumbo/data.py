"""Observations as models see them: the one place where y changes its units.

A `Transform` maps the user's y to model units z, strictly increasing on the whole
line. `Data` holds unit-cube points with both, immutable and in the order told.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from sumbo.errors import ArgumentError
from sumbo.state import State
from sumbo.typing import Bool, Domain, Float, Group, Int, ndarray

# Distance of a limit from all values, in ranges of the values, beyond which it is far.
_FAR = 1e3
Kind = Literal["standardise", "log", "bilog", "none"]


@dataclass(frozen=True, kw_only=True)
class DecadesRule:
    """When values span decades, so that ``"auto"`` takes logarithms at once.

    Attributes:
        ratio: The worst value must lie this many times further above the best one
            than a typical value of the initial design does. In 4 000 simulated designs
            each of 20 or 120 points, the ratio never exceeded 8 for Gaussian values
            and 39 for exponential ones and for sums of 1 to 10 Ackley, Levy or
            Rastrigin functions. With values log-uniform over eight decades it exceeded
            50 in 98.6 % of designs of 20.
        design: The number of first values that are typical. Later ones gather near
            the optimum, and against those every run that converges would seem to span
            decades.
        fewest: With fewer distinct values than this, the median is too close to the
            minimum by chance, and there is no decision.
        resolution: Quantile of the distances from the best value that sets the scale
            of the logarithm. The part of the curve that is nearly straight holds this
            share of the data, however far a run got.
    """

    ratio: float = 50.0
    design: int = 20
    fewest: int = 8
    resolution: float = 0.25


DECADES = DecadesRule()


@dataclass(frozen=True, kw_only=True)
class Transform(State):
    """The map z = (w((y / 2^exponent - anchor) / width) - mean) / sd.

    ``log`` has w(v) = log(1 + v) for v ≥ 0 and w(v) = v below, where values better
    than the best one seen lie; both pieces have slope 1 at 0. Otherwise w(v) = v.
    ``bilog`` has w(v) = sign(v) log(1 + |v|): long tails on both sides of the anchor,
    the limit of an outcome, are shortened; [eriksson2021]. The power of two keeps sums
    of squares of values such as 1e300 or 1e-300 finite, and does not round.
    """

    kind: Kind = "none"
    exponent: int = 0
    anchor: float = 0.0
    width: float = 1.0
    mean: float = 0.0
    sd: float = 1.0

    def forward(self, y: Float[ndarray, "..."]) -> Float[ndarray, "..."]:
        """Return the values in model units."""
        v = (np.ldexp(y, -self.exponent) - self.anchor) / self.width
        return np.asarray((self._warp(v) - self.mean) / self.sd)

    def inverse(self, z: Float[ndarray, "..."]) -> Float[ndarray, "..."]:
        """Return the values in the user's units; inf where they exceed the floats."""
        with np.errstate(over="ignore"):
            v = np.asarray(self.mean + self.sd * z)
            if self.kind == "log":
                v = np.where(v < 0, v, np.expm1(np.maximum(v, 0.0)))
            elif self.kind == "bilog":
                v = np.sign(v) * np.expm1(np.abs(v))
            return np.asarray(np.ldexp(self.anchor + self.width * v, self.exponent))

    def log_slopes(self, y: Float[ndarray, "..."]) -> Float[ndarray, "..."]:
        """Return log dz/dy, by which the log densities of y and z differ."""
        out = np.full(np.shape(y), -math.log(self.sd * self.width))
        out -= self.exponent * math.log(2.0)
        if self.kind == "log":
            v = (np.ldexp(y, -self.exponent) - self.anchor) / self.width
            out -= np.log1p(np.maximum(v, 0.0))
        elif self.kind == "bilog":
            v = (np.ldexp(y, -self.exponent) - self.anchor) / self.width
            out -= np.log1p(np.abs(v))
        return out

    def describe(self, *, negated: bool = False) -> str:
        """Return a sentence on what was done to y, or to −y if y is ``negated``."""
        if self.kind == "none":
            return "-y is used as it is." if negated else "y is used as it is."
        best = float(np.ldexp(self.anchor, self.exponent))
        if self.kind == "log":
            scale = float(np.ldexp(self.width, self.exponent))
            warp = f"log(1 + ({_distance(best, negated)}) / {scale:.4g})"
            side = "above" if negated else "below"
            best = -best if negated else best
            return f"{warp} is standardised, linear {side} {best:.4g}."
        if self.kind == "bilog":
            scale = float(np.ldexp(self.width, self.exponent))
            warp = "sign(v) log(1 + |v|) is standardised"
            return f"{warp}, v = ({_distance(best, negated)}) / {scale:.4g}."
        mean = float(np.ldexp(self.anchor + self.mean, self.exponent))
        sd = float(np.ldexp(self.sd, self.exponent))
        return f"y is standardised: ({_distance(mean, negated)}) / {sd:.4g}."

    def _warp(self, v: Float[ndarray, "..."]) -> Float[ndarray, "..."]:
        if self.kind == "bilog":
            return np.sign(v) * np.log1p(np.abs(v))
        if self.kind != "log":
            return v
        return np.where(v < 0, v, np.log1p(np.maximum(v, 0.0)))


def _distance(center: float, negated: bool) -> str:
    if negated:
        return f"{-center:.4g} - y"
    return f"y + {-center:.4g}" if center < 0 else f"y - {center:.4g}"


def choose_transform(
    y: Float[ndarray, " N"], kind: str = "auto", limit: float = 0.0
) -> Transform:
    """Return the transform of that kind which gives ``y`` mean 0 and sd 1.

    ``limit`` is the anchor of "bilog"; half of the values lie within its width, where
    it is nearly straight.

    ``y`` is in the order told. "auto" takes "log" if the values span decades, else
    "standardise"; "none" leaves y alone. Values that are all equal become 0.

    Raises:
        ArgumentError: If the kind is unknown, or a value is not finite.
    """
    known = ("auto", *get_args(Kind))
    if kind not in known:
        raise ArgumentError(f"kind={kind!r} is unknown. Use one of {', '.join(known)}.")
    if not np.isfinite(y).all():
        bad = y[~np.isfinite(y)][0]
        raise ArgumentError(f"y holds {bad}. Mark that row as failed.")
    if kind == "none":
        return Transform()
    if len(y) == 0:
        return Transform(kind="log" if kind == "log" else "standardise")
    exponent = int(np.frexp(np.abs(y).max())[1])
    v = np.ldexp(y, -exponent)
    raw = Transform(kind="standardise", exponent=exponent, anchor=float(v.min()))
    if kind == "log" or (kind == "auto" and spans_decades(v - v.min())):
        raw = replace(raw, kind="log", width=_resolution(v - v.min()))
    if kind == "bilog":
        raw = _around(raw, v, limit)
    w = raw.forward(y)
    # Equal values have no scale of their own; their magnitude, 2^exponent, serves.
    sd = float(w.std()) if np.ptp(w) > 0 else 1.0
    return replace(raw, mean=float(w.mean()), sd=sd)


def _around(raw: Transform, v: Float[ndarray, " N"], limit: float) -> Transform:
    """Return a transform that draws together what is far from a limit.

    A limit that is far from all values does not matter, and would cost digits.
    """
    with np.errstate(over="ignore"):
        anchor = float(np.ldexp(limit, -raw.exponent))
    distances = np.abs(v - anchor)
    if not distances.min() <= _FAR * np.ptp(v):
        return raw
    floor = np.finfo(float).eps * distances.max()
    width = max(float(np.median(distances)), floor) or 1.0
    return replace(raw, kind="bilog", anchor=anchor, width=width)


def spans_decades(distances: Float[ndarray, " N"]) -> bool:
    """Return whether the worst value lies far above those typical of the design.

    Takes the distances from the best value, in the order told.
    """
    positive = distances[distances > 0]
    if len(positive) < DECADES.fewest:
        return False
    typical = np.median(positive[: DECADES.design])
    return bool(positive.max() > DECADES.ratio * typical)


def _resolution(distances: Float[ndarray, " N"]) -> float:
    positive = distances[distances > 0]
    if len(positive) == 0:
        return 1.0
    floor = np.finfo(float).eps * positive.max()
    return float(max(np.quantile(positive, DECADES.resolution), floor))


@dataclass(frozen=True, kw_only=True, eq=False)
class Measured:
    """An outcome that has limits: what was measured at the observed points.

    Attributes:
        name: Its name.
        values: The measured values, NaN where there is none.
        lower: The lower limit, −inf if there is none.
        upper: The upper limit, inf if there is none.
    """

    name: str
    values: Float[ndarray, " N"]
    lower: float
    upper: float

    @property
    def middle(self) -> float:
        """The limit, or the middle of two."""
        known = [limit for limit in (self.lower, self.upper) if math.isfinite(limit)]
        return sum(known) / len(known)


@dataclass(frozen=True, kw_only=True, eq=False)
class Data:
    """What a method may know: points, their values, and what is pending.

    Attributes:
        U: Observed points in the unit cube, in the order told.
        y: Values in model units; where the evaluation failed, the worst of the others.
        values: Values in the user's units, to be minimised; NaN where it failed.
        failed: Whether the evaluation failed.
        pending: Points asked and not yet told.
        domain: The search space; its ``snap`` keeps to what is given.
        given: Coordinates whose values are given for the next points, by a context.
        step: How many points were asked so far.
        asks: How often the method was asked for points so far.
        kind: The transform that the user wants: ``"auto"``, ``"standardise"``,
            ``"log"`` or ``"none"``.
        transform: The transform between ``values`` and ``y``.
        outcomes: Measured quantities that have limits.
        violation: By how much each row breaks constraints, 0 if it breaks none; None
            if there are no constraints.
        deviations: Standard deviations of the values in the user's units, NaN where
            they are not known; None if none is.
        limit: Of an outcome: its limit, or the middle of two.
    """

    U: Float[ndarray, "N P"]
    y: Float[ndarray, " N"]
    values: Float[ndarray, " N"]
    failed: Bool[ndarray, " N"]
    pending: Float[ndarray, "K P"]
    domain: Domain
    step: int
    asks: int = 0
    kind: str = "auto"
    given: Group = ()
    transform: Transform
    violation: Float[ndarray, " N"] | None = None
    outcomes: tuple[Measured, ...] = ()
    deviations: Float[ndarray, " N"] | None = None
    limit: float = 0.0

    def __post_init__(self) -> None:
        for name in ("U", "y", "values", "failed", "pending", "violation"):
            if getattr(self, name) is None:
                continue
            array = np.array(getattr(self, name))
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @property
    def noise(self) -> Float[ndarray, " N"] | None:
        """Known noise variances in model units; None if none is known.

        Where it is not known it is 0: models add the variance that they estimate.
        """
        if self.deviations is None:
            return None
        known = ~self.failed & np.isfinite(self.deviations)
        variances = np.zeros(len(self.y))
        # To first order: dz/dy at the value.
        slopes = np.exp(self.transform.log_slopes(self.values[known]))
        variances[known] = (self.deviations[known] * slopes) ** 2
        return variances

    @property
    def best(self) -> int | None:
        """The row of the best feasible value, or value; None if all failed."""
        if self.failed.all():
            return None
        worst = np.where(self.failed, np.inf, self.y)
        if self.violation is not None and (self.violation[~self.failed] == 0).any():
            worst = np.where(self.violation == 0, worst, np.inf)
        return int(np.argmin(worst))

    @property
    def order(self) -> Int[ndarray, " N"]:
        """The rows from the best to the worst; rows that break constraints are last."""
        if self.violation is None:
            return np.argsort(self.y, kind="stable")
        return np.lexsort((self.y, self.violation))

    def under(self, transform: Transform) -> "Data":
        """Return the same observations with ``y`` in the units of a transform."""
        if transform == self.transform:
            return self
        y = _in_model_units(self.values, self.failed, transform)
        return replace(self, y=y, transform=transform)

    def at_most(self, count: int) -> "Data":
        """Return the data, or that many of its rows, evenly spaced, if it has more."""
        if len(self.y) <= count:
            return self
        rows = np.linspace(0, len(self.y) - 1, count).round().astype(int)
        return self.rows(rows)

    def rows(self, rows: Int[ndarray, " n"]) -> "Data":
        """Return the data with some of the observations only."""
        names = ("U", "y", "values", "failed", "violation", "deviations")
        columns: dict[str, Any] = {
            name: getattr(self, name)[rows]
            for name in names
            if getattr(self, name) is not None
        }
        measured = tuple(replace(o, values=o.values[rows]) for o in self.outcomes)
        return replace(self, **columns, outcomes=measured)

    def of_outcome(self, outcome: Measured) -> "Data":
        """Return the observations of an outcome, where it was measured.

        Only the sides of its limit matter: unless another transform is wanted, far
        values are drawn together, so that they do not decide the fit.
        """
        known = np.isfinite(outcome.values)
        return prepare(
            U=self.U[known],
            y=outcome.values[known],
            failed=np.zeros(int(known.sum()), dtype=bool),
            pending=self.pending,
            domain=self.domain,
            step=self.step,
            asks=self.asks,
            kind="bilog" if self.kind == "auto" else self.kind,
            limit=outcome.middle,
        )

    def with_pending(self, U: Float[ndarray, "n P"]) -> "Data":
        """Return the data with ``U`` added to the pending points."""
        return replace(self, pending=np.concatenate([self.pending, U]))


def prepare(
    *,
    U: Float[ndarray, "N P"],
    y: Float[ndarray, " N"],
    failed: Bool[ndarray, " N"],
    pending: Float[ndarray, "K P"],
    domain: Domain,
    step: int,
    asks: int = 0,
    kind: str = "auto",
    violation: Float[ndarray, " N"] | None = None,
    outcomes: tuple[Measured, ...] = (),
    noise: Float[ndarray, " N"] | None = None,
    limit: float = 0.0,
) -> Data:
    """Return the data in model units, from values ``y`` in the user's units.

    The transform is that of the successful values; "auto" standardises, or takes
    logarithms if the values span decades. Failed rows, whose ``y`` is ignored, get the
    worst successful value, so that a model avoids the place; 0 if there is none.
    ``noise`` are standard deviations in the user's units, NaN where not known.
    """
    if noise is not None and np.isnan(noise).all():
        noise = None
    values = np.where(failed, np.nan, y)
    transform = choose_transform(values[~failed], kind, limit)
    return Data(
        U=U,
        y=_in_model_units(values, failed, transform),
        values=values,
        failed=failed,
        pending=pending,
        domain=domain,
        step=step,
        asks=asks,
        kind=kind,
        transform=transform,
        violation=violation,
        outcomes=outcomes,
        deviations=noise,
        limit=limit,
    )


def _in_model_units(
    values: Float[ndarray, " N"], failed: Bool[ndarray, " N"], transform: Transform
) -> Float[ndarray, " N"]:
    z = np.zeros(len(values))
    if not failed.all():
        z[~failed] = transform.forward(values[~failed])
        z[failed] = z[~failed].max()
    return z
