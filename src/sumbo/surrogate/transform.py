"""The choice of the transform: standardised values, or their logarithms.

A Gaussian process of transformed values z = w(y) has the density p(z) dz/dy in y. So
transforms are compared by the posterior density of a fit, like kernels and groups;
[snelson2003]. A sum of parts stays a sum only without logarithms. They are therefore
penalised, and win where values grow as powers or products of several parameters, as in
narrow curved valleys.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sumbo.data import Data, Transform, choose_transform
from sumbo.gp import AdditiveGP
from sumbo.state import State
from sumbo.typing import Float, Group, ndarray


@dataclass(frozen=True, kw_only=True)
class TransformRule:
    """When logarithms are compared with standardised values, and when they win.

    Attributes:
        after: Numbers of successful observations. The first refit at or after each of
            them compares the two on that many observations, the first ones.
        penalty: Log density, in nats, by which logarithms must be ahead. Early in a
            run on a sum of functions, logarithms can be slightly ahead although they
            make the search worse.
        penalty_per_observation: The same per observation; the larger penalty counts.
        steps: Iterations of each fit. With 40 instead, five of 224 decisions on real
            runs would differ.
        lengthscale: Where the fits start. It is the mode of the prior for one
            coordinate, also for the part on all coordinates.
        noise: The noise variance at which the fits start.
    """

    after: tuple[int, ...] = (30, 45, 68, 102, 153)
    penalty: float = 15.0
    penalty_per_observation: float = 0.25
    steps: int = 8
    lengthscale: float = 0.4
    noise: float = 1e-3


RULE = TransformRule()


@dataclass(frozen=True, kw_only=True)
class Scale(State):
    """The transform that stands until the next refit.

    Attributes:
        transform: The transform with its constants.
        compared: The number of observations on which kinds were last compared.
        logarithms: Whether logarithms won.
    """

    transform: Transform
    compared: int = 0
    logarithms: bool = False


class Rescaled(NamedTuple):
    """Data in the units of a new transform, and how many fits choosing it took."""

    data: Data
    scale: Scale
    fits: int


def rescale(data: Data, last: Scale | None) -> Rescaled:
    """Return the data under the transform that they ask for now.

    The kind is compared at certain numbers of observations only, see
    ``TransformRule``; the constants are those of the present observations.
    """
    compared, logarithms, fits = 0, False, 0
    if last is not None:
        compared, logarithms = last.compared, last.logarithms
    rows = np.flatnonzero(~data.failed)
    due = max((n for n in RULE.after if n <= len(rows)), default=0)
    if data.kind == "auto" and due > compared:
        first = rows[:due]
        logarithms, fits = _logarithms_win(data.rows(first))
        compared = due
    kind = "log" if logarithms else data.kind
    transform = choose_transform(data.values[rows], kind, data.limit)
    scale = Scale(transform=transform, compared=compared, logarithms=logarithms)
    return Rescaled(data.under(transform), scale, fits)


def _logarithms_win(data: Data) -> tuple[bool, int]:
    """Return whether logarithms are ahead by more than the penalty, and the fits."""
    U, y, sd = data.U, data.values, data.deviations
    if np.ptp(y) == 0:
        return False, 0
    gain = quick_log_posterior("log", U, y, sd) - quick_log_posterior(
        "standardise", U, y, sd
    )
    return bool(gain > max(RULE.penalty, RULE.penalty_per_observation * len(y))), 2


def quick_log_posterior(
    kind: str,
    U: Float[ndarray, "N P"],
    y: Float[ndarray, " N"],
    deviations: Float[ndarray, " N"] | None = None,
) -> float:
    """Return the log posterior density of a quick fit, in the units of ``y``.

    The model is ``first_model``. NaN if there is no fit. ``deviations`` are the
    standard deviations of the values, NaN where they are not known.
    """
    transform = choose_transform(y, kind)
    gp = first_model(U.shape[1], RULE.noise)
    z = transform.forward(y)
    noise = None
    if deviations is not None:
        noise = np.nan_to_num(deviations * np.exp(transform.log_slopes(y))) ** 2
    info = gp.fit(U, z, noise=noise, spans=1.0, starts=1, steps=RULE.steps).info
    found = info.log_posterior if info is not None else np.nan
    return found + float(transform.log_slopes(y).sum())


def first_model(P: int, noise: float) -> AdditiveGP:
    """Return the default model before it knows anything, from which quick fits start.

    It has one part for every coordinate, and one for all of them.
    """
    groups: list[Group] = [(p,) for p in range(P)]
    if P > 1:
        groups.append(tuple(range(P)))
    return AdditiveGP(
        groups=groups,
        lengthscales=[[RULE.lengthscale] * len(group) for group in groups],
        variances=1.0 / len(groups),
        noise=noise,
    )
