"""Which scaling the values ask for: standardised as they are, or their logarithms.

A Gaussian process of warped values z = w(y) has the density p(z) dz/dy in y, so that
warps compare by evidence like any other part of a model; [snelson2003]. Sums stay sums
only without a warp: a logarithm must earn its place. It does where values grow as
powers or products of several parameters, as in narrow curved valleys.
"""

from functools import lru_cache

import numpy as np

from sumbo.data import choose_transform
from sumbo.gp import AdditiveGP
from sumbo.gp.fit import MapFit
from sumbo.typing import Bool, Float, ndarray

# Log evidence by which logarithms must be ahead, in all and per observation. Early in
# a run on a sum of functions they can seem ahead by a little, and hurt.
LEAST, MARGIN = 15.0, 0.25

# Numbers of observations after which the question is put, and put again.
AFTER = (30, 45, 68, 102, 153)

# Iterations of the fits; with 40, five of 224 decisions on real runs would differ.
STEPS = 8


def settle(
    kind: str,
    U: Float[ndarray, "N P"],
    y: Float[ndarray, " N"],
    failed: Bool[ndarray, " N"],
) -> str:
    """Return the kind of transform to use, where ``"auto"`` leaves it to the data.

    It depends on nothing but the first observations in the order told, so a run that
    is resumed decides as it did before.
    """
    rows = np.flatnonzero(~failed)
    if kind != "auto" or len(rows) < AFTER[0]:
        return kind
    n = max(n for n in AFTER if n <= len(rows))
    rows = rows[:n]
    is_ahead = _is_log_ahead(U[rows].tobytes(), y[rows].tobytes(), n)
    return "log" if is_ahead else kind


@lru_cache(maxsize=16)
def _is_log_ahead(points: bytes, values: bytes, n: int) -> bool:
    # Bytes, because every ask until the next such number has the same question.
    U, y = np.frombuffer(points).reshape(n, -1), np.frombuffer(values)
    if np.ptp(y) == 0:
        return False
    gain = log_evidence("log", U, y) - log_evidence("standardise", U, y)
    return bool(gain > max(LEAST, MARGIN * n))


def log_evidence(kind: str, U: Float[ndarray, "N P"], y: Float[ndarray, " N"]) -> float:
    """Return log p(y) of a quick fit to transformed values, NaN if there is none.

    The model is that of the default before it knows anything: one part for every
    parameter, and one that holds them all.
    """
    transform = choose_transform(y, kind)
    P = U.shape[1]
    groups, lengths = [(p,) for p in range(P)], [[0.4]] * P
    if P > 1:
        groups, lengths = [*groups, tuple(range(P))], [*lengths, [0.4] * P]
    gp = AdditiveGP(
        groups=groups, lengthscales=lengths, variances=1.0 / len(groups), noise=1e-3
    )
    fit = MapFit(starts=1, steps=STEPS, spans=1.0)
    _, info = fit(gp.evidence(U), transform.forward(y), gp.hyperparameters())
    return info.log_likelihood + float(transform.log_slopes(y).sum())
