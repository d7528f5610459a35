"""Local minimisation from many starts at once, inside a box.

The rows of a batch are independent problems that step together: one call evaluates
all of them, which is far cheaper than one call for each where a call costs more in
Python than in arithmetic. Each row keeps a dense inverse Hessian of its own (BFGS,
[nocedal2006] Eq. (6.17)), its active bounds are left out of the step, and the step is
projected onto the box and shortened until it decreases the value (Armijo).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sumbo.errors import ArgumentError
from sumbo.typing import Bool, Float, ndarray

# Values and gradients of b independent points; called with any number of them.
RowFunction = Callable[
    [Float[ndarray, "b d"]], tuple[Float[ndarray, " b"], Float[ndarray, "b d"]]
]


@dataclass(frozen=True, kw_only=True)
class Descent:
    """How the steps of a descent are chosen.

    Attributes:
        armijo: Share of the decrease predicted by the slope that a step must achieve.
        backtracks: How often a step is halved at most.
        first_step: Largest first step, as a share of the box, because the curvature is
            not known yet.
    """

    armijo: float = 1e-4
    backtracks: int = 12
    first_step: float = 0.1


DESCENT = Descent()


def minimise_multistart(
    f_and_grad: RowFunction,
    starts: Float[ndarray, "b d"],
    bounds: tuple[float, float] = (0.0, 1.0),
    steps: int = 50,
    tolerance: float = 1e-6,
) -> tuple[Float[ndarray, " d"], float]:
    """Return the lowest point found from the starts, and its value.

    Args:
        f_and_grad: Values (b,) and gradients (b, d) at b points, any b.
        starts: Where to start; never left for a higher value.
        bounds: Lower and upper end of every coordinate.
        steps: Most steps from each start.
        tolerance: A row stops when its projected gradient is smaller, or when a step
            gains less than the square of this, relative to the value.

    Raises:
        ArgumentError: If there is no start, or no start has a finite value.
    """
    X, values = descend(f_and_grad, starts, bounds, steps, tolerance)
    best = int(np.argmin(np.where(np.isfinite(values), values, np.inf)))
    if not np.isfinite(values[best]):
        msg = f"starts={X!r} have no finite value ({values!r}). Pass other starts."
        raise ArgumentError(msg)
    return X[best], float(values[best])


def descend(
    f_and_grad: RowFunction,
    starts: Float[ndarray, "b d"],
    bounds: tuple[float, float] = (0.0, 1.0),
    steps: int = 50,
    tolerance: float = 1e-6,
    halving: int | None = None,
) -> tuple[Float[ndarray, "b d"], Float[ndarray, " b"]]:
    """Return the local minimum below each start, and the values there.

    With ``halving``, the higher half of the rows stops after every so many steps, for
    those who only want the lowest; [jamieson2016].

    Raises:
        ArgumentError: If there is no start.
    """
    low, high = bounds
    if len(starts) == 0:
        raise ArgumentError("starts is empty. Pass at least one point of the box.")
    X = np.clip(starts, low, high)
    f, g = f_and_grad(X)
    longest = np.abs(g).max(axis=1, keepdims=True)
    scale = (
        DESCENT.first_step
        * (high - low)
        / np.maximum(longest, DESCENT.first_step * (high - low))
    )
    H = scale[:, :, None] * np.eye(X.shape[1])
    # Rows that still move are kept together: x, fx, gx, H are theirs.
    rows = np.arange(len(X))
    x, fx, gx = X, f, g
    moving = np.isfinite(f) & np.isfinite(g).all(axis=1)
    for step in range(steps):
        free = ~(((low >= x) & (gx > 0)) | ((high <= x) & (gx < 0)))
        slope = gx * free
        moving &= (np.abs(slope) > tolerance).any(axis=1)
        if halving and step and step % halving == 0:
            moving = _lower_half(fx, moving)
        if not moving.all():
            X[rows], f[rows] = x, fx
            rows, free = rows[moving], free[moving]
            x, fx, gx, H, slope = (a[moving] for a in (x, fx, gx, H, slope))
        if len(rows) == 0:
            break
        # H stays positive definite, hence also its free block: a descent direction.
        P = -(H @ slope[:, :, None])[:, :, 0] * free
        new, f_new, g_new = _search(f_and_grad, x, fx, gx, P, bounds)
        H = _update(H, new - x, g_new - gx, first=step == 0)
        moving = fx - f_new > tolerance**2 * (1.0 + np.abs(f_new))
        x, fx, gx = new, f_new, g_new
    X[rows], f[rows] = x, fx
    return X, f


def _lower_half(
    f: Float[ndarray, " b"], among: Bool[ndarray, " b"]
) -> Bool[ndarray, " b"]:
    """Return which rows are in the lower half of some of them."""
    rows = np.flatnonzero(among)
    out = np.zeros(len(f), dtype=bool)
    out[rows[np.argsort(f[rows], kind="stable")[: (len(rows) + 1) // 2]]] = True
    return out


def _search(
    f_and_grad: RowFunction,
    X: Float[ndarray, "b d"],
    f: Float[ndarray, " b"],
    g: Float[ndarray, "b d"],
    P: Float[ndarray, "b d"],
    bounds: tuple[float, float],
) -> tuple[Float[ndarray, "b d"], Float[ndarray, " b"], Float[ndarray, "b d"]]:
    """Return the first projected step of each row that decreases it enough.

    A row that finds none stays where it is.
    """
    low, high = bounds
    new, f_new, g_new = X.copy(), f.copy(), g.copy()
    t = np.ones((len(X), 1))
    rows = np.arange(len(X))  # that are searched still; X, f, g, P, t are theirs
    for _ in range(DESCENT.backtracks):
        trial = np.minimum(np.maximum(X + t * P, low), high)
        value, slope = f_and_grad(trial)
        expected = np.einsum("bi,bi->b", g, trial - X)
        good = value <= f + DESCENT.armijo * expected
        good &= np.isfinite(slope).all(axis=1) & (expected < 0)
        if good.all():
            new[rows], f_new[rows], g_new[rows] = trial, value, slope
            break
        done, bad = rows[good], ~good
        new[done], f_new[done], g_new[done] = trial[good], value[good], slope[good]
        excess, expected = (value - f - expected)[bad], expected[bad]
        rows = rows[bad]
        X, f, g, P, t = (a[bad] for a in (X, f, g, P, t))
        # Minimiser of the parabola through value, slope and the failed trial.
        share = np.where(excess > 0, -expected / np.maximum(excess, 1e-300), 0)
        t *= np.clip(0.5 * share, 0.1, 0.5)[:, None]
    return new, f_new, g_new


def _update(
    H: Float[ndarray, "b d d"],
    s: Float[ndarray, "b d"],
    y: Float[ndarray, "b d"],
    *,
    first: bool,
) -> Float[ndarray, "b d d"]:
    """Return the inverse Hessians after the BFGS update; [nocedal2006] Eq. (6.17)."""
    sy = np.einsum("bi,bi->b", s, y)
    yy = np.einsum("bi,bi->b", y, y)
    # Without positive curvature along the step the update would be indefinite.
    curved = sy > 1e-10 * np.sqrt(yy * np.einsum("bi,bi->b", s, s))
    if not curved.all():
        out = H.copy()
        if curved.any():
            out[curved] = _update(H[curved], s[curved], y[curved], first=first)
        return out
    if first:
        # [nocedal2006] Eq. (6.20): the right size before the first update.
        H = (sy / yy)[:, None, None] * np.eye(s.shape[1])
    # Multiplied out, so that it takes outer products only: with h = H y,
    # H − ρ (s hᵀ + h sᵀ) + ρ (1 + ρ yᵀh) s sᵀ.
    h = (H @ y[:, :, None])[:, :, 0]
    rho = 1.0 / sy
    half = 0.5 * (1.0 + rho * np.einsum("bi,bi->b", y, h))
    t = rho[:, None] * (half[:, None] * s - h)
    outer = s[:, :, None] * t[:, None, :]
    return H + outer + outer.transpose(0, 2, 1)
