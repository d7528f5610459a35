"""Local minimisation from many starts at once, inside a box.

The rows of a batch are independent problems that step together: one call evaluates
all of them, which is far cheaper than one call for each where a call costs more in
Python than in arithmetic. Each row keeps a dense inverse Hessian of its own (BFGS,
[nocedal2006] Eq. (6.17)), its active bounds are left out of the step, and the step is
projected onto the box and shortened until it decreases the value (Armijo).
"""

from collections.abc import Callable

import numpy as np

from sumbo.errors import ArgumentError
from sumbo.typing import Bool, Float, ndarray

# Values and gradients of b independent points; called with any number of them.
RowFunction = Callable[
    [Float[ndarray, "b d"]], tuple[Float[ndarray, " b"], Float[ndarray, "b d"]]
]

ARMIJO = 1e-4
BACKTRACKS = 12
# The first step has no curvature to go by: this share of the box at most.
FIRST_STEP = 0.1


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
    scale = FIRST_STEP * (high - low) / np.maximum(longest, FIRST_STEP * (high - low))
    H = scale[:, :, None] * np.eye(X.shape[1])
    live = np.isfinite(f) & np.isfinite(g).all(axis=1)
    for step in range(steps):
        free = ~(((low >= X) & (g > 0)) | ((high <= X) & (g < 0)))
        live &= (np.abs(g * free) > tolerance).any(axis=1)
        rows = np.flatnonzero(live)
        if halving and step and step % halving == 0:
            rows = rows[np.argsort(f[rows], kind="stable")[: (len(rows) + 1) // 2]]
            live[:] = False
            live[rows] = True
        if len(rows) == 0:
            break
        P = _direction(H[rows], g[rows], free[rows])
        new, f_new, g_new = _search(f_and_grad, X[rows], f[rows], g[rows], P, bounds)
        s, y = new - X[rows], g_new - g[rows]
        H[rows] = _update(H[rows], s, y, first=step == 0)
        gain = f[rows] - f_new
        live[rows] = gain > tolerance**2 * (1.0 + np.abs(f_new))
        X[rows], f[rows], g[rows] = new, f_new, g_new
    return X, f


def _direction(
    H: Float[ndarray, "b d d"], g: Float[ndarray, "b d"], free: Bool[ndarray, "b d"]
) -> Float[ndarray, "b d"]:
    """Return the quasi-Newton step in the free coordinates, always downhill."""
    reduced = g * free
    # H stays positive definite, hence also its free block: a descent direction.
    return -np.einsum("bij,bj->bi", H, reduced) * free


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
    new, f_new, g_new = X.copy(), f.copy(), g.copy()
    t = np.ones(len(X))
    open_ = np.arange(len(X))
    for _ in range(BACKTRACKS):
        trial = np.clip(X[open_] + t[open_, None] * P[open_], *bounds)
        value, slope = f_and_grad(trial)
        expected = np.einsum("bi,bi->b", g[open_], trial - X[open_])
        good = value <= f[open_] + ARMIJO * expected
        good &= np.isfinite(slope).all(axis=1) & (expected < 0)
        done = open_[good]
        new[done], f_new[done], g_new[done] = trial[good], value[good], slope[good]
        if good.all():
            break
        excess = (value - f[open_] - expected)[~good]
        open_ = open_[~good]
        # Minimiser of the parabola through value, slope and the failed trial.
        share = np.where(excess > 0, -expected[~good] / np.maximum(excess, 1e-300), 0)
        t[open_] *= np.clip(0.5 * share, 0.1, 0.5)
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
    out = H.copy()
    if not curved.any():
        return out
    s, y, rho = s[curved], y[curved], 1.0 / sy[curved]
    now = H[curved]
    if first:
        # [nocedal2006] Eq. (6.20): the right size before the first update.
        now = (sy / np.where(curved, yy, 1.0))[curved, None, None] * np.eye(s.shape[1])
    # Multiplied out, so that it takes outer products only: with h = H y,
    # H − ρ (s hᵀ + h sᵀ) + ρ (1 + ρ yᵀh) s sᵀ.
    h = np.einsum("bij,bj->bi", now, y)
    half = 0.5 * (1.0 + rho * np.einsum("bi,bi->b", y, h))
    t = rho[:, None] * (half[:, None] * s - h)
    outer = s[:, :, None] * t[:, None, :]
    out[curved] = now + outer + outer.transpose(0, 2, 1)
    return out
