"""Tidal alignment and tidal torquing (TATT), with the one-loop terms of FAST-PT."""

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import InterpolatedUnivariateSpline

from sumbo.problems.base import load
from sumbo.problems.shear.alignment import AMPLITUDE, PIVOT, Aligned, tidal
from sumbo.problems.shear.universe import Universe
from sumbo.typing import Float, ndarray

NODES = 250  # log-spaced wavenumbers of the one-loop terms


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """Amplitudes and powers of 1 + z of the tidal field (1) and its square (2)."""

    a1: float
    a2: float
    alpha1: float
    alpha2: float
    bias_ta: float


def tatt(universe: Universe, p: Parameters, *, problem: str) -> Aligned:
    """Return the alignment spectra of the TATT model [blazek2019]."""
    D = universe.growth()[:, None]
    one, P = _one_loop(universe, problem), universe.nonlinear
    dE, tt, ta, AB, D_EE = (term * D**4 for term in one)
    C1 = tidal(universe, p.a1, p.alpha1)[:, None]
    Cd = p.bias_ta * C1
    evolution = ((1 + universe.z[:, None]) / PIVOT) ** p.alpha2
    C2 = 5 * p.a2 * AMPLITUDE * universe.omega_m / D**2 * evolution
    return Aligned(
        GI=C1 * P + Cd * dE + C2 * AB,
        II=C1**2 * P
        + Cd**2 * ta
        + 2 * C1 * Cd * dE
        + C2**2 * tt
        + 2 * C2 * (C1 * AB + Cd * D_EE),
    )


def _one_loop(universe: Universe, problem: str) -> list[Float[ndarray, " K"]]:
    """Return dE1 + dE2, tt, ta, A + B and D_EE at z = 0 on the universe's k."""
    fastpt = load("fastpt", name=problem, extra="cosmology")
    ln_k = np.log(universe.k)
    k = np.geomspace(universe.k[0], universe.k[-1], NODES)
    # At k > 100 h/Mpc FAST-PT returns rounding noise for dE2 and B, whose sign decides
    # how they are interpolated. The spline of FITPACK rounds as that of the pipeline;
    # with another one log L differs by up to 3e-4 relative.
    spline = InterpolatedUnivariateSpline(ln_k, np.log(universe.linear[0]))
    P = np.exp(spline(np.log(k)))
    engine = fastpt.FASTPT(
        k, to_do=["IA_all"], low_extrap=-5, high_extrap=3, n_pad=NODES
    )
    options = {"P_window": None, "C_window": 0.75}
    tt = engine.IA_tt(P, **options)[0]
    dE1, dE2, ta = engine.IA_ta(P, **options)[:3]
    A, B, D_EE = engine.IA_mix(P, **options)[:3]
    on_grid = [
        resampled(k, term, universe.k) for term in (dE1, dE2, tt, ta, A, B, D_EE)
    ]
    dE1, dE2, tt, ta, A, B, D_EE = on_grid
    return [dE1 + dE2, tt, ta, A + B, D_EE]


def resampled(
    x: Float[ndarray, " n"], y: Float[ndarray, " n"], at: Float[ndarray, " m"]
) -> Float[ndarray, " m"]:
    """Return y at other points, linear in (ln x, ln |y|), or in (ln x, y).

    The second holds if y changes its sign. The value is zero outside the nodes.
    """
    same = np.all(y > 0) or np.all(y < 0)
    inside = (at >= x[0]) & (at <= x[-1])
    where = np.log(at[inside])
    result = np.zeros_like(at)
    if same:
        ln = np.interp(where, np.log(x), np.log(np.abs(y)))
        result[inside] = np.sign(y[0]) * np.exp(ln)
    else:
        result[inside] = np.interp(where, np.log(x), y)
    return result
